"""The names that other programs print are aliases, set what they imply, or are refused with what to write."""

from __future__ import annotations

import re

import pytest

from sparkrank.base.errors import MetricError
from sparkrank.metrics import CATALOG, PRESETS, Metric
from sparkrank.metrics.aliases import ALIASES, ELSEWHERE
from tests.support.strategies import needed

# Of each program the names that it prints for metrics that are here, and what they are here.
PRINTED = """
    papers        HitRate@10 hit@10, hitrate hit, uAUC group_auc, wuAUC gauc, PRAUC pr_auc, AUC_ROC auc, roc_auc auc,
                  ARP@5 shown(of=interactions.rows)@5, APLT@5 shown(of=tier,is=tail)@5,
                  average_precision ap, logloss logloss, log_loss logloss, success@1 hit@1, hit-rate@5 hit@5
    RePlay        NDCG@10 ndcg@10, MAP@10 ap@10, MRR@10 rr@10, HitRate@10 hit@10, Precision@10 p@10, Recall@10 r@10,
                  Coverage@10 coverage@10, Unexpectedness@10 unexpected@10,
                  CategoricalDiversity(by=genre)@5 distinct(by=genre)@5,
                  Surprisal@5 novelty(of=users,over=k,scale=unit)@5
    RecTools      NDCG@5 ndcg@5, MAP@5 ap@5, MRR@5 rr@5, HitRate@5 hit@5, Precision@5 p@5, Recall@5 r@5,
                  RPrecision@5 p(over=min_k_relevant)@5, F1Beta@5 f@5,
                  Intersection@5 overlap(over=retrieved)@5, CatalogCoverage@5 coverage(by=count)@5,
                  MeanInvUserFreq@5 novelty(of=users,over=lists)@5,
                  AvgRecPopularity@5 shown(of=interactions.rows)@5,
                  IntraListDiversity(by=[year,genre])@5 ild(by=[year,genre],single=zero)@5
    Recommenders  ndcg_at_k@10 ndcg(gain=binary)@10, map_at_k@10 ap(over=min_k_relevant)@10, precision_at_k@10 p@10,
                  recall_at_k@10 r@10, map@10 ap@10, auc auc, logloss logloss,
                  distributional_coverage entropy, rmse rmse, mae mae, rsquared r2
    ranx          hit_rate@3 hit@3, precision@3 p@3, recall@3 r@3, f1@3 f@3, r-precision rprec, mrr rr, mrr@3 rr@3,
                  map ap, ndcg ndcg, ndcg_burges@3 ndcg(gain=exp2)@3, dcg_burges dcg(gain=exp2), bpref bpref,
                  rbp.80 rbp, rbp.95 rbp(p=0.95), rbp.5@9 rbp(p=0.5)@9
    torchmetrics  RetrievalMAP ap, RetrievalMAP@3 ap(over=hits)@3, RetrievalMRR rr, RetrievalNormalizedDCG@3 ndcg@3,
                  RetrievalHitRate@3 hit@3, RetrievalRPrecision rprec, RetrievalPrecision@3 p@3,
                  RetrievalRecall@3 r@3, BinaryAUROC auc(exact), BinaryAveragePrecision pr_auc(exact),
                  RetrievalAUROC group_auc, BinaryCalibrationError ece, retrieval_average_precision ap,
                  retrieval_average_precision@3 ap(over=hits)@3, retrievalAveragePrecision ap, retrieval_map ap,
                  retrieval_reciprocal_rank rr, retrieval_precision@3 p@3, retrieval_recall@3 r@3,
                  retrieval_hit_rate@3 hit@3, retrieval_normalized_dcg@3 ndcg@3, retrieval_normalized_dcg ndcg,
                  retrieval_r_precision rprec, retrieval_auroc group_auc, binary_auroc auc(exact),
                  binary_average_precision pr_auc(exact), binary_calibration_error ece, retrieval_recall_at_3 r@3,
                  RetrievalFallOut@3 fallout@3, retrieval_fall_out fallout
    ir_measures   NumRet n_ret, NumRel(rel=2) n_rel(rel=2), NumRelRet n_rel_ret, SetP p, SetR r, SetAP set_ap,
                  SetRelP p(over=min_retrieved_relevant)
    TF-Ranking    ARPMetric relevance_position
    recpack       PercentileRanking percentile_rank
    Jurity        InterListDiversity@5 personalization@5, inter_list_diversity personalization
    LensKit       ListLength list_length, ListGini@5 gini@5,
                  Entropy(by=genre)@5 category_entropy(by=genre)@5
    Evidently     PersonalizationMetric@5 personalization@5, personalisation personalization,
                  MAPKMetric@5 ap@5, MRRKMetric@5 rr@5, HitRateKMetric@5 hit@5, RecallTopKMetric@5 r@5,
                  PrecisionTopKMetric@5 p(over=retrieved)@5, FBetaTopKMetric@5 f(over=retrieved)@5
    ndeval        alpha-nDCG(by=topics)@20 alpha_ndcg(by=topics)@20, strec(by=topics)@20 strecall(by=topics)@20,
                  alpha_nDCG(by=topics)@20 alpha_ndcg(by=topics)@20, StRecall(by=topics)@9 strecall(by=topics)@9
    trec_eval     map ap, P_10 p@10, recall_100 r@100, ndcg_cut_10 ndcg@10, map_cut_5 ap@5, success_1 hit@1,
                  num_ret n_ret, num_rel n_rel, num_rel_ret n_rel_ret, set_map set_ap, 11pt_avg iprec11,
                  set_relative_P p(over=min_retrieved_relevant),
                  recip_rank rr, Rprec rprec, iprec_at_recall_0.10 iprec(recall=0.1), infAP infap, set_P p,
                  set_recall r, set_F f, relative_P_5 p(over=min_k_relevant)@5, set_F(beta=4) f(beta=2)
    Spark         meanAveragePrecision ap, meanAveragePrecisionAtK@5 ap(over=min_k_relevant)@5, precisionAtK@5 p@5,
                  ndcgAtK@5 ndcg(gain=binary)@5, recallAtK@5 r@5, areaUnderROC auc,
                  rootMeanSquaredError rmse, meanAbsoluteError mae
    scikit-learn  ndcg_score@5 ndcg@5, roc_auc_score auc(exact), brier_score_loss brier, log_loss logloss,
                  mean_squared_error mse, r2_score r2, matthews_corrcoef mcc
    anybody       ndcg_at_10 ndcg@10, HitRate_at_5 hit@5, median(HitRate@5) median(hit@5)
"""
PAIRS = [each.split() for each in re.split(r",(?![^(]*\))", re.sub(r"\n {4}\S+", ",", PRINTED)) if each.strip()]


def test_what_is_printed_elsewhere_is_read() -> None:
    assert [(printed, str(Metric.parse(printed))) for printed, _ in PAIRS] == [tuple(pair) for pair in PAIRS]
    assert all(Metric.parse(here) == Metric.parse(printed) for printed, here in PAIRS)


def test_every_alias_of_the_table_means_a_metric() -> None:
    for name, here in ALIASES.items():
        own, cutoff = here.partition("(")[0], "@3" if name.endswith("@") else ""
        given = ",".join(f"{column}=genre" for column in needed(own) if f"{column}=" not in here)
        declared = Metric.parse(f"{name.removesuffix('@')}({given}){cutoff}").declaration
        assert own in (declared.name, declared.called)
        assert name == name.lower()
    declared = {alias for declaration in CATALOG.values() for alias in declaration.aliases}
    assert not {*ALIASES, *ELSEWHERE} & {*CATALOG, *declared}
    assert not set(ALIASES) & set(ELSEWHERE)


def sentence_of(text: str) -> str:
    with pytest.raises(MetricError) as refused:
        Metric.parse(text)
    return str(refused.value)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_that_means_something_else_is_refused_with_what_to_write(name: str) -> None:
    for text in {name.rstrip("@") + "@5", name if "@" not in name else f"{name}5"}:
        assert ELSEWHERE[name] in sentence_of(text)
        assert "did you mean" not in sentence_of(text)


# Functions of torchmetrics that are nothing here, for which a score of 0.5 is no (preds > threshold) and here yes;
# and texts that contradict what their alias says.
TOLD = {
    "NumRet(rel=2)": "NumRet(rel=) of ir_measures is n_rel_ret(rel=)",
    "retrieval_precision_recall_curve": "is a curve: write p@k and r@k",
    "binary_accuracy": "write accuracy, which predicts yes from it on",
    "BinaryF1Score": "write f1, which predicts yes from it on",
    "ndcg_burges(gain=linear)@5": "gives gain twice",
    "BinaryAUROC(bits=3)": "bits and exact: only one of them is allowed",
    "rbp.80(p=0.9)": "gives p twice",
    "ndcg_at_k": "needs a cut-off: write ndcg(gain=binary)@k",
    "P_10@5": 'unknown metric "P_10"',
    "ndcg_0": 'the cut-off of "ndcg_0" is 0',
    "rprec_5": "rprec takes no cut-off",
}


def test_names_of_others_that_mean_nothing_here_are_told() -> None:
    assert [text for text, told in TOLD.items() if told not in sentence_of(text)] == []


@pytest.mark.parametrize(
    ("preset", "typed", "here"),
    [
        ("ranx", "precision", "p"),
        ("ranx", "hits@5", "cg(gain=binary)@5"),
        ("ranx", "precision(threshold=0.3)", "precision(threshold=0.3)"),
        ("ranx", "precision@5", "p@5"),
        ("recommenders", "map@10", "ap(over=min_k_relevant)@10"),
        ("mllib", "areaUnderROC", "auc(exact)"),
        ("replay", "novelty(rel=1)@10", "novelty(rel=1)@10"),
        ("replay", "Novelty@10", "new(over=retrieved)@10"),
        ("recommenders", "novelty", "novelty(of=rows)"),
        ("rectools", "Serendipity@10", "serendipity(of=rows,over=retrieved)@10"),
    ],
)
def test_a_preset_reads_the_names_of_its_library(preset: str, typed: str, here: str) -> None:
    assert str(Metric.parse(typed, PRESETS[preset])) == here


def test_a_name_of_ours_that_the_library_means_otherwise_is_refused_under_its_preset() -> None:
    with pytest.raises(MetricError, match=r"serendipity of Rec.*: serendipity\(ref=<model>\)@k counts hits"):
        Metric.parse("serendipity@10", PRESETS["recommenders"])
    assert Metric.parse("serendipity(ref=old)@10", PRESETS["recommenders"]).k == 10
