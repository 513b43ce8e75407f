"""Declarations of the areas under the ROC curve; their kernels are in :mod:`sparkrank.kernels.auc`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkrank.kernels import auc as kernel
from sparkrank.kernels.blocks import MANTISSA_BITS, BlockRule
from sparkrank.kernels.hits import hits_of
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.ranking import Ranking
from sparkrank.metrics.declaration import DayMetric, DayValue, GroupMetric
from sparkrank.metrics.parameters import Choice, Count, Flag, Parameter
from sparkrank.metrics.precision import REL

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric

DEFAULT_BITS = 12  # blocks 1/4096 wide relative to the score: an error bound near 1e-4 on click models' scores
DEFAULT_DIGITS = 5  # auc_up: rates of clicks are read to five decimals
MOST_DIGITS = 15  # a float64 holds no more
ONE_CLASS = "R·N = 0 (one class only)"
DIN = "Zhou et al.: Deep Interest Network, KDD 2018 (GAUC)"


TIED = Choice("tied", "half", "what a tied pair counts: half = 1/2; zero", choices=("half", "zero"))


def _weight(default: str) -> Choice:
    return Choice(
        "weight",
        default,
        "weight of a group in the mean: uniform = 1; else its listed rows, its relevant ones, or its pairs",
        choices=("uniform", "rows", "positives", "pairs"),
    )


def _weights(ranking: Ranking, metric: Metric) -> Floats | None:
    positives, negatives = kernel.class_counts(hits_of(ranking, metric.rel))
    return {
        "uniform": None,
        "rows": positives + negatives,
        "positives": positives,
        "pairs": positives * negatives,
    }[metric.word("weight")]


def _group_auc(name: str, title: str, weight: str, reference: str) -> GroupMetric:
    return GroupMetric(
        name=name,
        title=title,
        formula="share of (relevant, non-relevant) pairs of the list in the right order, a tied pair counting 1/2",
        undefined=ONE_CLASS,
        reference=reference,
        cutoff="none",
        parameters=(_weight(weight), TIED, REL),
        values=lambda ranking, metric: kernel.group_auc(hits_of(ranking, metric.rel), metric.word("tied")),
        weights=_weights,
    )


def _rule(metric: Metric) -> BlockRule:
    """The one block rule that holds: the one asked for, or the metric's default."""
    if metric["exact"]:
        return BlockRule("exact", 0, metric.rel)
    kind = "bits" if metric["bits"] is not None else "digits"
    return BlockRule(kind, int(metric.number(kind)), metric.rel)


def _block_parameters(bits: int | None, digits: int | None) -> tuple[Parameter, ...]:
    return (
        Count("bits", bits, "blocks that agree in the first bits of the score's mantissa", least=1, most=MANTISSA_BITS),
        Count("digits", digits, "blocks of scores rounded to this many decimals", least=0, most=MOST_DIGITS),
        Flag("exact", False, "one block for each distinct score"),
        REL,
    )


def _auc(positives: Floats, negatives: Floats, metric: Metric) -> DayValue:
    bound = 0.0 if metric["exact"] else kernel.blocks_auc_bound(positives, negatives)
    return DayValue(kernel.blocks_auc(positives, negatives), bound)


GROUP_AUC = _group_auc("group_auc", "AUC inside each group", "uniform", "Hanley, McNeil: Radiology 1982")
GAUC = _group_auc("gauc", "AUC inside each group, weighted by rows", "rows", DIN)

AUC = DayMetric(
    name="auc",
    title="AUC of the whole day",
    formula="blocks by score descending: area += (TP + p_b/2)·n_b, TP += p_b; over P·N",
    undefined=ONE_CLASS,
    reference="Fawcett: Pattern Recognition Letters 2006",
    aliases=("roc_auc",),
    parameters=_block_parameters(DEFAULT_BITS, None),
    exclusive=("bits", "digits", "exact"),
    rule=_rule,
    value=_auc,
)

AUC_UP = DayMetric(
    name="auc_up",
    title="AUC that the blocks of the day could reach in their best order",
    formula="as auc, blocks by empirical rate p_b/(p_b+n_b) descending",
    undefined=ONE_CLASS,
    reference="auc of the blocks after sorting them by their rate; docs/design.md",
    parameters=_block_parameters(None, DEFAULT_DIGITS),
    exclusive=("bits", "digits", "exact"),
    rule=_rule,
    value=lambda positives, negatives, metric: DayValue(kernel.blocks_auc_up(positives, negatives)),
)

DECLARATIONS = (GROUP_AUC, GAUC, AUC, AUC_UP)
