"""Metrics of the whole day against scikit-learn's, with weights and without."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression

import sparkrank as sr
from tests.extent import IS_LONG
from tests.oracles import thresholds

pytestmark = pytest.mark.peer

CLOSE = 1e-12
AT = 0.4375

Reference = Callable[[np.ndarray, np.ndarray, np.ndarray | None], float]


def _separation(y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    fpr, tpr, _ = sk.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    return float(np.max(tpr - fpr))


def _area_up_to(limit: float, y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    return float(sk.roc_auc_score(y, s, sample_weight=w, max_fpr=limit))


def _recall_at(precision: float, y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    precisions, recalls, _ = sk.precision_recall_curve(y, s, sample_weight=w)  # the last point is of no row
    return float(max(recalls[:-1][precisions[:-1] >= precision], default=math.nan))


def _precision_at(recall: float, y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    precisions, recalls, _ = sk.precision_recall_curve(y, s, sample_weight=w)
    return float(max(precisions[:-1][recalls[:-1] >= recall]))


def _tpr_at(limit: float, y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    fpr, tpr, _ = sk.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    return float(max(tpr[fpr <= limit]))


def _correlation(y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    predicted = s >= AT
    return math.nan if predicted.all() or not predicted.any() else sk.matthews_corrcoef(y, predicted, sample_weight=w)


ANY_SCORE: dict[str, Reference] = {
    "auc(exact)": lambda y, s, w: sk.roc_auc_score(y, s, sample_weight=w),
    "pr_auc(exact)": lambda y, s, w: sk.average_precision_score(y, s, sample_weight=w),
    f"accuracy(threshold={AT})": lambda y, s, w: sk.accuracy_score(y, s >= AT, sample_weight=w),
    f"precision(threshold={AT})": lambda y, s, w: sk.precision_score(y, s >= AT, sample_weight=w),
    f"recall(threshold={AT})": lambda y, s, w: sk.recall_score(y, s >= AT, sample_weight=w),
    f"specificity(threshold={AT})": lambda y, s, w: sk.recall_score(~y, s < AT, sample_weight=w),
    f"f1(threshold={AT})": lambda y, s, w: sk.f1_score(y, s >= AT, sample_weight=w),
    f"fbeta(beta=2,threshold={AT})": lambda y, s, w: sk.fbeta_score(y, s >= AT, beta=2, sample_weight=w),
    "ks(exact)": _separation,
    f"mcc(threshold={AT})": _correlation,
    f"balanced_accuracy(threshold={AT})": lambda y, s, w: sk.balanced_accuracy_score(y, s >= AT, sample_weight=w),
    **{f"partial_auc(max_fpr={limit},exact)": partial(_area_up_to, limit) for limit in (0.01, 0.1, 0.77)},
    "recall_at_precision(precision=0.63,exact)": partial(_recall_at, 0.63),
    "recall_at_precision(precision=0.999,exact)": partial(_recall_at, 0.999),
    "precision_at_recall(recall=0.31,exact)": partial(_precision_at, 0.31),
    "tpr_at_fpr(fpr=0.31,exact)": partial(_tpr_at, 0.31),
    "capture(top=0.17,exact)": partial(thresholds.capture, 0.17),
    "lift(top=0.17,exact)": lambda y, s, w: thresholds.capture(0.17, y, s, w) / 0.17,
}


def _error_by_mass(mass: int, y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    gaps = thresholds.calibration_gaps(lambda score, above: int(above * mass), y, s, w)
    return sum(gap for _, gap in gaps) / sum(weight for weight, _ in gaps)


def _largest_error(y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    gaps = thresholds.calibration_gaps(lambda score, above: score, y, s, w)
    return max(gap / weight for weight, gap in gaps if weight)


def _fitted_error(y: np.ndarray, s: np.ndarray, w: np.ndarray | None) -> float:
    scores = s.astype(np.float64)
    fit = IsotonicRegression().fit(scores, y, sample_weight=w).predict(scores)
    return float(np.average((fit - y) ** 2, weights=w))


def _base_uncertainty(y: np.ndarray, w: np.ndarray | None) -> float:
    rate = np.average(y, weights=w)
    return float(rate * (1 - rate))


PROBABILITY: dict[str, Reference] = {
    "logloss": lambda y, s, w: sk.log_loss(y, s.astype(np.float64), sample_weight=w),
    "brier": lambda y, s, w: sk.brier_score_loss(y, s, sample_weight=w),
    "ne": lambda y, s, w: sk.log_loss(y, s, sample_weight=w) / sk.log_loss(y, _base_rate(y, w), sample_weight=w),
    "rig": lambda y, s, w: 1 - sk.log_loss(y, s, sample_weight=w) / sk.log_loss(y, _base_rate(y, w), sample_weight=w),
    "ece_by_mass(mass=7,exact)": partial(_error_by_mass, 7),
    "mce(exact)": _largest_error,
    "mcb(exact)": lambda y, s, w: sk.brier_score_loss(y, s, sample_weight=w) - _fitted_error(y, s, w),
    "dsc(exact)": lambda y, s, w: _base_uncertainty(y, w) - _fitted_error(y, s, w),
    "unc": lambda y, s, w: _base_uncertainty(y, w),
    "copc": lambda y, s, w: np.average(y, weights=w) / np.average(s, weights=w),
}


def _base_rate(y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    return np.full(len(y), np.average(y, weights=w))


SCORES = {
    "heavy ties": lambda rng, n: rng.integers(0, 5, n) / 4,  # 0 and 1 among them
    "all equal": lambda rng, n: np.full(n, 0.75),
    "distinct": lambda rng, n: rng.random(n),
    "click model": lambda rng, n: rng.beta(1, 1000, n),
    "logits": lambda rng, n: rng.normal(0, 4, n),
}
WEIGHTS = {
    "no weights": lambda rng, n: None,
    "whole weights": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "inverse propensities": lambda rng, n: 1 / rng.uniform(0.001, 1, n),
    "shares": lambda rng, n: rng.uniform(0, 2, n) / n * 1e-6,
}
# Each kind of score and each of weights; a long run has all pairs.
PAIRS = [*itertools.product(SCORES, WEIGHTS)] if IS_LONG else [*zip(SCORES, itertools.cycle(WEIGHTS), strict=False)]


def day_values(table: pa.Table, texts: list[str], weight: str | None) -> dict[str, float]:
    evaluation = sr.evaluate(table, texts, group="user", score="score", label="label", weight=weight, buckets=3)
    return dict(zip(texts, evaluation.metrics["value"].to_pylist(), strict=True))


@pytest.mark.parametrize(("kind", "weighing"), PAIRS)
def test_scikit_learn(kind: str, weighing: str) -> None:
    rng = np.random.default_rng([len(kind), len(weighing)])
    n = 2000
    scores, weights = SCORES[kind](rng, n), WEIGHTS[weighing](rng, n)
    labels = rng.random(n) < np.clip(scores, 0.1, 0.9)
    references = ANY_SCORE if kind == "logits" else ANY_SCORE | PROBABILITY
    columns = {"user": rng.integers(0, 40, n), "score": scores, "label": labels.astype(np.int8)}
    table = pa.table(columns if weights is None else columns | {"w": weights})
    got = day_values(table, list(references), None if weights is None else "w")
    for text, reference in references.items():
        if kind == "click model" and text.startswith(("precision(", "f1", "fbeta")):
            assert (got[text] == 0) if text[0] == "f" else math.isnan(got[text]), text  # nothing is predicted positive
            continue
        expected = reference(labels, scores, weights)
        assert got[text] == pytest.approx(expected, rel=CLOSE, abs=CLOSE, nan_ok=True), text


def test_calibration_by_mass() -> None:
    """Runs of as many rows each are those of scikit-learn's curve, if no scores are tied."""
    rng = np.random.default_rng(5)
    scores = rng.random(2000)
    labels = rng.random(2000) < scores**2
    table = pa.table({"user": rng.integers(0, 40, 2000), "score": scores, "label": labels.astype(np.int8)})
    rates, means = calibration_curve(labels, scores, n_bins=20, strategy="quantile")
    got = day_values(table, ["ece(mass=20,exact)"], None)["ece(mass=20,exact)"]
    assert got == pytest.approx(np.abs(rates - means).mean(), rel=CLOSE)


NUMBERS: dict[str, Reference] = {
    "rmse": lambda y, s, w: sk.root_mean_squared_error(y, s, sample_weight=w),
    "mse": lambda y, s, w: sk.mean_squared_error(y, s, sample_weight=w),
    "mae": lambda y, s, w: sk.mean_absolute_error(y, s, sample_weight=w),
    "bias": lambda y, s, w: np.average(s - y, weights=w),
    "r2": lambda y, s, w: sk.r2_score(y, s, sample_weight=w),
}


@pytest.mark.parametrize("weighing", list(WEIGHTS)[:3])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_predicted_numbers(size: float, weighing: str) -> None:
    """Rows without a label are left out, as scikit-learn has none."""
    rng = np.random.default_rng(len(weighing))
    n = 2000
    labels = rng.normal(3, 2, n) * size
    scores, weights = labels + rng.normal(0.3, 1, n) * size, WEIGHTS[weighing](rng, n)
    known = rng.random(n) < 0.9
    columns = {"user": rng.integers(0, 40, n), "score": scores, "label": pa.array(labels, mask=~known)}
    table = pa.table(columns if weights is None else columns | {"w": weights})
    got = day_values(table, list(NUMBERS), None if weights is None else "w")
    for text, reference in NUMBERS.items():
        expected = reference(labels[known], scores[known], None if weights is None else weights[known])
        assert got[text] == pytest.approx(expected, rel=1e-11), text


def test_float32_probabilities_are_clipped_as_float32() -> None:
    """A certain and wrong row costs 23 ln 2, not 52 ln 2."""
    scores = np.array([0.0, 1.0, 0.75, 0.5], np.float32)
    labels = np.array([True, False, True, False])
    table = pa.table({"user": [1, 1, 2, 2], "score": scores, "label": labels.astype(int)})
    got = day_values(table, ["logloss"], None)["logloss"]
    assert got == pytest.approx(sk.log_loss(labels, scores), rel=1e-6)  # scikit-learn adds in float32
    assert got == pytest.approx((2 * 23 * math.log(2) - math.log(0.75) - math.log(0.5)) / 4, rel=1e-12)


@pytest.mark.parametrize("label", [0, 1])
def test_one_class(label: int) -> None:
    table = pa.table({"user": [1, 2, 2], "score": [0.25, 0.5, 0.5], "label": [label] * 3})
    texts = ["auc(exact)", "auc", "ks", "ne", "pr_auc(exact)", "logloss", "brier"]
    metrics = sr.evaluate(table, texts, group="user", score="score", label="label").metrics.to_pylist()
    values = {row["metric"]: row["value"] for row in metrics}
    undefined = {"auc(exact)", "auc", "ks", "ne"} | ({"pr_auc(exact)"} if label == 0 else set())
    assert {name for name, value in values.items() if math.isnan(value)} == undefined
    assert {row["metric"] for row in metrics if row["n_undefined"] == 1} == undefined
    y, s = [label] * 3, [0.25, 0.5, 0.5]
    assert values["logloss"] == pytest.approx(sk.log_loss(y, s, labels=[0, 1]), rel=CLOSE)
    assert values["brier"] == pytest.approx(np.mean((np.array(s) - label) ** 2), rel=CLOSE)
    if label:
        assert values["pr_auc(exact)"] == sk.average_precision_score(y, s) == 1
