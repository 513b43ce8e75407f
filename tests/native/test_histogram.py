"""Compiled loops that count rows by score block."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.histogram.wire import NarrowHistogram, merged
from sparkrank.numeric.ordered_integers import bin_scores
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.states import ScoreHistogram
from tests.native.with_and_without import array_bits, both, calls
from tests.support.states import bits_of_blocks
from tests.support.strategies import PATIENT


def test_equal_blocks_of_several_parts_add_up() -> None:
    """Of 0.3 there are 3, 60 and 2^20 positives. Its offsets come to less than nothing; no other part has any."""
    rule = BinRule("digits", 1)
    amounts = [([1, 2, 3], [0, 7, 0]), ([40, 50, 60], [300, 0, 70_000]), ([2**20], [1])]
    inside = [[0, 0, 5], [0, 0, 0], [-(2**40)]]
    parts = [
        ScoreHistogram(rule, rule.numbers(np.array(scores)), np.array(pos), np.array(neg), np.array(offset))
        for scores, (pos, neg), offset in zip([[-0.1, 0.0, 0.3], [0.0, 0.2, 0.3], [0.3]], amounts, inside, strict=True)
    ]
    with calls() as called:
        found = parts[0].merge(*parts[1:])
    assert called == {"blocks.codes": 3, "blocks.add": 3 + 3 + 2, "blocks.kept": 1}
    assert bin_scores(found.bins).tolist() == [-0.1, 0.0, 0.2, 0.3]
    assert found.pos.tolist() == [1, 2 + 40, 50, 3 + 60 + 2**20]
    assert found.neg.tolist() == [0, 7 + 300, 0, 0 + 70_000 + 1]
    assert found.offset.tolist() == [0, 0, 0, 5 - 2**40]
    with calls() as called:
        narrow = merged([NarrowHistogram.of(part) for part in parts])
    assert called == {"blocks.codes": 3, "blocks.ascend": 2, "blocks.add": 3 + 3 + 2, "blocks.kept": 1}
    assert bits_of_blocks(narrow) == bits_of_blocks(found)


@pytest.mark.parametrize("sums", [False, True])
def test_places_without_rows_are_left_out_page_by_page(sums: bool) -> None:
    """Tenths about 0 and about 305 are 3,055 places, of which two pages of 256 have rows: for 200 rows 800 are few."""
    rows = ScoredRows(np.tile([0.0, 305.25], 100), np.tile([1, 1, 0, 0, 0], 40))
    with calls() as called:
        (found,) = ScoreHistogram.of_each(BinRule("digits", 1), rows, sums)
    assert (called["blocks.pages"], called["blocks.count"]) == (1, 1)
    assert bin_scores(found.bins).tolist() == [0.0, 305.2]
    assert (found.pos.tolist(), found.neg.tolist()) == ([40, 40], [60, 60])
    inside = round((305.25 - 305.2) * 10 * 2**32)
    assert found.offset.tolist() == [0, sums * 100 * inside]


def test_where_too_many_pages_have_rows_they_are_sorted() -> None:
    """Four pages of 256 are more than four places for each of 200 rows."""
    rows = ScoredRows(np.tile([0.0, 60.0, 120.0, 180.0], 50), np.ones(200))
    with calls() as called:
        (found,) = ScoreHistogram.of_each(BinRule("digits", 1), rows, False)
    assert (called["blocks.pages"], called["blocks.count"]) == (1, 0)
    assert found.pos.tolist() == [50] * 4


def test_weights_are_added_up_by_class_and_block() -> None:
    """At 0.25 positives of 1/2 and 1/10, at 0.5 one of 3 and negatives of 4 and 1/10. A weight of 0 is a row."""
    scores, weights = np.array([0.25, 0.5, 0.25, 0.5, 0.5, 0.75]), np.array([0.5, 3, 0.1, 4, 0.1, 0])
    rows = ScoredRows(scores, np.array([1, 1, 1, 0, 0, 0]), weights)
    with calls() as called:
        (found,) = ScoreHistogram.of_each(BinRule("bins", 4), rows, False)
    assert called["blocks.weigh"] == 1
    assert bin_scores(found.bins).tolist() == [0.25, 0.5, 0.75]
    tenth = Fraction(0.1)
    assert [sum(map(Fraction, limbs)) for limbs in found.pos] == [Fraction(1, 2) + tenth, 3, 0]
    assert [sum(map(Fraction, limbs)) for limbs in found.neg] == [0, 4 + tenth, 0]
    assert found.count is not None
    assert found.count.tolist() == [2, 3, 1]
    assert not found.offset.any()


def test_offsets_count_by_weight() -> None:
    """0.3125 lies a quarter of a width in its bin and weighs 3; 0.375 a half, and weighs a half."""
    rows = ScoredRows(np.array([0.3125, 0.375, 0.25]), np.array([1, 0, 0]), np.array([3, 0.5, 7]))
    (found,) = ScoreHistogram.of_each(BinRule("bins", 4), rows, True)
    assert found.offset.sum() == 3 * 2**30 + 2**31 / 2  # a width is 2^32 units


RULES = [
    *[BinRule("bits", size) for size in (1, 5, 19, 20, 40, 52)],
    *[BinRule("digits", size) for size in (0, 1, 3)],
    *[BinRule("bins", size) for size in (1, 7, 15, 49)],
]
SCORES = [0.0, -0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 1.0, -0.3, 2.5, *(edge / 49 for edge in range(1, 49))]
BESIDE = [math.nextafter(score, end) for score in SCORES for end in (-9, 9)]
NEAR = st.sampled_from(SCORES + BESIDE)
WEIGHTS = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 2.0**26, 1e9 / 3, 2.0**-84, 1e-300]) | st.floats(0, 2)


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(PATIENT)
@given(scores=st.lists(NEAR | st.floats(-4, 4), min_size=1, max_size=40), sums=st.booleans(), data=st.data())
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_bits_of_numpy(rule: BinRule, weighted: bool, scores: list[float], sums: bool, data: st.DataObject) -> None:
    """Also at edges of blocks, where a product or a quotient may have been rounded over one."""
    n = len(scores)
    weights = np.array(data.draw(st.lists(WEIGHTS, min_size=n, max_size=n))) if weighted else None
    codes = data.draw(st.none() | st.lists(st.integers(0, 2), min_size=n, max_size=n))
    segments = WHOLE if codes is None else Segments(3, np.array(codes, np.int32))
    labels = np.array(data.draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparkrank.histogram.count.DENSE_BINS_PER_ROW", data.draw(st.sampled_from([4, 600, 10**5])))
        rows = ScoredRows(np.array(scores), labels, weights)
        compiled, plain = both(lambda: ScoreHistogram.of_each(rule, rows, sums, segments))
    assert len(compiled) == len(plain) == segments.count
    for loops, numpy in zip(compiled, plain, strict=True):
        for name in ("bins", "pos", "neg", "offset", "count"):
            assert array_bits(getattr(loops, name)) == array_bits(getattr(numpy, name)), name
