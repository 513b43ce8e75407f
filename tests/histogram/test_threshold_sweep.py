"""Blocks by their empirical rate, the highest first."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sparkrank.histogram.threshold_sweep import BinSteps, Rates
from sparkrank.numeric.exact_sums import whole_limbs

# Blocks of 3 : 0, 1 : 1 twice, 2 : 2, 2 : 4 and 0 : 4: those of 1 : 1 and of 2 : 2 have one rate.
POS, NEG = np.array([1, 0, 2, 1, 3, 2]), np.array([1, 4, 2, 1, 0, 4])
RATES = [math.inf, 1.0, 0.5, 0.0]
TOGETHER_POS, TOGETHER_NEG = [3, 1 + 2 + 1, 2, 0], [0, 1 + 2 + 1, 4, 4]


@pytest.mark.parametrize("times", [1, 2**30, 2**31, 2**40])
def test_blocks_of_one_rate_are_one(times: int) -> None:
    """Also where a block has more rows than half a number of 64 bits."""
    found = Rates.of(BinSteps(POS * times, NEG * times, (POS + NEG) * times))
    assert found.rate.tolist() == RATES
    assert found.pos.tolist() == [times * pos for pos in TOGETHER_POS]
    assert found.neg.tolist() == [times * neg for neg in TOGETHER_NEG]
    assert found.rows.tolist() == [times * rows for rows in map(sum, zip(TOGETHER_POS, TOGETHER_NEG, strict=True))]


def test_blocks_of_weighted_rows_keep_their_rows() -> None:
    """Each has one row, whatever that weighs."""
    found = Rates.of(BinSteps(whole_limbs(POS), whole_limbs(NEG), np.ones(6, np.int64)))
    assert found.rate.tolist() == RATES
    assert found.pos.tolist() == whole_limbs(np.array(TOGETHER_POS)).tolist()
    assert found.neg.tolist() == whole_limbs(np.array(TOGETHER_NEG)).tolist()
    assert found.rows.tolist() == [1, 3, 1, 1]


def test_no_blocks_have_no_rates() -> None:
    none = np.empty(0, np.int64)
    assert len(Rates.of(BinSteps(none, none, none)).rate) == 0
