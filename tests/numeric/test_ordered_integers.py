"""How rows are numbered, counted and added up: by definition, whatever the parts, in place or by sorting."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import RowSum, ScoredRows
from sparkrank.numeric import exact_sums as cutting
from sparkrank.numeric import exact_sums as exact
from sparkrank.numeric.ordered_integers import Range
from sparkrank.numeric.segments import Segments
from sparkrank.states import ScoreHistogram
from tests.support.strategies import PATIENT

ANY = st.floats(allow_nan=False) | st.floats(0, 1) | st.floats(-20, 20) | st.sampled_from([0.0, -0.0, 0.5, math.inf])
RULES = [BinRule("bits", 1), BinRule("bits", 12), BinRule("digits", 2), BinRule("exact"), BinRule("bins", 7)]
ROWS = st.lists(st.tuples(ANY, st.booleans(), st.floats(0, 100)), min_size=1, max_size=30)


@pytest.mark.parametrize("size", [1, 12, 20, 21, 51, 52])
@settings(PATIENT)
@given(scores=st.lists(ANY, min_size=1, max_size=20))
@example(scores=[5e-324, -5e-324, 2.0**-1022, 1.5 * 2.0**-1022, -1.7e308])
def test_a_step_is_the_place_in_the_block_by_definition(size: int, scores: list[float]) -> None:
    """Whole units of the block's width / 2^32, half a unit to the even one; nothing where that is no float64."""
    rule, found = BinRule("bits", size), np.array(scores)
    coding = rule.coding(Range.of(found))
    steps = coding.steps(found, coding.codes(found))
    snapped = rule.snapped(found)
    for score, block, width, step in zip(scores, snapped.tolist(), rule.width(snapped).tolist(), steps, strict=True):
        unit = width / 2**32
        inside = 0 if unit == 0 else (Fraction(score) - Fraction(block)) / Fraction(unit)
        assert int(step) == round(inside)


@pytest.mark.parametrize("size", [1, 7, 15, 49, 1000])
@settings(PATIENT)
@given(data=st.data())
def test_a_bin_begins_at_its_lower_edge(size: int, data: st.DataObject) -> None:
    edges = [number / size for number in range(size)]
    near = st.sampled_from([*edges, *(math.nextafter(edge, end) for edge in edges for end in (-1, 2))])
    scores = np.array(data.draw(st.lists(near | ANY, min_size=1, max_size=20)))
    expected = [max((edge for edge in edges if edge <= score), default=0.0) for score in scores.tolist()]
    assert BinRule("bins", size).snapped(scores).tolist() == expected


def _all(rows: list[tuple[float, bool, float]], weighted: bool) -> list[Any]:
    scores, flags, weights = (np.array(column) for column in zip(*rows, strict=True))
    found: list[Any] = []
    for segments in (Segments(), Segments(3, (np.arange(len(rows)) % 3).astype(np.int32))):
        scored = ScoredRows(scores, flags, weights if weighted else None)
        for rule in RULES:
            blocks = ScoreHistogram.of_each(rule, scored, True, segments)
            found += [
                [each.bins.tolist(), each.pos.tolist(), each.neg.tolist(), each.offset.tolist()] for each in blocks
            ]
        for name in ("weight", "positives", "scores", "squared_error", "log_loss", "outside"):
            found.append(scored.sums(RowSum(name), segments).tolist())
    return found


@pytest.mark.parametrize("weighted", [True, False], ids=["weights", "no weights"])
@settings(PATIENT)
@given(rows=ROWS)
def test_the_parts_that_are_read_at_once_leave_no_trace(weighted: bool, rows: list) -> None:
    expected = _all(rows, weighted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "PART_ROWS", 3)
        assert _all(rows, weighted) == expected


@settings(PATIENT)
@given(
    st.lists(
        st.floats(-1e15, 1e15)
        | st.floats(-1, 1)
        | st.integers(-9, 9).map(float)
        | st.builds(lambda halves, unit: halves * unit / 2, st.integers(-9, 9), st.sampled_from(cutting.UNITS)),
        min_size=1,
        max_size=20,
    )
)
def test_limbs_in_turn_are_those_of_each_value(values: list[float]) -> None:
    """Their sum is the value to the nearest multiple of 2^-84, each limb whole units of its own."""
    limbs = np.zeros((cutting.LIMBS, len(values)))
    for index, limb in cutting.limbs_of(np.array(values)):
        limbs[index] = limb
    for index, unit in enumerate(cutting.UNITS):
        assert (np.fmod(limbs[index], unit) == 0).all()
    for value, of_value in zip(values, limbs.T.tolist(), strict=True):
        assert abs(sum(map(Fraction, of_value)) - Fraction(value)) <= Fraction(1, 2**85)
    sums = np.array([exact.exact_sum(np.array([value])) for value in values])
    assert sums.T.tolist() == limbs.tolist()
    assert exact.exact_sum(np.array(values)).tolist() == [math.fsum(limb) for limb in limbs.tolist()]
