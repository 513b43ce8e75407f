"""Exact blocks in stretches: cut anywhere, merged and walked apart, they give the bits of one walk."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.day import measure
from sparkrank.engine.cuts import Cuts, apart, sample
from sparkrank.engine.stretches import Totals, exact_metrics, measured, places, sizes, sketches, walk
from sparkrank.kernels.blocks import BlockRule
from sparkrank.metrics import Plan
from sparkrank.states import Partials, ScoreBlocks, Series
from tests.unit.strategies import PATIENT

METRICS = [
    *("auc(exact)", "pr_auc(exact)", "ks(exact)", "bep(exact)", "ece(exact)", "auc_up(exact)"),
    *("auc(exact,rel=2)", "auc_up(exact,rel=2)"),
    *(f"auc_up(exact,min_rows={least})" for least in (2, 3, 5, 40)),
]
PLAN = Plan.of(METRICS, ["a", "b"], ["user"])
SCORES = st.integers(-6, 6).map(lambda step: step / 4) | st.floats(allow_nan=False) | st.just(math.inf)
ROWS = st.lists(st.tuples(SCORES, st.sampled_from([0.0, 1.0, 2.0]), st.floats(0, 9)), max_size=40)


def bucket(rows: list[tuple[float, float, float]], weighted: bool) -> Partials:
    scores, labels, weights = np.array(rows, dtype=float).reshape(len(rows), 3).T
    blocks = {}
    for model, sign in (("a", 1), ("b", -1)):
        for rule in (BlockRule("exact"), BlockRule("exact", 0, 2.0), BlockRule("bits", 4)):
            flags = labels > 0 if rule.rel is None else labels >= rule.rel
            of = ScoreBlocks.of(rule, sign * scores, flags, False, weights if weighted else None)
            blocks[Series(model, "all", "all", rule)] = of
    return Partials(blocks=blocks)


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@settings(PATIENT, max_examples=60)
@given(buckets=st.lists(ROWS, min_size=1, max_size=4), stretch=st.sampled_from([1, 2, 3, 7, 1000]))
def test_stretches_walked_apart_give_the_bits_of_one_walk(buckets: list, stretch: int, weighted: bool) -> None:
    partials = [bucket(rows, weighted) for rows in buckets]
    alone = [apart(each) for each in partials]
    assert all({series.rule.kind for series in rest.blocks} == {"bits"} for rest, _ in alone)
    blocks = [exact for _, exact in alone if exact is not None]
    cuts = Cuts.of(map(sample, blocks), stretch)
    stretches, asked = cuts.stretches(), exact_metrics(PLAN)
    pieces: dict[int, list[ScoreBlocks]] = {}
    for exact in blocks:
        for number, piece in cuts.pieces(exact):
            pieces.setdefault(number, []).append(piece)
    merged = {number: found[0].merge(*found[1:]) for number, found in pieces.items()}
    of = {number: asked[stretches[number][0].rule.rel] for number in merged}
    totals = {number: Totals.of(found, of[number]) for number, found in merged.items()}
    where = places(stretches, totals)
    assert sketches(stretches, totals) == {}
    added = {number: walk(found, where[number], of[number]) for number, found in merged.items()}
    got = measured(stretches, totals, added, asked)
    whole = Partials.merged(partials)
    if not any(buckets):
        assert got == {}
        return
    for model in PLAN.models:
        for metric, declaration in PLAN.block_metrics:
            series = Series(model, "all", "all", declaration.rule(metric))
            expected = measure(whole.blocks[series], metric, declaration)
            found = got[model, "all", "all", str(metric)]
            assert found.terms.limbs.tolist() == expected.terms.limbs.tolist(), metric
            assert found.terms.highest.tolist() == expected.terms.highest.tolist(), metric
            for name in ("pos", "neg", "rows", "blocks"):
                assert np.array_equal(getattr(found.extent, name), getattr(expected.extent, name)), (metric, name)


def test_stretches_are_of_the_size_asked_for() -> None:
    """Sixty buckets of 1,000 distinct scores each: stretches of 2,000 blocks, give or take what samples tell."""
    rng = np.random.default_rng(3)
    series = Series("a", "all", "all", BlockRule("exact"))
    buckets = [
        Partials(blocks={series: ScoreBlocks.of(series.rule, rng.normal(size=1000), np.zeros(1000, bool), False)})
        for _ in range(60)
    ]
    cuts = Cuts.of(map(sample, buckets), 2000)
    pieces: list[list[ScoreBlocks]] = [[] for _ in cuts.stretches()]
    for each in buckets:
        for number, piece in cuts.pieces(each):
            pieces[number].append(piece)
    blocks = [sum(len(piece.block) for piece in found) for found in pieces]
    assert sum(blocks) == 60_000
    assert len(blocks) == 30
    assert max(blocks) < 2 * 2000
    merged = {number: found[0].merge(*found[1:]) for number, found in enumerate(pieces)}
    # the last stretch tells nothing of curves, as none does where none are asked for
    totals = {number: Totals.of(found, [], curves=number < 29) for number, found in merged.items()}
    assert sizes(cuts.stretches(), totals) == {series: 60_000}
    sketch = sketches(cuts.stretches(), totals)[series]
    assert sketch.neg.sum() == sum(blocks[:29])
    assert sketches(cuts.stretches(), {29: totals[29]}) == {}
