"""Kendall and Spearman against scipy, group by group, and up to a group of 200,000 rows."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.metrics import rank_comparison as correlation
from sparkrank.ranking.judgments import LABEL, Judgments
from sparkrank.ranking.pairs import paired_rows
from sparkrank.ranking.ranking import Ranking
from tests.extent import examples
from tests.peers.harness import Impression, evaluate
from tests.peers.rankings import assert_close, by_group, impressions, tied_scores

pytestmark = pytest.mark.peer

TEXTS = ["kendall_tau", "kendall_tau(variant=c)", "spearman"]
# Few labels and many, whole ones and fractions: they are ranked in two ways.
labels = st.one_of(st.integers(-1, 3), st.integers(-40, 40), st.sampled_from([0.1, 0.25, 1 / 3, 7.5, -2.0]))


@settings(max_examples=examples(150), deadline=None)
@given(
    impressions(
        st.one_of(st.none(), tied_scores, st.integers(-60, 60).map(float)), st.one_of(st.none(), labels), most=40
    )
)
@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_scipy_agrees_on_every_group(scipy_stats: ModuleType, rows: list[Impression]) -> None:
    """Rows with a score and a label. What scipy calls NaN is undefined here."""
    answer = evaluate(rows, TEXTS)
    for group, members in by_group(rows).items():
        pairs = [(row.score, row.label) for row in members if row.score is not None and row.label is not None]
        x, y = np.array(pairs, float).reshape(-1, 2).T
        expected = [math.nan] * 3
        if len(pairs) > 1:
            expected[:2] = (scipy_stats.kendalltau(x, y, variant=variant).statistic for variant in "bc")
            expected[2] = scipy_stats.spearmanr(x, y).statistic
        for text, value in zip(TEXTS, expected, strict=True):
            got = answer.values[text][group]
            assert math.isnan(got) == math.isnan(value), (group, text)
            if not math.isnan(value):
                assert_close(got, value, (group, text))


@settings(max_examples=examples(60), deadline=None)
@given(impressions(tied_scores, labels, most=12))
def test_pair_auc_is_somers_d(scipy_stats: ModuleType, rows: list[Impression]) -> None:
    answer = evaluate(rows, "pair_auc")
    for group, members in by_group(rows).items():
        if min(len({row.label for row in members}), len({row.score for row in members})) > 1:  # else scipy says NaN
            d = scipy_stats.somersd([row.label for row in members], [row.score for row in members]).statistic
            assert_close(answer.values["pair_auc"][group], (d + 1) / 2, group)


def test_a_large_group_among_small_ones(scipy_stats: ModuleType) -> None:
    """Its pairs are more than 2^32."""
    draw = np.random.default_rng(8)
    large, groups = 200_000, 5_000
    codes = np.concatenate([np.zeros(large, np.int32), draw.integers(1, groups, 50_000, np.int32)])
    order = draw.permutation(len(codes))
    codes = codes[order]
    scores = draw.normal(size=len(codes)).round(5)
    label = (scores + draw.normal(size=len(codes))).round(4)
    rows = paired_rows(Ranking(Judgments(codes, label, groups), scores), LABEL)
    values = [*(correlation.kendall_tau(rows, variant) for variant in "bc"), correlation.spearman(rows)]
    for group in (0, 1, groups - 1):
        x, y = scores[codes == group], label[codes == group]
        theirs = [scipy_stats.kendalltau(x, y, variant=variant) for variant in "bc"] + [scipy_stats.spearmanr(x, y)]
        expected = [test.statistic for test in theirs]
        assert [value[group] for value in values] == pytest.approx(expected, abs=1e-12)
