"""The area under the ROC curve by five routes that share no code, against group_auc and auc(exact)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.metrics import Metric
from tests.support.buckets import day, evaluate, group_values
from tests.support.strategies import PATIENT

Scored = Sequence[tuple[float, bool]]  # (score, relevant)

SCORES = (0.86, 0.81, 0.73, 0.66, 0.52, 0.43, 0.36, 0.31, 0.26)
LABELS = (1, 1, 0, 1, 1, 0, 1, 0, 0)
NINE = [(score, label == 1) for score, label in zip(SCORES, LABELS, strict=True)]


def classes(rows: Scored) -> tuple[list[float], list[float]]:
    return [score for score, relevant in rows if relevant], [score for score, relevant in rows if not relevant]


def step_curve(rows: Scored) -> float:
    """The area under (FPR, TPR) as the threshold falls; a threshold that takes both classes draws a diagonal."""
    positives, negatives = classes(rows)
    points = [(0.0, 0.0)]
    for threshold in sorted({score for score, _ in rows}, reverse=True):
        taken = [relevant for score, relevant in rows if score >= threshold]
        points.append((taken.count(False) / len(negatives), taken.count(True) / len(positives)))
    area = 0.0
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        area += (x1 - x0) * (y0 + y1) / 2
    return area


def negatives_after(rows: Scored) -> float:
    """Down the list, the negatives still to come after each positive. Scores must be distinct."""
    ranked = [relevant for _, relevant in sorted(rows, reverse=True)]
    after = [ranked[place:].count(False) for place, relevant in enumerate(ranked) if relevant]
    return sum(after) / (ranked.count(True) * ranked.count(False))


def pair_count(rows: Scored) -> float:
    positives, negatives = classes(rows)
    won = [1.0 if high > low else 0.5 if high == low else 0.0 for high in positives for low in negatives]
    return sum(won) / len(won)


def rank_sum(rows: Scored) -> float:
    """(sum of the positives' ranks - m(m+1)/2) / (mn), ranks from the lowest score, mid-ranks for ties."""
    scores = sorted(score for score, _ in rows)
    positives, negatives = classes(rows)
    m, n = len(positives), len(negatives)
    ranks = [scores.index(score) + (scores.count(score) + 1) / 2 for score in positives]
    return (sum(ranks) - m * (m + 1) / 2) / (m * n)


def walk_of_blocks(rows: Scored) -> float:
    """Blocks by score descending: area += (TP + p/2)·n, TP += p; over P·N."""
    area = true_positives = 0.0
    for score in sorted({score for score, _ in rows}, reverse=True):
        p, n = (sum(1 for other, relevant in rows if other == score and relevant is flag) for flag in (True, False))
        area += (true_positives + p / 2) * n
        true_positives += p
    positives, negatives = classes(rows)
    return area / (len(positives) * len(negatives))


WITH_TIES = (step_curve, pair_count, rank_sum, walk_of_blocks)
ROUTES = (*WITH_TIES, negatives_after)


def ours(rows: Scored) -> tuple[float, float]:
    """group_auc of one group, and auc(exact) of the day."""
    found = evaluate([("u", "i", score, float(relevant)) for score, relevant in rows], ["group_auc", "auc(exact)"])
    return group_values(found, "group_auc")["u"], day(found.partials, Metric.parse("auc(exact)"))[0]


@pytest.mark.parametrize("route", ROUTES)
def test_nine_scores(route) -> None:
    assert route(NINE) == pytest.approx(16 / 20, abs=1e-15)


def test_nine_scores_in_the_package() -> None:
    assert ours(NINE) == (16 / 20, 16 / 20)


def both_classes(scores: st.SearchStrategy[float], distinct: bool = False) -> st.SearchStrategy[Scored]:
    rows = st.lists(
        st.tuples(scores, st.booleans()), min_size=2, max_size=12, unique_by=(lambda row: row[0]) if distinct else None
    )
    return rows.filter(lambda rows: len({relevant for _, relevant in rows}) == 2)


@settings(PATIENT)
@given(both_classes(st.floats(allow_nan=False), distinct=True))
def test_distinct_scores(rows: Scored) -> None:
    assert ours(rows) == pytest.approx([negatives_after(rows)] * 2, abs=1e-13)


@settings(PATIENT)
@given(both_classes(st.sampled_from([-2.0, -0.0, 0.0, 0.5, 3.0, float("inf")])))
def test_tied_scores(rows: Scored) -> None:
    for route in WITH_TIES:
        assert ours(rows) == pytest.approx([route(rows)] * 2, abs=1e-13)


@settings(PATIENT)
@given(both_classes(st.sampled_from([0.0, 1.0, 2.0, 3.0])))
def test_the_reversed_ranking_has_the_rest_of_the_area(rows: Scored) -> None:
    reversed_rows = [(-score, relevant) for score, relevant in rows]
    assert [a + b for a, b in zip(ours(rows), ours(reversed_rows), strict=True)] == pytest.approx([1, 1], abs=1e-13)
