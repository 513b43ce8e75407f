"""Logarithms and powers against 50 digits of ``decimal``, which computes with whole numbers alone."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from sparkrank.numeric import elementary
from sparkrank.numeric.array_types import Floats

DIGITS = 50
random = np.random.default_rng(5)


def ulps(found: Floats, true: list[Decimal]) -> float:
    """How far the farthest of ``found`` is off, in units of the last place of the true value."""
    with localcontext() as context:
        context.prec = DIGITS
        last = (Decimal(float(np.spacing(abs(float(at))))) for at in true)
        return float(max(abs(Decimal(one) - at) / ulp for one, at, ulp in zip(found.tolist(), true, last, strict=True)))


def ln(value: float) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(value).ln()


PROBABILITIES = np.concatenate(
    [
        random.random(700),
        1 - random.random(300) * 2.0 ** -random.integers(1, 50, 300),
        2.0 ** -random.integers(1, 53, 52).astype(float),
        [np.sqrt(0.5), np.nextafter(np.sqrt(0.5), 0), 1.0, 2.0**-52, 1 - 2.0**-52, 3.0, 1e300, 1e-300],
    ]
)


def test_logarithms_are_off_by_less_than_an_ulp() -> None:
    assert ulps(elementary.log(PROBABILITIES), [ln(each) for each in PROBABILITIES.tolist()]) < 1


def test_logarithms_near_one_keep_what_a_sum_would_lose() -> None:
    values = np.concatenate([-random.random(300) / 2, 10.0 ** random.uniform(-30, 15, 500), [1e-300, 1e300]])
    with localcontext() as context:
        context.prec = 400  # 1 + 1e-300 has as many
        true = [(1 + Decimal(each)).ln() for each in values.tolist()]
    assert ulps(elementary.log1p(values), true) < 2


def test_binary_logarithms_of_positions() -> None:
    values = np.concatenate([np.arange(1.0, 1500.0), random.integers(2, 2**31, 200), random.random(200)])
    with localcontext() as context:
        context.prec = DIGITS
        two = Decimal(2).ln()
        true = [Decimal(each).ln() / two for each in values.tolist()]
    assert ulps(elementary.log2(values), true) < 0.55


def test_logarithms_of_powers_of_two_are_whole() -> None:
    exponents = np.arange(-500.0, 1000.0)
    assert elementary.log2(np.ldexp(1.0, exponents.astype(int))).tolist() == exponents.tolist()


def test_powers_of_two() -> None:
    values = np.concatenate([random.uniform(-3, 30, 700), random.uniform(0, 1000, 100)])
    with localcontext() as context:
        context.prec = DIGITS
        true = [Decimal(2) ** Decimal(each) for each in values.tolist()]
    assert ulps(elementary.exp2(values), true) < 1
    whole = np.arange(1024.0)
    assert elementary.exp2(whole).tolist() == [float(2**each) for each in range(1024)]
    assert elementary.exp2(np.array([1024.0])).tolist() == [np.inf]


@pytest.mark.parametrize("base", [0.8, 0.95, 0.5, 0.123456789, 0.999999])
def test_powers_are_rounded_once(base: float) -> None:
    """Nothing but the one rounding shows: no product of as many factors."""
    exponents = np.unique(np.concatenate([np.arange(150), random.integers(0, int(-700 / np.log(base)), 100)]))
    with localcontext() as context:
        context.prec = DIGITS
        true = [Decimal(base) ** each for each in exponents.tolist()]
    assert ulps(elementary.powers(base, exponents), true) < 0.5001


def test_powers_beyond_the_table_are_those_of_the_table() -> None:
    """A list whose given ranks lie far apart asks for powers that no table has; the near ones stay as they are."""
    near = np.arange(50)
    far = np.append(near, elementary.TABLED_POWERS + 7)
    assert elementary.powers(0.9999999, far)[:-1].tolist() == elementary.powers(0.9999999, near).tolist()
    assert elementary.powers(0.8, far)[-1] == 0.0


def test_no_rows() -> None:
    none = np.empty(0)
    for function in (elementary.log, elementary.log1p, elementary.log2, elementary.exp2):
        assert function(none).shape == (0,)
    assert elementary.powers(0.5, np.empty(0, np.int64)).shape == (0,)
