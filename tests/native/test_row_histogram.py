"""Histograms that keep rows: the order of rows and their sweep by compiled loops, held to numpy and to plain Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkrank.histogram import row_histogram
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.row_histogram import RowHistogram, histograms_of_rows
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.histogram.threshold_sweep import Extent, RowSteps, Sweep
from sparkrank.histogram.wire import NarrowHistogram, NarrowRows, merged
from sparkrank.metrics import merged as merged_states
from sparkrank.metrics import plan_of
from sparkrank.metrics.merged import measure_each
from sparkrank.numeric.segments import Segments
from sparkrank.states import ScoreHistogram
from sparkrank.states.pickling import pickled, unpickled
from tests.extent import examples
from tests.native.with_and_without import array_bits, both
from tests.support.states import bits_of_blocks
from tests.support.strategies import PATIENT

EXACT = BinRule("exact")
SCORES = st.floats(allow_nan=False) | st.integers(-4, 4).map(float) | st.sampled_from([0.0, -0.0, math.inf, -math.inf])
ROW = st.tuples(SCORES, st.booleans(), st.floats(0, 1e6) | st.just(0.0), st.integers(0, 2))
ROWS = st.lists(ROW, max_size=40)
Rows = Sequence[tuple[float, bool, float, int]]
ALL_APART = [(float(score), score % 3 == 0, (score + 20) / 7, score % 2) for score in range(-20, 20)]
HALF_OF_BINS = [(float(score // 2), score % 3 == 0, score / 7, 0) for score in range(40)]
BOTH_ENDS = [(math.inf, True, 1.0, 0), (-math.inf, False, 2.0, 0), (5e-324, True, 3.0, 1), (-5e-324, False, 0.1, 1)]


def scored(rows: Rows, weighted: bool) -> ScoredRows:
    scores, flags, weights, _ = zip(*rows, strict=True) if rows else ((), (), (), ())
    found = np.array(weights, np.float64) if weighted else None
    return ScoredRows(np.array(scores, np.float64), np.array(flags, np.bool_), found)


def kept(rows: Rows, weighted: bool) -> ScoreHistogram:
    (found,) = histograms_of_rows(EXACT, scored(rows, weighted))
    return found


def bits(histogram: ScoreHistogram) -> list[object]:
    return [array_bits(getattr(histogram, name)) for name in ("bins", "pos", "neg", "offset", "rows", "count")]


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@settings(PATIENT, max_examples=examples(150))
@given(ROWS)
@example(ALL_APART)
@example(HALF_OF_BINS)
@example(BOTH_ENDS)
def test_rows_have_the_bins_that_counting_gives(weighted: bool, rows: Rows) -> None:
    """For all rows, and for those of each segment; with the loops and without."""
    (counted,) = ScoreHistogram.of_each(EXACT, scored(rows, weighted), False)
    segments = Segments(3, np.array([segment for *_, segment in rows], np.int32))
    apart = ScoreHistogram.of_each(EXACT, scored(rows, weighted), False, segments)
    for found in both(lambda: kept(rows, weighted)):
        assert bits_of_blocks(found) == bits_of_blocks(counted)
    for each in both(lambda: histograms_of_rows(EXACT, scored(rows, weighted), segments)):
        assert list(map(bits_of_blocks, each)) == list(map(bits_of_blocks, apart))


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@settings(PATIENT, max_examples=examples(80))
@given(st.lists(ROWS, min_size=1, max_size=4))
@example([ALL_APART, ALL_APART[::-1]])
@example([ALL_APART, HALF_OF_BINS, [], BOTH_ENDS])
def test_rows_of_several_buckets_merge_as_their_bins(weighted: bool, buckets: Sequence[Rows]) -> None:
    """Kept, packed or counted in bins, in any order, and some of either kind."""
    wide = [ScoreHistogram.of_each(EXACT, scored(rows, weighted), False)[0] for rows in buckets]
    expected = bits_of_blocks(wide[0].merge(*wide[1:]))
    for parts in both(lambda: [kept(rows, weighted) for rows in buckets]):
        for found in (parts[0].merge(*parts[1:]), parts[-1].merge(*parts[-2::-1]), parts[0].merge(*wide[1:])):
            assert bits_of_blocks(found) == expected
        assert bits_of_blocks(merged([NarrowHistogram.of(part) for part in parts])) == expected
        assert bits_of_blocks(unpickled(pickled(parts[0].merge(*parts[1:])))) == expected


def test_rows_stay_rows_until_half_of_them_share_bins() -> None:
    """Twenty bins of forty rows are as many as may be; of nineteen the bins take less."""
    assert isinstance(kept(ALL_APART, weighted=False), RowHistogram)
    assert isinstance(kept(HALF_OF_BINS, weighted=False), RowHistogram)
    assert not isinstance(kept([*HALF_OF_BINS, *HALF_OF_BINS[:2]], weighted=False), RowHistogram)
    others = kept([(score + 0.5, *more) for score, *more in ALL_APART], weighted=False)
    assert isinstance(kept(ALL_APART, weighted=False).merge(others), RowHistogram)
    again = kept(ALL_APART, weighted=False).merge(kept(ALL_APART, weighted=False))
    assert not isinstance(again, RowHistogram)
    assert again.rows.tolist() == [2] * len(ALL_APART)


def test_a_packed_row_takes_few_bytes() -> None:
    """Of distinct scores of one size: a step of 52 bits at most, a bit for its class, and its weight."""
    rng = np.random.default_rng(5)
    rows = [(score, flag, weight, 0) for score, flag, weight in zip(*rng.random((3, 4000)), strict=True)]
    rows = [(0.5 + score / 2, flag > 0.5, weight, 0) for score, flag, weight, _ in rows]
    for weighted, most in ((False, 8.5), (True, 16.5)):
        packed = NarrowHistogram.of(kept(rows, weighted))
        assert isinstance(packed, NarrowRows)
        assert len(pickled(packed)) < most * len(rows)


PLAN = plan_of(["auc(exact)", "pr_auc(exact)", "ks(exact)", "bep(exact)", "ece(exact)", "auc_up(exact)"], ["m"], ["g"])


def terms_of(histogram: ScoreHistogram, at_once: int) -> list[object]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merged_states, "SWEPT_AT_ONCE", at_once)
        patch.setattr(merged_states, "RATED_AT_ONCE", at_once)
        measured = measure_each(histogram, PLAN.histogram_metrics)
    return [
        (
            *map(array_bits, (each.terms.limbs + 0.0, each.terms.highest)),
            *(np.ravel(getattr(each.extent, name)).tolist() for name in ("pos", "neg", "rows", "bins")),
        )
        for each in measured
    ]


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@settings(PATIENT, max_examples=examples(60))
@given(ROWS, st.sampled_from([1, 2, 3, 7]))
@example(ALL_APART, 7)
@example(HALF_OF_BINS, 3)
def test_a_sweep_in_parts_gives_the_bits_of_one(weighted: bool, rows: Rows, at_once: int) -> None:
    (whole,) = ScoreHistogram.of_each(EXACT, scored(rows, weighted), False)
    expected = terms_of(whole, 10**6)
    assert terms_of(whole, at_once) == expected
    for found in both(lambda: [terms_of(kept(rows, weighted), size) for size in (at_once, 10**6)]):
        assert found == [expected, expected]


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@settings(PATIENT, max_examples=examples(100))
@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1e9) | st.sampled_from([0.0, 2.0**-90, 1.0])), min_size=1))
def test_a_sweep_of_rows_by_loops_has_the_bits_of_numpy(weighted: bool, rows: list[tuple[bool, float]]) -> None:
    """And what is taken at each row is its exact sum, as far as a float64 and the finest unit tell."""
    flags, weights = np.array([flag for flag, _ in rows]), np.array([weight for _, weight in rows])
    steps = RowSteps(flags, weights if weighted else None)
    day = Extent.of(steps.steps())

    def swept() -> list[Any]:
        cut = len(rows) // 2
        halves = (slice(cut), slice(cut, None))
        above, below = (RowSteps(flags[half], weights[half] if weighted else None) for half in halves)
        first = Sweep(above, day)
        return [Sweep(steps, day), first, Sweep(below, day, first.through)]

    for one, other in zip(*both(swept), strict=True):
        for name in ("pos", "neg", "tp", "fp", "tp_above", "fp_above"):
            assert array_bits(getattr(one, name)) == array_bits(getattr(other, name)), name
        assert one.least == other.least
        for name in ("pos", "neg", "rows", "bins"):
            assert np.array_equal(getattr(one.through, name), getattr(other.through, name))
    sweep, amounts = swept()[0], weights if weighted else np.ones(len(rows))
    for taken, of_class in ((sweep.tp, flags), (sweep.fp, ~flags)):
        own = [Fraction(amount) if flag else Fraction(0) for amount, flag in zip(amounts, of_class, strict=True)]
        sums = itertools.accumulate(own)
        for found, exact in zip((taken / day.scale).tolist(), sums, strict=True):
            assert math.isclose(found, exact, rel_tol=2**-50, abs_tol=2.0**-80)


def test_a_run_of_rows_that_share_bins_is_noticed_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_histogram, "SAMPLED_ROWS", 4)
    third = [(score + 0.5, *more) if index % 3 else (score, *more) for index, (score, *more) in enumerate(ALL_APART)]
    assert isinstance(kept(ALL_APART, weighted=False).merge(kept(third, weighted=False)), RowHistogram)
    assert not isinstance(kept(ALL_APART, weighted=False).merge(kept(ALL_APART[:30], weighted=False)), RowHistogram)
