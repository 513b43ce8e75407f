"""Presets: one word that sets the definitions and the parameters of metrics to those of another library.

A preset is data. What a person gives, a parameter in a metric's text or a setting of the evaluation, wins over it.
``unmatched`` says what no setting here makes equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkrank.errors import SpecError, did_you_mean, listed


@dataclass(frozen=True)
class Default:
    """The ``value`` (as text) that a ``parameter`` of a ``metric`` takes where the metric's text gives none.

    It holds with a cut-off, without one, or (``cutoff`` absent) both.
    """

    metric: str
    parameter: str
    value: str
    cutoff: bool | None = None


@dataclass(frozen=True)
class Preset:
    """What one library means, as settings of an evaluation and defaults of metrics."""

    name: str
    library: str
    definitions: Mapping[str, str] = field(default_factory=dict)
    defaults: tuple[Default, ...] = ()
    unmatched: tuple[str, ...] = ()


AP_MIN_K = Default("ap", "over", "min_k_relevant", cutoff=True)
BINARY_GAIN = Default("ndcg", "gain", "binary")
NO_TIE_RULE = "tied scores: their order is that of a sort, or of the rows, and carries no meaning; ties stays {}"

_ALL = (
    Preset(
        "trec_eval",
        "NIST trec_eval, pytrec_eval and the trec_eval provider of ir_measures",
        {"ties": "item", "undefined": "zero", "population": "both", "duplicates": "error"},
        (Default("rbp", "p", "0.9"),),
        (
            "scores are read as float32 there: those that differ by less are tied",
            "with its option -c the population is truth",
        ),
    ),
    Preset(
        "mllib",
        "RankingMetrics and BinaryClassificationMetrics of Spark, and the evaluators of spark.ml over them",
        {"undefined": "zero"},
        (AP_MIN_K, BINARY_GAIN, Default("auc", "exact", "")),
        (
            "ndcg with relevance values: ask for ndcg(gain=exp2); the ideal list there takes the values as they stand, "
            "which is the best order only where they descend; from Python the values are ignored",
            "auc with numBins, 1000 by default: bins there are chunks of n distinct scores; with one class it is 1 or 0",
        ),
    ),
    Preset(
        "ranx",
        "ranx",
        {"undefined": "zero", "population": "truth"},
        (),
        (
            NO_TIE_RULE.format("expected"),
            "ndcg_burges and dcg_burges are ndcg(gain=exp2) and dcg(gain=exp2)",
        ),
    ),
    Preset(
        "sklearn",
        "sklearn.metrics: ndcg_score, dcg_score, average_precision_score, roc_auc_score by group",
        {"undefined": "zero"},
        (Default("auc", "exact", ""),),
        (
            "average_precision_score and label_ranking_average_precision_score take tied scores as one step, dcg_score "
            "and ndcg_score average over their orders: add ties=block for the former",
            "label_ranking_average_precision_score of a group without a relevant row is 1: add undefined=one",
            "roc_auc_score of a group of one class is undefined: add undefined=skip",
        ),
    ),
    Preset(
        "replay",
        "RePlay",
        {"undefined": "zero", "population": "truth", "duplicates": "first"},
        (AP_MIN_K, BINARY_GAIN),
        (
            "an item twice in a list: RePlay leaves its second place empty, here the list moves up",
            NO_TIE_RULE.format("expected"),
        ),
    ),
    Preset(
        "rectools",
        "RecTools",
        {"population": "truth", "positions": "given"},
        (BINARY_GAIN, Default("ndcg", "ideal", "k_relevant", cutoff=True)),
        (
            "an item given twice in the interactions counts twice there, so AP may exceed 1; here it counts once",
            "divide_by_k=True is ap(over=k), divide_by_achievable=True is ndcg(ideal=judged), r_precision=True is "
            "p(over=min_k_relevant)",
        ),
    ),
    Preset(
        "recommenders",
        "Recommenders (recommenders-team)",
        {"undefined": "zero", "population": "both", "duplicates": "first"},
        (AP_MIN_K, BINARY_GAIN),
        (
            "ap@k is its map_at_k; its map is ap(over=relevant)@k",
            "r_precision_at_k averages over the users with a hit only",
            NO_TIE_RULE.format("expected"),
        ),
    ),
    Preset(
        "torchmetrics",
        "torchmetrics.retrieval",
        {"ties": "worst", "undefined": "zero"},
        (Default("ap", "over", "hits", cutoff=True),),
        (
            "tied scores: their order is that of a sort; ties is worst because ap(over=hits) has no mean over orders. "
            "RetrievalNormalizedDCG averages over the orders: add ties=expected where ap@k is not asked for",
            "a relevant row with a score of 0 or below never counts as a hit there",
        ),
    ),
)
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def find_preset(name: str | None) -> Preset | None:
    """The preset called ``name``, or nothing without a name; raises :class:`SpecError` with the nearest name."""
    if name is None:
        return None
    if name not in PRESETS:
        raise SpecError(f'preset is "{name}"{did_you_mean(name, PRESETS)} (allowed: {listed(PRESETS)})')
    return PRESETS[name]
