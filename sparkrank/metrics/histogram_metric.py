"""The class of pooled metrics computed from score bins, such as the AUC over all rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.bins import score_sums as bin_sums
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.histogram.threshold_sweep import Sweep, Sweeps, Terms, by_rate, value_of
from sparkrank.metrics import outside
from sparkrank.metrics.arithmetic import OneGroup, TermTable
from sparkrank.metrics.labels import FIRST
from sparkrank.metrics.merged import MeasuredTerms, Merged, MetricRow, SubjectStates, WithoutParts, measure
from sparkrank.metrics.metric import Metric, PlanPart
from sparkrank.metrics.needs import NEGATIVES, POSITIVES, ROWS_AND_WEIGHT, Needed, StatePlan, part_definition
from sparkrank.metrics.pooled_metric import (
    BIN,
    ROWS,
    SCORES,
    PooledMetric,
    PooledTotals,
    PooledValue,
    limbs_left,
    limbs_of_each,
    weights_without,
)
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import rounded
from sparkrank.numeric.segments import sum_by
from sparkrank.numeric.signed_parts import exchanges
from sparkrank.states import ScoreHistogram
from sparkrank.states.forms import BLOCKS_KIND, PARTS_KIND
from sparkrank.states.keys import Subject
from sparkrank.states.part_bins import coarse
from sparkrank.states.part_sums import parts_of_slice


@dataclass(frozen=True)
class HistogramMetric(PooledMetric):
    """A pooled metric computed from score bins.

    The metric is undefined if the function ``value`` returns NaN, as it should instead of a division by an empty class.

    Parameters
    ----------
    rule : callable (Metric) -> BinRule
        Returns the rule that assigns scores to bins. By default, each distinct score has a separate bin.
    terms : callable (Sweep) -> Terms
        Returns the terms of n bins, in the order of a sweep from the highest score down. ``sweep.pos``, ``sweep.neg``,
        ``sweep.tp`` and ``sweep.fp`` are float64 arrays of shape (n,) with weights, all divided by the same power of
        two. For several ranges of scores, ``terms`` is called for each range and the results are added up.
    terms_by : callable (Metric) -> callable (Sweep) -> Terms, optional
        Returns the function to use in place of ``terms``, if the terms depend on parameters of the metric.
    value : callable (PooledTotals, Metric) -> PooledValue
        Computes the value from the totals of the terms.
    by_rate : bool
        Whether the sweep starts at the bin with the highest share of positives, instead of the highest score. A metric
        with ``by_rate`` needs the parameter ``min_rows``.
    at_once : bool
        Whether ``terms`` also accepts :class:`~sparkrank.histogram.threshold_sweep.Sweeps`, with arrays for several
        days at once, of shape (days, n).
    score_sums : bool
        Whether ``terms`` reads ``sweep.score_sum``, the sum of the scores in each bin.
    curve : {"roc", "pr"}, optional
        The curve of which the metric is the area; None if there is no such curve.
    point_of : {"roc", "pr"}, optional
        The curve whose best point, returned by ``terms`` as ``Terms.best``, has the metric as a coordinate.

    Examples
    --------
    The share of (positive, negative) pairs in the right order, where a pair within one bin counts as wrong:

    >>> import math, pyarrow as pa, sparkrank as sr
    >>> from sparkrank.metrics import PooledValue, Terms
    >>> def right(totals, metric):
    ...     pairs = totals.positives * totals.negatives
    ...     return PooledValue(totals.terms[0] / pairs if pairs else math.nan)
    >>> strict = sr.register(sr.HistogramMetric(
    ...     name="strict_auc",
    ...     title="AUC in which ties are wrong",
    ...     formula="Σ n_b·(TP - p_b) / (P·N)",
    ...     undefined="P = 0 or N = 0",
    ...     reference="ours",
    ...     terms=lambda sweep: Terms.of((sweep.neg * sweep.tp_above,)),
    ...     value=right,
    ... ))
    >>> rows = pa.table({"score": [3.0, 2.0, 2.0, 1.0], "clicked": [1, 1, 0, 0]})
    >>> sr.evaluate(rows, ["strict_auc"], score="score", label="clicked")["strict_auc"]
    0.75
    """

    parts: ClassVar[tuple[PlanPart, ...]] = ("rows", "bins")
    computed_by: ClassVar[tuple[str, ...]] = ("value", "terms")
    rule: Callable[[Metric], BinRule] = lambda metric: BinRule("exact")
    terms: Callable[[Sweep], Terms] = lambda sweep: Terms.of()
    terms_by: Callable[[Metric], Callable[[Sweep], Terms]] | None = None
    by_rate: bool = False
    at_once: bool = False
    score_sums: bool = False
    curve: Literal["roc", "pr"] | None = None
    point_of: Literal["roc", "pr"] | None = None

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        rule = str(self.rule_of(metric))
        yield Needed(BLOCKS_KIND, rule, str(metric), f"{rule}; {plan.settings}")
        yield from super().needed(metric, plan)
        if plan.has_parts and self.interval != "none":
            of_part = str(coarse(self.rule_of(metric)))
            yield Needed(PARTS_KIND, of_part, str(metric), part_definition(f"{of_part}; {plan.settings}", plan))

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        """Return the row of ``metric`` for ``subject``, from merged bins or from terms computed before."""
        merged.measure_bins(subject, [(metric, self)])
        measured = merged.terms_of(subject, metric)
        assert measured is not None  # noqa: S101 - measure_bins computed it, unless it was there
        extent = measured.extent
        result = self._value_of_bins(measured, self._limbs(merged, subject, metric), metric)
        weight, groups = value_of(np.asarray(extent.pos + extent.neg)), merged.groups_of_parts(subject, metric.judging)
        value, is_undefined = result.value, int(math.isnan(result.value))
        sizes = (extent.rows, weight, groups)
        return MetricRow(value, is_undefined, *sizes, result.error_bound, extent.bins, result.noise_floor)

    def _terms_of_rows(self, group: OneGroup, metric: Metric) -> TermTable:
        rows = super()._terms_of_rows(group, metric)
        rule, scores = self.rule_of(metric), rows.columns[SCORES]
        flags = group.ranking.judgments.flags(rule.rel)[rows.row].astype(np.float64)
        weight = rows.columns[str(ROWS_AND_WEIGHT[1])]
        columns = {BIN: rule.snapped(scores), "positive": weight * flags, "negative": weight * (1 - flags)}
        return TermTable(ROWS, {**rows.columns, **columns}, rows.row)

    def _bins_of(self, group: OneGroup, metric: Metric) -> list[TermTable]:
        (bins,) = ScoreHistogram.of_each(self.rule_of(metric), group.scored, self.score_sums)
        columns = {BIN: bins.score, "positive": bins.positives, "negative": bins.negatives}
        if self.score_sums:
            columns["sum of scores"] = bins.score_sum
        return [TermTable("score bins", {name: column[::-1] for name, column in columns.items()})]

    def _carried_by_parts(self, merged: Merged, subject: Subject, metric: Metric, carrier: RowSum) -> Floats | None:
        """Return the total of ``carrier`` in each part of the groups, from bins of the part if they count its class."""
        bins = merged.bins_of_parts(subject, coarse(self.rule_of(metric)))
        if bins is None or carrier.name not in (POSITIVES, NEGATIVES) or carrier.rel != self.rule_of(metric).rel:
            return super()._carried_by_parts(merged, subject, metric, carrier)
        amounts = rounded(bins.pos if carrier.name == POSITIVES else bins.neg)
        return sum_by(bins.part, amounts, parts_of_slice(subject.slice))

    def rule_of(self, metric: Metric) -> BinRule:
        rule = outside.bin_rule(metric, self.rule)
        return replace(rule, judging=str(metric.judging)) if metric.judging != FIRST else rule

    def terms_of(self, sweep: Sweep, metric: Metric) -> Terms:
        terms = self.terms if self.terms_by is None else self.terms_by(metric)
        return outside.terms_of_bins(metric, terms, sweep)

    def _value_of_bins(
        self, measured: MeasuredTerms, limbs: Mapping[RowSum, Sequence[float] | Floats], metric: Metric
    ) -> PooledValue:
        extent, terms = measured.extent, measured.terms
        positives, negatives = (value_of(amount) * extent.scale for amount in (extent.pos, extent.neg))
        totals = PooledTotals(limbs, terms.sums, terms.highest.tolist(), positives, negatives, terms.hulls)
        return self._value_of(totals, metric)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        """Return the value of all groups, and the values without each part (one of 64 fixed subsets of the groups).

        All values are from the parts' coarse bins. The result is None without parts or if the metric has no interval.
        """
        if self.interval == "none":
            return None
        sizes, sums = merged.sizes_of_parts(subject, metric.judging), self._parts_of_sums(merged, subject, metric)
        of_parts = merged.bins_of_parts(subject, coarse(self.rule_of(metric)))
        if sizes is None or sums is None or of_parts is None:
            return None
        there = np.flatnonzero(sizes)
        all_, *left = limbs_left(sums, there)
        without = np.full(len(sizes), np.nan)
        if self.at_once and not (self.by_rate and metric.number("min_rows") > 1):
            amounts = of_parts.amounts_without(tuple(there.tolist()), score_sums=self.score_sums)
            together, *values = self._values_of(*amounts, float(of_parts.rows is None), [all_, *left], metric)
        else:
            together = self._value_of_bins(measure(of_parts.together, metric, self), all_, metric).value
            values = [
                self._value_of_bins(measure(of_parts.without(int(part)), metric, self), limbs, metric).value
                for part, limbs in zip(there, left, strict=True)
            ]
        without[there] = values
        return WithoutParts(together, without, sizes, weights_without(sums))

    def _values_of(
        self,
        pos: Floats,
        neg: Floats,
        score_sum: Floats | None,
        least: float,
        limbs: Sequence[Mapping[RowSum, Sequence[float]]],
        metric: Metric,
    ) -> list[float]:
        rows = pos + neg
        if self.by_rate:
            pos, neg = by_rate(pos, neg)
        sweeps = Sweeps(pos, neg, rows, least, score_sum)
        terms = self.terms_of(sweeps, metric)
        added, highest = terms.limbs.T, terms.highest.T
        positives, negatives = (np.ravel(weights).tolist() for weights in (sweeps.positives, sweeps.negatives))
        of_days = (
            PooledTotals(
                limbs[day],
                added[day].tolist() if len(added) else (),
                highest[day].tolist() if len(highest) else (),
                positives[day],
                negatives[day],
            )
            for day in range(len(limbs))
        )
        return [self._value_of(totals, metric).value for totals in of_days]

    def mixed_values(self, metric: Metric, *sides: SubjectStates) -> tuple[Floats, int] | None:
        known = []
        for merged, subject in sides:
            bins = merged.bins_of_parts(subject, coarse(self.rule_of(metric)))
            sums, sizes = self._parts_of_sums(merged, subject, metric), merged.sizes_of_parts(subject, metric.judging)
            if not self.at_once or bins is None or sums is None or sizes is None:
                return None
            known.append((bins, sums, sizes))
        filled = np.flatnonzero(np.sum([sizes for _, _, sizes in known], axis=0))

        # bins of two models match by score if scores are probabilities, else by rank, because scales may differ
        order = [bins.together.bins if self.score_sums else bins.ranks for bins, _, _ in known]
        places = np.unique(np.concatenate(order))
        of_bins = zip(known, order, strict=True)
        of_parts = [
            bins.amounts_of(len(sizes), np.searchsorted(places, own), len(places)) for (bins, _, sizes), own in of_bins
        ]
        amounts = exchanges(filled, of_parts)
        limbs = {total: exchanges(filled, [sums[total] for _, sums, _ in known]) for total in known[0][1]}
        pos, neg, offset = np.moveaxis(amounts, 1, 0)
        scores = None
        if self.score_sums:
            scores = bin_sums(coarse(self.rule_of(metric)), places.astype(np.int64), pos + neg, offset)[:, ::-1]
        of_days = limbs_of_each(limbs)
        least = float(known[0][0].rows is None)
        values = self._values_of(pos[:, ::-1], neg[:, ::-1], scores, least, of_days, metric)
        return np.reshape(values, (2 * len(sides) - 1, 2, -1)), len(filled)
