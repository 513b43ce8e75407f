"""The class of metrics of attention (the discounts of a value's positions) to the values of a column."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.arithmetic import LIST, Arithmetic, OneGroup, TermTable, total
from sparkrank.metrics.fairness import AGAINST, BY, DISTANCE, RELEVANT, common_shares
from sparkrank.metrics.merged import Merged, MetricKind, MetricRow, SubjectStates, WithoutParts, effective_number
from sparkrank.metrics.metric import Metric, PlanPart
from sparkrank.metrics.needs import (
    ROWS_AND_WEIGHT,
    Exposure,
    Needed,
    StatePlan,
    groups_of,
    part_definition,
    sum_for_label,
    sums_needed,
)
from sparkrank.metrics.parameters import TIES, Parameter
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.signed_parts import exchanges
from sparkrank.ranking.first_rows import first_rows
from sparkrank.states.forms import ITEM_FORM, PART_SUM_FORM, SUM_FORM
from sparkrank.states.items import UNIT, rows_shown
from sparkrank.states.keys import Subject
from sparkrank.states.value_amounts import ValueAmounts, values_of_all

OF_ALL_LISTS = "the value is of all lists together: this list adds its attention to the values that it shows"


@dataclass(frozen=True)
class AttentionMetric(MetricKind):
    """A metric of the distance between the values' shares of attention and the shares that are due to them.

    Examples
    --------
    >>> from sparkrank.metrics import CATALOG, AttentionMetric
    >>> [name for name, declared in CATALOG.items() if isinstance(declared, AttentionMetric)]
    ['exposure_gap']
    """

    parts: ClassVar[tuple[PlanPart, ...]] = ("values",)
    heading: ClassVar[str] = "Metrics over lists"
    about: ClassVar[str] = "Properties of all lists together."
    common: tuple[Parameter, ...] = (TIES,)
    refused: tuple[tuple[str, str], ...] = (("weight", "in what all lists show no group has a weight of its own"),)

    def exposure_of(self, metric: Metric) -> Exposure:
        """Return the settings of the counts of attention by value, from which ``metric`` is computed."""
        return Exposure.of(metric)._replace(by=metric.word(BY))

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        exposure, settings = self.exposure_of(metric), f"{plan.settings}{plan.popularity_of(metric)}"
        yield Needed(ITEM_FORM.kind, str(exposure), str(metric), f"{exposure}; {settings}")
        if (against := metric.word(AGAINST.name)) != RELEVANT:
            target = exposure.of_target(against)
            yield Needed(ITEM_FORM.kind, target, str(metric), f"{target}; {settings}")
        groups = groups_of(metric.judging)
        yield Needed(SUM_FORM.kind, groups, str(metric), f"{groups}; {plan.settings}")
        yield from sums_needed(metric, plan, ROWS_AND_WEIGHT)
        if plan.has_parts:
            name = exposure.by_part
            yield Needed(ITEM_FORM.kind, name, str(metric), part_definition(f"{name}; {settings}", plan), optional=True)
            yield Needed(PART_SUM_FORM.kind, groups, str(metric), part_definition(plan.settings, plan))

    def amounts(self, merged: Merged, subject: Subject, metric: Metric) -> ValueAmounts:
        """Return the attention to each value of the column, and the amount due to it."""
        exposure, target = self.exposure_of(metric), None
        if (against := metric.word(AGAINST.name)) != RELEVANT:
            target = Subject(subject.model, ALL, ALL).state(exposure.of_target(against))
        return ValueAmounts.of(merged.partials.items, subject.state(exposure), target)

    def amounts_of_parts(self, merged: Merged, subject: Subject, metric: Metric, parts: int) -> ValueAmounts | None:
        """Return the amounts for each part (fixed subset) of the groups, or None without parts.

        Due amounts from a table of items do not depend on parts, and are 0 here.
        """
        whole, key = self.amounts(merged, subject, metric), subject.state(self.exposure_of(metric).by_part)
        return whole.of_parts(merged.partials.items, key, parts, varies=metric[AGAINST.name] == RELEVANT)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        amounts = self.amounts(merged, subject, metric)
        value = float(self._distances(*amounts.shares(), metric))
        sums = merged.partials.sums.results()
        groups, rows = (int(sums.get(subject.state(name), 0)) for name in _counted(metric))
        attention = rows_shown(amounts.attention)
        floor = self._noise_floor(amounts, metric)
        return MetricRow(value, int(math.isnan(value)), rows, attention, groups, error_bound=0.0, noise_floor=floor)

    def mixed_values(self, metric: Metric, *sides: SubjectStates) -> tuple[Floats, int] | None:
        known = []
        for merged, subject in sides:
            whole, sizes = self.amounts(merged, subject, metric), merged.sizes_of_parts(subject, metric.judging)
            parts = None if sizes is None else self.amounts_of_parts(merged, subject, metric, len(sizes))
            if sizes is None or parts is None:
                return None
            known.append((whole, parts, sizes))
        filled = np.flatnonzero(np.sum([sizes for *_, sizes in known], axis=0))
        values = values_of_all([whole for whole, *_ in known])
        parts_of_sides = [parts.at(values) for _, parts, _ in known]
        attention, due = (
            exchanges(filled, [own.astype(np.float64) for own in amounts])
            for amounts in zip(*((own.attention, own.due) for own in parts_of_sides), strict=True)
        )
        if metric[AGAINST.name] != RELEVANT:
            due = np.broadcast_to(known[0][0].at(values).due, attention.shape)
        distances = self._distances(_shares(attention), _shares(due), metric)
        return np.reshape(distances, (2 * len(sides) - 1, 2, -1)), len(filled)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        sizes = merged.sizes_of_parts(subject, metric.judging)
        parts = None if sizes is None else self.amounts_of_parts(merged, subject, metric, len(sizes))
        if sizes is None or parts is None:
            return None
        whole = self.amounts(merged, subject, metric)
        left = whole.without(parts)
        without = np.where(sizes > 0, self._distances(*left.shares(), metric), np.nan)
        value = float(self._distances(*whole.shares(), metric))
        return WithoutParts(value, without, sizes, np.array([rows_shown(own) for own in left.attention]))

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        sizes = merged.sizes_of_parts(subject, metric.judging)
        if clustered and sizes is not None:
            return effective_number(sizes)
        return float(merged.partials.sums.results().get(subject.state(_counted(metric)[0]), 0)) or None

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        ranking, column, exposure = group.ranking, metric.value_column(BY), self.exposure_of(metric)
        row = ranking.row_by([column])
        shown = first_rows(ranking, metric.k, UNIT, exposure.discount, column)[row] / UNIT
        columns = {"attention": np.where(ranking.columns[column][row] >= 0, shown, np.nan)}
        if metric[AGAINST.name] == RELEVANT:
            columns["relevant"] = ranking.judgments.flags(metric.rel)[row].astype(np.float64)
        return Arithmetic.of([TermTable(LIST, columns, row)], [total("attention", "attention")], [OF_ALL_LISTS])

    def _noise_floor(self, amounts: ValueAmounts, metric: Metric) -> float | None:
        """Return the approximate distance by chance alone, if shown or relevant rows were drawn by the target's shares.

        The result is None if there are no such rows, or no shares.
        """
        attention, due = amounts.totals()
        rows, shares = due if metric[AGAINST.name] == RELEVANT else attention, np.sort(amounts.shares()[1])
        if not rows > 0 or np.isnan(shares).any():
            return None
        variance = shares * (1.0 - shares) / rows
        if metric[DISTANCE.name] == "tv":
            return float(np.sqrt(variance / (2 * math.pi)).sum())
        return float((variance[shares > 0] / shares[shares > 0]).sum() / (8 * math.log(2)))

    def _distances(self, shown: Floats, target: Floats, metric: Metric) -> Floats:
        """Return the distances between shown and target shares along the last axis; NaN without shares on one side."""
        if not shown.shape[-1]:
            return np.full(shown.shape[:-1], np.nan)
        terms = np.sort(common_shares(shown, target, metric.word(DISTANCE.name)), axis=-1)  # values have no order
        distance: Floats = np.clip(1.0 - terms.sum(axis=-1), 0.0, 1.0)
        return distance


def _counted(metric: Metric) -> tuple[str, RowSum]:
    """Return the names of the sums that count the groups and the rows of ``metric``."""
    return groups_of(metric.judging), sum_for_label(ROWS_AND_WEIGHT[0], metric.judging)


def _shares(amounts: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        shares: Floats = amounts / amounts.sum(axis=-1, keepdims=True)
    return shares
