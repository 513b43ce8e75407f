"""The PARAMETERS of a vector case as a metric text and definitions; `NotCoveredError` for what these cannot say.

Nothing here looks at rows, ids or names of peers: equal parameters always give the same metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Parameters = dict[str, Any]

KNOWN = frozenset(
    [
        *("k", "order", "position", "tie_rule", "aggregate", "aggregate_of_none", "alpha", "group_weights"),
        *("relevant_if", "rel_threshold", "unjudged", "negative_is_unjudged", "drop_negative_labels"),
        *("gain", "gain_map", "gain_scale", "discount", "ideal", "p", "variant", "max_grade", "recall"),
        *("precision_denominator", "ap_denominator", "beta", "beta_squared"),
        *("truth_duplicates", "list_duplicates", "groups", "empty_truth", "empty_list", "single_class", "max_fpr"),
    ]
)
GRADED = ("dcg", "ndcg", "err", "arp")
DENOMINATOR = "precision_denominator"
NEED_AN_ORDER = ("err", "iprec")
BASES = {"log2": 2.0, "ln": math.e, "log10": 10.0}
OF_THE_DAY = ("auc_global", "average_precision_score", "auc_partial_standardised")  # in which rows may have weights


class NotCoveredError(Exception):
    """These metrics have no way to say what the parameters ask for; the message is the reason."""


def metric_text(metric: str, parameters: Parameters) -> str:
    """The metric that means what the parameters mean."""
    if metric not in _METRICS:
        raise NotCoveredError(f"no such metric here: {metric}")
    unknown = sorted(set(parameters) - KNOWN)
    if unknown:
        raise NotCoveredError(f"no such parameter in the schema: {unknown[0]}")
    return _METRICS[metric](parameters)


def undefined_as(metric: str, parameters: Parameters) -> str:
    """The definition `undefined` that treats groups as the parameters do: skip, zero or one."""
    if metric == "kendall_tau":
        return "skip"  # it knows no truth that could be empty
    rule = parameters.get("single_class", "nan") if is_auc(metric) else parameters.get("empty_truth", "zero")
    if isinstance(rule, dict):
        if len(set(rule.values())) > 1:
            raise NotCoveredError("AUC of one class is 1 or 0 by the class")
        rule = {0.0: "zero", 1.0: "one"}[rule["all_positive"]]
    return {"zero": "zero", "one": "one", "nan": "skip", "skip": "skip"}[rule]


def is_auc(metric: str) -> bool:
    return metric in ("auc", "auc_global")


def is_graded(metric: str, parameters: Parameters) -> bool:
    """Whether the grade of a row matters, not only that it is relevant."""
    return metric in GRADED and parameters.get("gain") != "binary"


def _text(name: str, parameters: Parameters, *settings: str) -> str:
    inside = ",".join(setting for setting in settings if setting)
    k = parameters.get("k")
    return name + (f"({inside})" if inside else "") + ("" if k is None else f"@{k}")


def _rel(parameters: Parameters) -> str:
    """The threshold of relevance. Members of a truth table are relevant whatever their grade: their label is 1."""
    if parameters.get("relevant_if", "label>=t") == "in_truth":
        return ""
    return f"rel={parameters.get('rel_threshold', 1)}"


def _over(parameters: Parameters, name: str, words: dict[str, str]) -> str:
    """The `over` of a denominator. A word that is not among `words` has no counterpart here."""
    denominator = parameters.get(name, "k" if name == DENOMINATOR else "n_rel")
    if denominator not in words:
        raise NotCoveredError(f"{name} {denominator} " + ("without k" if parameters.get("k") is None else "with k"))
    return f"over={words[denominator]}" if words[denominator] else ""


def _precision(parameters: Parameters) -> str:
    if parameters.get("k") is None:
        words = dict.fromkeys(("k", "list_len", "min(k,list_len)"), "")  # all of them are the length of the list
    else:
        words = {"k": "", "min(k,list_len)": "retrieved", "min(k,n_rel)": "min_k_relevant"}
    return _text("p", parameters, _over(parameters, DENOMINATOR, words), _rel(parameters))


def _f(parameters: Parameters) -> str:
    whole_list = parameters.get("k") is None
    words = {"k": "", "min(k,list_len)": "" if whole_list else "retrieved", **({"list_len": ""} if whole_list else {})}
    over = _over(parameters, DENOMINATOR, words)
    beta = math.sqrt(parameters["beta_squared"]) if "beta_squared" in parameters else parameters.get("beta", 1)
    return _text("f", parameters, f"beta={beta!r}", over, _rel(parameters))


def _ap(parameters: Parameters) -> str:
    words = {"n_rel": "relevant", "hits": "hits", "min(k,n_rel,list_len)": "min_k_relevant_retrieved"}
    words |= {"min(k,n_rel)": "relevant"} if parameters.get("k") is None else {}
    words |= {"min(k,n_rel)": "min_k_relevant", "k": "k"} if parameters.get("k") is not None else {}
    return _text("ap", parameters, _over(parameters, "ap_denominator", words), _rel(parameters))


def _gain(parameters: Parameters) -> str:
    gain, discount = parameters.get("gain"), parameters.get("discount", "log2")
    if discount not in BASES and not isinstance(discount, (int, float)):
        raise NotCoveredError(f"discount {discount}")
    if gain == "binary":
        return ",".join(filter(None, ("gain=binary", _rel(parameters))))
    if gain not in ("linear", "exp2", "map", "column"):
        raise NotCoveredError(f"gain {gain}")
    return "gain=exp2" if gain == "exp2" else "gain=linear"  # a mapped gain is the row's label as it stands


def factor_of(metric: str, parameters: Parameters) -> float:
    """What the value of the metric is to be multiplied by: the base of the logarithm and the scale of gains in dcg.

    In ndcg both are in dcg and in the ideal alike and cancel.
    """
    if metric != "dcg":
        return 1.0
    discount = parameters.get("discount", "log2")
    return float(parameters.get("gain_scale", 1) * math.log2(BASES.get(discount, discount)))


def _ndcg(parameters: Parameters) -> str:
    ideal = {"truth": "judged", "list": "retrieved", "all_k_relevant": "k_relevant"}[parameters.get("ideal", "truth")]
    if ideal == "k_relevant" and parameters.get("k") is None:
        raise NotCoveredError("ideal all_k_relevant without k")
    return _text("ndcg", parameters, _gain(parameters), f"ideal={ideal}")


def _auc(parameters: Parameters) -> str:
    if parameters.get("k") is not None:
        raise NotCoveredError("AUC of the first k")
    weight = {"weighted_by_count": "rows", "weighted_by_positives": "positives"}
    weighted = f"weight={weight.get(parameters.get('aggregate', 'mean'), 'uniform')}"
    tied = "tied=zero" if parameters.get("tie_rule") == "strict" else ""
    return _text("group_auc", {}, weighted, tied, _rel(parameters))


def _judged(parameters: Parameters) -> str:
    words = {"k": "k", "min(k,list_len)": "retrieved", "list_len": "retrieved"}
    if parameters.get("k") is None:
        return "judged"
    return _text("judged", parameters, _over({"precision_denominator": "list_len", **parameters}, DENOMINATOR, words))


def _graded_pairs(parameters: Parameters) -> str:
    weight = {"weighted_by_count": "weight=rows"}.get(parameters.get("aggregate", "mean"), "")
    return _text("pair_auc", {}, weight)


_METRICS: dict[str, Callable[[Parameters], str]] = {
    "precision": _precision,
    "recall": lambda p: _text("r", p, _rel(p)),
    "f_beta": _f,
    "hit_rate": lambda p: _text("hit", p, _rel(p)),
    # hits@min(k, R) / R: the list is cut at k before (vector_rows), for rprec itself takes no cut-off.
    "r_precision": lambda p: _text("rprec", {}, _rel(p)),
    "ap": _ap,
    "rr": lambda p: _text("rr", p, _rel(p)),
    "dcg": lambda p: _text("dcg", p, _gain(p)),
    "ndcg": _ndcg,
    "rbp": lambda p: _text("rbp", p, f"p={p['p']}", _rel(p)),
    "hits": lambda p: _text("cg", p, "gain=binary", _rel(p)),
    "bpref": lambda p: _text("bpref", {}, _rel(p)),
    "err": lambda p: _text("err", p, f"max_grade={p['max_grade']}"),
    "set_ap": lambda p: _text("set_ap", {}, _rel(p)),
    "num_ret": lambda p: _text("n_ret", p),
    "arp": lambda p: "relevance_position",
    "min_label_position": lambda p: _text("first_rank", p, _rel(p)),
    "fallout": lambda p: _text("fallout", p, _rel(p)),
    "iprec": lambda p: _text("iprec", {}, f"recall={p['recall']}", _rel(p)),
    "kendall_tau": lambda p: _text("kendall_tau", {}, f"variant={p.get('variant', 'b')}"),
    "auc": _auc,
    "pair_auc_graded": _graded_pairs,
    "judged_rate": _judged,
    "auc_partial_standardised": lambda p: _text("auc", {}, f"max_fpr={p['max_fpr']}", "exact", _rel(p)),
    "auc_global": lambda p: _text("auc", {}, "exact", _rel(p)),
    "average_precision_score": lambda p: _text("pr_auc", {}, "exact", _rel(p)),
}
