"""A preset and a bare metric text give the library's number: on its own test vectors, and live where installed."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank.metrics import CATALOG, PRESETS, Definitions, Metric
from tests.peers import vectors
from tests.peers.harness import Impression, evaluate
from tests.peers.rankings import assert_close, by_group, impressions, looking, qrels_and_run

pytestmark = pytest.mark.peer

Parameters = vectors.Parameters
TEXTS = {
    "precision": "p",
    "recall": "r",
    "f_beta": "f",
    "hit_rate": "hit",
    "r_precision": "rprec",
    "auc": "group_auc",
    "auc_global": "auc",
}
# Preset: the vectors of its library, how many core cases are at the defaults of the library, and what is not: cases
# with an argument of the library that the preset's documentation names by another text or setting.
PEERS: dict[str, tuple[str, int, Callable[[str, Parameters], bool]]] = {
    "mllib": ("spark", 48, lambda metric, p: p.get("gain") == "exp2"),
    "ranx": ("ranx", 20, lambda metric, p: p.get("gain") == "exp2"),
    "sklearn": (
        "scikit-learn",
        15,
        lambda metric, p: (
            p.get("tie_rule") in ("max_rank", "reverse_input_order")
            or p.get("single_class") == "nan"
            or p.get("discount", "log2") != "log2"
        ),
    ),
    # A user whose truth is there and is None: a table has no such user.
    "replay": ("replay", 56, lambda metric, p: p.get("groups") == "all"),
    "rectools": (
        "rectools",
        30,
        lambda metric, p: (
            p.get("precision_denominator") == "min(k,n_rel)"
            or p.get("ap_denominator") == "k"
            or (metric == "ndcg" and p.get("ideal") == "truth")
            or metric == "f_beta"
        ),
    ),
    "recommenders": (
        "recommenders",
        22,
        lambda metric, p: p.get("ap_denominator") == "n_rel" or p.get("gain") == "linear",
    ),
    "torchmetrics": ("torchmetrics", 28, lambda metric, p: False),
}


def bare_text(case: vectors.Record) -> str:
    k = None if case["metric"] in ("r_precision", "auc", "auc_global") else case["params"].get("k")
    name = TEXTS.get(case["metric"], case["metric"])
    return name if k is None else f"{name}@{k}"


def at_defaults(preset: str) -> list[vectors.Record]:
    peer, _, otherwise = PEERS[preset]
    found = [case for case in vectors.cases() if case["peer"] == peer and case["scope"] == "core"]
    return [case for case in found if not otherwise(case["metric"], case["params"]) and vectors.why_not(case) is None]


@pytest.mark.parametrize("preset", PEERS)
def test_a_bare_text_gives_the_number_of_the_library(preset: str, vectors_folder: object) -> None:
    cases = at_defaults(preset)
    wrong = {case["id"]: vectors.differences_under(case, preset, bare_text(case)) for case in cases}
    assert {name: found for name, found in wrong.items() if found} == {}
    if not vectors.is_elsewhere():
        assert len(cases) >= PEERS[preset][1]


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_a_preset_names_what_differs_and_nothing_else(preset) -> None:
    Definitions.of(preset, {})
    for default in preset.defaults:
        at = "" if default.cutoff is False or CATALOG[default.metric].cutoff == "none" else "@3"
        bare, setting = f"{default.metric}{at}", "=".join(filter(None, (default.parameter, default.value)))
        written = Metric.parse(f"{default.metric}({setting}){at}")
        assert Metric.parse(bare, preset)[default.parameter] == written[default.parameter]
        assert Metric.parse(bare, preset) != Metric.parse(bare)


def test_ranx_adds_up_grades_in_rbp(ranx: ModuleType) -> None:
    run = ranx.Run({"q": {"a": 2.0, "b": 1.0}})
    for grade in (1, 4):
        there = ranx.evaluate(ranx.Qrels({"q": {"b": grade}}), run, "rbp.80")
        assert_close(float(there), (1 - 0.8) * grade * 0.8, grade)
        rows = [Impression("q", "a", 2.0, None), Impression("q", "b", 1.0, float(grade))]
        graded = "rbp(gain=linear,max_grade=1)"
        found = evaluate(rows, ["rbp", graded], preset="ranx").means
        assert_close(found["rbp"].value, (1 - 0.8) * 0.8, grade)
        assert_close(found[graded].value, float(there), grade)


def test_scikit_learn_takes_a_label_below_0_for_a_gain_below_0(sklearn_metrics: ModuleType) -> None:
    assert_close(sklearn_metrics.dcg_score([[-1, 1]], [[2, 1]]), -1 / math.log2(2) + 1 / math.log2(3), "scikit-learn")
    with pytest.raises(ValueError, match="negative"):
        sklearn_metrics.ndcg_score([[-1, 1]], [[2, 1]])
    rows = [Impression("q", "a", 2.0, -1.0), Impression("q", "b", 1.0, 1.0)]
    assert_close(evaluate(rows, "dcg", preset="sklearn").means["dcg"].value, 1 / math.log2(3), "sparkrank")


@looking
@given(rows=impressions(st.integers(-8, 8).map(lambda n: n / 4), st.sampled_from([None, 0, 1]), least=3, ties=False))
def test_accuracy_of_ir_measures_is_group_auc(rows: list[Impression]) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="its Accuracy is one of pairs")
    relevant = {group: {row.label == 1 for row in members} for group, members in by_group(rows).items()}
    both = {group for group, found in relevant.items() if len(found) == 2}
    qrels, run = qrels_and_run([row for row in rows if row.group in both])
    if both:
        answer = evaluate(rows, "group_auc", preset="trec_eval")
        assert {group for group, value in answer.values["group_auc"].items() if not math.isnan(value)} == both
        for found in ir_measures.iter_calc([ir_measures.Accuracy], qrels, run):
            assert_close(answer.values["group_auc"][found.query_id], found.value, found.query_id)


def test_what_is_given_wins_over_the_preset() -> None:
    rows = [Impression("u", f"i{place}", -float(place), label) for place, label in enumerate((0.0, 1.0, 0.0, 2.0, 1.0))]
    texts = ["ap@2", "ap(over=relevant)@2", "ndcg", "ndcg(gain=linear)"]
    answer = evaluate([*rows, Impression("v", "x", None, 0.0)], texts, preset="mllib", undefined="skip")
    preset_ap, own_ap, preset_ndcg, own_ndcg = (answer.values[text]["u"] for text in texts)
    assert (preset_ap, own_ap) == ((1 / 2) / 2, (1 / 2) / 3)
    binary = (1 / math.log2(3) + 1 / math.log2(5) + 1 / math.log2(6)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    assert preset_ndcg == pytest.approx(binary, rel=1e-15)
    assert own_ndcg != preset_ndcg
    assert math.isnan(answer.counted("ap@2")["v"])
