"""Small random rankings through sparkrank and through the libraries that people trust, value by value."""

from __future__ import annotations

import itertools
import math
import shutil
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank.base.errors import InputError
from tests.peers import trec
from tests.peers.harness import Evaluation, Impression, evaluate
from tests.peers.rankings import (
    CUTOFFS,
    EXACT,
    assert_close,
    by_group,
    graded_labels,
    impressions,
    lists_and_truth,
    looking,
    qrels_and_run,
    tied_scores,
)

pytestmark = pytest.mark.peer


# pytrec_eval -------------------------------------------------------------------------------------------------------

CUT = ",".join(map(str, CUTOFFS))
LEVELS = ("0.00", "0.10", "0.25", "0.30", "0.50", "0.70", "0.75", "0.90", "1.00")
ASKED = {
    *(f"{name}.{CUT}" for name in ("P", "recall", "map_cut", "ndcg_cut", "success", "relative_P")),
    *("map", "ndcg", "recip_rank", "Rprec", "set_P", "set_recall", "set_F", "num_ret", "num_rel", "num_rel_ret"),
    *("set_map", "set_relative_P", "11pt_avg", "num_nonrel_judged_ret"),
    *("gm_map", "gm_bpref", "bpref", "infAP", f"iprec_at_recall.{','.join(LEVELS)}"),
}


@looking
@given(
    rows=impressions(st.one_of(st.none(), tied_scores, tied_scores), st.one_of(st.none(), graded_labels)),
    level=st.sampled_from([1, 2]),
)
def test_pytrec_eval(pytrec_eval: ModuleType, rows: list[Impression], level: int) -> None:
    """Its queries as well: those that are in both tables."""
    qrels, run = qrels_and_run(rows)
    if not qrels or not run:
        return
    printed = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level).evaluate(run)
    assert printed.keys() == qrels.keys() & run.keys()
    names = {f"{name}_{k}" for name in ("P", "recall", "map_cut", "ndcg_cut", "success", "relative_P") for k in CUTOFFS}
    names |= {f"iprec_at_recall_{recall}" for recall in LEVELS}
    texts = trec.metric_texts(names | ASKED, level)
    assert len(texts) == 6 * len(CUTOFFS) + len(LEVELS) + 15
    sides = lists_and_truth(qrels, run)
    if not printed:
        with pytest.raises(InputError):
            evaluate(sides[0], list(texts.values()), sides[1], preset="trec_eval")
        return
    geometric = {name: f"gmean({texts[name[3:]]})" for name in ("gm_map", "gm_bpref")}
    answer = evaluate(sides[0], [*texts.values(), *geometric.values(), "unj"], sides[1], preset="trec_eval")
    for name, text in geometric.items():
        mean = pytrec_eval.compute_aggregated_measure(name, [of_query[name] for of_query in printed.values()])
        assert_close(answer.percentiles[text], mean, name)
    assert answer.counts.keys() == printed.keys()
    for query, expected in printed.items():
        got = trec.of_query(answer, texts, query)
        for name in expected.keys() & got.keys():
            assert_close(got[name], expected[name], (query, name))
        if min(qrels[query].values()) >= 0:  # a lower label is no judgment there
            judged = expected["num_rel_ret"] + expected["num_nonrel_judged_ret"]
            assert_close(answer.counted("unj")[query], 1 - judged / expected["num_ret"], (query, "unj"))
        assert level == 2 or answer.counts[query].relevant == expected["num_rel"]


@looking
@given(rows=impressions(st.one_of(st.none(), tied_scores), graded_labels, groups=1, least=2, most=5))
def test_expected_ties_are_the_mean_of_pytrec_eval_over_all_item_names(
    pytrec_eval: ModuleType, rows: list[Impression]
) -> None:
    """pytrec_eval orders tied items by name: over all ways to name them, every order comes up equally often."""
    named = [
        row._replace(group=f"q{index}", item=name)
        for index, names in enumerate(itertools.permutations("abcde"[: len(rows)]))
        for row, name in zip(rows, names, strict=True)
    ]
    qrels, run = qrels_and_run(named)
    names = {f"{name}_{k}" for name in ("P", "recall", "map_cut", "ndcg_cut", "success") for k in (1, 2, 3, 20)}
    texts = trec.metric_texts(names | {"map", "ndcg", "recip_rank", "Rprec", "set_P", "set_recall", "set_F"})
    answer = evaluate(rows, list(texts.values()), ties="expected", undefined="zero")
    printed = list(pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run).values()) if run else []
    for name in texts if printed else ():
        mean = sum(of_query[name] for of_query in printed) / len(printed)
        assert_close(answer.counted(texts[name])["q0"], mean, name)


# ir_measures -------------------------------------------------------------------------------------------------------

IR_MEASURES = [
    *("nDCG", "nDCG@1", "nDCG@3", "nDCG@20", "P@2", "P@20", "P(rel=2)@3", "R@3", "R(rel=2)@20"),
    *("RR", "RR(rel=2)", "AP", "AP@3", "AP(rel=2)", "AP(rel=2)@3", "Rprec", "Rprec(rel=2)"),
    *("Success@2", "Success(rel=2)@3", "SetP", "SetP(rel=2)", "SetR", "SetR(rel=2)", "SetF", "SetF(rel=2)"),
    *("SetAP", "SetAP(rel=2)", "NumRet", "NumRel"),
    *("Bpref", "Bpref(rel=2)", "IPrec@0.0", "IPrec(rel=2)@0.3", "IPrec@0.5", "IPrec@1.0", "infAP", "infAP(rel=2)"),
]
LESSER_FIRST = ["RR@1", "RR@3", "RR(rel=2)@3", "RR@20", "Judged", "Judged@1", "Judged@3", "Judged@20"]


@looking
@given(rows=impressions(st.one_of(st.none(), tied_scores), st.one_of(st.none(), graded_labels)))
def test_ir_measures_by_its_own_names(ir_measures: ModuleType, rows: list[Impression]) -> None:
    """RR@k (MS MARCO's script) and Judged take the lesser item of a tie; the others are pytrec_eval's."""
    qrels, run = qrels_and_run(rows)
    if not qrels or not run:
        return
    compare_with_ir_measures(ir_measures, IR_MEASURES, qrels, run, evaluate(rows, IR_MEASURES, **trec.DEFINITIONS))
    lesser = evaluate(trec.lesser_item_first(rows), LESSER_FIRST, **trec.DEFINITIONS)
    compare_with_ir_measures(ir_measures, LESSER_FIRST, qrels, run, lesser)


@looking
@given(rows=impressions(st.one_of(st.none(), tied_scores), graded_labels), b=st.sampled_from([0.5, 2.0, 3.0]))
def test_trec_eval_weighs_recall_by_beta_where_van_rijsbergen_takes_its_square(
    ir_measures: ModuleType, rows: list[Impression], b: float
) -> None:
    """Its set_F, and so ir_measures' SetF(beta=4), is f(beta=2)."""
    qrels, run = qrels_and_run(rows)
    values = evaluate(rows, f"f(beta={b!r})", **trec.DEFINITIONS).counted(f"f(beta={b!r})")
    for metric in ir_measures.iter_calc([ir_measures.SetF(beta=b * b)], qrels, run) if qrels and run else ():
        assert_close(values[metric.query_id], metric.value, metric)


def compare_with_ir_measures(
    ir_measures: ModuleType, names: list[str], qrels: dict[str, Any], run: dict[str, Any], answer: Evaluation, **within
) -> None:
    measures = [ir_measures.parse_measure(name) for name in names]
    assert [str(measure) for measure in measures] == names
    compared = list(ir_measures.iter_calc(measures, qrels, run))
    assert len(compared) == len(names) * len(qrels)
    for metric in compared:
        if str(metric.measure) == "NumRel" and metric.query_id not in run:
            assert metric.value == 0  # ir_measures takes every measure of a query without a list for 0
            continue
        got = answer.counted(str(metric.measure))[metric.query_id]
        assert math.isclose(got, metric.value, **(within or {"rel_tol": EXACT, "abs_tol": EXACT})), metric


# ranx --------------------------------------------------------------------------------------------------------------

RANX = {
    f"{name}@{k}": f"{text}@{k}"
    for name, text in {
        **{name: name for name in ("precision", "recall", "ndcg", "dcg", "map", "mrr", "f1")},
        **{f"{name}_burges": f"{name}(gain=exp2)" for name in ("dcg", "ndcg")},
        "hit_rate": "hit",
        "hits": "cg(gain=binary)",
    }.items()
    for k in CUTOFFS
}
RANX |= {name: name for name in ("precision", "recall", "f1", "map", "mrr", "ndcg")}
RANX |= {"r-precision": "rprec", "ndcg_burges": "ndcg(gain=exp2)"}


@looking
@given(rows=impressions(st.integers(-8, 8).map(lambda n: n / 4), st.sampled_from([None, 0, 0, 1, 2, 3]), ties=False))
def test_ranx_without_ties(ranx: ModuleType, rows: list[Impression]) -> None:
    """It knows no labels below 0."""
    qrels, run = qrels_and_run(rows)
    if not qrels:
        return
    lists, truth = lists_and_truth(qrels, run)
    answer = evaluate(lists, list(RANX.values()), truth, preset="ranx")
    assert answer.counts.keys() == qrels.keys()
    ranked = ranx.Run({query: run[query] for query in qrels})
    ranx.evaluate(ranx.Qrels(qrels), ranked, list(RANX), return_mean=False, save_results_in_run=True)
    for name, text in RANX.items():
        values = [float(ranked.scores[name][query]) for query in qrels]
        for query, value in zip(qrels, values, strict=True):
            assert_close(answer.counted(text)[query], value, (query, name))
        assert_close(answer.means[text].value, math.fsum(values) / len(values), name)


# scikit-learn ----------------------------------------------------------------------------------------------------


@looking
@given(rows=impressions(tied_scores, st.integers(0, 4), least=2))
def test_scikit_learn_dcg_and_ndcg(sklearn_metrics: ModuleType, rows: list[Impression]) -> None:
    """It averages over the orders of tied scores."""
    cuts = ["", *(f"@{k}" for k in CUTOFFS)]
    texts = [f"{name}(gain={gain}){cut}" for name in ("dcg", "ndcg") for gain in ("linear", "exp2") for cut in cuts]
    answer = evaluate(rows, texts, preset="sklearn")
    for group, members in by_group(rows).items():
        scores = np.array([[row.score for row in members]])
        labels = np.array([[row.label for row in members]], float)
        for text in texts:
            score = getattr(sklearn_metrics, f"{text.partition('(')[0]}_score")
            k = int(text.partition("@")[2]) if "@" in text else None
            gains = np.exp2(labels) - 1 if "exp2" in text else labels
            assert_close(answer.counted(text)[group], score(gains, scores, k=k), (group, text))


@looking
@given(rows=impressions(tied_scores, st.integers(0, 1), least=2))
def test_scikit_learn_average_precision(sklearn_metrics: ModuleType, rows: list[Impression]) -> None:
    """A tie block as one step, in the ranking as in the curve: ties=block, which wins over the preset."""
    answer = evaluate(rows, "ap", preset="sklearn", ties="block")
    for group, members in by_group(rows).items():
        scores, labels = [row.score for row in members], [row.label for row in members]
        if not any(labels):
            assert math.isnan(answer.values["ap"][group])
            continue
        as_list = sklearn_metrics.label_ranking_average_precision_score([labels], [scores])
        for expected in (as_list, sklearn_metrics.average_precision_score(labels, scores)):
            assert_close(answer.values["ap"][group], expected, group)


def test_err_is_that_of_trec_s_web_track(ir_measures: ModuleType) -> None:
    """gdeval by way of ir_measures: grades 0 to 4, five decimals, its queries numbers. Lists without ties."""
    if not shutil.which("perl"):
        pytest.skip("gdeval is a script in Perl, which is not installed")
    draw = np.random.default_rng(3)
    rows = [
        Impression(str(query), f"d{item}", float(score), float(draw.choice([0, 0, 1, 2, 3, 4])))
        for query in range(1, 31)
        for item, score in enumerate(draw.permutation(12))
    ]
    names = ["ERR@1", "ERR@3", "ERR@20"]
    answer = evaluate(rows, names, **trec.DEFINITIONS)
    compare_with_ir_measures(ir_measures, names, *qrels_and_run(rows), answer, abs_tol=6e-6)
