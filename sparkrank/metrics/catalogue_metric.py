"""The class of metrics of all lists together, such as the coverage of the catalogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparkrank.base import checks
from sparkrank.metrics import outside
from sparkrank.metrics.arithmetic import Arithmetic, OneGroup, list_table, total
from sparkrank.metrics.merged import Merged, MetricKind, MetricRow
from sparkrank.metrics.metric import Metric, PlanPart, Scale
from sparkrank.metrics.needs import ROWS_AND_WEIGHT, Exposure, Needed, StatePlan, groups_of, sum_for_label, sums_needed
from sparkrank.metrics.parameters import TIES, Parameter
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.array_types import Ints
from sparkrank.ranking.first_rows import first_rows
from sparkrank.states.forms import ITEM_FORM, SUM_FORM
from sparkrank.states.items import UNIT, rows_shown
from sparkrank.states.keys import Subject

OF_ALL_LISTS = "the value is of all lists together: this list adds what it shows to how often each item is shown"


@dataclass(frozen=True)
class CatalogueMetric(MetricKind):
    """A metric of all lists together, computed from the number of lists with each item in their first k rows.

    The metric is undefined if the function ``value`` returns NaN.

    Parameters
    ----------
    value : callable (int64 array (items), int64 array (items), int, Metric) -> float
        The function that returns the value, or NaN if the value is undefined. Its arguments are the exposure of every
        item, in units of :data:`sparkrank.states.items.UNIT` (a row that is certainly shown adds one unit); the number
        of groups in which each item is relevant; the number of groups; and the metric. The second argument has a
        meaning only if the metric reads labels, by its parameter ``rel``.
    counts_lists : bool
        Whether the exposure of an item counts the lists that show it, so that repeats in a list count once. A warning
        then reports the number of lists shorter than k rows.
    common : tuple of Parameter
        The parameters of all metrics of this class: only ``ties``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, sparkrank as sr
    >>> items = sr.register(sr.CatalogueMetric(
    ...     name="items_shown",
    ...     title="number of items that are shown",
    ...     formula="items in the first k of some list",
    ...     undefined="never",
    ...     reference="ours",
    ...     highest=np.inf,
    ...     value=lambda exposure, relevant, groups, metric: float(np.sum(exposure > 0)),
    ... ))
    >>> rows = pa.table({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "score": [3.0, 2.0, 1.0]})
    >>> sr.evaluate(rows, ["items_shown@1"], group="user", item="item", score="score")["items_shown@1"]
    1.0
    """

    parts: ClassVar[tuple[PlanPart, ...]] = ("items",)
    heading: ClassVar[str] = "Metrics over lists"
    about: ClassVar[str] = "Properties of all lists together."
    computed_by: ClassVar[tuple[str, ...]] = ("value",)
    counts_lists: bool = False
    common: tuple[Parameter, ...] = (TIES,)
    interval: Scale = "none"
    refused: tuple[tuple[str, str], ...] = (("weight", "in what all lists show no group has a weight of its own"),)
    value: Callable[[Ints, Ints, int, Metric], float] = lambda exposure, relevant, groups, metric: float("nan")

    @property
    def reads_labels(self) -> bool:
        return any(parameter.name == "rel" for parameter in self.parameters)

    def exposure_of(self, metric: Metric) -> Exposure:
        """Return the settings of the counts of items from which ``metric`` is computed."""
        return Exposure.of(metric, once=self.counts_lists)

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        exposure = str(self.exposure_of(metric))
        items = "" if plan.item is None else f" of {plan.item}"  # with arrays, the items are always those of the lists
        items += " and of the catalog" if plan.has_catalog else ""
        yield Needed(ITEM_FORM.kind, exposure, str(metric), f"{exposure}{items}; {plan.settings}")
        groups = groups_of(metric.judging)
        yield Needed(SUM_FORM.kind, groups, str(metric), f"{groups}; {plan.settings}")
        yield from sums_needed(metric, plan, ROWS_AND_WEIGHT)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        exposure, counts = self.exposure_of(metric), merged.partials.items
        shown_rows, relevant = counts.amounts(subject.state(exposure))
        if merged.partials.counts.get((checks.CATALOG_ITEMS, "")):  # a slice has the catalogue of all rows
            missing = len(counts.amounts(Subject(subject.model, ALL, ALL).state(exposure))[0]) - len(shown_rows)
            shown_rows, relevant = (np.pad(amounts, (0, missing)) for amounts in (shown_rows, relevant))
        sums = merged.partials.sums.results()
        groups = int(sums.get(subject.state(groups_of(metric.judging)), 0))
        rows = int(sums.get(subject.state(sum_for_label(ROWS_AND_WEIGHT[0], metric.judging)), 0))
        given_value = metric.call("value", self.value, shown_rows, relevant, groups, metric)
        value = outside.number(metric, "value", given_value)
        return MetricRow(value, int(math.isnan(value)), rows, rows_shown(shown_rows), groups, error_bound=0.0)

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        ranking, judgments = group.ranking, group.ranking.judgments
        columns = {"shown": first_rows(ranking, metric.k, UNIT)[ranking.row] / UNIT}
        if "rel" in self.defaults:
            columns["relevant"] = judgments.flags(metric.rel)[ranking.row].astype(np.float64)
        return Arithmetic.of([list_table(ranking, columns)], [total("rows shown", "shown")], [OF_ALL_LISTS])
