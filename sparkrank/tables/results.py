"""From the states of a day to the rows of the table ``metrics``, and all small tables of a day together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkrank import checks
from sparkrank.engines.result import ExactBins
from sparkrank.metrics import Plan
from sparkrank.metrics.declaration import CatalogueMetric, PooledMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.pooled import Measured, catalogue_row, groups_evaluated, pooled_row, subjects_of
from sparkrank.states import Distribution, Partials
from sparkrank.states.distributions import distributions_table
from sparkrank.states.items import items_table
from sparkrank.states.keys import StateKey, Subject
from sparkrank.states.means import Mean
from sparkrank.tables.curves import curves_table
from sparkrank.tables.quality import quality_table
from sparkrank.tables.schemas import METRICS

# Two-sided 95 % of the normal distribution: means over many groups are near normal.
Z_95 = 1.959963984540054
SLICE_KEY = ("model", "slice", "slice_value")


@dataclass(frozen=True)
class Origin:
    """What the rows of a table say of where they come from."""

    spec_hash: str | None = None
    run_id: str | None = None


def result_tables(
    partials: Partials,
    plan: Plan,
    origin: Origin,
    limits: checks.Limits,
    exact: ExactBins | None = None,
) -> dict[str, pa.Table]:
    """The small tables of a day or a window: what people read, and states beside those of means and sums."""
    measured = {} if exact is None else exact.measured
    tables = {
        "metrics": metrics_table(partials, plan, origin, measured),
        "quality": quality_table(partials, plan, limits, measured),
    }
    if plan.curve_points:
        tables["curves"] = curves_table(partials, plan, {} if exact is None else exact.sketches)
    if plan.distributions:
        tables["distributions"] = distributions_table(partials.distributions)
    if plan.exposures:
        tables["items"] = items_table(partials.items)
    return tables


def metrics_table(
    partials: Partials, plan: Plan, origin: Origin = Origin(), measured: Mapping[StateKey, Measured] | None = None
) -> pa.Table:
    """One row per model, slice and metric, in the order in which the metrics were asked for.

    ``measured`` are metrics of blocks that are not among the ``partials``.
    """
    means = partials.means.results()
    rows = [
        {**row, "spec_hash": origin.spec_hash, "run_id": origin.run_id}
        for subject in subjects_of(partials, plan)
        for metric in plan.metrics
        for row in _metric_rows(partials, means, plan, subject, metric, measured or {})
    ]
    return pa.Table.from_pylist(rows, schema=METRICS.schema)


def _metric_rows(
    partials: Partials,
    means: Mapping[StateKey, Mean],
    plan: Plan,
    subject: Subject,
    metric: Metric,
    measured: Mapping[StateKey, Measured],
) -> Iterator[dict[str, Any]]:
    declaration = metric.declaration
    key = {**dict(zip(SLICE_KEY, subject, strict=True)), "metric": str(metric)}
    definition = {"definition": plan.definition(metric)}
    if isinstance(declaration, (PooledMetric, CatalogueMetric)):
        of_lists = isinstance(declaration, CatalogueMetric)
        far = measured.get(subject.state(metric))
        day = catalogue_row(partials, subject, metric) if of_lists else pooled_row(partials, subject, metric, far)
        yield {
            **key,
            "value": day.value.value,
            "n_groups": groups_evaluated(partials, subject) if of_lists else None,
            "n_undefined": int(math.isnan(day.value.value)),
            "n_rows": day.rows,
            "weight": day.weight,
            "error_bound": _bound(day.value.value, day.value.error_bound),
            **definition,
        }
        return
    mean = means[subject.state(metric.of_groups)]
    if metric.percentile is not None:
        # one without a value has no row in the table of a day, so a merge meets none
        groups = partials.distributions.get(subject.state(metric.of_groups), Distribution.empty())
        value, bound = groups.quantile(metric.percentile / 100)
        yield {
            **key,
            "value": value,
            "n_groups": mean.n_groups,
            "n_undefined": mean.n_undefined,
            "n_rows": mean.n_rows,
            "weight": float(groups.blocks.neg.sum()),
            "error_bound": _bound(value, bound),
            **definition,
        }
    else:
        known = not math.isnan(mean.stderr)
        yield {
            **key,
            "value": mean.value,
            "ci_low": mean.value - Z_95 * mean.stderr if known else None,
            "ci_high": mean.value + Z_95 * mean.stderr if known else None,
            "stderr": mean.stderr if known else None,
            "n_groups": mean.n_groups,
            "n_undefined": mean.n_undefined,
            "n_rows": mean.n_rows,
            "weight": mean.weight,
            **definition,
        }


def _bound(value: float, bound: float) -> float | None:
    """How far ``value`` may be from what its metric means; nothing where one of them is undefined."""
    return None if math.isnan(value) or math.isnan(bound) else bound
