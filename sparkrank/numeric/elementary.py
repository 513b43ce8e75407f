"""Logarithms and powers with the same bits on every processor.

numpy and the C library choose implementations by processor, and their results differ in the last bits. This module uses
only sums, products, quotients and shifts, which IEEE 754 rounds in only one way. The build forbids the compiler to fuse
two operations into one with a single rounding (``-ffp-contract=off``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Floats

TABLED_POWERS = 1 << 22  # so that the table has at most 32 MB; ranks in the input may be much larger
# A number as a sum of two, where the second is below the last bit of the first.
_TwoFloats: TypeAlias = tuple[Floats, Floats]

# For log: (1 + s) / (1 - s) = m has log(m) = 2s + s·R(s²), where R is the minimax polynomial on |s| < 0.1716
# (fdlibm's).
_R = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LN2 = (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33"))  # the first part times 1074 is exact
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½: mantissas are above it
_FRACTION = (1 << 52) - 1
_TO_WHOLE, _OFFSET = 0x4330000000000000, 2.0**52 + 1023  # the bits of 2^52, under which a whole number fits

_ATANH = tuple(1 / n for n in range(3, 27, 2))  # for the series s + s³/3 + s⁵/5 ...; the next term is below 2^-64 of it
_TWO_OVER_LN2 = (float.fromhex("0x1.71547652b82fep+1"), float.fromhex("0x1.777d0ffda0d24p-55"))
_EXP = tuple(1 / n for n in (2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800))
_WHOLE_LN2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))


def log(values: Floats) -> Floats:
    """Return the natural logarithm of positive, normal and finite ``values``, with an error below 1 ulp.

    The algorithm is that of Sun Microsystems' fdlibm (e_log.c).
    """
    values = np.ascontiguousarray(values, np.float64)
    if native.runs("logarithms"):
        logarithms = np.empty(len(values))
        native.logs.log(values, logarithms)
        return logarithms
    bits = values.view(np.int64) + (0x3FF0000000000000 - _ROOT_HALF)
    exponent = ((bits >> 52) | _TO_WHOLE).view(np.float64) - _OFFSET
    f = ((bits & _FRACTION) + _ROOT_HALF).view(np.float64) - 1.0
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (_R[1] + w * (_R[3] + w * _R[5]))
    odd = z * (_R[0] + w * (_R[2] + w * (_R[4] + w * _R[6])))
    rest: Floats = s * (half + (odd + even)) + exponent * _LN2[1] - half + f + exponent * _LN2[0]
    return rest


def log1p(values: Floats) -> Floats:
    """Return log(1 + v) for ``values`` v above -1, with an error below 2 ulp, however small v is."""
    whole = 1.0 + values
    back = whole - 1.0
    lost = (1.0 - (whole - back)) + (values - back)  # the rounding error of the sum
    logarithms: Floats = log(whole) + lost / whole
    return logarithms


def log2(values: NDArray[Any]) -> Floats:
    """Return the binary logarithm of positive ``values``, with an error below 0.55 ulp. Powers of two are exact."""
    m, exponent = np.frexp(np.asarray(values, np.float64))
    below = m < 0.7071067811865476
    m = np.where(below, 2 * m, m)
    exponent = (exponent - below).astype(np.float64)
    f, g = m - 1.0, m + 1.0
    g_rest = m - (g - 1.0)
    s = f / g
    product, rest = _product(s, g)
    s_rest = ((f - product) - rest - s * g_rest) / g
    z = s * s
    high, low = _normal(s, s_rest + s * z * _polynomial(_ATANH, z))
    product, rest = _product(high, np.full(high.shape, _TWO_OVER_LN2[0]))
    rest += high * _TWO_OVER_LN2[1] + low * _TWO_OVER_LN2[0]
    total = exponent + product
    back = total - exponent
    logarithms: Floats = total + (((exponent - (total - back)) + (product - back)) + rest)
    return logarithms


def exp2(values: Floats) -> Floats:
    """Return 2^v for ``values`` v from -1000 to 1024, with an error below 1 ulp. Results for whole v are exact."""
    whole = np.rint(values)
    if np.array_equal(whole, values):
        bits: Floats = ((whole.astype(np.int64) + 1023) << 52).view(np.float64)
        return bits
    f = values - whole
    high, low = _product(f, np.full(f.shape, _WHOLE_LN2[0]))
    low += f * _WHOLE_LN2[1]
    fraction = 1.0 + (high + (low + high * high * _polynomial(_EXP, high)))
    power: Floats = np.ldexp(fraction, whole.astype(np.int32))
    return power


def powers(base: float, exponents: NDArray[np.integer]) -> Floats:
    """Return ``base`` (from 0 to 1) raised to each of the ``exponents`` (whole, at least 0), rounded once.

    If all exponents are below :data:`TABLED_POWERS`, the powers come from a table that is computed once.
    """
    most = int(exponents.max(initial=0))
    if most < TABLED_POWERS:
        table: Floats = _table(float(base), max(most, 1).bit_length())[exponents]
        return table
    return _powers(float(base), exponents)


@lru_cache(maxsize=64)
def _table(base: float, bits: int) -> Floats:
    table = _powers(base, np.arange(1 << bits, dtype=np.int64))
    table.flags.writeable = False
    return table


def _powers(base: float, exponents: NDArray[np.integer]) -> Floats:
    """Compute powers by squaring, as sums of two numbers, so that rounding loses less than 2^-40 of a last bit."""
    of_bit: _TwoFloats = (np.array([base]), np.zeros(1))
    power: _TwoFloats = (np.ones(exponents.shape), np.zeros(exponents.shape))
    for bit in range(int(exponents.max(initial=0)).bit_length()):
        selected = np.flatnonzero(exponents >> bit & 1)
        high, low = _times((power[0][selected], power[1][selected]), of_bit)
        power[0][selected], power[1][selected] = high, low
        of_bit = _times(of_bit, of_bit)
    return power[0]


def _times(one: _TwoFloats, other: _TwoFloats) -> _TwoFloats:
    product, rest = _product(one[0], other[0])
    return _normal(product, rest + (one[0] * other[1] + one[1] * other[0]))


def _product(one: Floats, other: Floats) -> _TwoFloats:
    """Return the product and its rounding error (Dekker: A floating-point technique, Numerische Mathematik 1971)."""
    product = one * other
    (a, b), (c, d) = _halves(one), _halves(other)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(values: Floats) -> _TwoFloats:
    """Return each value as two numbers of 26 bits. Products of two such numbers are exact."""
    spread = 134217729.0 * values  # 2^27 + 1
    high = spread - (spread - values)
    return high, values - high


def _normal(high: Floats, low: Floats) -> _TwoFloats:
    """Return ``high + low`` as two numbers. The second is below the last bit of the first."""
    total = high + low
    return total, low - (total - high)


def _polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    total = np.full(x.shape, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= x
        total += coefficient
    return total


def squared(values: Floats) -> Floats:
    """Return the squares of ``values`` by C's ``pow``, as in the numbers of all result tables.

    For one value v in 1,000, the last bit differs from that of v · v.
    """
    return np.array([value**2 for value in values.tolist()], np.float64)
