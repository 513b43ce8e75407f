"""Tables of metric names from other programs.

:data:`ALIASES` maps each name to the sparkrank metric with the same meaning. :data:`ELSEWHERE` maps names without such
a metric to an explanation. Names are looked up in lower case, with hyphens replaced by underscores. Names of
torchmetrics are looked up without underscores, because only the names of its functions contain them. A name that ends
in ``@`` is valid only with a cut-off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkrank.base.errors import MetricError

# Maps each metric of sparkrank to its names in papers and in other programs.
_NAMES: Mapping[str, str] = {
    "hit": "hitrate hit_ratio hitratio retrievalhitrate hitratekmetric@",
    "pr_auc": "prauc auc_pr aucpr",
    "auc": "auc_roc rocauc auroc areaunderroc",
    "group_auc": "uauc retrievalauroc",
    "gauc": "wuauc",
    "rprec": "rprecision retrievalrprecision",
    "p(over=min_k_relevant)": "rprecision@ relative_p@",
    "p(over=min_retrieved_relevant)": "set_relative_p setrelp",
    "auc(exact)": "roc_auc_score binaryauroc",
    "ndcg": "ndcg_score ndcg_cut@ retrievalnormalizeddcg",
    "dcg": "dcg_score",
    "brier": "brier_score_loss",
    "accuracy": "accuracy_score",
    "precision": "precision_score",
    "recall": "recall_score",
    "f1": "f1_score",
    "fbeta": "fbeta_score",
    "mcc": "matthews_corrcoef",
    "balanced_accuracy": "balanced_accuracy_score",
    "rmse": "root_mean_squared_error rootmeansquarederror",
    "mse": "mean_squared_error meansquarederror",
    "mae": "mean_absolute_error meanabsoluteerror",
    "r2": "r2_score rsquared r2score",
    "p": "set_p precisionat@ precisionatk@ precision_at_k@ retrievalprecision",
    "r": "set_recall recallat@ recallatk@ recall_at_k@ retrievalrecall recalltopk@ recalltopkmetric@",
    "ap": "map_cut@ meanaverageprecision retrievalmap retrievalaverageprecision mapkmetric@",
    "ap(over=min_k_relevant)": "meanaverageprecisionat@ meanaverageprecisionatk@ map_at_k@",
    "ndcg(gain=binary)": "ndcgat@ ndcgatk@ ndcg_at_k@",
    "f": "f1beta@",
    "ndcg(gain=exp2)": "ndcg_burges",
    "dcg(gain=exp2)": "dcg_burges",
    "ap(over=hits)": "retrievalmap@ retrievalaverageprecision@",
    "rr": "retrievalmrr retrievalreciprocalrank mrrkmetric@",
    "pr_auc(exact)": "binaryaverageprecision",
    "ece": "binarycalibrationerror",
    "p(over=retrieved)": "precisiontopk@ precisiontopkmetric@",
    "f(over=retrieved)": "fbetatopk@ fbetatopkmetric@",
    "personalization": "personalizationmetric@ interlistdiversity inter_list_diversity",
    "unexpected": "unexpectedness",
    "novelty(of=users,over=lists)": "meaninvuserfreq mean_inv_user_freq",
    "novelty(of=users,over=k,scale=unit)": "surprisal@",
    "shown(of=interactions.rows)": "arp avgrecpopularity averagepopularity",
    "shown(of=tier,is=tail)": "aplt",
    "coverage(by=count)": "catalogcoverage",
    "overlap(over=retrieved)": "intersection",
    "list_length": "listlength",
    "entropy": "distributional_coverage",
    "gini": "listgini",
    "distinct": "categoricaldiversity",
    "ild(single=zero)": "intralistdiversity",
    "strecall": "strec subtopic_recall",
}
ALIASES: Mapping[str, str] = {name: here for here, names in _NAMES.items() for name in names.split()}
_ABOVE = "of torchmetrics predicts no for a score equal to the threshold: write {}, which predicts yes from it on"
_BINARY = ("accuracy", "precision", "recall", "specificity", "f1score", "fbetascore", "matthewscorrcoef")
_NUMBERS = "is a metric of predicted numbers that sparkrank lacks: write rmse, mse, mae, bias or r2"

ELSEWHERE: Mapping[str, str] = {
    "hits": "is the number of hits in some programs, here cg(gain=binary)@k, and whether there is one in others, hit@k",
    "averageprecision": "is pr_auc(exact) for all rows as one classification (torchmetrics), and ap for groups",
    "average_precision_score": "is pr_auc(exact) for all rows as one classification, and ap(ties=block) for groups",
    "areaunderpr": "of Spark joins the points of the curve by straight lines: write pr_auc(exact) for steps",
    "rocauc@": "covers the first k rows of each user: write group_auc for whole lists, or auc for all rows together",
    "r_precision_at_k": "of Recommenders is a mean over users with a hit: write p(over=min_k_relevant)@k for all users",
    "ndcgkmetric": "of Evidently takes the best order of the first k rows as the ideal: write ndcg@k for that of all "
    "judged rows, or ndcg(ideal=retrieved)@k",
    "shannonentropy": "of RecBole is in nats, and divided by the number of items shown: write entropy@k, in bits",
    "exposuregini": "of LensKit has a geometric discount: write gini(discount=[1,0.85])@k, with one number for each "
    "position, or gini(discount=log2)@k",
    "diversitymetric": "of Evidently divides the distances of pairs by the length of the list: write "
    "ild(by=<column>)@k, which divides them by the number of pairs",
    "diversity": "of Recommenders is 1 less the mean similarity of two items, by users in common or features: write "
    "ild(by=<array of numbers>,distance=cosine)@k for features",
    "ils": "of LensKit is the mean similarity of two items: write ild(by=<array of numbers>,distance=cosine)@k, which "
    "is 1 less that",
    "retrievalprecisionrecallcurve": "is a curve: write p@k and r@k for each of its points",
    "binaryrecallatfixedprecision": "is 0 where no threshold has that precision: write recall(at_precision=<number>)",
    "binaryprecisionatfixedrecall": "gives its number another name: write precision(at_recall=<number>)",
    "retrievalrecallatfixedprecision": "searches a curve of each group, which sparkrank does not: write r@k, or "
    "recall(at_precision=<number>) of all rows",
    "binaryroc": "is a curve, as in the table curves: write auc(exact) for the area under it",
    "binaryprecisionrecallcurve": "is a curve, as in the table curves: write pr_auc(exact) for its area",
    **{
        f"binary{name}": _ABOVE.format({"matthewscorrcoef": "mcc"}.get(name, name.removesuffix("score")))
        for name in _BINARY
    },
    **dict.fromkeys(("mape", "smape", "exp_var", "explainedvariance"), _NUMBERS),
}

# ndcg_cut_10, P_10, recall_5, iprec_at_recall_0.10 of trec_eval; ndcg_at_10 of many; rbp.80 of ranx
_CUT = re.compile(r"(?P<name>.+?)_(?:cut_|at_)?(?P<k>\d+(?:\.\d+)?)")
_TORCHMETRICS = ("retrieval", "binary")
_PERSISTENCE = re.compile(r"rbp\.(\d+)")


def looked_up(name: str) -> str:
    """Return the key under which :data:`ALIASES` lists ``name``. Keys of torchmetrics names have no underscores."""
    key = name.lower().replace("-", "_")
    return key.replace("_", "") if key.startswith(_TORCHMETRICS) else key


def cut_off(name: str) -> tuple[str, str] | None:
    """Return the metric name and the cut-off in a ``name`` such as ``P_10``, or None if it contains no cut-off."""
    match = _CUT.fullmatch(name)
    return None if match is None else (match["name"], match["k"])


def translation(name: str, has_cutoff: bool) -> tuple[str, str] | None:
    """Return the metric of sparkrank for a metric ``name`` of another program, or None for an unknown name.

    The result is a pair of strings: the name of a metric of sparkrank, and the parameters of that metric. Raise
    :class:`MetricError` if ``name`` is known as a metric that sparkrank lacks.
    """
    key = looked_up(name)
    if persistence := _PERSISTENCE.fullmatch(key):
        return "rbp", f"p=0.{persistence[1]}"
    for alias in (f"{key}@", key) if has_cutoff else (key,):
        if alias in ALIASES:
            meaning, _, parameters = ALIASES[alias].partition("(")
            return meaning, parameters.rstrip(")")
        if alias in ELSEWHERE:
            raise MetricError(f"{name}{'@k' if alias.endswith('@') else ''} {ELSEWHERE[alias]}")
    return None


def needs_cutoff(name: str) -> str | None:
    """Return the metric meant by ``name`` with a cut-off; None if no alias is valid only with a cut-off."""
    return ALIASES.get(f"{looked_up(name)}@")
