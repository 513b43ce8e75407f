"""The oracle of each metric, by its name."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence

from tests.oracles import catalogues, lists, orders, policy_values, predictions, sampling, thresholds
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
# Metrics of groups. Each of the others takes (ranked, judged, k=..., and the metric's parameters by name).
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
# Metrics of all rows together, which take the rows with a score as (score, label), and the parameters by name.
ALL_ROWS: dict[str, Callable[..., Value]] = {
    "auc": thresholds.auc,
    "auc_up": thresholds.auc_up,
    "pr_auc": thresholds.pr_auc,
    "bep": thresholds.break_even_point,
    "ks": thresholds.separation,
    "accuracy": thresholds.ACCURACY,
    "precision": thresholds.PRECISION,
    "recall": thresholds.RECALL,
    "tpr": thresholds.RECALL,
    "specificity": thresholds.SPECIFICITY,
    "fpr": thresholds.FALL_OUT,
    "balanced_accuracy": thresholds.BALANCED_ACCURACY,
    "mcc": thresholds.CORRELATION,
    "f1": thresholds.F_BETA,
    "fbeta": thresholds.F_BETA,
    "partial_auc": thresholds.partial_auc,
    "recall_at_precision": thresholds.recall_at_precision,
    "precision_at_recall": thresholds.precision_at_recall,
    "tpr_at_fpr": thresholds.tpr_at_fpr,
    "capture": thresholds.captured,
    "lift": lambda rows, top=0.1, **given: thresholds.captured(rows, top, **given) / top,
    "logloss": predictions.log_loss,
    "ne": predictions.relative_loss,
    "rig": lambda rows, rel=None: 1 - predictions.relative_loss(rows, rel),
    "brier": predictions.brier_score,
    "copc": predictions.clicks_over_predicted,
    "ece": predictions.calibration_error,
    "ece_by_mass": predictions.calibration_error_by_mass,
    "mce": predictions.largest_calibration_error,
    "mcb": predictions.miscalibration,
    "dsc": predictions.discrimination,
    "unc": predictions.base_variance,
    "rmse": lambda rows: math.sqrt(predictions.mean_error(lambda far: far**2, rows)),
    "mse": lambda rows: predictions.mean_error(lambda far: far**2, rows),
    "mae": lambda rows: predictions.mean_error(abs, rows),
    "bias": predictions.bias,
    "r2": predictions.determination,
}
# Metrics of all lists together, which take what is shown and the parameters by name.
ALL_LISTS: dict[str, Callable[..., Value]] = {
    "coverage": catalogues.coverage,
    "gini": catalogues.gini,
    "novelty": catalogues.novelty,
    "entropy": catalogues.entropy,
    "personalization": catalogues.personalization,
}
# Each of these takes something else.
OTHERS: dict[str, Callable[..., Value]] = {
    "value": policy_values.policy_value,
    "exposure_gap": catalogues.exposure_gap,
    **{name: functools.partial(sampling.estimate, name) for name in sampling.GAINS},
}
