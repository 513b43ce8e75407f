"""Exact blocks in ranges of scores: cut anywhere, merged and swept apart, they give the bits of one sweep."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.engines.score_ranges import (
    RangeBounds,
    Totals,
    exact_metrics,
    exact_terms,
    places,
    sample_bins,
    sizes,
    sketches,
    split_exact,
    sweep,
)
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.row_histogram import histograms_of_rows
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.metrics import plan_of
from sparkrank.metrics.merged import measure
from sparkrank.states import Partials, ScoreHistogram, ScoreSeries
from tests.extent import examples
from tests.support.states import histogram_of
from tests.support.strategies import PATIENT

METRICS = ["auc(exact)", "pr_auc(exact)", "ks(exact)", "bep(exact)", "ece(exact)", "auc_up(exact)"]
METRICS += ["auc(exact,rel=2)", "auc_up(exact,rel=2)"]
METRICS += ["recall(at_precision=0.5,exact)", "precision(at_recall=0.5,exact)", "tpr(at_fpr=0.3,exact)"]
PLAN = plan_of(METRICS, ["a", "b"], ["user"])
SCORES = st.integers(-6, 6).map(lambda step: step / 4) | st.floats(allow_nan=False) | st.just(math.inf)
ROWS = st.lists(st.tuples(SCORES, st.sampled_from([0.0, 1.0, 2.0]), st.floats(0, 9)), max_size=40)


def bucket(rows: list[tuple[float, float, float]], weighted: bool, keeps_rows: bool = False) -> Partials:
    scores, labels, weights = np.array(rows, dtype=float).reshape(len(rows), 3).T
    blocks = {}
    for model, sign in (("a", 1), ("b", -1)):
        for rule in (BinRule("exact"), BinRule("exact", 0, 2.0), BinRule("bits", 4)):
            flags = labels > 0 if rule.rel is None else labels >= rule.rel
            of = histogram_of(rule, sign * scores, flags, False, weights if weighted else None)
            if keeps_rows and rule.kind == "exact":
                scored = ScoredRows(sign * scores, labels, weights if weighted else None)
                (of,) = histograms_of_rows(rule, scored)
            blocks[ScoreSeries(model, "all", "all", rule)] = of
    return Partials(blocks=blocks)


def merged_ranges(cuts: RangeBounds, buckets: Iterable[Partials]) -> dict[int, ScoreHistogram]:
    pieces: dict[int, list[ScoreHistogram]] = {}
    for number, piece in itertools.chain.from_iterable(map(cuts.pieces, buckets)):
        pieces.setdefault(number, []).append(piece)
    return {number: found[0].merge(*found[1:]) for number, found in pieces.items()}


@pytest.mark.parametrize("keeps_rows", [False, True], ids=["bins", "rows kept"])
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@settings(PATIENT, max_examples=examples(60))
@given(buckets=st.lists(ROWS, min_size=1, max_size=4), range_bins=st.sampled_from([1, 2, 3, 7, 1000]))
def test_ranges_swept_apart_give_the_bits_of_one_sweep(
    buckets: list, range_bins: int, weighted: bool, keeps_rows: bool
) -> None:
    partials = [bucket(rows, weighted, keeps_rows) for rows in buckets]
    alone = [split_exact(each) for each in partials]
    assert all({series.rule.kind for series in rest.blocks} == {"bits"} for rest, _ in alone)
    blocks = [exact for _, exact in alone if exact is not None]
    cuts = RangeBounds.of(map(sample_bins, blocks), range_bins)
    ranges, asked, merged = cuts.score_ranges(), exact_metrics(PLAN), merged_ranges(cuts, blocks)
    of = {number: asked[ranges[number][0].rule] for number in merged}
    totals = {number: Totals.of(found, of[number]) for number, found in merged.items()}
    where = places(ranges, totals)
    assert sketches(ranges, totals) == {}
    added = {number: sweep(found, where[number], of[number]) for number, found in merged.items()}
    got = exact_terms(ranges, totals, added, asked)
    whole = Partials.merged([bucket(rows, weighted) for rows in buckets])
    if not any(buckets):
        assert got == {}
        return
    for model, (metric, declaration) in itertools.product(PLAN.models, PLAN.histogram_metrics):
        series = ScoreSeries(model, "all", "all", declaration.rule(metric))
        expected = measure(whole.blocks[series], metric, declaration)
        found = got[model, "all", "all", str(metric)]
        assert found.terms.limbs.tolist() == expected.terms.limbs.tolist(), metric
        assert found.terms.highest.tolist() == expected.terms.highest.tolist(), metric
        assert found.terms.best == expected.terms.best, metric
        for name in ("pos", "neg", "rows", "bins"):
            assert np.array_equal(getattr(found.extent, name), getattr(expected.extent, name)), (metric, name)


def test_ranges_are_of_the_size_asked_for() -> None:
    """Sixty buckets of 1,000 distinct scores each: ranges of 2,000 blocks, give or take what samples tell."""
    rng, series = np.random.default_rng(3), ScoreSeries("a", "all", "all", BinRule("exact"))
    flags = np.zeros(1000, bool)
    histograms = [histogram_of(series.rule, rng.normal(size=1000), flags, False) for _ in range(60)]
    buckets = [Partials(blocks={series: histogram}) for histogram in histograms]
    cuts = RangeBounds.of(map(sample_bins, buckets), 2000)
    blocks = [0] * len(cuts.score_ranges())
    for number, piece in itertools.chain.from_iterable(map(cuts.pieces, buckets)):
        blocks[number] += len(piece.bins)
    assert (sum(blocks), len(blocks)) == (60_000, 30)
    assert max(blocks) < 2 * 2000
    # the last range tells nothing of curves, as none does where none are asked for
    merged = merged_ranges(cuts, buckets)
    totals = {number: Totals.of(found, [], curves=number < 29) for number, found in merged.items()}
    assert sizes(cuts.score_ranges(), totals) == {series: 60_000}
    sketch = sketches(cuts.score_ranges(), totals)[series]
    assert sketch.neg.sum() == sum(blocks[:29])
    assert sketches(cuts.score_ranges(), {29: totals[29]}) == {}
