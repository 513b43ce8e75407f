"""ROC and PR points: where they stand, how many there are, and that thinning leaves their area alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

import sparkrank as sr
from sparkrank.histogram.curve_points import AREA_MOVES, Points, pr_area, pr_points, roc_area, roc_points, thinned
from sparkrank.histogram.threshold_sweep import BinSteps, Extent, Sweep
from sparkrank.metrics import Metric
from tests.extent import examples
from tests.support.strategies import PATIENT

AREAS = {"roc": (roc_points, roc_area), "pr": (pr_points, pr_area)}


def points(kind: str, pos: np.ndarray, neg: np.ndarray) -> Points:
    steps = BinSteps(pos, neg, pos + neg)
    return AREAS[kind][0](Sweep(steps, Extent.of(steps)), -np.arange(len(pos), dtype=float))


def curves(scores: list[float], labels: list[int], metrics: list[str], most: int = 1000, **more: str) -> dict:
    table = pa.table({"user": [1] * len(scores), "score": scores, "label": labels, "w": [2.0] * len(scores)})
    found = sr.evaluate(table, metrics, group="user", score="score", label="label", curve_points=most, **more).curves
    rows = found.to_pylist()
    return {kind: [(r["x"], r["y"], r["threshold"]) for r in rows if r["curve"] == kind] for kind in ("roc", "pr")}


def best_points(scores: list[float], labels: list[int], metrics: list[str], weight: str | None = None) -> dict:
    """Of each metric, its curve, the place there, and the threshold."""
    table = pa.table({"score": scores, "label": labels, "w": [2.0] * len(scores)})
    rows = sr.evaluate(table, metrics, score="score", label="label", curve_points=10, weight=weight).curves.to_pylist()
    assert {row["point"] for row in rows} <= {0}
    return {row["metric"]: (row["curve"], row["x"], row["y"], row["threshold"]) for row in rows}


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("rule", ["exact", "digits=2"])
def test_points_by_hand(rule: str, weight: str | None) -> None:
    """Scores .9 (clicked), .5 (one of two), .25 (not): 2 clicked, 2 not."""
    found = curves([0.9, 0.5, 0.5, 0.25], [1, 1, 0, 0], [f"auc({rule})", f"pr_auc({rule})"], weight=weight)
    top = found["pr"][0][2]  # exact blocks are drawn by the lower edge of a coarser one
    assert top == (0.9 if rule == "digits=2" else pytest.approx(0.9, rel=2**-14))
    assert found["roc"] == [(0, 0, np.inf), (0, 1 / 2, top), (1 / 2, 1, 0.5), (1, 1, 0.25)]
    assert found["pr"] == [(1 / 2, 1, top), (1, 2 / 3, 0.5), (1, 2 / 4, 0.25)]


# Clicked and not, from the highest score down: 1 1 0 1 1 0 1 0 0, of which five are clicked; each score is the edge of
# a bin. Of each metric: the place on its curve, and the threshold.
NINE = [0.9375, 0.875, 0.75, 0.625, 0.5, 0.4375, 0.375, 0.25, 0.125], [1, 1, 0, 1, 1, 0, 1, 0, 0]
BEST = {
    "recall(at_precision=0.9)": ("pr", 2 / 5, 2 / 2, 0.875),
    "recall(at_precision=0.8)": ("pr", 4 / 5, 4 / 5, 0.5),  # of which the precision is 4/5 itself
    "recall(at_precision=0.6,exact)": ("pr", 5 / 5, 5 / 7, 0.375),  # as 5/8 at .25, where no click is added
    "precision(at_recall=0.2)": ("pr", 2 / 5, 2 / 2, 0.875),  # as 1/1 at .9375, where fewer are found
    "precision(at_recall=0.8)": ("pr", 4 / 5, 4 / 5, 0.5),
    "precision(at_recall=1,exact)": ("pr", 5 / 5, 5 / 7, 0.375),
    "tpr(at_fpr=0.01)": ("roc", 0 / 4, 2 / 5, 0.875),
    "tpr(at_fpr=0.25,exact)": ("roc", 1 / 4, 4 / 5, 0.5),
    # bins of .9375 .875 | .75 .625 .5 | ...: two of two, then four of five
    "recall(at_precision=0.75,bits=1)": ("pr", 4 / 5, 4 / 5, 0.5),
}


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_best_point_of_a_curve_by_hand(weight: str | None) -> None:
    found = best_points(*NINE, list(BEST), weight=weight)
    assert found == {str(Metric.parse(metric)): expected for metric, expected in BEST.items()}


def test_the_best_point_by_hand_where_no_row_or_no_threshold_keeps_the_condition() -> None:
    """Two rows, the higher not clicked: no threshold has a precision above 1/2, and an FPR of 0 takes no row at all."""
    found = best_points([0.5, 0.25], [0, 1], ["recall(at_precision=0.6)", "tpr(at_fpr=0.5)", "precision(at_recall=1)"])
    assert found == {
        "tpr_at_fpr(fpr=0.5)": ("roc", 0, 0, np.inf),
        "precision_at_recall(recall=1)": ("pr", 1, 1 / 2, 0.25),
    }
    for labels in ([0, 0], [1, 1]):
        assert best_points([0.5, 0.25], labels, ["tpr(at_fpr=0.5)"]) == {}
    assert best_points([0.5, 0.25], [0, 0], ["recall(at_precision=0.6)", "precision(at_recall=0.6)"]) == {}


def test_the_best_point_of_each_slice_value_and_model() -> None:
    """In b, and by the other model, the order is the reverse."""
    rows = {"g": ["a", "a", "b", "b"], "one": [0.5, 0.25] * 2, "two": [0.25, 0.5] * 2, "label": [1, 0, 0, 1]}
    scores = {"one": "one", "two": "two"}
    ev = sr.evaluate(
        pa.table(rows), ["recall(at_precision=0.6)"], score=scores, label="label", slices=["g"], curve_points=9
    )
    found = [(row["model"], row["slice_value"], row["x"], row["y"], row["threshold"]) for row in ev.curves.to_pylist()]
    assert sorted(found) == [("one", "a", 1, 1, 0.5), ("two", "b", 1, 1, 0.5)]


def test_areas_by_hand() -> None:
    """The same points: a diagonal by trapezoids, recall by steps at the precision at their end."""
    pos, neg = np.array([1, 1, 0]), np.array([0, 1, 1])
    assert roc_area(points("roc", pos, neg)) == 1 / 2 * (1 / 2 + 1) / 2 + 1 / 2 * 1
    assert pr_area(points("pr", pos, neg)) == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 3)


def test_points_are_scikit_learns() -> None:
    rng = np.random.default_rng(8)
    scores, labels = rng.integers(0, 40, 500) / 64, rng.integers(0, 2, 500)
    found = curves(scores.tolist(), labels.tolist(), ["auc(exact)", "pr_auc(exact)"])
    fpr, tpr, thresholds = sk.roc_curve(labels, scores, drop_intermediate=False)
    assert pytest.approx(np.array([fpr, tpr, thresholds]), abs=1e-12) == np.array(found["roc"]).T
    precision, recall, thresholds = sk.precision_recall_curve(labels, scores)
    expected = np.array([recall[:-1], precision[:-1], thresholds])[:, ::-1]
    assert pytest.approx(expected, abs=1e-12) == np.array(found["pr"]).T


@pytest.mark.parametrize("seed", range(4))
def test_the_best_points_are_those_of_scikit_learns_curves(seed: int) -> None:
    """Of the points that keep the condition the best one, then that of the most relevant rows."""
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 30, 90) / 64, rng.integers(0, 2, 90)
    precision, recall, at = sk.precision_recall_curve(labels, scores)
    of_pr = list(zip(precision.tolist(), recall.tolist(), at.tolist(), strict=False))
    of_roc = list(zip(*(each.tolist() for each in sk.roc_curve(labels, scores, drop_intermediate=False)), strict=True))
    found_recall = max((r, p, t) for p, r, t in of_pr if p >= 0.55)
    found_precision = max((p, r, t) for p, r, t in of_pr if r >= 0.4)
    found_tpr = max((tpr, -fpr, t) for fpr, tpr, t in of_roc if fpr <= 0.3)
    asked = ["recall(at_precision=0.55,exact)", "precision(at_recall=0.4,exact)", "tpr(at_fpr=0.3,exact)"]
    found = best_points(scores.tolist(), labels.tolist(), asked)
    expected = [found_recall, (found_precision[1], found_precision[0], found_precision[2])]
    expected += [(-found_tpr[1], found_tpr[0], found_tpr[2])]
    assert [found[str(Metric.parse(metric))][1:] for metric in asked] == [pytest.approx(each) for each in expected]


@pytest.mark.parametrize(("labels", "kinds"), [([0, 0], set()), ([1, 1], {"pr"})])
def test_a_curve_that_is_undefined_has_no_points(labels: list[int], kinds: set[str]) -> None:
    found = curves([0.5, 0.25], labels, ["auc", "pr_auc"])
    assert {kind for kind, points in found.items() if points} == kinds


def test_a_point_says_of_which_curve_it_is_and_in_which_place() -> None:
    table = pa.table({"user": [1, 1], "score": [0.5, 0.25], "label": [1, 0]})
    asked = ["auc", "pr_auc(exact)"]
    found = sr.evaluate(table, asked, group="user", score="score", label="label", curve_points=9).curves
    assert found.schema.names == [*("model", "slice", "slice_value", "curve", "metric"), "point", "x", "y", "threshold"]
    expected = [("roc", "auc", 0), ("roc", "auc", 1), ("roc", "auc", 2)]  # (0, 0), (0, 1), (1, 1)
    expected += [("pr", "pr_auc(exact)", 0), ("pr", "pr_auc(exact)", 1)]  # (1, 1), (1, 1/2)
    assert [(row["curve"], row["metric"], row["point"]) for row in found.to_pylist()] == expected
    assert {(row["model"], row["slice"], row["slice_value"]) for row in found.to_pylist()} == {("score", "all", "all")}


def test_no_curves_unless_asked_for() -> None:
    table = pa.table({"user": [1, 1], "score": [0.5, 0.25], "label": [0, 1]})
    assert sr.evaluate(table, ["auc"], group="user", score="score", label="label").curves.num_rows == 0
    assert curves([0.5, 0.25], [0, 1], ["auc_up", "ks", "accuracy"]) == {"roc": [], "pr": []}


@pytest.mark.parametrize("kind", AREAS)
@pytest.mark.parametrize("shape", ["random", "separated", "reversed", "rare", "jumps"])
@settings(PATIENT, max_examples=examples(25))
@given(seed=st.integers(0, 2**32), blocks=st.integers(1, 5000), most=st.sampled_from([10, 100, 1000]))
@example(seed=12450, blocks=4025, most=10)
def test_thinning_leaves_the_area_alone(kind: str, shape: str, seed: int, blocks: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    rate = {
        "random": np.full(blocks, 0.3),
        "separated": np.linspace(1, 0, blocks),
        "reversed": np.linspace(0, 1, blocks),
        "rare": np.full(blocks, 0.01),
        "jumps": (np.arange(blocks) < blocks / 2).astype(float),
    }[shape]
    rows = rng.integers(1, 3, blocks)
    if shape == "jumps":  # two blocks hold most of the day
        rows[[blocks // 3, 2 * blocks // 3]] += 10 * blocks
    pos = rng.binomial(rows, rate)
    whole = points(kind, pos, rows - pos)
    area = AREAS[kind][1]
    found = thinned(whole, most, area)
    assert abs(area(found) - area(whole)) <= AREA_MOVES
    if len(whole.x):
        assert (found.x[0], found.y[-1]) == (whole.x[0], whole.y[-1])
        way = np.abs(np.diff(whole.x)) + np.abs(np.diff(whole.y))
        step = way.sum() / (most // 2 - 1)  # longer than the jump where the first points of a curve go up and down
        jump = np.flatnonzero(way > max(0.5, step))
        assert set(whole.threshold[jump]) | set(whole.threshold[jump + 1]) <= set(found.threshold)
        everything = set(zip(whole.x.tolist(), whole.y.tolist(), whole.threshold.tolist(), strict=True))
        assert set(zip(found.x.tolist(), found.y.tolist(), found.threshold.tolist(), strict=True)) <= everything


@pytest.mark.parametrize(("kind", "most"), [("roc", 1000), ("pr", 5000)])
def test_a_large_day_has_few_points(kind: str, most: int) -> None:
    """A thousand are asked for; the steps of a PR curve need more of them for the same area."""
    rng = np.random.default_rng(5)
    rate = np.linspace(0.3, 0.001, 200_000)
    rows = rng.integers(1, 20, 200_000)
    pos = rng.binomial(rows, rate)
    assert 400 <= len(thinned(points(kind, pos, rows - pos), 1000, AREAS[kind][1]).x) <= most
