"""Score blocks in few bytes: what comes out is what went in, and of several parts what their merge gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkrank import native
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.wire import NarrowHistogram, merged
from sparkrank.states import Partials, ScoreHistogram, ScoreSeries
from tests.extent import examples
from tests.support.states import bits_of_blocks, histogram_of
from tests.support.strategies import PATIENT

RULES = [BinRule("bits", 12), BinRule("digits", 5), BinRule("digits", 15), BinRule("bins", 15)]
RULES += [BinRule("exact"), BinRule("bits", 2), BinRule("digits", 1)]
SCORES = st.floats(0, 1) | st.floats(-2, 2).map(lambda score: round(score, 1)) | st.floats(allow_nan=False)
ROWS = st.lists(st.tuples(SCORES, st.booleans(), st.floats(0, 1e6)), max_size=20)
Rows = Sequence[tuple[float, bool, float]]
LARGE = 2.0**52  # a score that has no decimals
MIXED = 2.0**51 / 1e15  # from here on scores may be rounded up to one that has no 15 decimals, and are coded otherwise


def blocks_of(rule: BinRule, rows: Rows, sums: bool = True, weighted: bool = False) -> ScoreHistogram:
    scores, flags, weights = (np.array(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    flags = np.array(flags, np.bool_)
    return histogram_of(rule, np.array(scores, float), flags, sums, np.array(weights, float) if weighted else None)


@pytest.mark.parametrize("compiled", [False, native.COMPILED], ids=["numpy", "loops"])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(PATIENT, max_examples=examples(40))
@given(st.lists(ROWS, min_size=1, max_size=4), st.booleans())
@example([[(LARGE, True, 1.0)], [(0.25, True, 1.0), (0.3, False, 1.0)], [(0.25, False, 1.0)]], True)
@example([[], [(-0.0, True, 1.0)], [], [(math.inf, False, 1.0)]], True)
@example([[(MIXED, True, 1.0)], [(MIXED - 2e-15, False, 1.0)]], True)
@example([[], []], True)
def test_parts_merge_as_wide(rule: BinRule, weighted: bool, compiled: bool, parts: Sequence[Rows], sums: bool) -> None:
    """And as all rows at once are counted, whose order is not known here."""
    wide = [blocks_of(rule, rows, sums, weighted) for rows in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "COMPILED", compiled)
        found = merged([NarrowHistogram.of(blocks) for blocks in wide])
    assert bits_of_blocks(found) == bits_of_blocks(wide[0].merge(*wide[1:]))
    every = [row for rows in parts for row in rows]
    assert bits_of_blocks(found) == bits_of_blocks(blocks_of(rule, every, sums, weighted))


@pytest.mark.parametrize("rows", [2**30 - 1, 2**30, 2**33])
def test_blocks_of_billions_of_rows_are_merged(rows: int) -> None:
    """From 2^31 rows of a block on, its two classes do not stand in one number."""
    rule = BinRule("digits", 1)
    part = ScoreHistogram(rule, rule.numbers(np.array([0.5, 0.7])), *map(np.array, ([rows, 1], [0, rows // 2], [0, 0])))
    for found in (part.merge(part), merged([NarrowHistogram.of(part)] * 2)):
        assert (found.pos.tolist(), found.neg.tolist()) == ([2 * rows, 2], [0, rows // 2 * 2])


def test_a_block_of_a_row_or_two_takes_three_bytes() -> None:
    """A step, and a byte for the rows of each class; offsets that are all 0 take none."""
    rule, rows = BinRule("digits", 5), 10_000
    scores = np.arange(rows) / 2e4
    blocks = histogram_of(rule, scores, np.arange(rows) % 3 == 0, sums=False)
    packed = Partials(blocks={ScoreSeries("m", "all", "all", rule): blocks}).pack()
    empty = Partials(blocks={}).pack()
    assert len(packed) - len(empty) < 3 * rows + 1000
