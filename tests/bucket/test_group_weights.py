"""Means over groups that weigh: by a word, or by a column that has one value in each group."""

from __future__ import annotations

import math
from math import log2

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, MetricError, SpecError
from sparkrank.metrics import CATALOG, GroupMetric, Metric
from tests.support.strategies import needed

OF_GROUPS = [name for name, declared in CATALOG.items() if isinstance(declared, GroupMetric)]
ROLES = {"group": "query", "score": "score", "label": "label"}

# Query a is in order, and b is not; c has nothing to find. Listed rows 3, 2 and 1; relevant rows 2, 1 and 0.
LOG = pa.table(
    {
        "query": ["a", "a", "a", "b", "b", "c"],
        "score": [3.0, 2.0, 1.0, 2.0, 1.0, 1.0],
        "label": [1, 1, 0, 0, 1, 0],
        "query_weight": [9, 9, 9, 1, 1, 5],
        "share": [0.25, 0.25, 0.25, 0.5, 0.5, None],
    }
)
AB = LOG.slice(0, 5)


def value(metric: str, log: pa.Table = LOG, **more) -> float:
    return sr.evaluate(log, [metric], **{**ROLES, **more})[metric]


def counts_of(ev: sr.Evaluation) -> dict[str, float]:
    return {row["check"]: row["count"] for row in ev.quality.to_pylist()}


def test_queries_weigh_by_a_column() -> None:
    assert value("ndcg(weight=query_weight)@10") == pytest.approx((9 * 1 + 1 / log2(3)) / (9 + 1), rel=1e-15)
    assert value("ndcg@10") == pytest.approx((1 + 1 / log2(3)) / 2, rel=1e-15)


WEIGHTS = {"uniform": (1, 1, 1), "rows": (3, 2, 1), "relevant": (2, 1, 0), "query_weight": (9, 1, 5)}


@pytest.mark.parametrize(("weight", "weights"), WEIGHTS.items(), ids=WEIGHTS)
@pytest.mark.parametrize(("undefined", "of_c"), [("skip", None), ("zero", 0.0), ("one", 1.0)])
def test_each_weight_by_hand(weight: str, weights: tuple[int, ...], undefined: str, of_c: float | None) -> None:
    found = sr.evaluate(LOG, [f"rr(weight={weight})", "rr"], **ROLES, undefined=undefined).table.to_pylist()[0]
    values = [1.0, 1 / 2, *([] if of_c is None else [of_c])]
    w = weights[: len(values)]
    mean = sum(map(math.prod, zip(w, values, strict=True))) / sum(w)
    assert found["value"] == pytest.approx(mean, rel=1e-15)
    assert found["weight"] == sum(w)
    n = sum(w) ** 2 / sum(each**2 for each in w)  # of groups of equal weight that would know as much
    spread = sum(each**2 * (v - mean) ** 2 for each, v in zip(w, values, strict=True))
    assert found["n_effective"] == pytest.approx(n, rel=1e-14)
    if n >= 2:
        assert found["stderr"] == pytest.approx(math.sqrt(spread * n / (n - 1)) / sum(w), rel=1e-14)
        assert found["degrees"] == pytest.approx(n - 1, rel=1e-14)
        odds = [math.log(found[end] / (1 - found[end])) for end in ("ci_low", "value", "ci_high")]
        assert (odds[0] + odds[2]) / 2 == pytest.approx(odds[1])
    else:
        assert [found[name] for name in ("interval", "stderr", "ci_low", "ci_high")] == ["too few", None, None, None]
    assert (found["n_groups"], found["n_undefined"]) == (3, 1)


def test_rows_are_those_listed_and_relevant_ones_all() -> None:
    """a: one of two relevant rows is listed; b: the only row, which is relevant at 1 and not at 2."""
    columns = {"query": [*"aaab"], "score": [1.0, 0.5, None, 1.0], "label": [2, 0, 3, 1], "w": [1.0, 1.0, 1.0, 0.0]}
    log = pa.table({**columns, "i": columns["query"]})
    assert value("r(weight=rows)", log) == pytest.approx((2 * 1 / 2 + 1 * 1) / 3)
    assert value("r(weight=relevant)", log) == pytest.approx((2 * 1 / 2 + 1 * 1) / 3)
    assert value("p(weight=relevant)@1", log) == pytest.approx(1)
    assert value("p(weight=relevant,rel=3)@1", log) == 0.0  # of a one row is relevant, of b none
    assert value("r(weight=w)", log) == 1 / 2
    err = value("err(weight=relevant,ties=item,max_grade=1)", log, item="i")
    assert err == pytest.approx((2 * 1 / 2 + 1 / 2) / 3)


@pytest.mark.parametrize("weight", ["uniform", "rows", "relevant", "query_weight"])
def test_every_metric_of_groups_weighs_its_own_values(weight: str) -> None:
    """As numpy's average of the values in its group table does, of a log with ties."""
    draw = np.random.default_rng(11)
    query = np.repeat(np.arange(12), draw.integers(1, 7, 12))
    rows = len(query)
    columns = {"query": query, "item": np.arange(rows).astype(str), "query_weight": (query * 7 % 5) / 4}
    columns["topics"] = [[f"t{number}" for number in own] for own in draw.integers(0, 4, (rows, 2)).tolist()]
    score, label = draw.integers(0, 4, rows).astype(float), draw.integers(0, 3, rows)
    log = pa.table({**columns, "score": score, "label": label, "rank": draw.integers(0, 4, rows)})
    texts = []
    for name in OF_GROUPS:
        ties = ",ties=item" if CATALOG[name].needs_order and not CATALOG[name].needs_order.form else ""
        given = "".join(f",{own}={column}" for own, column in needed(name, arrays="topics").items())
        given += ",over=lists" if name == "past_novelty" else ""  # under over=rows lists have weights of their own
        texts.append(str(Metric.parse(f"{name}(weight={weight}{ties}{given})")))
    had = log.select(["query", "item"])[::2]
    ev = sr.evaluate(log, texts, **ROLES, item="item", reference_rank="rank", interactions=had)
    groups = ev.groups.to_pandas().set_index("query").sort_index()
    frame = log.to_pandas().groupby("query")
    weights = {
        "uniform": frame.size() * 0 + 1,
        "rows": groups["n_retrieved"],
        "relevant": frame["label"].agg(lambda labels: (labels > 0).sum()),
        "query_weight": frame["query_weight"].first(),
    }[weight]
    for text in texts:
        defined = groups[text].notna()
        assert ev[text] == pytest.approx(np.average(groups[text][defined], weights=weights[defined]), rel=1e-12), text


BAD = {"null": [9, 9, None], "NaN": [9.0, 9.0, math.nan], "negative": [-9, -9, -9], "infinite": [math.inf] * 3}
BAD |= {"too large": [1.1e9] * 3, "not the same": [9, 8, 9]}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("buckets", [1, 4])
def test_a_group_without_one_weight_is_rejected_and_counted(kind: str, buckets: int) -> None:
    log = LOG.set_column(3, "query_weight", pa.array([*BAD[kind], 1, 1, 5], from_pandas=False))
    asked = {**ROLES, "buckets": buckets}
    with pytest.raises(InputError, match=r"50.0000% of the rows cannot be evaluated \(3 group weight that is null"):
        sr.evaluate(log, ["rr(weight=query_weight)"], **asked)
    ev = sr.evaluate(log, ["rr(weight=query_weight)", "rr"], **asked, max_bad_fraction=0.5)
    assert ev["rr(weight=query_weight)"] == 1 / 2
    counts = counts_of(ev)
    reason = next(check for check in counts if check.startswith("rejected: group weight"))
    assert (counts[reason], counts["rows rejected"], counts["rows evaluated"], counts["groups"]) == (3, 3, 3, 2)
    assert sorted(ev.groups["query"].to_pylist()) == ["b", "c"]
    assert sr.evaluate(log, ["rr"], **asked)["rr"] == 0.75  # where nobody weighs by it, nobody looks


@pytest.mark.parametrize("power", [-6, 0, 8])
def test_a_common_factor_of_all_weights_changes_neither_mean_nor_error(power: int) -> None:
    """By hand, of weights 1, 1, 3, 3 and values 0, 0, 1, 1: the mean is 3/4, as many as 64/20 = 16/5 equal groups are
    in it, and its error is sqrt((4 · 9/16) · 16/11) / 8 = sqrt(36/11) / 8. Of as many groups the share of 0 and 1 has
    the error sqrt(3/16 / (11/5)) = sqrt(15/176), which is larger.
    """
    w = [weight * 10.0**power for weight in (1, 1, 3, 3)]
    by_hand = pa.table({"query": [1, 2, 3, 4], "score": [0.1, 0.2, 0.3, 0.4], "label": [0, 0, 1, 1], "w": w})
    (found,) = sr.evaluate(by_hand, ["p(weight=w)"], **ROLES).table.to_pylist()
    assert found["value"] == pytest.approx(0.75, rel=1e-12)
    assert found["stderr"] == pytest.approx(math.sqrt(15 / 176), rel=1e-12)


@pytest.mark.parametrize("least", [9e-7, 1e-24, 5e-324])
def test_weights_whose_squares_lose_digits_are_rejected_and_counted(least: float) -> None:
    log = LOG.append_column("w", pa.array([1.0] * 3 + [least] * 2 + [1e-6]))
    sentence = r"33.3333% of .* \(2 group weight above 0 and below 1e-6\).* all weights may be multiplied by one"
    with pytest.raises(InputError, match=sentence):
        sr.evaluate(log, ["rr(weight=w)"], **ROLES)
    ev = sr.evaluate(log, ["rr(weight=w)"], **ROLES, max_bad_fraction=0.5)
    counts = counts_of(ev)
    assert (counts["rejected: group weight above 0 and below 1e-6"], counts["groups"]) == (2, 2)
    both = log.append_column("v", pa.array([least] * 3 + [-1.0] * 2 + [1.0]))
    counts = counts_of(sr.evaluate(both, ["rr(weight=w)", "rr(weight=v)"], **ROLES, max_bad_fraction=1.0))
    assert [counts[check] for check in counts if "group weight" in check] == [2, 3]  # each under its first reason


def test_weights_of_0_alone_leave_nothing_to_divide_by() -> None:
    assert math.isnan(value("rr(weight=w)", LOG.append_column("w", pa.array([0] * 6))))
    assert value("rr(weight=w)", LOG.append_column("w", pa.array([0, 0, 0, 2, 2, 0]))) == 1 / 2


def test_a_weight_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match='the group weight column "weigth" is not in the input, did you mean "weight"'):
        value("rr(weight=weigth)", LOG.append_column("weight", LOG["share"]))
    with pytest.raises(InputError, match='the group weight column "query" is of type string: a number is needed'):
        value("rr(weight=query)")
    for name in CATALOG:
        if name not in OF_GROUPS:
            with pytest.raises(MetricError, match=f"gives weight, but {name} takes none: "):
                Metric.parse(f"{name}(weight=rows)")


def test_a_weight_that_does_nothing_is_refused() -> None:
    sentence = r'weight="query_weight" is the weight of rows .* as in ndcg\(weight=query_weight\)@10'
    for metrics in (["rr"], ["ndcg@10", "median(rr)"], ["rr(weight=share)"]):
        with pytest.raises(SpecError, match=sentence):
            sr.evaluate(AB, metrics, **ROLES, weight="query_weight")
    for metrics in (["rr", "auc"], ["rr(weight=query_weight)"], ["logloss"]):
        assert sr.evaluate(AB, metrics, **ROLES, weight="query_weight").table.num_rows == len(metrics)


def test_a_percentile_does_not_ignore_a_weight() -> None:
    for text in ("rr(weight=rows)", "gauc", "group_auc(weight=pairs)", "ndcg(weight=w)@3"):
        with pytest.raises(MetricError, match="has no percentiles: a percentile counts each group once, but weight="):
            Metric.parse(f"median({text})")
    assert str(Metric.parse("median(rr(weight=uniform))")) == "median(rr)"
    assert str(Metric.parse("median(gauc(weight=uniform))")) == "median(gauc(weight=uniform))"


def test_the_text_and_the_definition_name_the_weight() -> None:
    ev = sr.evaluate(AB, ["NDCG(weight=query_weight)@3", "rr(weight=UNIFORM)", "rr(weight=Rows)"], **ROLES)
    assert ev.table["metric"].to_pylist() == ["ndcg(weight=query_weight)@3", "rr", "rr(weight=rows)"]
    assert ev.table["definition"][0].as_py().startswith("ndcg(gain=linear, ideal=judged, weight=query_weight)@3; ")
    assert str(Metric.parse("rr(weight=positives)")) == "rr(weight=relevant)"
    assert str(Metric.parse("gauc(weight=relevant)")) == "gauc(weight=positives)"  # as it was written before


LISTS = pa.table({"u": ["a", "a", "b"], "i": ["x", "y", "x"], "s": [2.0, 1.0, 1.0], "w": [3.0, 3.0, 1.0]})
TRUTH = [("a", "y"), ("b", "x"), ("b", "z")]


def of_truth(*metrics: str, more: tuple[str, str] | None = None, **definitions: str) -> list[float]:
    """The values of ``metrics`` of the lists and the truth, which may have one ``more`` row."""
    users, items = zip(*TRUTH, *([more] if more else []), strict=True)
    truth = pa.table({"u": users, "i": items})
    ev = sr.evaluate(LISTS, list(metrics), truth=truth, group="u", item="i", score="s", **definitions)
    return [ev[metric] for metric in metrics]


def test_with_a_truth_the_weight_is_of_the_lists() -> None:
    """A user of the truth without a list has none."""
    values = of_truth("rr(weight=w)", "r(weight=w)@1")
    assert values == [(3 * 1 / 2 + 1 * 1) / 4, (3 * 0 + 1 * 1 / 2) / 4]
    with pytest.raises(InputError, match="1 groups of s have no row in the lists, and so no weight, which weight=w"):
        of_truth("rr(weight=w)", more=("c", "x"))
    for left_out in ({"population": "lists"}, {"population": "both"}, {"unretrieved": "skip"}):
        assert of_truth("rr(weight=w)", more=("c", "x"), **left_out) == [2.5 / 4]
    assert of_truth("rr(weight=rows)", more=("c", "x")) == [(2 * 1 / 2 + 1) / 3]


def test_arrays_have_a_weight_beside_them() -> None:
    columns = {"u": ["a", "b", "c"], "got": [["x", "y"], ["x"], []], "want": [["y"], ["x"], ["x"]]}
    asked = {"metrics": ["rr(weight=w)"], "group": "u", "items": "got", "true_items": "want"}
    ev = sr.evaluate(pa.table({**columns, "w": [3, 1, 4]}), **asked)
    assert ev["rr(weight=w)"] == (3 * 1 / 2 + 1 + 4 * 0) / 8
    with pytest.raises(InputError, match="group weight that is null"):
        sr.evaluate(pa.table({**columns, "w": [3, None, 4]}), **asked)


def test_truth_of_a_slice_in_which_the_list_has_no_row_has_the_weight_of_its_user() -> None:
    lists = LISTS.append_column("kind", pa.array([*"pqp"]))
    truth = pa.table({"u": [*"abb"], "i": [*"yxz"], "kind": [*"qpq"]})
    ev = sr.evaluate(lists, ["r(weight=w)"], truth=truth, group="u", item="i", score="s", slices=["kind"])
    assert ev.value("r(weight=w)", slice="kind=q") == (3 * 1 + 1 * 0) / 4
    assert ev.value("r(weight=w)", slice="kind=p") == 1.0  # of a nothing is to be found there
