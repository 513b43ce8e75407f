"""Declarations of metrics of the differences between scores and labels in a group, such as the calibration gap.

The order of the rows does not matter. Sums over rows are exact, so that they have the same bits in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.metrics.arithmetic import Arithmetic, given, list_table, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.calibration import NO_PROBABILITY
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.parameters import TIES, UNJUDGED, WEIGHT
from sparkrank.metrics.precision import REL, ratio
from sparkrank.metrics.regression import NOTHING
from sparkrank.numeric.array_types import Flags, Floats
from sparkrank.numeric.exact_sums import exact_sums, rounded
from sparkrank.numeric.segments import Segments
from sparkrank.ranking.ranking import Ranking

WEIGHT_OF_COMPARED = replace(WEIGHT, doc=WEIGHT.doc.replace("its listed rows", "its rows with a score and a label"))


class Errors(NamedTuple):
    """The ``error`` of each row with a score, in the order of the input. ``counted`` flags the rows that count.

    ``refused`` flags the rows that make the value of their group undefined.
    """

    error: Floats
    counted: Flags
    refused: Flags

    def sums(self, ranking: Ranking) -> tuple[Floats, Floats]:
        """Return two arrays: the sum of errors of each group, and its number of counted rows.

        The sum is NaN for a group with a ``refused`` row.
        """
        groups = Segments(ranking.groups, ranking.of_listed(ranking.judgments.codes))
        errors = rounded(exact_sums(self.error, groups))
        errors[groups.count_flagged(self.refused) > 0] = math.nan
        return errors, groups.count_flagged(self.counted).astype(np.float64)

    def of_ranked(self, ranking: Ranking) -> tuple[Floats, Flags]:
        """Return the error of each ranked row (NaN if it is not counted), and flags of the refused rows."""
        error = np.where(self.counted, self.error, math.nan)
        return ranking.of_judged(error)[ranking.row], ranking.of_judged(self.refused)[ranking.row]


def _scored(ranking: Ranking) -> ScoredRows:
    judgments = ranking.judgments
    judged = None if judgments.judged is None else ranking.of_listed(judgments.judged)
    return ScoredRows(ranking.wide_scores(), ranking.of_listed(judgments.labels), judged=judged)


def calibration_errors(ranking: Ranking, rel: float | None) -> Errors:
    """Return s - y of each row: s is the score, y is 1 for a relevant row and 0 for another."""
    rows = _scored(ranking)
    error = rows.probabilities(slice(None)) - ranking.of_listed(ranking.judgments.flags(rel))
    return Errors(error, np.ones(len(error), np.bool_), rows.outside())


def residual_errors(ranking: Ranking, of_residual: Callable[[Floats], Floats]) -> Errors:
    """Return ``of_residual(s - y)`` of each row with the score s and the label y; 0 without a label."""
    rows = _scored(ranking)
    return Errors(
        of_residual(rows.residuals(slice(None))),
        np.ones(len(rows.scores), np.bool_) if rows.judged is None else rows.judged,
        rows.beyond(),
    )


def calibration_gaps(ranking: Ranking, rel: float | None) -> Floats:
    """Return |Σ score - number of relevant rows| / number of rows, for each list."""
    errors, count = calibration_errors(ranking, rel).sums(ranking)
    return ratio(np.abs(errors), count)


def _gap_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    error, refused = calibration_errors(ranking, metric.rel).of_ranked(ranking)
    steps = [
        total("Σ of s - y", "s - y"),
        step("its opposite", "minus", 0.0, "Σ of s - y"),
        step("gap", "max", "Σ of s - y", "its opposite"),
        given("length of the list", ranking.length[0]),
        quotient("gap of a row", "gap", "length of the list"),
        given("all scores are in [0, 1]", float(not refused.any())),
        step(str(metric), "where", "gap of a row", "all scores are in [0, 1]"),
    ]
    return Arithmetic.of([list_table(ranking, {"s - y": error})], steps)


def _residual_terms(of_residual: Callable[[Floats], Floats], ranking: Ranking, metric: Metric) -> Arithmetic:
    error, refused = residual_errors(ranking, of_residual).of_ranked(ranking)
    column, is_root = ("(s - y)²", True) if metric.name == "group_rmse" else ("|s - y|", False)
    mean = "mean of (s - y)²" if is_root else "mean of |s - y|"
    last = [step("its root", "root", mean)] if is_root else []
    steps = [
        total(f"Σ of {column}", column),
        given("rows with a label", float(np.count_nonzero(~np.isnan(error)))),
        quotient(mean, f"Σ of {column}", "rows with a label"),
        *last,
        given("all numbers are near enough", float(not refused.any())),
        step(str(metric), "where", last[0].name if last else mean, "all numbers are near enough"),
    ]
    return Arithmetic.of([list_table(ranking, {column: error})], steps)


def _residual_metric(name: str, title: str, formula: str, of_residual: Callable[[Floats], Floats]) -> GroupMetric:
    def values(ranking: Ranking, metric: Metric) -> Floats:  # noqa: ARG001
        mean = ratio(*residual_errors(ranking, of_residual).sums(ranking))
        return np.sqrt(mean) if name == "group_rmse" else mean

    def weights(ranking: Ranking, metric: Metric) -> Floats | None:
        counted = metric.word("weight") == "rows"
        return residual_errors(ranking, of_residual).sums(ranking)[1] if counted else None

    return GroupMetric(
        name=name,
        title=title,
        formula=formula,
        undefined=NOTHING,
        reference=f"{name.removeprefix('group_')}, which is of all rows together; Willmott, Matsuura: Climate Research "
        "2005",
        cutoff="none",
        higher_is_better=False,
        highest=math.inf,
        parameters=(WEIGHT_OF_COMPARED,),
        common=(),
        refused=(
            (TIES.name, "the order of the rows does not matter"),
            (UNJUDGED.name, "rows without a label are left out, because nothing is known of what was predicted"),
        ),
        values=values,
        weights=weights,
        arithmetic=partial(_residual_terms, of_residual),
    )


DECLARATIONS = (
    GroupMetric(
        name="calibration_gap",
        title="distance of the mean score of a group from the share of its rows that are relevant",
        formula="|Σ s - Σ y| / rows with a score; y = 1 for a relevant row and 0 for another",
        undefined=f"the list is empty; {NO_PROBABILITY}",
        reference="with weight=rows, field-level calibration error: Pan et al., Field-aware Calibration, WWW 2020",
        cutoff="none",
        higher_is_better=False,
        parameters=(REL,),
        common=(WEIGHT, UNJUDGED),
        refused=((TIES.name, "the order of the rows does not matter"),),
        values=lambda ranking, metric: calibration_gaps(ranking, metric.rel),
        arithmetic=_gap_terms,
    ),
    _residual_metric(
        "group_rmse",
        "root mean squared error of predicted numbers inside each group",
        "√(mean of (s - y)² over the rows of the group), y = the label",
        np.square,
    ),
    _residual_metric(
        "group_mae",
        "mean absolute error of predicted numbers inside each group",
        "mean of |s - y| over the rows of the group, y = the label",
        np.abs,
    ),
)
