"""The evaluator of Spark ML without a session: its params, its direction, and what it refuses."""

from __future__ import annotations

import inspect
import pickle
import re
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sparkrank as sr
from sparkrank.metrics import CATALOG, PRESETS
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.sampled_metric import SampledMetric
from sparkrank.ml import RankingMetricEvaluator
from sparkrank.ml.connect import RankingMetricEvaluator as OfConnect
from tests.support.strategies import reads_the_past

KINDS = pytest.mark.parametrize("kind", [RankingMetricEvaluator, OfConnect], ids=["pyspark.ml", "pyspark.ml.connect"])
# ``good`` puts relevant rows first, by probabilities near their labels; ``bad`` puts them last, ``tied`` knows nothing.
ROWS = pa.table(
    {
        "user": ["a"] * 6 + ["b"] * 6,
        "item": [*range(6), *range(6)],
        "label": [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0],
        "good": [0.9, 0.8, 0.3, 0.2, 0.15, 0.1, 0.95, 0.3, 0.2, 0.1, 0.85, 0.15],
        "bad": [0.1, 0.2, 0.7, 0.8, 0.85, 0.9, 0.05, 0.7, 0.8, 0.9, 0.15, 0.85],
        "tied": [0.5] * 12,
        "ref": [1, 2, 3, 4, 5, 6, 1, 3, 4, 6, 2, 5],  # as good, the best first
        # a and b are shown one item first, 4, which is relevant for b alone; or the two items 0, for both, and 1
        "same": [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0],
        "other": [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        "rare": [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0],
        "short": [0.9, 0.8, None, None, None, None, 0.95, 0.3, 0.2, 0.1, 0.85, 0.15],
        "none": [None] * 12,
        "popular": [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
        "topics": [["x"]] * 12,
    }
)
# Where the whole list, or bad scores, would show nothing: the text of the metric, and the better and the worse scores.
OTHERWISE = {
    **{name: (f"{name}@2", "good", "bad") for name in ("p", "r", "f", "hit", "cg", "fallout", "n_rel_ret")},
    "judged": ("judged(over=k)@5", "good", "short"),
    "iprec": ("iprec(recall=0.5)", "good", "bad"),
    "set_ap": ("set_ap", "good", "none"),
    "auc_up": ("auc_up", "good", "tied"),  # of bins in their best order: the worst order is as good as the best
    "recall_at_precision": ("recall_at_precision(precision=0.4)", "good", "same"),  # of the other, at the highest score
    "coverage": ("coverage@1", "other", "same"),
    "gini": ("gini@1", "other", "same"),
    "novelty": ("novelty@1", "rare", "popular"),
    "entropy": ("entropy@1", "other", "same"),
    "personalization": ("personalization@1", "other", "same"),
    "filled": ("filled@6", "good", "short"),
    **{name: (f"{name}(by=topics)@2", "good", "bad") for name in ("alpha_ndcg", "strecall")},
    **{name: (f"{name}(by=label)@2", "good", "bad") for name in ("awrf", "exposure_gap")},
    **{name: (f"{name}(by=rare)@2", "bad", "good") for name in ("ild", "distinct", "category_entropy")},
    "serendipity": ("serendipity@1", "same", "other"),  # of b, whose reference shows item 0 first
}


def is_of_any_lists(declared: Declaration) -> bool:
    """Whether the metric needs no interactions, and no lists of items that were sampled."""
    return not reads_the_past(declared) and not isinstance(declared, SampledMetric)


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, each in CATALOG.items()
        # all rows have a label, and the evaluator has no column of propensities
        if each.higher_is_better is not None and is_of_any_lists(each) and name not in ("unj", "value")
    ),
)
def test_the_direction_of_every_metric(name: str) -> None:
    """What ranks well is better than what ranks badly, for every metric of the catalogue: no list of names."""
    text, better, worse = OTHERWISE.get(name, (name, "good", "bad"))
    evaluator = RankingMetricEvaluator(
        metricName=text, groupCol="user", itemCol="item", referenceRankCol="ref", ties="worst"
    )
    values = [evaluator.setPredictionCol(column).evaluate(ROWS) for column in (better, worse)]
    assert values[0] != values[1]
    assert evaluator.isLargerBetter() is (values[0] > values[1])
    percentile = f"median({text})"
    if CATALOG[name].is_averaged and evaluator.getMetricName() != "gauc":
        assert evaluator.setMetricName(percentile).isLargerBetter() is (values[0] > values[1])


def test_a_registered_metric_has_the_direction_of_its_declaration() -> None:
    from examples.outside_metric import MEAN_POSITION

    sr.register(MEAN_POSITION)
    evaluator = RankingMetricEvaluator(metricName="mean_position@10", groupCol="user", predictionCol="good")
    assert (evaluator.evaluate(ROWS), evaluator.isLargerBetter()) == ((1 + 2 + 1 + 2) / 4, False)


@KINDS
@pytest.mark.parametrize("metric", ["auc", "ap(over=min_k_relevant)@2"])
def test_the_value_is_that_of_evaluate(kind: type[RankingMetricEvaluator], metric: str) -> None:
    evaluator = kind(metricName=metric, groupCol="user", predictionCol="bad")
    frame = ROWS.to_pandas()
    before = frame.copy()
    expected = sr.evaluate(ROWS, [metric], group="user", score="bad", label="label")[metric]
    assert evaluator.evaluate(ROWS) == evaluator.evaluate(frame) == expected
    pd.testing.assert_frame_equal(frame, before)


def test_every_definition_reaches_the_evaluation() -> None:
    """Worked by hand: an item stands twice in the list of a, and the only row of b has no label."""
    columns = {"user": list("aaab"), "item": [1, 1, 2, 3], "prediction": [0.9, 0.8, 0.8, 0.5], "label": [0, 1, 1, None]}
    rows = pa.table(columns)
    unlisted = rows.set_column(2, "prediction", pa.array([0.9, 0.8, 0.8, None]))
    unjudged, all_relevant, one_relevant = (
        rows.set_column(3, "label", pa.array(labels)) for labels in ([None, 1, 1, 0], [1, 1, 1, 0], [0, 1, 0, None])
    )
    for metric, log, values in (
        ("rr", rows, {"": 1 / 2, "undefined=zero": (1 / 2 + 0) / 2, "undefined=one": (1 / 2 + 1) / 2}),  # b has none
        ("p@3", rows, {"": (2 / 3 + 0) / 2, "population=truth": 2 / 3}),
        ("p@3", unlisted, {"unretrieved=skip": 2 / 3}),
        ("rr", unjudged, {"": 1 / 2, "unjudged=drop": 1}),
        ("p@3", all_relevant, {"": (3 / 3 + 0) / 2, "duplicates=once": (2 / 3 + 0) / 2}),
        ("p@2", rows, {"population=truth": 1 / 2}),
        # the relevant row is second or third
        ("p@2", one_relevant, {"": 1 / 4, "ties=best": 1 / 2, "ties=worst": 0}),
    ):
        for setting, value in values.items():
            given = dict([setting.split("=")] if setting else [])
            if log is one_relevant:
                given["population"] = "truth"
            evaluator = RankingMetricEvaluator(metricName=metric, groupCol="user", itemCol="item", **given)
            assert evaluator.evaluate(log) == value, (metric, setting)
    with pytest.raises(sr.InputError, match="duplicates=error"):
        RankingMetricEvaluator(metricName="rr", groupCol="user", itemCol="item", duplicates="error").evaluate(rows)


def test_weights_presets_and_several_group_columns() -> None:
    columns = {"user": list("aaaa"), "device": list("xxyy"), "prediction": [0.9, 0.1, 0.2, 0.8], "label": [1, 0, 1, 0]}
    rows = pa.table({**columns, "w": [3.0, 1.0, 1.0, 1.0]})
    by_device = {"groupCol": ("user", "device")}
    for given, value in (
        ({"metricName": "rr", **by_device}, (1 + 1 / 2) / 2),
        ({"metricName": "rr", "groupCol": "user"}, 1),
        ({"metricName": "auc", "weightCol": "w"}, (3 * 2 + 1 * 1) / 8),  # of 4 * 2 pairs of weight
        ({"metricName": "hits@1", "preset": "ranx", **by_device}, (1 + 0) / 2),
        ({"metricName": "rr", "preset": "rectools", "positions": "dense", **by_device}, (1 + 1 / 2) / 2),
    ):
        assert RankingMetricEvaluator(**given).evaluate(rows) == value, given


def test_labels_and_groups_are_read_where_the_metric_has_to_do_with_them() -> None:
    unlabelled = pa.table({"prediction": [0.9, 0.1], "item": [1, 2], "user": ["a", None]})
    catalogue = RankingMetricEvaluator(metricName="gini", groupCol="user", itemCol="item", maxBadFraction=0.5)
    assert catalogue.evaluate(unlabelled) == 0
    pooled = RankingMetricEvaluator(metricName="auc", groupCol="none such")
    assert pooled.evaluate(pa.table({"prediction": [0.9, 0.1], "label": [1, 0]})) == 1


@KINDS
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"metricName": "ndgc@10"}, 'metricName: unknown metric "ndgc" in "ndgc@10", did you mean "ndcg"?'),
        ({"metricName": ["ndcg@10"]}, "metricName is ['ndcg@10']: the text of one metric is needed"),
        ({"metricName": "copc"}, "metricName is 'copc', whose best value is neither the highest nor the lowest"),
        ({"groupCol": ["a", 1]}, "groupCol is ['a', 1]: the name of a column, or a list of names, is needed"),
        ({"predictionCol": 7}, "predictionCol is 7: the name of a column, a text, is needed"),
        ({"preset": "rankx"}, "preset is 'rankx', did you mean \"ranx\"? (allowed: trec_eval, mllib"),
        ({"maxBadFraction": 1.5}, "maxBadFraction is 1.5: a number from 0 to 1 is allowed"),
        ({"buckets": 0}, "buckets is 0: an int from 1 to 65536 is allowed"),
        *(({name: "wurst"}, f"{name} is 'wurst'") for name in ALLOWED),
    ],
    ids=str,
)
def test_a_value_that_is_not_allowed(kind: type[RankingMetricEvaluator], given: dict, sentence: str) -> None:
    """In the constructor, setParams, its setter, set() and a map of params alike; what was set before stays."""
    ((name, value),) = given.items()
    evaluator = kind(metricName="rr", groupCol="user")
    before = evaluator.extractParamMap()
    param = evaluator.getParam(name)
    for sets in (
        lambda: kind(**given),
        lambda: evaluator.setParams(**{"metricName": "ap", **given}),
        lambda: getattr(evaluator, f"set{name[0].upper()}{name[1:]}")(value),
        lambda: evaluator.set(param, value),
        lambda: evaluator.evaluate(None, {param: value}),
    ):
        with pytest.raises(sr.SpecError) as caught:
            sets()
        assert str(caught.value).startswith(sentence)
        assert evaluator.extractParamMap() == before


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"metricName": "ndcg@10", "weightCol": "w", "groupCol": "u"}, 'weight="w" is the weight of rows'),
        ({"metricName": "err", "groupCol": "u", "ties": "expected"}, "err is not computed under ties=expected"),
        ({"metricName": "rr", "groupCol": "u", "labelCol": "u"}, 'column "u" is both group and label'),
        (
            {"metricName": "serendipity", "preset": "recommenders", "groupCol": "u"},
            "metricName: serendipity of Recommenders is",
        ),
    ],
    ids=str,
)
def test_values_that_do_not_go_together(given: dict, sentence: str) -> None:
    """The constructor says so; setters, after which others may come, leave it to evaluate, which reads nothing."""
    evaluator = RankingMetricEvaluator()
    for name, value in given.items():
        getattr(evaluator, f"set{name[0].upper()}{name[1:]}")(value)
    for refused in (lambda: RankingMetricEvaluator(**given), lambda: evaluator.evaluate(None)):
        with pytest.raises(sr.SpecError) as caught:
            refused()
        assert str(caught.value).startswith(sentence)


def test_a_metric_of_groups_without_a_group() -> None:
    with pytest.raises(sr.SpecError, match=r"^ndcg@10 is a metric of groups: groupCol must name"):
        RankingMetricEvaluator().evaluate(None)


def test_none_takes_a_param_back() -> None:
    evaluator = RankingMetricEvaluator(groupCol="user", itemCol=None, ties="worst")
    assert not evaluator.isSet(evaluator.itemCol)
    assert evaluator.setTies(None).getTies() is None
    assert evaluator.setMetricName("rr").setMetricName(None).getMetricName() == "ndcg@10"
    assert evaluator.setParams(groupCol=None).getGroupCol() is None


@KINDS
def test_an_evaluator_asks_for_the_python_of_workers_before_a_model_is_fitted(
    kind: type[RankingMetricEvaluator], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = SimpleNamespace(pythonExec="no-such-python", master="local[2]")
    active = SimpleNamespace(version="4.1.0", sparkContext=context)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: active)
    with pytest.raises(sr.SparkrankError, match=r"^Spark's workers run no-such-python, which is not there"):
        kind(metricName="auc")


@KINDS
def test_setters_getters_copies_and_explanations(kind: type[RankingMetricEvaluator]) -> None:
    columns = {"predictionCol": "p", "labelCol": "l", "itemCol": "i", "weightCol": "w", "referenceRankCol": "r"}
    values = {"metricName": "auc", "groupCol": ["user", "query"], **columns, "preset": "ranx"}
    values |= {name: allowed[-1] for name, allowed in ALLOWED.items()}
    values |= {"positions": "dense", "maxBadFraction": 0.25, "buckets": 3}
    evaluator = kind()
    assert {param.name for param in evaluator.params} == values.keys()
    for method in (kind.__init__, kind.setParams):
        assert [*inspect.signature(method).parameters] == ["self", *values]
    for name, value in values.items():
        title = f"{name[0].upper()}{name[1:]}"
        assert getattr(evaluator, f"set{title}")(value) is evaluator
        assert getattr(evaluator, f"get{title}")() == value
        assert re.search(rf"^{name}: \w.* \(.*current: ", evaluator.explainParams(), re.MULTILINE)
    assert all(preset in evaluator.explainParam("preset") for preset in PRESETS)
    assert {param.name: value for param, value in evaluator.extractParamMap().items()} == values
    copied = evaluator.copy({evaluator.metricName: "logloss"})
    assert (copied.getMetricName(), evaluator.getMetricName(), copied.uid) == ("logloss", "auc", evaluator.uid)
    assert (copied.isLargerBetter(), evaluator.isLargerBetter()) == (False, True)
    again = pickle.loads(pickle.dumps(evaluator))  # noqa: S301 - our own
    assert again.extractParamMap() == evaluator.extractParamMap()


def test_a_nan_prediction_is_a_bad_row() -> None:
    rows = pa.table({"user": ["a", "a"], "prediction": [0.5, float("nan")], "label": [1, 0]})
    evaluator = RankingMetricEvaluator(metricName="rr", groupCol="user")
    with pytest.raises(sr.InputError) as caught:
        evaluator.evaluate(rows)
    assert str(caught.value).startswith("50.0000% of the rows cannot be evaluated (1 NaN score)")
    assert 'not in its training data: coldStartStrategy="drop" of ALS leaves these rows out' in str(caught.value)
    assert evaluator.setMaxBadFraction(0.5).evaluate(rows) == 1
    other = pa.table({"user": ["a", None], "prediction": [0.5, 0.5], "label": [1, 0]})
    with pytest.raises(sr.InputError, match="1 null or NaN group key") as caught:
        evaluator.setMaxBadFraction(0).evaluate(other)
    assert "ALS" not in str(caught.value)


def test_an_undefined_metric_is_no_value() -> None:
    """Without a relevant row; the loss of a probability is defined for them."""
    rows = pa.table({"user": ["a", "a"], "prediction": [0.5, 0.25], "label": [0, 0]})
    evaluator = RankingMetricEvaluator(groupCol="user")
    for metric, sentence in (
        ("auc", r"auc is undefined for these rows \(.*\), so it cannot choose a model$"),
        (
            "ndcg@10",
            r"ndcg@10 is undefined in every group \(.*\), so it cannot choose a model: undefined=zero counts",
        ),
    ):
        with pytest.raises(sr.InputError, match=sentence):
            evaluator.setMetricName(metric).evaluate(rows)
    assert evaluator.setUndefined("zero").evaluate(rows) == 0
    assert evaluator.setMetricName("logloss").evaluate(rows) > 0
