"""Metrics of the whole day: what weights do, thresholds, and sums of scores."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.metrics import Metric, plan_of
from sparkrank.metrics.merged import Merged, MetricRow
from sparkrank.states import Partials
from sparkrank.states.keys import Subject
from tests.support.buckets import MODEL, bits_of_partials
from tests.support.days import ROWS, Rows, bounded, partials_of, values
from tests.support.strategies import PATIENT

ALL_DAY = [
    *("auc", "auc(exact)", "auc_up", "auc_up(exact,min_rows=3)", "pr_auc", "pr_auc(exact)", "bep", "ks", "ks(exact)"),
    *("accuracy", "precision", "recall", "specificity", "fpr", "tpr", "f1", "fbeta(beta=2)"),
    *("mcc", "balanced_accuracy", "recall_at_precision", "precision_at_recall", "tpr_at_fpr", "partial_auc"),
    *("capture(exact)", "lift(top=0.5)"),
    *("logloss", "ne", "brier", "ece", "copc", "rmse", "mse", "mae", "bias", "r2"),
    *("rig", "mce", "ece_by_mass(mass=3)", "mcb", "dsc(exact)", "unc"),
]


HEAVY = (1e3, 1e20, 1e30)
EXACT = ["auc(exact)", "auc_up(exact)", "pr_auc(exact)", "ks(exact)"]
PRECISIONS = ["pr_auc", "pr_auc(exact)", "bep", "bep(exact)"]
WEIGHTS = ((1.0, 0.4, 0.7, 0.9), (1.0, 0.4, 0.4, 0.3))  # whose rounded sums over one another came to more than 1
BY_HAND: list[tuple[Rows, list[str], list[float]]] = [
    # one heavy row between two light ones of the other class is in order with one of the two
    *(
        ([(0.9, not click, 1.0), (0.5, click, heavy), (0.1, not click, 1.0)], ["auc", *EXACT[:2]], [0.5, 0.5, 1.0])
        for heavy in HEAVY
        for click in (True, False)
    ),
    *(([(n / 4, n >= 2, weight) for n, weight in enumerate(weights)], EXACT, [1.0] * 4) for weights in WEIGHTS),
    # thresholds are not rounded to the edges of blocks
    (
        [(0.5, True, 1.0), (math.nextafter(0.5, 0), True, 1.0), (0.49999, False, 1.0)],
        ["auc(digits=1)", "recall", "fpr"],
        [0.5, 1 / 2, 0],
    ),
]


def test_values_by_hand() -> None:
    assert [case for case in BY_HAND if values(*case[:2]) != case[2]] == []
    # beside 1e17 clicks, one and two rows without: each rate is 1 to the last bit, and the first is the higher
    rows = [(0.9, True, 1e17), (0.9, False, 2.0), (0.1, True, 1e17), (0.1, False, 1.0)]
    assert values(rows, ["auc_up"]) == pytest.approx([(1 / 2 + 2 * (1 + 1 / 2)) / (2 * 3)], rel=1e-15)
    for heavy in HEAVY:  # two light clicks above a heavy row, then one above and one below it
        rows = [(0.9, True, 0.25), (0.8, True, 0.75), (0.5, False, heavy)]
        assert bounded(rows, PRECISIONS, weighted=True) == [(1.0, 0.0)] * 4
        rows = [(0.9, True, 0.25), (0.5, False, heavy), (0.1, True, 0.75)]
        expected = [0.25 + 0.75 / (1 + heavy)] * 2 + [0.25] * 2
        assert values(rows, PRECISIONS) == pytest.approx(expected, rel=1e-15)


def test_the_heaviest_rows() -> None:
    """Of (0.25 + 0.75) / 2 the third row adds nothing; sums of scores over a block are sums of these, too."""
    rows = [(0.25, False, 1e288), (0.75, False, 1e288), (0.9, True, 1.0)]
    metrics = ["ece", "ece(digits=1)", "ece(exact)"]
    assert values(rows, metrics) == pytest.approx([0.5] * 3, rel=1e-12)
    columns = dict(zip(("score", "label", "weight"), zip(*rows, strict=True), strict=True))
    log = pa.table({"user": [1, 2, 3], **columns, "above": [math.nextafter(1e288, math.inf), 1.0, 1.0]})
    sums = sr.evaluate(log, ["auc"], **WEIGHED_ROLES, score_sums=True).blocks["score_sum"].to_pylist()
    assert sorted(sums) == pytest.approx([0.9, 0.25e288, 0.75e288], rel=1e-12)
    with pytest.raises(sr.InputError, match=r"\(1 weight that is null, NaN, negative or above 1e288\)"):
        sr.evaluate(log, ["auc"], **ROLES, weight="above")


@pytest.mark.parametrize("heavy", [1.0, 1e8, 1e17])
def test_a_light_class_beside_a_heavy_one_is_counted_exactly(heavy: float) -> None:
    """Differences of rounded sums came to no negatives beside 1e17, and elsewhere to less than none."""
    rows = [(0.9, True, heavy / 10), (0.8, True, heavy / 5), (0.7, False, 0.7), (0.2, False, 0.2), (0.1, False, 0.1)]
    tn, fp = Fraction(0.1) + Fraction(0.2), Fraction(0.7)
    all_ = Fraction(heavy / 10) + Fraction(heavy / 5) + tn + fp
    found = values(rows, ["specificity", "fpr", "specificity(threshold=0)", "accuracy(rel=2,threshold=0)"])
    assert found == pytest.approx([float(tn / (tn + fp)), float(fp / (tn + fp)), 0.0, 0.0], rel=1e-15, abs=0)
    share = float((tn + fp) / all_)
    entropy = -(share * math.log(share) + (1 - share) * math.log1p(-share))
    assert values(rows, ["ne"]) == pytest.approx([values(rows, ["logloss"])[0] / entropy], rel=1e-14)


@settings(PATIENT)
@given(ROWS)
def test_a_whole_weight_is_that_many_rows(rows: Rows) -> None:
    """Joining blocks by rows is left out: a row is one row whatever it weighs."""
    metrics = [metric for metric in ALL_DAY if "min_rows" not in metric]
    repeated = [(score, click, 1.0) for score, click, weight in rows for _ in range(int(weight))]
    weighted, plain = values(rows, metrics), values(repeated, metrics, weighted=False)
    assert weighted == pytest.approx(plain, rel=1e-13, abs=1e-13, nan_ok=True)


@settings(PATIENT)
@given(ROWS, st.integers(-30, 60))
# Both classes weigh the same: what they differ by says nothing of how much they are.
@example([(0.75, True, 0.1), (0.5, False, 0.3), (0.25, True, 0.3), (0.1, False, 0.1)], -30)
def test_the_unit_of_the_weights_does_not_matter(rows: Rows, power: int) -> None:
    """Sums are kept to 2^-85: products of weight and score near 1e-15 lose nothing to speak of, smaller ones would."""
    assume(all(score == 0 or score > 1e-6 for score, _, _ in rows))
    one = values(rows, ALL_DAY)
    other = values([(score, click, math.ldexp(weight, power)) for score, click, weight in rows], ALL_DAY)
    assert other == pytest.approx(one, rel=1e-13, abs=1e-13, nan_ok=True)


def row_of(partials: Partials, metric: str) -> MetricRow:
    return Merged(partials).row(Subject(MODEL, "all", "all"), Metric.parse(metric))


def _weighed(rows: Rows, scale: float) -> pa.Table:
    scores, clicks, weights = zip(*rows, strict=True)
    return pa.table({"user": [1] * len(rows), "score": scores, "label": clicks, "weight": [w * scale for w in weights]})


WEIGHED: Rows = [(0.9, True, 1.0), (0.7, False, 3.0), (0.5, True, 2.0), (0.4, False, 1.0)]
ROLES = {"group": "user", "score": "score", "label": "label"}
WEIGHED_ROLES = {**ROLES, "weight": "weight"}


@pytest.mark.parametrize("scale", [1e-15, 1e-12, 1e-9, 1.0, 1e9, 2.0**-39, 2.0**900])
def test_the_least_weights_keep_their_digits(scale: float) -> None:
    """Of the 3 · 4 pairs by weight, 1 · (3 + 1) and 2 · 1 are in order."""
    found = sr.evaluate(_weighed(WEIGHED, scale), ["auc", "auc(exact)", "accuracy(threshold=0.6)"], **WEIGHED_ROLES)
    assert found.table["value"].to_pylist() == pytest.approx([6 / 12, 6 / 12, 2 / 7], rel=1e-9)


@pytest.mark.parametrize("scale", [9.9e-16, 1e-24, 1e-30, 5e-324])
@pytest.mark.parametrize("buckets", [None, 3])
def test_weights_that_sums_do_not_hold_are_refused_and_counted(scale: float, buckets: int | None) -> None:
    rows = pa.concat_tables([_weighed(WEIGHED[:1], scale), _weighed([*WEIGHED[1:], (0.3, True, 0.0)], 1.0)])
    told = r"\(1 weight above 0 and below 1e-15\).*all weights may be multiplied by one number, or be 0"
    with pytest.raises(sr.InputError, match=told):
        sr.evaluate(rows, ["auc"], buckets=buckets, **WEIGHED_ROLES)
    found = sr.evaluate(rows, ["auc"], buckets=buckets, max_bad_fraction=0.5, **WEIGHED_ROLES)
    counted = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert (counted[checks.SMALL_WEIGHT], counted[checks.BAD_WEIGHT], counted[checks.ROWS_EVALUATED]) == (1, 0, 4)
    assert found.table["value"].to_pylist() == [2 * 1 / (2 * 4)]  # without the first row; the last weighs 0


GAINS = ["dcg", "cg@2", "dcg(gain=exp2)@2", "dcg(weight=w)"]


def test_a_common_factor_of_labels_is_one_of_cumulated_gain_and_its_error() -> None:
    """By hand, of gains 1 and 3 in lists of one: the mean is 2 and its error 1, each times the factor."""
    for factor in (1e-6, 1e-3, 1.0, 1e6):
        log = pa.table({"user": [1, 2], "score": [0.5, 0.5], "label": [factor, 3 * factor], "w": [1.0, 1.0]})
        for row in sr.evaluate(log, ["dcg", "cg@2", "dcg(weight=w)"], **ROLES).table.to_pylist():
            assert (row["value"] / factor, row["stderr"] / factor) == pytest.approx((2, 1), rel=1e-11)


@pytest.mark.parametrize("label", [9e-7, 1e-12, 1e-20, 5e-324])
def test_labels_of_which_squares_lose_digits_are_rejected_where_gains_add_up(label: float) -> None:
    """In the log and in a truth; metrics that compare labels, or divide by those of the ideal, take them."""
    log = pa.table({"user": [1, 1, 2], "score": [2.0, 1.0, 1.0], "label": [label, 1.0, 0.0], "w": [1.0] * 3})
    told = r"33.3333% .* \(1 label above 0 and below 1e-6\).* all labels may be multiplied by one number, or be 0"
    for metric in GAINS:
        with pytest.raises(sr.InputError, match=told):
            sr.evaluate(log, [metric, "ndcg"], **ROLES)
    found = sr.evaluate(log, ["dcg"], **ROLES, max_bad_fraction=0.5)
    counted = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert (counted[checks.SMALL_LABEL], counted[checks.ROWS_EVALUATED], found["dcg"]) == (1, 2, 1 / 2)
    for metric in ("ndcg", "dcg(gain=binary)", "ap", "auc"):
        assert checks.SMALL_LABEL not in sr.evaluate(log, [metric], **ROLES).quality["check"].to_pylist()
    lists = pa.table({"user": [1, 2], "item": ["a", "a"], "score": [1.0, 1.0]})
    truth = pa.table({"user": [1, 1, 2], "item": ["a", "b", "a"], "label": [1.0, label, 1.0]})
    with pytest.raises(sr.InputError, match=r"20.0000% .* \(1 label above 0 and below 1e-6\)"):
        sr.evaluate(lists, ["dcg"], **ROLES, item="item", truth=truth)


@pytest.mark.parametrize("least", [1e-15, 1e-30, 1e-300])
def test_clicks_over_predicted_is_right_or_undefined(least: float) -> None:
    """Of scores and weights whose products are too small for sums to hold, and of those that are not."""
    for score in (1e-18, 1e-12, 1e-6, 0.25, 1.0):
        log = pa.table({"user": [1, 1], "score": [score, score], "label": [1, 0], "weight": [max(least, 1e-15)] * 2})
        found = sr.evaluate(log, ["copc"], **WEIGHED_ROLES)["copc"]
        assert math.isnan(found) or found == pytest.approx(1 / (2 * score), rel=1e-9)
        assert math.isnan(found) == (max(least, 1e-15) * score < 2.0**-55)
    plain = pa.table({"user": [1, 1], "score": [least, least], "label": [1, 0]})
    found = sr.evaluate(plain, ["copc"], **ROLES)["copc"]
    assert math.isnan(found) if least < 2.0**-55 else found == pytest.approx(1 / (2 * least), rel=1e-9)


@pytest.mark.parametrize("weight", [None, math.nan, math.inf, -1.0])
def test_a_row_without_a_proper_weight_is_rejected(weight: float | None) -> None:
    rows = [(0.5, True, 1.0), (0.25, False, weight), (0.75, False, 0.0)]
    partials = partials_of(rows, ["accuracy", "ndcg"])
    assert partials.counts[checks.BAD_WEIGHT, ""] == 1
    assert partials.counts[checks.ROWS_EVALUATED, ""] == 2
    row = row_of(partials, "accuracy")
    assert (row.n_rows, row.weight, row.value) == (2, 1.0, 1.0)


def test_weights_do_not_touch_the_metrics_of_groups() -> None:
    rows = [(0.5, True, 1.0), (0.25, False, 9.0), (0.75, False, 0.0)]
    weighted, plain = (partials_of(rows, ["ndcg", "gauc", "ap"], weighted) for weighted in (True, False))
    assert bits_of_partials(weighted)["means"] == bits_of_partials(plain)["means"]


def test_a_metric_of_the_day_is_over_rows_and_has_a_number_of_groups_where_parts_count_them() -> None:
    """Also beside a property of lists, which is over groups."""
    log = {"user": [1, 1, 2], "item": ["x", "y", "x"], "score": [0.9, 0.1, 0.8], "label": [1, 0, 1]}
    asked = ["auc", "accuracy", "coverage"]
    for uncertainty, groups in ((True, 2), (False, None)):
        metrics = sr.evaluate(pa.table(log), asked, **ROLES, item="item", uncertainty=uncertainty).metrics
        assert metrics["n_groups"].to_pylist() == [groups, groups, 2]


def test_a_metric_of_the_day_has_the_labels_of_the_groups_that_are_evaluated() -> None:
    """The first row is of a group without a list, which is skipped; of the others the relevant one is above."""
    log = pa.table({"user": ["v", "u", "u"], "score": [None, 0.9, 0.1], "label": [0, 1, 0]})
    assert sr.evaluate(log, ["auc"], **ROLES, unretrieved="skip")["auc"] == 1.0


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_a_threshold_is_compared_as_float64(kind: pa.DataType) -> None:
    """0.1 as float32 is above 0.1, 0.7 as float32 is below 0.7: the row stands where its own score puts it."""
    for score in (0.1, 0.7):
        recall = f"recall(threshold={score})"
        partials = partials_of([(score, True, 1.0)], [recall], weighted=False, kind=kind)
        assert row_of(partials, recall).value == float(float(np.array(score, kind.to_pandas_dtype())) >= score)


@pytest.mark.parametrize(("kind", "eps"), [(pa.float64(), 2**-52), (pa.float32(), 2**-23)], ids=str)
def test_a_perfect_prediction_loses_what_clipping_leaves(kind: pa.DataType, eps: float) -> None:
    """The probability of either row's class is 1, clipped to 1-eps."""
    partials = partials_of([(1.0, True, 1.0), (0.0, False, 1.0)], ["logloss"], kind=kind)
    assert row_of(partials, "logloss").value == pytest.approx(-math.log(1 - eps), rel=1e-14, abs=0)


def test_equal_quantities_are_summed_once() -> None:
    asked = ["f1", "precision", "recall(threshold=0.5)", "accuracy(threshold=0.25)", "logloss", "ne"]
    at_thresholds = [f"{name}(threshold={at})" for name in ("predicted", "true_positives") for at in (0.5, 0.25)]
    assert sorted(map(str, plan_of(asked, ["m"], ["u"]).row_sums)) == sorted(
        ["rows", "weight", "positives", "log_loss", "outside", *at_thresholds]
    )


@pytest.mark.parametrize("score", [-0.001, 1.001, math.inf, -math.inf])
def test_a_score_that_is_no_probability(score: float) -> None:
    rows = [(0.5, True, 1.0), (score, False, 2.0), (0.25, False, 1.0)]
    names = ["logloss", "ne", "brier", "ece", "copc", "ece(exact)", "ece(bits=3)", "ece(digits=1)"]
    for weighted in (True, False):
        assert all(math.isnan(value) for value in values(rows, names, weighted))
        assert partials_of(rows, names, weighted).sums.results()[MODEL, "all", "all", "outside"] == 1


SUMMED = pa.table({"user": [1, 1, 2], "score": [0.25, 0.5, 0.5], "click": [1.0, 0.0, 1.0], "weight": [2.0, 1.0, 1.0]})


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize(
    ("metrics", "score_sums", "summed"),
    [
        (["auc"], True, {"bits=12": True}),
        (["auc", "ece"], False, {"bits=12": False, "bins=15": True}),
        (["auc(exact)", "auc_up"], False, {"exact": True, "digits=5": False}),
    ],
    ids=str,
)
def test_scores_are_summed_by_block_only_where_they_are_read(
    metrics: list[str], score_sums: bool, summed: dict[str, bool], weight: str | None
) -> None:
    """0.25 and twice 0.5 are 1.25 in all, and 2 * 0.25 + 0.5 + 0.5 = 1.5 by weight; no sum at all is null, not 0."""
    roles = {"group": "user", "score": "score", "label": "click", "weight": weight, "group_table": False}
    blocks = sr.evaluate(SUMMED, metrics, **roles, score_sums=score_sums).blocks
    offsets = "offset" if weight is None else "offset_5"
    for rule, expected in summed.items():
        own = blocks.filter(pc.field("rule") == rule)
        assert own.num_rows == 2
        assert own[offsets].null_count == (0 if expected else 2)
        assert pc.sum(own["score_sum"]).as_py() == ((1.25 if weight is None else 1.5) if expected else None)
