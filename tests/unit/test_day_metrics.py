"""Metrics of the whole day: what weights do, what binning may cost, thresholds, and the best order of blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank import checks
from sparkrank.bucket import evaluate_bucket
from sparkrank.day import day_row
from sparkrank.metrics import Metric, Plan
from sparkrank.states import Partials
from tests.unit.buckets import MODEL, bits_of_partials
from tests.unit.strategies import PATIENT

Rows = Sequence[tuple[float, bool, float]]  # score, clicked, weight

ALL_DAY = [
    *("auc", "auc(exact)", "auc_up", "auc_up(exact,min_rows=3)", "pr_auc", "pr_auc(exact)", "bep", "ks", "ks(exact)"),
    *("accuracy", "precision", "recall", "specificity", "fpr", "tpr", "f1", "fbeta(beta=2)"),
    *("logloss", "ne", "brier", "ece", "copc"),
]


def partials_of(rows: Rows, metrics: Sequence[str], weighted: bool = True, kind: pa.DataType | None = None) -> Partials:
    scores, clicks, weights = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {
        "key_0": pa.array(range(len(rows)), pa.int64()),
        "label": pa.array(clicks, pa.float64()) if not clicks else pa.array([float(click) for click in clicks]),
        "score_0": pa.array(scores, kind or pa.float64()),
        "weight": pa.array(weights, pa.float64()),
    }
    if not weighted:
        del columns["weight"]
    plan = Plan.of(metrics, [MODEL], ["user"], group_table=False, weighted=weighted)
    return evaluate_bucket(pa.table(columns), plan).partials


def values(rows: Rows, metrics: Sequence[str], weighted: bool = True) -> list[float]:
    partials = partials_of(rows, metrics, weighted)
    return [day_row(partials, (MODEL, "all", "all"), Metric.parse(metric)).value.value for metric in metrics]


@pytest.mark.parametrize("heavy", [1e3, 1e20, 1e30])
@pytest.mark.parametrize("of_clicks", [True, False])
def test_a_class_that_weighs_next_to_nothing_is_half_of_every_pair(heavy: float, of_clicks: bool) -> None:
    """One heavy row between two light ones of the other class is in order with one of the two."""
    rows = [(0.9, not of_clicks, 1.0), (0.5, of_clicks, heavy), (0.1, not of_clicks, 1.0)]
    assert values(rows, ["auc", "auc(exact)"]) == [0.5, 0.5]
    assert values(rows, ["auc_up(exact)"]) == [1.0]


def test_rates_near_1_are_told_apart() -> None:
    """Beside 1e17 clicks, one and two rows without: each rate is 1 to the last bit, and the first is the higher."""
    rows = [(0.9, True, 1e17), (0.9, False, 2.0), (0.1, True, 1e17), (0.1, False, 1.0)]
    assert values(rows, ["auc_up"]) == pytest.approx([(1 / 2 + 2 * (1 + 1 / 2)) / (2 * 3)], rel=1e-15)


@pytest.mark.parametrize("heavy", [1e3, 1e20, 1e30])
def test_clicks_that_weigh_next_to_nothing_have_their_precision(heavy: float) -> None:
    """Two light clicks above a heavy row, then one above and one below it."""
    metrics = ["pr_auc", "pr_auc(exact)", "bep", "bep(exact)"]
    rows = [(0.9, True, 0.25), (0.8, True, 0.75), (0.5, False, heavy)]
    assert bounded(rows, metrics, weighted=True) == [(1.0, 0.0)] * 4
    rows = [(0.9, True, 0.25), (0.5, False, heavy), (0.1, True, 0.75)]
    assert values(rows, metrics) == pytest.approx([0.25 + 0.75 / (1 + heavy)] * 2 + [0.25] * 2, rel=1e-15)


def test_weights_at_both_ends_of_float64() -> None:
    """Beside the heavy row the light ones are less than the least normal number."""
    rows = [(0.9, False, 1e-25), (0.5, True, 1e288), (0.1, False, 1e-25)]
    assert values(rows, ["auc(exact)"]) == pytest.approx([0.5], rel=1e-6)


def test_the_heaviest_rows() -> None:
    """Of (0.25 + 0.75) / 2 the third row adds nothing; sums of scores over a block are sums of these, too."""
    rows = [(0.25, False, 1e288), (0.75, False, 1e288), (0.9, True, 1.0)]
    metrics = ["ece", "ece(digits=1)", "ece(exact)"]
    assert values(rows, metrics) == pytest.approx([0.5] * 3, rel=1e-12)
    columns = dict(zip(("score", "label", "weight"), zip(*rows, strict=True), strict=True))
    log = pa.table({"user": [1, 2, 3], **columns, "above": [math.nextafter(1e288, math.inf), 1.0, 1.0]})
    roles = {"group": "user", "score": "score", "label": "label", "score_sums": True}
    sums = sr.evaluate(log, ["auc"], weight="weight", **roles).blocks["score_sum"].to_pylist()
    assert sorted(sums) == pytest.approx([0.9, 0.25e288, 0.75e288], rel=1e-12)
    with pytest.raises(sr.InputError, match=r"\(1 weight that is null, NaN, negative or above 1e288\)"):
        sr.evaluate(log, ["auc"], weight="above", **roles)


@pytest.mark.parametrize("weights", [(1.0, 0.4, 0.7, 0.9), (1.0, 0.4, 0.4, 0.3)])
def test_a_perfect_order_is_1_whatever_the_weights(weights: tuple[float, ...]) -> None:
    """Sums of weights are rounded where they are multiplied: over one another they came to 1.0000000000000002."""
    rows = [(score / 4, score >= 2, weight) for score, weight in enumerate(weights)]
    assert values(rows, ["auc(exact)", "auc_up(exact)", "pr_auc(exact)", "ks(exact)"]) == [1.0] * 4


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


def bounded(rows: Rows, metrics: Sequence[str], weighted: bool = False) -> list[tuple[float, float]]:
    partials = partials_of(rows, metrics, weighted)
    found = [day_row(partials, (MODEL, "all", "all"), Metric.parse(metric)).value for metric in metrics]
    return [(each.value, each.error_bound) for each in found]


# Sums are kept to 2^-84, which is 5e-26: of scores far below these, quotients by their sum lose digits.
PROBABILITIES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(1e-9, 1)
ROWS = st.lists(st.tuples(PROBABILITIES, st.booleans(), st.integers(0, 3).map(float)), min_size=1, max_size=12)


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


@settings(PATIENT)
@given(st.lists(st.tuples(PROBABILITIES, st.booleans(), st.floats(0, 100)), max_size=12), st.randoms())
def test_weights_leave_no_trace_of_the_order_or_the_split(rows: list, shuffle) -> None:
    whole = bits_of_partials(partials_of(rows, ALL_DAY))
    shuffle.shuffle(rows)
    at = len(rows) // 2
    parts = [partials_of(rows[at:], ALL_DAY), partials_of(rows[:at], ALL_DAY)]
    merged = bits_of_partials(Partials.merged(parts))
    for part in ("blocks", "sums"):
        assert merged[part] == whole[part]


@pytest.mark.parametrize("weight", [None, math.nan, math.inf, -1.0])
def test_a_row_without_a_proper_weight_is_rejected(weight: float | None) -> None:
    rows = [(0.5, True, 1.0), (0.25, False, weight), (0.75, False, 0.0)]
    partials = partials_of(rows, ["accuracy", "ndcg"])
    assert partials.counts[checks.BAD_WEIGHT, ""] == 1
    assert partials.counts[checks.ROWS_EVALUATED, ""] == 2
    row = day_row(partials, (MODEL, "all", "all"), Metric.parse("accuracy"))
    assert (row.rows, row.weight, row.value.value) == (2, 1.0, 1.0)


def test_weights_do_not_touch_the_metrics_of_groups() -> None:
    rows = [(0.5, True, 1.0), (0.25, False, 9.0), (0.75, False, 0.0)]
    metrics = ["ndcg", "gauc", "ap"]
    assert (
        bits_of_partials(partials_of(rows, metrics))["means"]
        == bits_of_partials(partials_of(rows, metrics, weighted=False))["means"]
    )


def test_rows_and_weight_of_a_metric_of_the_day() -> None:
    rows = [(0.5, True, 1.5), (0.25, False, 2.0), (0.25, True, 0.0)]
    partials = partials_of(rows, ["auc", "accuracy"])
    for metric in ("auc", "accuracy"):
        row = day_row(partials, (MODEL, "all", "all"), Metric.parse(metric))
        assert (row.rows, row.weight) == (3, 3.5)


def test_a_metric_of_the_day_is_over_rows_and_has_no_number_of_groups() -> None:
    """Also beside a property of lists, which is over groups."""
    log = {"user": [1, 1, 2], "item": ["x", "y", "x"], "score": [0.9, 0.1, 0.8], "label": [1, 0, 1]}
    asked = ["auc", "accuracy", "coverage"]
    found = sr.evaluate(pa.table(log), asked, group="user", item="item", score="score", label="label").metrics
    assert found["n_groups"].to_pylist() == [None, None, 2]


def test_a_metric_of_the_day_has_the_labels_of_the_groups_that_are_evaluated() -> None:
    """The first row is of a group without a list, which is skipped; of the others the relevant one is above."""
    log = pa.table({"user": ["v", "u", "u"], "score": [None, 0.9, 0.1], "label": [0, 1, 0]})
    found = sr.evaluate(log, ["auc"], group="user", score="score", label="label", unretrieved="skip").metrics
    assert found["value"].to_pylist() == [1.0]


DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "click model": lambda rng, n: rng.beta(1, 999, n),
    "logits": lambda rng, n: rng.normal(0, 3, n),
    "three values": lambda rng, n: rng.choice([0.1, 0.1001, 0.9], n),
    "grid": lambda rng, n: rng.integers(0, 30, n) / 30,
}
RULES = ["bits=12", "bits=3", "bits=1", "digits=5", "digits=3", "digits=1", "digits=0"]


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
@pytest.mark.parametrize("name", ["auc", "pr_auc", "ks", "bep"])
@settings(PATIENT, max_examples=30)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 400), rate=st.sampled_from([0.02, 0.3, 0.9]))
def test_the_exact_value_lies_within_the_bound(name: str, kind: str, seed: int, n: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    clicks = rng.random(n) < rate
    rows = list(zip(DISTRIBUTIONS[kind](rng, n).tolist(), clicks.tolist(), [1.0] * n, strict=True))
    (exact, nothing), *binned = bounded(rows, [f"{name}({rule})" for rule in ("exact", *RULES)])
    assert nothing == 0
    for rule, (value, bound) in zip(RULES, binned, strict=True):
        assert math.isnan(value) == math.isnan(exact)
        assert math.isnan(value) or abs(value - exact) <= bound + 1e-12, rule


def test_a_click_weighs_as_little_as_it_likes() -> None:
    """One block of clicks that weigh 3 and a row that weighs 1. The least precision inside it is that of its first
    click behind that row: nearly 0 where it may be any part of the 3.
    """
    rows = [(0.9, True, 2.75), (0.8, True, 0.25), (0.7, False, 1.0)]
    assert bounded(rows, ["pr_auc(digits=0)"], weighted=True) == [(3 / 4, 3 / 4 - 0)]


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_one_row_or_of_one_class_leave_no_doubt(weighted: bool) -> None:
    """At 1 two clicks, at 0 two others; at 0.9, 0.7 and 0.4 one row each."""
    apart = [(0.9, True, 2.0), (0.7, False, 2.0), (0.4, True, 2.0)]
    assert bounded(apart, ["pr_auc(digits=1)"], weighted) == [((2 / 2 + 4 / 6) / 2, 0)]
    alike = [(0.9, True, 2.0), (0.8, True, 2.0), (0.2, False, 2.0), (0.1, False, 2.0)]
    assert bounded(alike, ["pr_auc(digits=0)"], weighted) == [(1, 0)]


def brute_auc_up(blocks: Sequence[tuple[int, int]]) -> Fraction:
    """The walk over blocks of (positives, negatives), in the order of their rates."""
    area = taken = Fraction(0)
    for pos, neg in sorted(blocks, key=lambda block: Fraction(block[0], sum(block)), reverse=True):
        area += (taken + Fraction(pos, 2)) * neg
        taken += pos
    return area / (sum(pos for pos, _ in blocks) * sum(neg for _, neg in blocks))


def joined(blocks: Sequence[tuple[int, int]], least: int) -> list[tuple[int, int]]:
    """From the first on, one after the other; what is left joins the last."""
    found: list[tuple[int, int]] = []
    pos = neg = 0
    for more_pos, more_neg in blocks:
        pos, neg = pos + more_pos, neg + more_neg
        if pos + neg >= least:
            found.append((pos, neg))
            pos = neg = 0
    if pos + neg:
        last = found.pop() if found else (0, 0)
        found.append((last[0] + pos, last[1] + neg))
    return found


@settings(PATIENT, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=40).filter(
        lambda rows: len({click for _, click in rows}) == 2
    ),
    st.sampled_from([1, 2, 3, 5, 8, 13, 100]),
    st.sampled_from(["exact", "digits=1", "bits=20"]),
)
def test_auc_up_by_brute_force(rows: list[tuple[int, bool]], least: int, rule: str) -> None:
    blocks = []
    for score in sorted({score for score, _ in rows}, reverse=True):
        clicks = [click for other, click in rows if other == score]
        blocks.append((clicks.count(True), clicks.count(False)))
    scored = [(score / 10, click, 1.0) for score, click in rows]
    up, auc = values(scored, [f"auc_up({rule},min_rows={least})", f"auc({rule})"], weighted=False)
    assert up == pytest.approx(float(brute_auc_up(joined(blocks, least))), abs=1e-14)
    if least == 1:
        assert auc <= up + 1e-15
        rates = [Fraction(pos, pos + neg) for pos, neg in blocks]
        if all(higher >= lower for higher, lower in itertools.pairwise(rates)):
            assert auc == pytest.approx(up, abs=1e-15)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_a_threshold_is_compared_as_float64(kind: pa.DataType) -> None:
    """0.1 as float32 is above 0.1, 0.7 as float32 is below 0.7: the row stands where its own score puts it."""
    for score in (0.1, 0.7):
        partials = partials_of([(score, True, 1.0)], [f"recall(threshold={score})"], weighted=False, kind=kind)
        (recall,) = (day_row(partials, (MODEL, "all", "all"), Metric.parse(f"recall(threshold={score})")).value.value,)
        assert recall == float(float(np.array(score, kind.to_pandas_dtype())) >= score)


def test_thresholds_are_not_rounded_to_the_edges_of_blocks() -> None:
    rows = [(0.5, True, 1.0), (math.nextafter(0.5, 0), True, 1.0), (0.49999, False, 1.0)]
    assert values(rows, ["auc(digits=1)", "recall", "fpr"], weighted=False) == [0.5, 1 / 2, 0]


@pytest.mark.parametrize(("kind", "eps"), [(pa.float64(), 2**-52), (pa.float32(), 2**-23)], ids=str)
def test_a_perfect_prediction_loses_what_clipping_leaves(kind: pa.DataType, eps: float) -> None:
    """The probability of either row's class is 1, clipped to 1-eps."""
    partials = partials_of([(1.0, True, 1.0), (0.0, False, 1.0)], ["logloss"], kind=kind)
    found = day_row(partials, (MODEL, "all", "all"), Metric.parse("logloss")).value.value
    assert found == pytest.approx(-math.log(1 - eps), rel=1e-14, abs=0)


def test_equal_quantities_are_summed_once() -> None:
    asked = ["f1", "precision", "recall(threshold=0.5)", "accuracy(threshold=0.25)", "logloss", "ne"]
    plan = Plan.of(asked, ["m"], ["u"])
    names = [str(quantity) for quantity in plan.row_sums]
    assert len(names) == len(set(names))
    assert set(names) == {
        *("rows", "weight", "positives", "log_loss", "outside"),
        *(f"{name}(threshold={at})" for name in ("predicted", "true_positives") for at in (0.5, 0.25)),
    }


@pytest.mark.parametrize("score", [-0.001, 1.001, math.inf, -math.inf, 1e308])
def test_a_score_that_is_no_probability(score: float) -> None:
    rows = [(0.5, True, 1.0), (score, False, 2.0), (0.25, False, 1.0)]
    names = ["logloss", "ne", "brier", "ece", "copc", "ece(exact)", "ece(bits=3)", "ece(digits=1)"]
    for weighted in (True, False):
        assert all(math.isnan(value) for value in values(rows, names, weighted))
        partials = partials_of(rows, names, weighted)
        assert partials.sums.results()[MODEL, "all", "all", "outside"] == 1


def test_what_is_undefined_has_no_error_bound() -> None:
    """Of one negative row whose score is no probability accuracy alone is defined, of the metrics here."""
    asked = ["brier", "recall", "precision(threshold=9)", "auc", "auc_up", "pr_auc", "bep", "ks", "ece", "ece(exact)"]
    log = {"user": [1], "item": ["x"], "score": [8.0], "label": [0]}
    found = sr.evaluate(pa.table(log), [*asked, "median(rr)", "accuracy"], group="user", score="score", label="label")
    assert found.metrics["error_bound"].to_pylist() == [None] * (len(asked) + 1) + [0.0]
    shown = sr.evaluate(
        NOTHING_LISTED, ["gini", "novelty"], group="user", score="score", label="label", item="item"
    ).metrics
    assert shown["error_bound"].to_pylist() == [None, None]


ONE_CLASS_LOG = pa.table(
    {"user": [1, 1, 2, 2], "kind": ["a", "b", "a", "b"], "score": [0.9, 0.1, 0.8, 0.3], "label": [1, 0, 1, 0]}
)
NOTHING_LISTED = pa.table({"user": [1], "item": ["x"], "score": pa.array([None], pa.float64()), "label": [1]})


@pytest.mark.parametrize(
    ("log", "metrics", "sentence"),
    [
        (ONE_CLASS_LOG.slice(0, 1), ["ap", "auc"], "auc of score is undefined: R·N = 0 (one class only)"),
        (ONE_CLASS_LOG.slice(1, 1), ["recall(threshold=0.25)"], "recall(threshold=0.25) of score is undefined: P = 0"),
        (
            ONE_CLASS_LOG.set_column(2, "score", pa.array([9.0, 0.1, 0.8, 0.3])),
            ["auc", "brier"],
            "brier of score is undefined: no rows; a score outside [0, 1]",
        ),
        (NOTHING_LISTED, ["hit@5", "novelty"], "novelty of score is undefined: no row is listed"),
        (ONE_CLASS_LOG.slice(1, 2), ["median(ap)"], "median(ap) of score is undefined in 1 of 2 groups"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "",
)
@pytest.mark.parametrize("undefined", ["error", "skip"])
def test_undefined_as_an_error_is_one_for_the_whole_day_too(
    log: pa.Table, metrics: list[str], sentence: str, undefined: str
) -> None:
    roles = {"group": "user", "score": "score", "label": "label"}
    roles |= {"item": "item"} if "item" in log.column_names else {}
    if undefined == "skip":
        assert sr.evaluate(log, metrics, **roles).metrics["n_undefined"].to_pylist()[-1] == 1
        return
    with pytest.raises(sr.InputError) as raised:
        sr.evaluate(log, metrics, **roles, undefined=undefined)
    assert str(raised.value) == f"{sentence}, and undefined=error"


def test_undefined_as_an_error_looks_at_slices() -> None:
    """Each kind has one class, the day has both."""
    roles = {"group": "user", "score": "score", "label": "label", "undefined": "error"}
    assert sr.evaluate(ONE_CLASS_LOG, ["auc"], **roles).metrics["value"].to_pylist() == [1.0]
    with pytest.raises(sr.InputError) as raised:
        sr.evaluate(ONE_CLASS_LOG, ["auc"], **roles, slices=["kind"])
    told = "auc of score where kind is a is undefined: R·N = 0 (one class only), and undefined=error"
    assert str(raised.value) == told


SUMMED = pa.table({"user": [1, 1, 2], "score": [0.25, 0.5, 0.5], "click": [1.0, 0.0, 1.0], "weight": [2.0, 1.0, 1.0]})


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize(
    ("metrics", "score_sums", "summed"),
    [
        (["auc"], False, {"bits=12": False}),
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
