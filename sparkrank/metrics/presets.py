"""Presets: one word that sets the definitions and the parameters of metrics to those of another library.

A preset is data. What a person gives, a parameter in a metric's text or a setting of the evaluation, wins over it.
``unmatched`` says what no setting here makes equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkrank.base.errors import MetricError, SpecError, did_you_mean, itemize, shorten
from sparkrank.metrics.aliases import looked_up
from sparkrank.ranking.ranking import Ties

PresetName: TypeAlias = Literal[
    "trec_eval", "mllib", "ranx", "sklearn", "replay", "rectools", "recommenders", "torchmetrics"
]


@dataclass(frozen=True)
class Default:
    """The ``value`` (as text) that a ``parameter`` of a ``metric`` takes where the metric's text gives none.

    It holds with a cut-off, without one, or (``cutoff`` is None) in both cases.
    """

    metric: str
    parameter: str
    value: str
    cutoff: bool | None = None


@dataclass(frozen=True)
class Preset:
    """What one library means, as settings of an evaluation and defaults of metrics.

    ``names`` are those of its names that are another metric's here, one that ends in ``@`` with a cut-off;
    ``elsewhere`` those that mean nothing that is here, and what to write. ``order`` are the ties of metrics that
    ``ties=expected`` rules out.
    """

    name: PresetName
    library: str
    definitions: Mapping[str, str] = field(default_factory=dict)
    defaults: tuple[Default, ...] = ()
    unmatched: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    order: Ties | None = None

    def meant(self, name: str, has_cutoff: bool, parameters: str) -> tuple[str, str]:
        """What ``name`` is called here, where the library means by it what nobody else does, and implied parameters.

        A text that gives ``parameters``, which are those of sparkrank, means what it says. Raises
        :class:`MetricError` where the library means by it what no text here means.
        """
        key = looked_up(name)
        if parameters.strip():
            return name, ""
        if key in self.elsewhere:
            raise MetricError(f"{name} {self.elsewhere[key]}")
        text = self.names.get(f"{key}@" if has_cutoff else key, name)
        meaning, _, implied = text.partition("(")
        return meaning, implied.rstrip(")")


AP_MIN_K = Default("ap", "over", "min_k_relevant", cutoff=True)
BINARY_GAIN = Default("ndcg", "gain", "binary")
EXACT_AUC = Default("auc", "exact", "")
NO_TIE_RULE = "tied scores stand in the order of a sort, or of the rows, which means nothing: ties=expected"

_ALL = (
    Preset(
        "trec_eval",
        "NIST trec_eval, pytrec_eval and the trec_eval provider of ir_measures",
        {"ties": "item", "undefined": "zero", "population": "both", "duplicates": "error"},
        (Default("rbp", "p", "0.9"),),
        (
            "scores are read as float32 there: those that differ by less are tied",
            "with its option -c the population is truth",
            "rbp takes grades for gains there, as RBP of ir_measures without rel does; here a row is relevant or not",
            "Accuracy of ir_measures is group_auc",
        ),
    ),
    Preset(
        "mllib",
        "RankingMetrics and BinaryClassificationMetrics of Spark, and the evaluators of spark.ml over them",
        {"undefined": "zero", "duplicates": "keep"},
        (AP_MIN_K, BINARY_GAIN, EXACT_AUC),
        (
            "ndcg with relevance values is ndcg(gain=exp2); from Python the values are ignored there",
            "the ideal list of ndcg with relevance values takes them as they stand: the best order where they descend",
            "auc with numBins, 1000 by default: bins there are chunks of distinct scores; with one class it is 1 or 0",
        ),
    ),
    Preset(
        "ranx",
        "ranx",
        {"undefined": "zero", "population": "truth", "duplicates": "keep"},
        (),
        (
            NO_TIE_RULE,
            "an item twice in a list: a Run that is made of a table keeps the last of its scores alone",
            "ndcg_burges and dcg_burges are ndcg(gain=exp2) and dcg(gain=exp2)",
            "precision, recall and f1 without @k are p, r and f there; precision(threshold=0.5) is sparkrank's own",
            "rbp adds up grades there; here a row is relevant or not",
            "bpref of a group without judged non-relevant rows is NaN there; here, as in trec_eval, every hit counts 1",
        ),
        names={
            "precision": "p",
            "recall": "r",
            "f1": "f",
            "hits": "cg(gain=binary)",
            "hits@": "cg(gain=binary)",
        },
    ),
    Preset(
        "sklearn",
        "sklearn.metrics: ndcg_score, dcg_score, average_precision_score, roc_auc_score by group",
        {"undefined": "zero", "duplicates": "keep"},
        (EXACT_AUC,),
        (
            "average_precision_score and label_ranking_average_precision_score take ties as one step: add ties=block",
            "label_ranking_average_precision_score of a group without a relevant row is 1: add undefined=one",
            "roc_auc_score of a group of one class is undefined: add undefined=skip",
            "dcg_score takes a label below 0 for a gain below 0, and ndcg_score refuses it; here its gain is 0",
        ),
    ),
    Preset(
        "replay",
        "RePlay",
        {"undefined": "zero", "population": "truth", "duplicates": "once"},
        (AP_MIN_K, BINARY_GAIN),
        (
            "MAP and NDCG credit an item that is twice in a list at each place there: add duplicates=keep",
            "novelty is the share of shown items that are new to the user there",
            NO_TIE_RULE,
        ),
        elsewhere={
            "novelty": "of RePlay is the share of shown items that are new to the user, which no metric here is: "
            "novelty(rel=1) is the self-information of what is shown",
        },
    ),
    Preset(
        "rectools",
        "RecTools",
        {"population": "truth", "positions": "given", "duplicates": "keep"},
        (BINARY_GAIN, Default("ndcg", "ideal", "k_relevant", cutoff=True)),
        (
            "an item given twice in the interactions counts twice there, so AP may exceed 1; here it counts once",
            "an item twice in a list is credited at each place, here too; there R counts it twice as well",
            "divide_by_k=True is ap(over=k)@k, divide_by_achievable=True is ndcg(ideal=judged)@k",
            "r_precision=True is p(over=min_k_relevant)@k",
        ),
    ),
    Preset(
        "recommenders",
        "Recommenders (recommenders-team)",
        {"undefined": "zero", "population": "both", "duplicates": "keep"},
        (AP_MIN_K, BINARY_GAIN, EXACT_AUC),
        (
            "an item twice in a list is credited at each place, but recall of its Spark class counts it once",
            "ap@k is its map_at_k; its map is ap(over=relevant)@k",
            "r_precision_at_k averages over the users with a hit only",
            "ndcg_at_k of its Python evaluation (1.2) counts a user without a list as 0: add population=truth",
            NO_TIE_RULE,
        ),
    ),
    Preset(
        "torchmetrics",
        "torchmetrics.retrieval",
        {"undefined": "zero", "duplicates": "keep"},
        (Default("ap", "over", "hits", cutoff=True),),
        (
            NO_TIE_RULE,
            "RetrievalNormalizedDCG averages over the orders of tied rows, as ties=expected does",
            "ap(over=hits) has no mean over orders and takes ties=worst",
            "a relevant row with a score of 0 or below never counts as a hit there",
        ),
        order="worst",
    ),
)
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def find_preset(name: object) -> Preset | None:
    """The preset called ``name``, or None without a name; raises :class:`SpecError` with the nearest name."""
    if name is None:
        return None
    if not isinstance(name, str) or name not in PRESETS:
        raise SpecError(f'preset is "{shorten(name)}"{did_you_mean(name, PRESETS)} (allowed: {itemize(PRESETS)})')
    return PRESETS[name]
