"""The class of metrics with one value, computed from exact sums over all rows regardless of groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from sparkrank.base.errors import MetricError, quote
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.histogram.upper_hull import UpperHull
from sparkrank.metrics import outside
from sparkrank.metrics.arithmetic import Arithmetic, OneGroup, TermTable, total
from sparkrank.metrics.merged import Merged, MetricKind, MetricRow, WithoutParts, effective_number
from sparkrank.metrics.metric import Metric, PlanPart
from sparkrank.metrics.needs import (
    NEGATIVES,
    POSITIVES,
    ROWS_AND_WEIGHT,
    Needed,
    StatePlan,
    amounts_by_group,
    groups_of,
    part_definition,
    sum_for_label,
    sums_needed,
)
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, rounded
from sparkrank.numeric.segments import Segments
from sparkrank.states.forms import PART_SUM_FORM, SUM_FORM
from sparkrank.states.keys import Subject

OF_ALL_ROWS = "the value is of the rows of all groups together: these rows add so much to its sums"


def weights_without(sums: Mapping[RowSum, Floats]) -> Floats:
    weights = sums[ROWS_AND_WEIGHT[1]]
    return rounded(weights.sum(axis=0) - weights)


def limbs_left(sums: Mapping[RowSum, Floats], parts: Ints) -> list[dict[RowSum, list[float]]]:
    """Return the totals of ``sums`` (six floats a part of groups) over all parts, then without each of ``parts``."""
    every = {row_sum: limbs.sum(axis=0)[np.newaxis] for row_sum, limbs in sums.items()}
    return limbs_of_each({total: np.concatenate([all_, all_ - sums[total][parts]]) for total, all_ in every.items()})


def limbs_of_each(sums: Mapping[RowSum, Floats]) -> list[dict[RowSum, list[float]]]:
    """Return a dictionary of lists for each row of ``sums`` (shape (n, 6)), because Python adds up lists fast."""
    rows = zip(*(limbs.tolist() for limbs in sums.values()), strict=True)
    return [dict(zip(sums, row, strict=True)) for row in rows]


@dataclass(frozen=True)
class PooledValue:
    """The value of a pooled metric, with its error bound and its noise floor.

    Parameters
    ----------
    value : float
        The value in the unit of the metric, or NaN if it is undefined.
    error_bound : float
        The largest possible difference between ``value`` and the value from exact scores, in the same unit. It is 0 if
        ``value`` is exact, and NaN if the value is undefined and the metric is not exact.
    noise_floor : float, optional
        The approximate value by chance alone, for the same number of rows, if the true value is the lowest possible.
        Tests of a difference between values with a noise floor exchange parts between the two models.

    Examples
    --------
    >>> PooledValue(0.75)
    PooledValue(value=0.75, error_bound=0.0, noise_floor=None)
    """

    value: float
    error_bound: float = 0.0
    noise_floor: float | None = None


ROWS, SCORES, BIN = "rows", "row score", "score bin"  # names of tables and columns of the terms of pooled metrics


@dataclass(frozen=True)
class PooledTotals:
    """The totals of all rows with a score, from which a pooled metric computes its value.

    Parameters
    ----------
    limbs : mapping of RowSum to sequence of six float
        The exact sums over rows that the metric needs, and the number and weight of rows. Each sum consists of six
        floats (limbs), which :meth:`sum` adds up.
    terms : sequence of float
        The sum of each term of the metric over all score bins. Empty if the metric reads no bins.
    highest : sequence of float
        For each term that is not summed, the highest value over all score bins; minus infinity if there are no bins.
    hulls : sequence of UpperHull
        The upper hulls of points of all score bins, for a metric that reads any.
    positives, negatives : float
        The total weights of relevant rows and of other rows, divided by the same power of two as the terms, so that the
        two weights add up to between 1/2 and 1. Both weights are 0 if the metric reads no bins.

    Examples
    --------
    >>> import numpy as np
    >>> from sparkrank.metrics import RowSum
    >>> from sparkrank.numeric.exact_sums import exact_sum
    >>> hits, rows = RowSum("positives"), RowSum("rows")
    >>> totals = PooledTotals({hits: exact_sum(np.array([1.0, 1.0])), rows: exact_sum(np.ones(8))})
    >>> totals.sum(hits) / totals.sum(rows), totals.sum(rows, without=[hits])
    (0.25, 6.0)
    """

    limbs: Mapping[RowSum, Sequence[float] | Floats]
    terms: Sequence[float] = ()
    highest: Sequence[float] = ()
    positives: float = 0.0
    negatives: float = 0.0
    hulls: Sequence[UpperHull] = ()

    def sum(self, *added: RowSum, without: Sequence[RowSum] = ()) -> float:
        """Return the total of the sums ``added``, minus the total of the sums ``without`` over some of the same rows.

        The result is the float64 nearest to the exact difference. If the sums were rounded first, the difference of two
        close sums could be wrong, or even below 0.
        """
        if len(added) == 1 and not without:
            return math.fsum(self.limbs[added[0]])
        of_added = itertools.chain.from_iterable(self.limbs[total] for total in added)
        return math.fsum([*of_added, *(-limb for total in without for limb in self.limbs[total])])


@dataclass(frozen=True)
class PooledMetric(MetricKind):
    """A pooled metric: one value, computed from exact sums over all rows with a score, regardless of groups.

    The metric is undefined if the function ``value`` returns NaN, as it should if there are no rows.

    Parameters
    ----------
    sums : callable (Metric) -> tuple of RowSum
        Returns the sums over rows that the metric needs. The number and the weight of rows are always available.
    value : callable (PooledTotals, Metric) -> PooledValue
        Computes the value from these sums. Without a weight column, every row has weight 1.
    is_row_mean : bool
        Whether the value is the weighted mean of per-row values.
    carriers : callable (Metric) -> tuple of RowSum
        Returns the sums that determine the effective number of groups, such as the positives and the negatives for an
        AUC. The more a few groups dominate one of these sums, the less certain is the value. The default is the weight
        of rows.

    Examples
    --------
    >>> import math, pyarrow as pa, sparkrank as sr
    >>> from sparkrank.metrics import PooledValue, RowSum
    >>> hits, weight = RowSum("positives"), RowSum("weight")
    >>> def share(totals, metric):
    ...     return PooledValue(totals.sum(hits) / totals.sum(weight) if totals.sum(weight) else math.nan)
    >>> rate = sr.register(sr.PooledMetric(
    ...     name="click_rate",
    ...     title="clicks over rows",
    ...     formula="P / (P + N)",
    ...     undefined="no rows",
    ...     reference="ours",
    ...     sums=lambda metric: (hits, weight),
    ...     value=share,
    ... ))
    >>> rows = pa.table({"score": [3.0, 2.0, 1.0, 0.0], "clicked": [1, 0, 0, 0]})
    >>> sr.evaluate(rows, ["click_rate"], score="score", label="clicked")["click_rate"]
    0.25
    """

    parts: ClassVar[tuple[PlanPart, ...]] = ("rows",)
    needs_groups: ClassVar[bool] = False
    heading: ClassVar[str] = "Pooled metrics"
    about: ClassVar[str] = "All rows with a score as one classification, whatever their group."
    computed_by: ClassVar[tuple[str, ...]] = ("value",)
    cutoff: Literal["optional", "none"] = "none"
    refused: tuple[tuple[str, str], ...] = (
        ("ties", "of all rows together equal scores share a bin"),
        ("weight", "its rows are weighted by the column that the input names as weight"),
    )
    is_row_mean: bool = False  # True for a weighted mean of per-row values
    carriers: Callable[[Metric], tuple[RowSum, ...]] = lambda metric: (ROWS_AND_WEIGHT[1],)
    sums: Callable[[Metric], tuple[RowSum, ...]] = lambda metric: ()
    value: Callable[[PooledTotals, Metric], PooledValue] = lambda totals, metric: PooledValue(float("nan"))

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        # metrics that read bins only need these sums too, because they show which values a slice has
        sums = (*self.sums_of(metric), *ROWS_AND_WEIGHT)
        yield from sums_needed(metric, plan, sums)
        if plan.has_parts:
            for name in (groups_of(metric.judging), *(str(sum_for_label(total, metric.judging)) for total in sums)):
                yield Needed(PART_SUM_FORM.kind, name, str(metric), part_definition(plan.settings, plan))
            for carrier in self.carriers_of(metric):
                for name in amounts_by_group(carrier):
                    yield Needed(SUM_FORM.kind, name, str(metric), f"{name}; {plan.settings}", optional=True)

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        """Return the smallest effective number of groups over the metric's ``carriers``, or None if it is unknown."""
        numbers = [
            self._carried(merged, subject, metric, carrier, clustered=clustered) for carrier in self.carriers_of(metric)
        ]
        return min((number for number in numbers if number is not None), default=None)

    def _carried(
        self, merged: Merged, subject: Subject, metric: Metric, carrier: RowSum, *, clustered: bool
    ) -> float | None:
        """Return the effective number of groups for the sum ``carrier``; 0 if the sum is 0, and None if unknown.

        The number is computed from sums by group, or from parts if the same group may occur on several days
        (``clustered``) or if the sums by group were not stored.
        """
        sums = merged.partials.sums.results()
        amount, squares = (sums.get(subject.state(name)) for name in amounts_by_group(carrier))
        by_groups = None if amount is None or squares is None else amount**2 / squares if squares else 0.0
        if by_groups is not None and not clustered:
            return by_groups
        of_parts = self._carried_by_parts(merged, subject, metric, carrier)
        return by_groups if of_parts is None else effective_number(of_parts)

    def _carried_by_parts(self, merged: Merged, subject: Subject, metric: Metric, carrier: RowSum) -> Floats | None:
        """Return the amount of the sum ``carrier`` in each part.

        None if the stored sums of parts do not include ``carrier``.
        """
        if carrier.name == NEGATIVES:
            every, positives = (
                self._carried_by_parts(merged, subject, metric, amount)
                for amount in (sum_for_label(ROWS_AND_WEIGHT[1], metric.judging), replace(carrier, name=POSITIVES))
            )
            return None if every is None or positives is None else every - positives
        stored = (sum_for_label(total, metric.judging) for total in (*ROWS_AND_WEIGHT, *self.sums_of(metric)))
        if carrier not in stored:  # a sum that this metric does not store
            return None
        limbs = merged.partials.parts.sums.of(subject, carrier)
        return None if limbs is None else rounded(limbs)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        totals = PooledTotals(self._limbs(merged, subject, metric))
        rows, weight = map(totals.sum, ROWS_AND_WEIGHT)
        result, groups = self._value_of(totals, metric), merged.groups_of_parts(subject, metric.judging)
        return MetricRow(result.value, int(math.isnan(result.value)), int(rows), weight, groups, result.error_bound)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        sizes, sums = merged.sizes_of_parts(subject, metric.judging), self._parts_of_sums(merged, subject, metric)
        if sizes is None or sums is None:
            return None
        there, without = np.flatnonzero(sizes), np.full(len(sizes), np.nan)
        together, *values = (self._value_of(PooledTotals(left), metric).value for left in limbs_left(sums, there))
        without[there] = values
        return WithoutParts(together, without, sizes, weights_without(sums))

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        rows = self._terms_of_rows(group, metric)
        steps = [total(name, name, ROWS) for name in rows.columns if name not in (SCORES, BIN)]
        return Arithmetic.of([rows, *self._bins_of(group, metric)], steps, [OF_ALL_ROWS])

    def _terms_of_rows(self, group: OneGroup, metric: Metric) -> TermTable:
        scored = group.scored
        row = Segments(len(scored.scores), np.arange(len(scored.scores), dtype=np.int32))
        order = np.argsort(-scored.wide(), kind="stable")
        columns = {SCORES: scored.wide()[order]}
        for quantity in dict.fromkeys((*ROWS_AND_WEIGHT, *self.sums_of(metric))):
            columns[str(quantity)] = rounded(scored.sums(quantity, row))[order]
        return TermTable(ROWS, columns, group.scored_rows[order])

    def _bins_of(self, group: OneGroup, metric: Metric) -> list[TermTable]:  # noqa: ARG002
        return []

    def _parts_of_sums(self, merged: Merged, subject: Subject, metric: Metric) -> dict[RowSum, Floats] | None:
        sums = (*ROWS_AND_WEIGHT, *self.sums_of(metric))
        of_parts = merged.partials.parts.sums
        parts = {total: of_parts.of(subject, sum_for_label(total, metric.judging)) for total in sums}
        known = {total: limbs for total, limbs in parts.items() if limbs is not None}
        return known if len(known) == len(parts) else None

    def sums_of(self, metric: Metric) -> tuple[RowSum, ...]:
        return outside.row_sums(metric, self.sums)

    def carriers_of(self, metric: Metric) -> tuple[RowSum, ...]:
        """Return the sums that determine the effective number of groups, for the metric's label."""
        return tuple(sum_for_label(total, metric.judging) for total in outside.row_sums(metric, self.carriers))

    def _value_of(self, totals: PooledTotals, metric: Metric) -> PooledValue:
        result = metric.call("value", self.value, totals, metric)
        if metric.outside is not None:
            if not isinstance(result, PooledValue):
                raise MetricError(f"the value of {metric} is {quote(result)}: a PooledValue is needed")
            outside.number(metric, "value", result.value)
            outside.number(metric, "error_bound", result.error_bound)
        return result

    def _limbs(self, merged: Merged, subject: Subject, metric: Metric) -> dict[RowSum, Floats]:
        limbs, none = merged.partials.sums.limbs(), np.zeros(LIMBS)
        sums = (*ROWS_AND_WEIGHT, *self.sums_of(metric))
        return {total: limbs.get(subject.state(sum_for_label(total, metric.judging)), none) for total in sums}
