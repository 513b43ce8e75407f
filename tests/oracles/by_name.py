"""The oracle of each metric of groups, by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tests.oracles.lists import (
    average_precision,
    binary_preference,
    cumulated_gain,
    discounted_gain,
    expected_reciprocal_rank,
    f_measure,
    hit_rate,
    inferred_average_precision,
    interpolated_precision,
    normalised_gain,
    precision,
    r_precision,
    rank_biased_precision,
    recall,
    reciprocal_rank,
    reciprocal_ranks,
)
from tests.oracles.orders import (
    fitness,
    graded_auc,
    kendall_distance,
    kendall_tau,
    pair_count_auc,
    rank_biased_overlap,
    spearman,
)
from tests.oracles.values import Label, Pair, Ranked, Scored, Value, is_relevant


def listed(rows: Iterable[Scored]) -> list[Scored]:
    return [(score, label) for score, label in rows if score is not None]


def flagged_auc(rows: Iterable[Scored], rel: float | None, tied: str) -> Value:
    return pair_count_auc(((score, is_relevant(label, rel)) for score, label in rows), tied)


def both_known(rows: Iterable[Scored]) -> list[Pair]:
    return [(score, label) for score, label in listed(rows) if label is not None]


# Metrics that treat tied scores as tied, whatever `ties` says. Each takes the rows of a group as (score, label).
PAIRED: dict[str, Callable[..., Value]] = {
    "group_auc": lambda rows, rel=None, weight="", tied="half": flagged_auc(listed(rows), rel, tied),
    "gauc": lambda rows, rel=None, weight="", tied="half": flagged_auc(listed(rows), rel, tied),
    "pair_auc": lambda rows, weight="": graded_auc([(score, label or 0.0) for score, label in listed(rows)]),
    "kendall_tau": lambda rows, **given: kendall_tau(both_known(rows), **given),
    "kendall_distance": lambda rows, **given: kendall_distance(both_known(rows), **given),
    "spearman": lambda rows, **given: spearman(both_known(rows), **given),
    "rbo": rank_biased_overlap,
}
# Of these, those that are not the mean over the orders of the tied rows.
OWN_TIES = ("kendall_tau", "spearman", "rbo")


def of_strict_order(name: str) -> Callable[..., Value]:
    """The metric of :data:`PAIRED` as an oracle of one strict order."""

    def value(ranked: Ranked, judged: Sequence[Label], **given) -> Value:
        return PAIRED[name]([(-position, label) for position, label in ranked], **given)

    return value


# By the name of the metric. Each takes (ranked, judged, k=..., and the metric's parameters by name).
ORACLES: dict[str, Callable[..., Value]] = {
    "p": precision,
    "r": recall,
    "f": f_measure,
    "hit": hit_rate,
    "rprec": r_precision,
    "ap": average_precision,
    "rr": reciprocal_rank,
    "rbp": rank_biased_precision,
    "arhr": reciprocal_ranks,
    "err": expected_reciprocal_rank,
    "bpref": binary_preference,
    "iprec": interpolated_precision,
    "infap": inferred_average_precision,
    "fitness": fitness,
    "cg": cumulated_gain,
    "dcg": discounted_gain,
    "ndcg": normalised_gain,
    **{name: of_strict_order(name) for name in PAIRED},
}
