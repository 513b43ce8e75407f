"""Several labels: a metric that names one is the metric of that column, and one among a label that of those rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sparkrank as sr
from sparkrank.base import checks
from tests.support.joined import counts_of

LABELS = {"click": "clicked", "pay": "paid"}
# One list, best first: a and c are clicked, c is paid, of d nobody knows whether it was paid.
WORKED = pa.table(
    {
        "user": ["u"] * 4 + ["v"] * 2,
        "item": ["a", "b", "c", "d", "a", "b"],
        "score": [0.9, 0.8, 0.7, 0.6, 0.9, 0.8],
        "clicked": [1, 0, 1, 0, 0, 1],
        "paid": pa.array([0, 0, 1, None, 0, 0]),
    }
)
WORKED_VALUES = {
    "rr": (1 + 1 / 2) / 2,
    "rr(label=pay)": 1 / 3,  # v paid for nothing
    "rr(label=pay,among=click)": 1 / 2,  # of a and c
    "p@2": (1 / 2 + 1 / 2) / 2,
    "p(among=click)@2": (2 / 2 + 1 / 2) / 2,
    "r(label=pay)@2": 0.0,
    "cg(gain={click:1,pay:5})@3": ((1 + 0 + 6) + (0 + 1)) / 2,
    "cg(gain={click:1,pay:5})": ((1 + 0 + 6 + 0) + (0 + 1)) / 2,  # of d the sum is that of its clicks
    "auc(label=pay)": (1 + 0 + 0 + 0 + 0) / 5,  # c above d alone
    "auc(label=pay,among=click)": 0.0,  # c below a of u and b of v
    "copc(label=pay,among=click)": 1 / (0.9 + 0.7 + 0.8),
}


def evaluated(rows: Any, metrics: list[str], label: Any = LABELS, **more: Any) -> sr.Evaluation:
    return sr.evaluate(rows, metrics, **{"group": "user", "item": "item", "score": "score", "label": label} | more)


def test_worked_by_hand() -> None:
    found = evaluated(WORKED, [*WORKED_VALUES])
    assert {metric: found[metric] for metric in WORKED_VALUES} == pytest.approx(WORKED_VALUES, abs=1e-12)
    assert counts_of(found)[checks.with_label("pay")] == 5
    groups = {row["user"]: row for row in found.groups.to_pylist()}
    assert groups["u"]["rr(label=pay,among=click)"] == 1 / 2
    assert np.isnan(groups["v"]["rr(label=pay)"])


METRICS = ["ndcg@3", "ap", "p90(rr)", "gauc", "bpref", "ndcg(weight=relevant)@2", "novelty@2"]
METRICS += ["auc", "auc(exact,rel=1)", "logloss", "ece", "f1", "rmse"]
SETTINGS: list[dict[str, Any]] = [
    {"slices": ["kind", {"column": "kind", "of": "relevant"}], "compare": "a"},
    {"unjudged": "drop", "population": "truth", "weight": "weight"},
    {"duplicates": "once", "cluster": "family"},
    {"duplicates": "first", "slices": ["kind"], "ties": "item"},
]


def of(metric: str, more: str) -> str:
    """The text of ``metric`` with the parameters ``more``."""
    inner = re.fullmatch(r"p90\((.*)\)", metric)
    if inner:
        return f"p90({of(inner[1], more)})"
    name, at, k = metric.partition("@")
    return (f"{name[:-1]},{more})" if name.endswith(")") else f"{name}({more})") + at + k


def log(seed: int, rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 40, rows)
    columns = {
        "user": user,
        "family": user % 25,
        "item": rng.integers(0, 12, rows),
        "a": rng.integers(0, 20, rows) / 20,
        "b": pa.array(rng.random(rows), mask=rng.random(rows) < 0.1),
        "kind": rng.integers(0, 3, rows),
        "weight": rng.integers(1, 4, rows),
        "clicked": rng.integers(0, 2, rows),
        "paid": pa.array(rng.integers(0, 3, rows), mask=rng.random(rows) < 0.2),
    }
    return pa.table(columns)


def values_by_text(found: sr.Evaluation, metrics: list[str]) -> list[list[str]]:
    """What the table of metrics says of ``metrics``, in their order, and not what they are called."""
    rows = found.metrics.drop_columns(["spec_hash", "definition"]).to_pylist()
    place = {metric: at for at, metric in enumerate(metrics)}
    kept = [(place[row.pop("metric")], row) for row in rows if row["metric"] in place]
    return sorted([str(at), repr(sorted(row.items()))] for at, row in kept)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda own: next(iter(own)))
def test_a_label_is_its_column_alone_bit_by_bit(settings: dict[str, Any]) -> None:
    """With slices, intervals and comparisons; metrics of the first label stay what they are without the second."""
    rows = log(len(settings))
    settings = {"score": {"a": "a", "b": "b"}, "ties": "worst"} | settings
    metrics = [metric for metric in METRICS if "weight" in settings or metric != "f1"]
    both = evaluated(rows, [*metrics, *(of(metric, "label=pay") for metric in metrics)], **settings)
    names = [str(metric) for metric in both.plan.metrics]
    for column, own in (("clicked", names[: len(metrics)]), ("paid", names[len(metrics) :])):
        alone = evaluated(rows, metrics, column, **settings)
        assert values_by_text(both, own) == values_by_text(alone, [str(metric) for metric in alone.plan.metrics])


def test_a_label_of_which_metrics_of_all_rows_alone_are_asked() -> None:
    """How many rows of a class a group has says how many groups count: as in the log with this label alone."""
    metrics, more = ["auc", "recall", "fpr"], {"score": {"a": "a", "b": "b"}, "ties": "worst"}
    texts = [of(metric, "label=pay") for metric in metrics]
    both, alone = evaluated(log(8), ["ap", *texts], **more), evaluated(log(8), metrics, "paid", **more)
    assert values_by_text(both, texts) == values_by_text(alone, metrics)


def test_sampled_ranks_are_those_of_their_label() -> None:
    """Of two items the clicked one is first in each list, the paid one second: of three it is the first, or the last.

    With the sampled rank 1, each step of EM doubles the share of R = 1 beside that of R = 2, and R = 3 has none. Among
    the paid items alone no list has another one.
    """
    lists = range(40)
    log = {"user": [*lists, *lists], "item": ["a"] * 40 + ["b"] * 40, "score": [0.9] * 40 + [0.8] * 40}
    rows = pa.table({**log, "clicked": [1] * 40 + [0] * 40, "paid": [0] * 40 + [1] * 40})
    metrics = [of("hit(sampled=1,items=3)@1", more) for more in ("label=click", "label=pay", "among=pay")]
    found = evaluated(rows, [*metrics[:2], "first_rank(sampled=1,label=pay)"], ties="item")
    assert [found[metric] for metric in metrics[:2]] == [1, 0]
    alone = evaluated(rows, ["hit(sampled=1,items=3)@1", "first_rank(sampled=1)"], "paid", ties="item")
    own = [metrics[1], "first_rank(sampled=1,label=pay)"]
    assert values_by_text(found, own) == values_by_text(alone, [str(metric) for metric in alone.plan.metrics])
    with pytest.raises(sr.InputError, match="none of 40 groups has a list of one relevant row and 1 others"):
        evaluated(rows, ["rr", metrics[2]], ties="item")


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[1]], ids=("slices", "unjudged"))
def test_among_a_label_is_the_log_of_its_rows(settings: dict[str, Any]) -> None:
    rows, more = log(7), {"score": {"a": "a", "b": "b"}, "ties": "worst", **settings}
    metrics = [metric for metric in METRICS if not metric.startswith("novelty")]  # the items of all groups
    among = evaluated(rows, ["ap", *(of(metric, "label=pay,among=click") for metric in metrics)], **more)
    alone = evaluated(rows.filter(pc.greater(rows["clicked"], 0)), metrics, "paid", **more)
    names = [str(metric) for metric in among.plan.metrics][1:]
    assert values_by_text(among, names) == values_by_text(alone, [str(metric) for metric in alone.plan.metrics])


@pytest.mark.parametrize("rule", ["once", "first", "keep"])
def test_labels_of_a_truth(rule: str) -> None:
    """Each label is joined as if the truth had no other; an item has its highest."""
    rows, truth = log(3), log(4, 300).select(["user", "item", "clicked", "paid"])
    more = {"score": {"a": "a", "b": "b"}, "duplicates": rule, "truth": truth}
    metrics = ["ndcg@3", "ap", "r@2", "auc", "logloss"]
    both = evaluated(rows, [*metrics, *(of(metric, "label=pay") for metric in metrics)], **more)
    for column, more_text in (("clicked", ""), ("paid", "label=pay")):
        own = [of(metric, more_text) if more_text else metric for metric in metrics]
        assert values_by_text(both, own) == values_by_text(evaluated(rows, metrics, column, **more), metrics)


def test_among_a_label_of_a_truth_leaves_items_out_on_both_sides() -> None:
    """The list a, b, c: the truth clicked b and c and an unlisted d, and paid c and d."""
    lists = WORKED.slice(0, 3).select(["user", "item", "score"])
    truth = pa.table({"user": ["u"] * 4, "item": list("abcd"), "clicked": [0, 1, 1, 1], "paid": [1, 0, 1, 1]})
    found = evaluated(lists, ["r(label=pay,among=click)@2", "rr(label=pay,among=click)"], truth=truth)
    assert found["r(label=pay,among=click)@2"] == 1 / 2
    assert found["rr(label=pay,among=click)"] == 1 / 2


def test_a_gain_of_several_labels_is_their_sum() -> None:
    rows = log(9)
    total = pc.add(rows["clicked"], pc.multiply(pc.fill_null(rows["paid"], 0), 5))
    metrics = ["ndcg@3", "dcg", "cg@2", "ndcg(ideal=retrieved)"]
    texts = [of(metric, "gain={click:1,pay:5}") for metric in metrics]
    found = evaluated(rows, texts, score="a")
    alone = evaluated(rows.append_column("total", total), metrics, "total", score="a")
    names = [str(metric) for metric in found.plan.metrics]
    assert values_by_text(found, names) == values_by_text(alone, metrics)


def test_a_label_that_no_row_has_is_undefined_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    rows = WORKED.set_column(4, "paid", pa.nulls(len(WORKED), pa.int64()))
    texts = ["p(label=pay)@2", "logloss(label=pay)", "rr(among=pay)", "ece(label=pay,among=click)"]
    texts += ["cg(gain={click:1,pay:5})@2", "ndcg(gain={click:1,pay:5})@2"]  # a sum that lacks a summand
    found = evaluated(rows, ["rr", *texts])
    assert [str(found[text]) for text in texts] == ["nan"] * len(texts)
    of_sum = next(row for row in found.metrics.to_pylist() if row["metric"] == texts[4])
    assert (of_sum["n_groups"], of_sum["n_undefined"], of_sum["interval"]) == (2, 2, None)
    assert f"Undefined in every group, or of the whole day: {', '.join(texts)} of score" in caplog.text
    assert found["rr"] == WORKED_VALUES["rr"]
    counts = counts_of(found)
    assert (counts[checks.with_label("click")], counts[checks.with_label("pay")]) == (6, 0)


def test_quality_counts_the_rows_among_a_label(caplog: pytest.LogCaptureFixture) -> None:
    """Three rows are clicked; where none is, all have the label, and no row is left. A truth has the rows itself."""
    asked = ["rr", "rr(label=pay,among=click)"]
    counts = counts_of(evaluated(WORKED, asked))
    assert (counts[checks.among_label("click")], counts[checks.with_label("click")]) == (3, 6)
    assert checks.among_label("pay") not in counts
    nobody = WORKED.set_column(3, "clicked", pa.array([0] * len(WORKED)))
    counts = counts_of(evaluated(nobody, asked))
    assert (counts[checks.among_label("click")], counts[checks.with_label("click")]) == (0, 6)
    assert "rr(label=pay,among=click) of score" in caplog.text
    lists = WORKED.select(["user", "item", "score"])
    truth = WORKED.select(["user", "item", "clicked", "paid"])
    assert counts_of(evaluated(lists, asked, truth=truth))[checks.among_label("click")] == 3


def test_the_first_label_has_no_name_in_the_text() -> None:
    found = evaluated(WORKED, ["rr(label=click)", "rr", "rr(label=pay)"])
    assert [str(metric) for metric in found.plan.metrics] == ["rr", "rr(label=pay)"]


def test_a_label_that_is_no_number_is_a_bad_row() -> None:
    rows = WORKED.set_column(4, "paid", pa.array([0, 0, 1, float("inf"), 0, 0.5]))
    with pytest.raises(sr.InputError, match="1 NaN or infinite label"):
        evaluated(rows, ["rr(label=pay)"])


REFUSED = [
    (
        ["rr(label=pya)"],
        LABELS,
        'rr(label=pya) names "pya", which is not a label, did you mean "pay"? (allowed: click, pay)',
    ),
    (["ap", "auc(among=payd)"], LABELS, 'auc(among=payd) names "payd", which is not a label, did you mean "pay"?'),
    (["ndcg(gain={click:1,buy:5})"], LABELS, 'names "buy", which is not a label (allowed: click, pay)'),
    (["ndcg(gain={click:1},label=pay)"], LABELS, "gives label with gain={click:1}, which says what labels count"),
    (["ndcg(gain={click:0})"], LABELS, "gain={click:0} in"),
    (["rr(label=pay)"], "clicked", 'names "pay", which is not a label (allowed: clicked)'),
    (["coverage(label=pay)@3"], LABELS, 'unknown parameter "label"'),
    (["rr"], {"a b": "clicked", "c": "paid"}, 'label names a label "a b"'),
    (["rr"], {}, "label is a mapping without any label"),
    (["rr"], {"click": "user", "pay": "paid"}, 'column "user" is both group and click label'),
]


@pytest.mark.parametrize(("metrics", "label", "sentence"), REFUSED, ids=lambda own: str(own)[:40])
def test_refused_before_anything_is_read(metrics: list[str], label: Any, sentence: str) -> None:
    with pytest.raises(sr.SpecError, match=re.escape(sentence)):
        evaluated("no/such/place", metrics, label)


def test_arrays_of_labels_are_those_of_a_truth() -> None:
    """Each array of labels is that of a truth with its column; one is too short, one too long, one has a null."""
    found = {
        "user": ["u", "v"],
        "items": [["a", "b", "c"], ["x", "y"]],
        "true": [["b", "c", "d"], ["x"]],
        "clicked": [[1, 1], [2]],
        "paid": [[1, None, 1], [0]],
    }
    lists = pa.table({"user": list("uuuvv"), "item": list("abcxy"), "score": [3, 2, 1, 2, 1]})
    truth = {"user": list("uuuv"), "item": list("bcdx"), "clicked": [1, 1, None, 2], "paid": [1, None, 1, 0]}
    metrics = ["ndcg@2", "r@2", "ndcg(label=pay)@3", "r(label=pay,among=click)", "p(among=click)@1", "gauc(label=pay)"]
    apart = evaluated(lists, metrics, truth=pa.table(truth))
    asked = {"group": "user", "items": {"score": "items"}, "true_items": "true", "label": LABELS}
    arrays = sr.evaluate(pa.table(found), metrics, **asked)
    assert values_by_text(arrays, metrics) == values_by_text(apart, metrics)
    assert arrays["r@2"] == (1 / 2 + 1 / 1) / 2
    assert arrays["r(label=pay,among=click)"] == 1 / 1  # b alone, which the list of u has
    too_long = pa.table({**found, "paid": [[1, None, 1, 1], [0]]})
    with pytest.raises(sr.InputError, match="1 label beyond the last true item"):
        sr.evaluate(too_long, metrics, **asked)
    own = {**asked, "items": {"a": "items", "b": {"column": "items", "label": "pay"}}}
    both = sr.evaluate(pa.table(found), ["ndcg@3"], **own)
    assert both.value("ndcg@3", model="b") == arrays["ndcg(label=pay)@3"]


def test_explained_by_its_label() -> None:
    """The list that is shown is that of the rows among the label, with the label that is read."""
    more = {"item": "item", "score": "score", "label": LABELS}
    text = str(sr.explain(WORKED, ["rr(label=pay,among=click)", "rr"], group={"user": "u"}, **more))
    among, first = text.split("\nrr =", 1)
    assert "rr(label=pay,among=click) = 0.5" in among
    assert not re.search(r"^\d+ +[bd] ", among, re.MULTILINE)
    assert first.startswith(" 1 ")
    assert re.search(r"^2 +b ", first, re.MULTILINE)
