"""Presets: definitions and metric parameters by the conventions of other libraries.

A preset is data. Parameters in a metric's string and explicit settings of the evaluation override the preset. The field
``unmatched`` lists the remaining differences from the library, for which sparkrank has no setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sparkrank.base.errors import MetricError, SpecError, hint, shorten
from sparkrank.metrics.aliases import looked_up
from sparkrank.ranking.ranking import Ties

PresetName: TypeAlias = Literal[
    "trec_eval", "mllib", "ranx", "sklearn", "replay", "rectools", "recommenders", "torchmetrics"
]


@dataclass(frozen=True)
class Default:
    """The default ``value`` (as a string) of one ``parameter`` of one ``metric`` under a preset.

    If ``cutoff`` is True, the default applies only to metrics with a cut-off; if False, only to metrics without one;
    if None, to both.
    """

    metric: str
    parameter: str
    value: str
    cutoff: bool | None = None


@dataclass(frozen=True)
class Preset:
    """The conventions of one ``library``, as settings of an evaluation and default parameters of metrics.

    ``names`` maps names with another meaning in sparkrank to metrics of sparkrank with the library's meaning; a name
    that ends in ``@`` applies with a cut-off. ``elsewhere`` maps names of metrics that sparkrank lacks to a message
    with the alternative. ``order`` is the rule for tied rows for metrics that ``ties=expected`` rules out, or None.
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
        """Return the name and the parameters in sparkrank of the library's metric ``name``.

        ``name`` is returned unchanged if it has the same meaning in sparkrank, or if the user gave ``parameters``,
        because parameters are always those of sparkrank. Raise :class:`MetricError` if sparkrank lacks the metric.
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
NO_TIE_RULE = "tied scores keep the order of a sort, or of the rows, which is arbitrary: here ties=expected"

_ALL = (
    Preset(
        "trec_eval",
        "NIST trec_eval, pytrec_eval and the trec_eval provider of ir_measures",
        {"ties": "item", "undefined": "zero", "population": "both", "duplicates": "error"},
        (Default("rbp", "p", "0.9"),),
        (
            "scores are read as float32 there: those that differ by less are tied",
            "with its option -c the population is truth",
            "rbp takes grades as gains there, as does RBP of ir_measures without rel: rbp(gain=linear,max_grade=1)",
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
            "the ideal list of ndcg takes relevance values in the given order, which is the best one if they descend",
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
            "an item twice in a list: a Run made from a table keeps only the last of its scores",
            "ndcg_burges and dcg_burges are ndcg(gain=exp2) and dcg(gain=exp2)",
            "precision, recall and f1 without @k are p, r and f there; precision(threshold=0.5) is sparkrank's own",
            "rbp adds up grades there: rbp(gain=linear,max_grade=1)",
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
            "average_precision_score and label_ranking_average_precision_score treat ties as one step: add ties=block",
            "label_ranking_average_precision_score of a group without a relevant row is 1: add undefined=one",
            "roc_auc_score of a group with one class is undefined: add undefined=skip",
            "dcg_score gives a label below 0 a gain below 0, and ndcg_score refuses it; here its gain is 0",
        ),
    ),
    Preset(
        "replay",
        "RePlay",
        {"undefined": "zero", "population": "truth", "duplicates": "once"},
        (AP_MIN_K, BINARY_GAIN),
        (
            "MAP and NDCG credit an item that is twice in a list at both places: add duplicates=keep",
            "novelty is the share of shown items that are new to the user there: new(over=retrieved)@k",
            "Novelty of a user without a list or without earlier interactions is 1 there",
            "Surprisal is novelty(of=users,over=k,scale=unit)@k",
            "CategoricalDiversity is distinct(by=<column>)@k",
            "Unexpectedness is unexpected(ref=<model>)@k, where the base recommendations are the list of that model",
            NO_TIE_RULE,
        ),
        names=dict.fromkeys(("novelty", "novelty@"), "new(over=retrieved)"),
    ),
    Preset(
        "rectools",
        "RecTools",
        {"population": "truth", "positions": "given", "duplicates": "keep"},
        (BINARY_GAIN, Default("ndcg", "ideal", "k_relevant", cutoff=True)),
        (
            "an item given twice in the interactions counts twice there, so AP may exceed 1; here it counts once",
            "an item twice in a list is credited at both places, here too; there R also counts it twice",
            "divide_by_k=True is ap(over=k)@k, divide_by_achievable=True is ndcg(ideal=judged)@k",
            "r_precision=True is p(over=min_k_relevant)@k",
            "IntraListDiversity with Hamming distances is ild(by=[<column>,...],single=zero)@k",
            "Intersection is overlap(ref=<model>,over=retrieved)@k; its ref_k has no other value than k here",
            "serendipity is serendipity(of=rows,over=retrieved)@k, with the previous interactions and the catalog",
            "CatalogCoverage is coverage(by=count)@k, with normalize=True coverage@k",
            "AvgRecPopularity is shown(of=interactions.rows)@k",
        ),
        names=dict.fromkeys(("serendipity", "serendipity@"), "serendipity(of=rows,over=retrieved)"),
    ),
    Preset(
        "recommenders",
        "Recommenders (recommenders-team)",
        {"undefined": "zero", "population": "both", "duplicates": "keep"},
        (AP_MIN_K, BINARY_GAIN, EXACT_AUC),
        (
            "an item twice in a list is credited at both places, but recall of its Spark class counts it once",
            "ap@k is its map_at_k; its map is ap(over=relevant)@k",
            "r_precision_at_k is averaged only over users with a hit",
            "ndcg_at_k of its Python evaluation (1.2) counts a user without a list as 0: add population=truth",
            "diversity by vectors of features is ild(by=<column>,distance=cosine)@k; else it is by common users",
            "novelty is novelty(of=rows), with the training log as interactions",
            "items that the training log lacks count 0 in novelty there",
            "serendipity is by the similarity of items to those of the user's history there",
            NO_TIE_RULE,
        ),
        names=dict.fromkeys(("novelty", "novelty@"), "novelty(of=rows)"),
        elsewhere={
            "serendipity": "of Recommenders is by the similarity of items to the user's history, which no metric here "
            "is: serendipity(ref=<model>)@k counts hits that another model does not have",
        },
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
    """Return the preset called ``name``, or None if ``name`` is None. Raise :class:`SpecError` for an unknown name.

    Examples
    --------
    >>> from sparkrank.metrics import find_preset
    >>> find_preset("replay").definitions
    {'undefined': 'zero', 'population': 'truth', 'duplicates': 'once'}
    """
    if name is None:
        return None
    if not isinstance(name, str) or name not in PRESETS:
        raise SpecError(f'preset is "{shorten(name)}"{hint(name, PRESETS)}')
    return PRESETS[name]
