"""AUC of groups and of the day beside scikit-learn and scipy, on small random rankings."""

from __future__ import annotations

import math
from collections.abc import Hashable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.peers.harness import Impression, evaluate
from tests.peers.rankings import EXACT, assert_close, by_group, graded_labels, impressions, looking, tied_scores

pytestmark = [pytest.mark.peer, pytest.mark.tools]


@looking
@given(
    rows=impressions(st.one_of(st.none(), tied_scores, tied_scores), st.one_of(st.none(), graded_labels)),
    rel=st.sampled_from([1, 2]),
)
def test_auc_of_groups_and_of_the_day(
    sklearn_metrics: ModuleType, scipy_stats: ModuleType, rows: list[Impression], rel: int
) -> None:
    """scikit-learn by the area under the curve, scipy by the rank sum. Rows without a score stand in no pair."""
    weights = ("uniform", "rows", "positives", "pairs")
    texts = [f"gauc(rel={rel},weight={weight})" for weight in weights]
    day = f"auc(exact,rel={rel})"
    answer = evaluate(rows, [*texts, day])

    def area(some: list[Impression]) -> float:
        listed = [row for row in some if row.score is not None]
        flags = np.array([row.label is not None and row.label >= rel for row in listed], bool)
        scores = np.array([row.score for row in listed], float)
        if flags.all() or not flags.any():
            return math.nan
        expected = float(sklearn_metrics.roc_auc_score(flags, scores))
        pairs = int(flags.sum() * (~flags).sum())
        assert_close(scipy_stats.mannwhitneyu(scores[flags], scores[~flags]).statistic / pairs, expected, "scipy")
        return expected

    areas = {group: area(members) for group, members in by_group(rows).items()}
    for group, expected in areas.items():
        assert_same(answer.values[texts[0]][group], expected)
    assert_same(answer.days[day], area(rows))
    defined = {group: expected for group, expected in areas.items() if not math.isnan(expected)}
    for text, weight in zip(texts, weights, strict=True):
        assert_same(answer.means[text].value, weighted_mean(defined, weight, rows, rel))


def weighted_mean(values: dict[Hashable, float], weight: str, rows: list[Impression], rel: int) -> float:
    weights = []
    for group in values:
        labels = [row.label for row in rows if row.group == group and row.score is not None]
        positives = sum(label is not None and label >= rel for label in labels)
        pairs = positives * (len(labels) - positives)
        weights.append({"uniform": 1, "rows": len(labels), "positives": positives, "pairs": pairs}[weight])
    return float(np.average(list(values.values()), weights=weights)) if values else math.nan


def assert_same(got: float, expected: float) -> None:
    assert (math.isnan(got) and math.isnan(expected)) or math.isclose(got, expected, abs_tol=EXACT)


@looking
@given(rows=impressions(st.floats(-9, 9, allow_nan=False), st.integers(0, 1), groups=2))
def test_blocks_of_the_day_against_scikit_learn_on_rounded_scores(
    sklearn_metrics: ModuleType, rows: list[Impression]
) -> None:
    """A block of digits=1 is the score rounded to one decimal, so its AUC is that of the rounded scores."""
    answer = evaluate(rows, ["auc(digits=1)", "auc(exact)"])
    labels = [row.label for row in rows]
    if len(set(labels)) < 2:
        assert math.isnan(answer.days["auc(exact)"])
        return
    scores = np.array([row.score for row in rows])
    assert_close(answer.days["auc(exact)"], sklearn_metrics.roc_auc_score(labels, scores), "exact")
    assert_close(answer.days["auc(digits=1)"], sklearn_metrics.roc_auc_score(labels, np.round(scores, 1)), "digits=1")
