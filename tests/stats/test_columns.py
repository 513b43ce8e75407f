"""Intervals and tests of many values at once: each row is what it is alone, and exact sums stay exact in any unit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sparkrank.numeric.exact_sums import UNITS
from sparkrank.stats.intervals import (
    Intervals,
    greater,
    lesser,
    logit_interval,
    logit_intervals,
    t_interval,
    t_intervals,
    wilson_interval,
    wilson_intervals,
)
from sparkrank.stats.paired import paired_t, paired_ts
from sparkrank.stats.ratios import StandardErrors, fieller, fiellers

LEVEL, ENDS = 0.9, (0.0, 1.0)
# values inside, at both ends and undefined; errors from nothing to undefined; degrees below one and broken
ROWS = [
    (value, stderr, degrees, effective)
    for value in (0.0, 0.25, 0.999, 1.0, math.nan)
    for stderr in (0.0, 1e-20, 0.003, 0.4, math.nan)
    for degrees in (0.5, 1.0, 7.25, 30.0)
    for effective in (1.5, 8.0, math.nan)
]
VALUE, STDERR, DEGREES, EFFECTIVE = np.array(ROWS).T


@pytest.mark.parametrize("scale", ["t", "logit", "wilson"])
def test_a_row_among_others_has_the_bits_that_it_has_alone(scale: str) -> None:
    if scale == "t":
        together = t_intervals(VALUE, STDERR, DEGREES, LEVEL, ends=ENDS)
        alone = [t_interval(*row[:3], LEVEL, ends=ENDS) for row in ROWS]
    elif scale == "logit":
        together = logit_intervals(VALUE, STDERR, DEGREES, LEVEL)
        alone = [logit_interval(*row[:3], LEVEL) for row in ROWS]
    else:
        together = wilson_intervals(VALUE, STDERR, DEGREES, EFFECTIVE, LEVEL)
        alone = [wilson_interval(*row[:3], None if math.isnan(row[3]) else row[3], LEVEL) for row in ROWS]
    assert len({interval.method for interval in alone}) == 3  # one by its scale, too few, and none
    for column, own in zip(together, Intervals.of(alone), strict=True):
        np.testing.assert_array_equal(column, own)


def test_greater_and_lesser_keep_the_first_of_equal_zeros() -> None:
    zeros = np.array([0.0, -0.0])
    assert np.signbit(greater(zeros, zeros[::-1])).tolist() == np.signbit(lesser(zeros, zeros[::-1])).tolist()
    assert np.signbit(greater(zeros, zeros[::-1])).tolist() == [False, True]
    assert greater(np.array([1.0, 3.0]), 2.0).tolist() == [2.0, 3.0]
    assert lesser(np.array([1.0, 3.0]), 2.0).tolist() == [1.0, 2.0]


def test_sums_in_units_give_the_bits_of_fractions() -> None:
    """Whole numbers of the finest unit are divided as fractions are, even where all digits but the last cancel."""
    drawn, scale = np.random.default_rng(1), int(1 / UNITS[-1])
    samples = [drawn.normal(middle, 0.1, n) for n in (1, 2, 3, 40) for middle in (0.0, 0.5, 1e6)]
    samples += [np.full(9, 0.1), np.array([])]
    d = [sum(map(Fraction, values.tolist()), Fraction()) for values in samples]
    dd = [sum((Fraction(value * value) for value in values.tolist()), Fraction()) for values in samples]
    n = np.array([len(values) for values in samples])
    rounded = [[Fraction(round(total * scale), scale) for total in sums] for sums in (d, dd)]
    units = [np.array([int(total * scale) for total in sums], object) for sums in rounded]
    together = paired_ts(n, *units, n.astype(float), LEVEL, scale)
    for place, (count, total, squares) in enumerate(zip(n.tolist(), *rounded, strict=True)):
        alone = paired_t(count, total, squares, LEVEL)
        for name in ("difference", "stderr", "p", "low", "high"):
            number = getattr(alone, name)
            np.testing.assert_equal(getattr(together, name)[place], math.nan if number is None else number)
    assert together.method[:-1].tolist().count("paired t") == 8  # of two groups and more that differ


def test_ratios_of_many_are_those_of_each() -> None:
    rows = [(0.1, 0.9, 0.1, 0.2, 0.3, 20.0), (-0.1, -0.9, 0.1, 0.2, 0.3, 20.0), (0.1, 0.1, 0.1, 0.4, 0.1, 20.0)]
    rows.append((0.1, 0.9, math.nan, 0.2, 0.3, 20.0))
    difference, baseline, *errors, degrees = np.array(rows).T
    low, high = fiellers(difference, baseline, errors, degrees, LEVEL)
    for place, row in enumerate(rows):
        ends = fieller(row[0], row[1], StandardErrors(*row[2:5]), row[5], LEVEL) or (math.nan, math.nan)
        np.testing.assert_equal((low[place], high[place]), ends)
    assert np.isnan(low).tolist() == [False, False, True, True]
