"""The plan: what was asked for, once each, or a sentence that says which part of it cannot be."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, MetricError, SpecError
from sparkrank.bucket import bucket_columns
from sparkrank.histogram.bins import BinRule
from sparkrank.metrics import CATALOG, Definitions, Metric, Plan, plan_of


def plan(*metrics: str, **definitions: str) -> Plan:
    return plan_of(metrics, ["prod", "cand"], ["user"], Definitions(**definitions))


def test_a_metric_asked_for_twice_is_computed_once() -> None:
    assert [str(metric) for metric in plan("nDCG@10", "ap", "ndcg(gain=linear)@10", "MAP").metrics] == ["ndcg@10", "ap"]


def test_metrics_keep_the_order_in_which_they_were_asked_for() -> None:
    asked = ["rr", "auc", "ap", "ndcg@3", "auc_up", "p@1"]
    planned = plan(*asked)
    assert [str(metric) for metric in planned.metrics] == asked
    assert [str(metric) for metric, _ in planned.group_metrics] == ["rr", "ap", "ndcg@3", "p@1"]
    assert [str(metric) for metric, _ in planned.pooled_metrics] == ["auc", "auc_up"]


def test_a_block_rule_is_counted_once() -> None:
    rules = plan("auc", "auc_up(bits=12)", "auc(digits=5)", "auc_up", "auc(rel=2)", "ap", "auc_up(exact)").bin_rules
    assert [*rules] == [BinRule("bits", 12), BinRule("digits", 5), BinRule("bits", 12, 2.0), BinRule("exact")]


def test_the_item_is_read_only_where_it_decides() -> None:
    assert bucket_columns(plan("ap"), keys=2) == ["key_0", "key_1", "label", "score_0", "score_1"]
    assert bucket_columns(plan("ap", ties="item"), keys=1) == ["key_0", "label", "score_0", "score_1", "item"]


def test_a_metric_may_come_as_a_value() -> None:
    assert plan_of([Metric.parse("ap"), "map"], ["m"], ["u"]).metrics == (Metric.parse("ap"),)


@pytest.mark.parametrize(
    "name",
    [
        "ap(over=hits)",
        "err",
        "iprec(recall=0.5)",
        "iprec11",
        "pfound@3",
        "infap",
        "first_rank@3",
        "coverage@3",
        "personalization@3",
        "distinct(by=a)@3",
    ],
)
def test_what_has_no_expectation_needs_an_order(name: str) -> None:
    assert all(plan(name, ties=ties).metrics for ties in ("item", "worst", "best", "block"))
    with pytest.raises(MetricError, match=rf"{re.escape(name)} is not computed under ties=expected"):
        plan(name)


def test_the_other_forms_of_such_metrics_have_an_expectation() -> None:
    needs = {name: declared.needs_order for name, declared in CATALOG.items()}
    forms = {name for name, needed in needs.items() if needed and needed.form}
    diversity = {"distinct", "category_entropy", "strecall"}
    others = {"ap", "first_rank", "shown", "coverage", "overlap", "unexpected", "personalization"}
    assert forms == others | diversity
    assert plan(
        "ap", "coverage", "overlap(ref=prod)@3", "unexpected(over=union)", "personalization", "distinct(by=a)"
    ).metrics


def test_definitions_say_what_they_are_and_refuse_unknown_words() -> None:
    assert str(Definitions("item", "zero")) == "ties=item, undefined=zero"
    told = r'^ties is "bets", did you mean "best"\? \(allowed: expected, item, worst, best, block\)$'
    with pytest.raises(SpecError, match=told):
        Definitions(ties="bets")


def test_a_key_has_the_name_of_no_other_column_of_the_group_table() -> None:
    """It may have that of a metric without a column."""

    def evaluated(key: str, *metrics: str, **asked) -> sr.Evaluation:
        log = pa.table({key: ["a", "a"], "score": [0.5, 0.25], "label": [1, 0]})
        return sr.evaluate(log, metrics, group=key, score="score", label="label", **asked)

    for key in ("RR", "ndcg@10", "Model"):
        with pytest.raises(SpecError, match=f'the group column "{key}" has the name of a'):
            evaluated(key, "rr", "ndcg@10")
    assert evaluated("rr", "ap").groups.column_names[1] == "rr"
    assert evaluated("rr", "rr", group_table=False)["rr"] == 1.0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"metrics": []}, "metrics is empty: name at least one"),
        ({"metrics": "ndcg@10"}, 'metrics is "ndcg@10", one text: a list of texts is needed'),
        ({"slices": "country"}, 'slices is "country", one text: a list of columns is needed'),
        ({"buckets": 0}, "buckets is 0: an int from 1 to 65536 is allowed"),
        ({"metrics": [5]}, "metrics[0] is 5: a text is needed"),
        ({"score": ["score"]}, "score is ['score']: a column, or a mapping of names of models to columns, is needed"),
        ({"score": {2026: "score"}}, "score names a model 2026: a text is needed"),
        ({"group": 0}, "the group column is 0: a name, which is a text, is needed"),
        ({"label": ["label"]}, "the label column is ['label']: a name, which is a text, is needed"),
        ({"group": []}, "group names no column: name at least one"),
        ({"row_memory": -1}, "row_memory is -1: a whole number of bytes from 0, below 8 EiB, is allowed"),
        ({"curve_points": -1}, "curve_points is -1: a whole number from 0 to 1000000000 is allowed"),
        ({"max_bad_fraction": -0.5}, "max_bad_fraction is -0.5: a number from 0 to 1 is allowed"),
        ({"metrics": None}, "metrics is None: a list of texts is needed"),
        ({"metrics": [sr.Metric("ndgc")]}, 'metrics[0]: unknown metric "ndgc" in "ndgc", did you mean "ndcg"?'),
        ({"metrics": [sr.Metric("rr", k=0)]}, 'metrics[0]: the cut-off of "rr@0" is 0: a whole number from 1 to'),
        (
            {"metrics": [sr.Metric("rr", (("gain", "exp2"),))]},
            'unknown parameter "gain" in "rr" (rr takes rel, ties, weight, unjudged, label, among, checked_by)',
        ),
        ({"metrics": [f"rr@{'1' * 500}"]}, "a whole number from 1 to 2147483647 is allowed"),
        ({"slices": None}, "slices is None: a list of columns is needed"),
        ({"slices": [["country", 5]]}, "slices[0] is ['country', 5]: a column or several different ones are needed"),
        ({"preset": ["ranx"]}, 'preset is "[\'ranx\']", did you mean "ranx"?'),
        ({"group_table": ""}, "group_table is '': True, False or a folder is needed"),
        ({"spark": "local"}, "spark is 'local': a SparkSession is needed"),
        ({"score": {"": "score"}}, "score names a model '': a text that is not empty is needed"),
        ({"impressions": ""}, "the impressions are an empty text: a path to Parquet is needed"),
    ],
)
def test_what_evaluate_cannot_mean_is_refused(asked: dict, sentence: str) -> None:
    log = pa.table({"user": ["a", "a"], "score": [0.5, 0.25], "label": [1, 0]})
    given = {"impressions": log, "metrics": ["rr"], "group": "user", "score": "score", "label": "label", **asked}
    with pytest.raises(SpecError, match=re.escape(sentence)):
        sr.evaluate(**given)


def test_a_column_that_is_there_twice_is_refused() -> None:
    log = pa.Table.from_arrays(list(map(pa.array, (["a"], [0.5], [1], [0]))), ["user", "score", "label", "label"])
    with pytest.raises(InputError, match='the label column "label" of the input is not the only one of that name'):
        sr.evaluate(log, ["rr"], group="user", score="score", label="label")
