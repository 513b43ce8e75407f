"""Declarations of the AUC inside groups (``group_auc`` and ``gauc``), computed from rank sums."""

from __future__ import annotations

import numpy as np

from sparkrank.metrics.arithmetic import Arithmetic, given, list_table, spread_judged, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.parameters import UNJUDGED, Choice, Name, weight
from sparkrank.metrics.precision import REL, hits, ratio
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import run_starts
from sparkrank.ranking.hit_sums import HitSums
from sparkrank.ranking.ranking import Ranking


@cached
def class_counts(hits: HitSums) -> tuple[Floats, Floats]:
    """Return the numbers of relevant and of non-relevant rows in each list. Rows without a score are not counted."""
    positives = hits.retrieved_relevant().astype(np.float64)
    return positives, hits.length - positives


SAMPLED_ALIKE = (
    "sampled",
    "it needs no correction, as among items drawn at random as large a share of pairs is in the right order",
)


def group_auc(hits: HitSums, tied: str = "half") -> Floats:
    """Return the share of (relevant, non-relevant) pairs in the right order, for each list.

    A tied pair counts 1/2, or 0 if ``tied`` is ``zero``. The share is computed from the Mann-Whitney rank sum with
    mid-ranks, exactly, because every term is a multiple of 1/2. The share is NaN for a list with only one class.
    """
    positives, negatives = class_counts(hits)
    pairs = positives * negatives
    lower = pairs + positives * (positives + 1) / 2 - hits.mid_rank_sum()
    if tied == "zero":
        lower -= hits.tied_pairs() / 2
    return ratio(lower, pairs)


def pairs_of_relevant(ranking: Ranking, rel: float | None) -> tuple[Ints, dict[str, Floats]]:
    """Return the relevant rows of a group's list, and the numbers of other rows below, tied with and above each."""
    ranking = ranking.by_score
    relevant, blocks = ranking.judgments.flags(rel)[ranking.row], ranking.blocks
    other = (~relevant).astype(np.float64)
    above, tied = np.cumsum(other) - other, np.zeros(len(other))
    if len(blocks.row):
        above[blocks.row] = above[blocks.row[run_starts(blocks.block)]][blocks.block]
        tied[blocks.row] = blocks.sum(other[blocks.row])[blocks.block]
    counts = {"won": other.sum() - above - tied, "tied": tied, "lost": above}
    return ranking.row[relevant], {name: counted[relevant] for name, counted in counts.items()}


def _pair_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    row, counts = pairs_of_relevant(ranking, metric.rel)
    columns = {name: spread_judged(ranking, row, counted) for name, counted in counts.items()}
    others = float(ranking.length[0] - len(row))
    steps = [
        *(total(name, name) for name in ("won", "tied")),
        given("relevant rows of the list", len(row)),
        given("other rows of the list", others),
        step("pairs", "times", "relevant rows of the list", "other rows of the list"),
        step("half of the tied", "times", 0.5 if metric.word("tied") == "half" else 0.0, "tied"),
        step("in order", "plus", "won", "half of the tied"),
        quotient(str(metric), "in order", "pairs"),
    ]
    return Arithmetic.of([list_table(ranking, columns)], steps)


ONE_CLASS = "R·N = 0 (one class only)"
DIN = "Zhou et al.: Deep Interest Network, KDD 2018 (GAUC)"


TIED = Choice("tied", "half", "what a tied pair counts: half = 1/2; zero", choices=("half", "zero"))


def _weight(default: str) -> Name:
    return weight(
        default,
        "uniform = 1; rows = its listed rows; positives = its relevant ones; pairs = its pairs",
        ("uniform", "rows", "positives", "pairs"),
        (("relevant", "positives"),),
    )


def _weights(hits: HitSums, metric: Metric) -> Floats | None:
    positives, negatives = class_counts(hits)
    match metric.word("weight"):
        case "rows":
            return positives + negatives
        case "positives":
            return positives
        case "pairs":
            return positives * negatives
    return None


def _group_auc(name: str, title: str, weighs: str, reference: str) -> GroupMetric:
    return GroupMetric(
        name=name,
        title=title,
        formula="share in the right order of the (relevant, non-relevant) pairs of the list, a tied pair counting 1/2",
        undefined=ONE_CLASS,
        reference=reference,
        cutoff="none",
        parameters=(_weight(weighs), TIED, REL),
        common=(UNJUDGED,),
        refused=(("ties", "tied says what a tied pair counts"), SAMPLED_ALIKE),
        sums=hits,
        values=lambda hits, metric: group_auc(hits, metric.word("tied")),
        arithmetic=_pair_terms,
        weights=_weights,
        interval="logit",
    )


GROUP_AUC = _group_auc("group_auc", "AUC inside each group", "uniform", "Hanley, McNeil: Radiology 1982")
GAUC = _group_auc("gauc", "AUC inside each group, weighted by rows", "rows", DIN)

DECLARATIONS = (GROUP_AUC, GAUC)
