"""The oracle of each metric of groups, by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tests.oracles import lists, orders, predictions
from tests.oracles.values import Label, Pair, Ranked, Scored, Value, count_relevant, hits_within, is_relevant


def listed(rows: Iterable[Scored]) -> list[Scored]:
    return [(score, label) for score, label in rows if score is not None]


def flagged_auc(rows: Iterable[Scored], rel: float | None, tied: str) -> Value:
    return orders.pair_count_auc(((score, is_relevant(label, rel)) for score, label in rows), tied)


def both_known(rows: Iterable[Scored]) -> list[Pair]:
    return [(score, label) for score, label in listed(rows) if label is not None]


# Metrics that treat tied scores as tied, whatever `ties` says. Each takes the rows of a group as (score, label).
PAIRED: dict[str, Callable[..., Value]] = {
    "group_auc": lambda rows, rel=None, weight="", tied="half": flagged_auc(listed(rows), rel, tied),
    "gauc": lambda rows, rel=None, weight="", tied="half": flagged_auc(listed(rows), rel, tied),
    "pair_auc": lambda rows, weight="": orders.graded_auc([(score, label or 0.0) for score, label in listed(rows)]),
    "kendall_tau": lambda rows, **given: orders.kendall_tau(both_known(rows), **given),
    "kendall_distance": lambda rows, **given: orders.kendall_distance(both_known(rows), **given),
    "spearman": lambda rows, **given: orders.spearman(both_known(rows), **given),
    "rbo": orders.rank_biased_overlap,
    "calibration_gap": predictions.calibration_gap,
    "group_rmse": lambda rows, weight="": predictions.root_of(predictions.mean_error(lambda far: far**2, rows)),
    "group_mae": lambda rows, weight="": predictions.mean_error(abs, rows),
}
# Of these, those that are not the mean over the orders of the tied rows.
OWN_TIES = ("kendall_tau", "spearman", "rbo", "calibration_gap", "group_rmse", "group_mae")


def of_strict_order(name: str) -> Callable[..., Value]:
    """The metric of :data:`PAIRED` as an oracle of one strict order."""

    def value(ranked: Ranked, judged: Sequence[Label], **given) -> Value:
        return PAIRED[name]([(-position, label) for position, label in ranked], **given)

    return value


# Metrics of two lists take sequences of items (listed, other, relevant), and the metric's parameters by name.
TWO_LISTS: dict[str, Callable[..., Value]] = {
    "overlap": orders.overlap,
    "unexpected": orders.unexpected,
    "serendipity": orders.serendipity,
}
# Metrics of what items had before take the pairs of the interactions in place of labels, and lists of items.
BY_POPULARITY: dict[str, Callable[..., Value]] = {
    "past_novelty": orders.past_novelty,
    "past_serendipity": orders.past_serendipity,
}
# By the name of the metric. Each of the others takes (ranked, judged, k=..., and the metric's parameters by name).
ORACLES: dict[str, Callable[..., Value]] = {
    "p": lists.precision,
    "r": lists.recall,
    "f": lists.f_measure,
    "hit": lists.hit_rate,
    "rprec": lists.r_precision,
    "ap": lists.average_precision,
    "rr": lists.reciprocal_rank,
    "rbp": lists.rank_biased_precision,
    "arhr": lists.reciprocal_ranks,
    "err": lists.expected_reciprocal_rank,
    "bpref": lists.binary_preference,
    "iprec": lists.interpolated_precision,
    "infap": lists.inferred_average_precision,
    "fitness": orders.fitness,
    "filled": lists.filled,
    "iprec11": lists.mean_interpolated_precision,
    "pfound": lists.chance_of_finding,
    "set_ap": lists.set_average_precision,
    "fallout": lists.fallout,
    "first_rank": lists.first_rank,
    "relevance_position": lists.relevance_position,
    "percentile_rank": lists.percentile_rank,
    "judged": lists.judged_share,
    "unj": lists.unjudged_share,
    "n_ret": lambda ranked, judged, k=None: float(len(ranked[:k])),
    "n_rel": lambda ranked, judged, rel=None: float(count_relevant(judged, rel)),
    "n_rel_ret": lambda ranked, judged, k=None, rel=None: float(len(hits_within(ranked, k, rel))),
    "list_length": lambda ranked, judged: float(len(ranked)),
    "cg": lists.cumulated_gain,
    "dcg": lists.discounted_gain,
    "ndcg": lists.normalised_gain,
    "shown": lists.shown,
    "new": lists.unseen,
    "distinct": lists.distinct,
    "category_entropy": lists.category_entropy,
    "ild": lists.intra_list_diversity,
    "alpha_ndcg": lists.alpha_ndcg,
    "strecall": lists.subtopic_recall,
    "awrf": lists.awrf,
    **BY_POPULARITY,
    **{name: of_strict_order(name) for name in PAIRED},
    **TWO_LISTS,
}
