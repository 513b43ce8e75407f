"""One value of an evaluation by the text that was asked for."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import UnknownResultError
from sparkrank.metrics import PRESETS
from sparkrank.metrics.presets import PresetName

LOG = pa.table(
    {
        "user": ["a", "a", "b", "b", "c"],
        "item": ["1", "2", "1", "2", "1"],
        "m": [0.9, 0.5, 0.7, 0.2, 0.1],
        "n": [0.5, 0.9, 0.7, 0.2, 0.1],
        "label": [0, 1, 1, 0, 0],
        "country": ["de", "de", "a,b", "a,b", None],
        "mobile": [True, True, False, False, None],
        "level": [1, 1, 2, 2, 3],
        "since": [dt.date(2026, 1, 2)] * 4 + [None],
    }
)


def evaluated(metrics: list[str | sr.Metric], score: str | dict[str, str] = "m", **more) -> sr.Evaluation:
    return sr.evaluate(LOG, metrics, group="user", score=score, label="label", **more)


def test_a_value_by_any_spelling_that_means_the_same() -> None:
    ev = evaluated(["nDCG(gain=linear)@2", "MRR", "median(rr)", "auc(exact)"])
    assert ev["mrr"] == ev["RR"] == ev["rr"] == ev.value("recip_rank") == (1 / 2 + 1) / 2
    assert ev["nDCG(gain=linear)@2"] == ev["ndcg@2"] == ev[sr.Metric.parse("ndcg@2")] == ev["ndcg_cut_2"]
    assert ev["p50(MRR)"] == ev["median(rr)"] == 0.75
    assert ev["roc_auc_score"] == ev["auc(exact)"] == (2 + 2) / 6  # .7 and .5 are above .2 and .1
    assert isinstance(ev["mrr"], float)


def test_the_preset_of_the_evaluation_applies() -> None:
    """Of two relevant rows, both listed, the first alone is within 1: 1/2 of R, and all of min(k, R)."""
    log = pa.table({"user": ["a", "a"], "item": ["1", "2"], "m": [2.0, 1.0], "label": [1, 3]})
    asked = {"group": "user", "score": "m", "label": "label", "item": "item", "preset": "recommenders"}
    ev = sr.evaluate(log, ["map@1", "ndcg@1", sr.Metric("ap", k=1)], **asked)
    assert ev["map@1"] == ev["ap@1"] == ev["ap(over=min_k_relevant)@1"] == 1.0
    assert ev["ndcg@1"] == ev["ndcg(gain=binary)@1"] == 1.0
    assert [str(metric) for metric in ev.plan.metrics] == ["ap(over=min_k_relevant)@1", "ndcg(gain=binary)@1", "ap@1"]
    assert ev[sr.Metric("ap", k=1)] == ev["ap(over=relevant)@1"] == 1 / 2


def test_an_undefined_value_is_nan() -> None:
    assert math.isnan(evaluated(["rr"], slices=["level"]).value("rr", slice={"level": 3}))


SLICES = ["country", "mobile", "level", "since", ["country", "level"]]
OF_SLICES: list[tuple[object, float]] = [
    (None, 0.75),
    ({"country": "de"}, 0.5),
    ("country=de", 0.5),
    ("country=a,b", 1.0),
    ("country=a\\,b", 1.0),
    ({"mobile": True}, 0.5),
    ({"level": 2}, 1.0),
    ({"since": dt.date(2026, 1, 2)}, 0.75),
    ({"country": "de", "level": 1}, 0.5),
    ({"level": 2, "country": "a,b"}, 1.0),
]
WITHOUT_A_VALUE = [{"country": None}, "country=(null)", "country=(null),level=3", {"country": None, "level": 3}]


def test_a_value_of_a_slice() -> None:
    """Rows without a value are a slice, too."""
    ev = evaluated(["rr", "p@1"], slices=SLICES)
    assert [(asked, ev.value("rr", slice=asked)) for asked, _ in OF_SLICES] == OF_SLICES
    assert [ev.value("p@1", slice=asked) for asked in (*WITHOUT_A_VALUE, {"mobile": None})] == [0.0] * 5


REFUSED: list[tuple[dict, str]] = [
    ({"metric": "ndgc@2"}, 'no metric "ndgc@2" was evaluated, did you mean "ndcg@2"? (there are: ndcg@2, rr)'),
    ({"metric": "ndcg@3"}, 'no metric "ndcg@3" was evaluated, did you mean "ndcg@2"?'),
    ({"model": "mm"}, 'no model "mm" was evaluated'),
    ({"model": None}, "there are several models, so model= is needed (there are: m, n)"),
    ({"slice": "contry=de"}, 'no slice "contry=de" was evaluated, did you mean "country=de"?'),
    ({"slice": {"country": "dee"}}, 'no slice "country=dee" was evaluated, did you mean "country='),
    ({"slice": {}}, 'no slice "" was evaluated'),
    ({"slice": ["c", "p"]}, "slice is ['c', 'p']: a mapping of columns to values, or a text such as "),
    ({"slice": ("country", "de")}, "slice is ('country', 'de'): a mapping"),
    ({"metric": 0}, "metric is 0: a text is needed"),
    ({"metric": ["rr"]}, "metric is ['rr']: a text is needed"),
    ({"model": 5}, 'no model "5" was evaluated'),
]


def test_what_was_not_evaluated_is_told() -> None:
    ev = evaluated(["ndcg@2", "rr"], {"m": "m", "n": "n"}, slices=["country"])
    for asked, sentence in REFUSED:
        with pytest.raises(KeyError) as refused:
            ev.value(**{"metric": "rr", "model": "m", **asked})
        assert str(refused.value).startswith(sentence)
        assert isinstance(refused.value, UnknownResultError)
        assert isinstance(refused.value, sr.SparkrankError)
    with pytest.raises(UnknownResultError, match="no slices were requested"):
        evaluated(["rr"]).value("rr", slice="country=de")


def test_every_model_has_its_value() -> None:
    ev = evaluated(["rr"], {"m": "m", "n": "n"})
    assert (ev.value("rr", model="m"), ev.value("rr", model="n")) == (0.75, 1.0)


def test_a_long_name_is_not_repeated() -> None:
    ev, long = evaluated(["rr"], slices=["country"]), "x" * 100_000
    slices = (long, {"country": long}, {long: "de"}, ["x"] * 100_000)
    for asked in ({"metric": long}, {"model": long}, *({"slice": slice_} for slice_ in slices)):
        with pytest.raises(UnknownResultError) as refused:
            ev.value(**{"metric": "rr", **asked})
        assert str(refused.value).count("x") <= 201
        assert len(str(refused.value)) < 500


def test_the_metrics_that_there_are() -> None:
    ev = evaluated(["ndcg@2", "MRR", "median(rr)"], {"m": "m", "n": "n"})
    assert list(ev) == ["ndcg@2", "rr", "median(rr)"]
    assert "nDCG@2" in ev
    assert sr.Metric.parse("mrr") in ev
    assert [asked in ev for asked in ("ap", "no metric", "", 0, None, ["rr"])] == [False] * 6
    with pytest.raises(UnknownResultError, match=r"^metric is 0"):
        ev[0]


@pytest.mark.parametrize("preset", [name for name, preset in PRESETS.items() if preset.defaults])
def test_what_an_evaluation_lists_is_what_it_finds(preset: PresetName) -> None:
    """A library's meaning of a metric and ours beside each other: each text has the value of its own row."""
    asked = {
        str(metric): metric
        for default in PRESETS[preset].defaults
        for text in [default.metric + ("@2" if default.cutoff else "")]
        for metric in (sr.Metric.parse(text), sr.Metric.parse(text, PRESETS[preset]))
    }
    ev = evaluated([*asked.values()], preset=preset, item="item", positions="dense")
    rows = [row["value"] for row in ev.table.to_pylist() if row["slice"] == "all"]
    assert len(rows) == len(asked)
    assert [ev[text] for text in ev] == pytest.approx(rows, abs=0, nan_ok=True)
