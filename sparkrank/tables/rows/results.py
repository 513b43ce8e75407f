"""The rows of the table ``metrics`` from the states of a day."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged, SubjectStates
from sparkrank.metrics.subjects import subjects_of
from sparkrank.schemas.tables import METRICS
from sparkrank.states.keys import Subject
from sparkrank.uncertainty.standard_errors import interval_of


@dataclass(frozen=True)
class Origin:
    """Where a table's rows come from: the hash of the spec, and the run."""

    spec_hash: str | None = None
    run_id: str | None = None


NO_ORIGIN = Origin()
# The rows held as Python objects at a time. They take twenty times the memory of table rows.
ROWS_AT_ONCE = 20_000


def metrics_table(merged: Merged, plan: Plan, origin: Origin = NO_ORIGIN, *, clustered: bool = False) -> pa.Table:
    """One row per model, slice value and metric; ``clustered`` if a group may occur on several days."""
    clustered = clustered or plan.cluster is not None
    texts = [{"metric": str(metric), "definition": plan.definition(metric), **vars(origin)} for metric in plan.metrics]
    rows = (
        {**subject._asdict(), **_columns(merged, plan, subject, metric, clustered=clustered), **of_metric}
        for subject in _measured_subjects(merged, plan)
        for metric, of_metric in zip(plan.metrics, texts, strict=True)
    )
    tables = []
    while some := list(itertools.islice(rows, ROWS_AT_ONCE)):
        tables.append(pa.Table.from_pylist(some, schema=METRICS.schema))
    return pa.concat_tables(tables or [METRICS.schema.empty_table()]).combine_chunks()


def _measured_subjects(merged: Merged, plan: Plan) -> Iterator[Subject]:
    """Every (model, slice, value) with states, yielded once all its metrics of score bins are measured together."""
    for subject in subjects_of(merged.partials, plan):
        merged.measure_bins(subject, plan.histogram_metrics)
        yield subject


def _columns(merged: Merged, plan: Plan, subject: Subject, metric: Metric, *, clustered: bool) -> dict[str, Any]:
    """The numbers of a row, with its confidence interval."""
    row, n_effective = merged.row(subject, metric), merged.n_effective(subject, metric, clustered=clustered)
    interval = interval_of(SubjectStates(merged, subject), plan, metric, row, n_effective, clustered=clustered)
    return {
        "value": row.value,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "stderr": interval.stderr,
        "interval": interval.method,
        "degrees": interval.degrees,
        "noise_floor": row.noise_floor,
        "n_groups": row.n_groups,
        "n_effective": n_effective,
        "n_undefined": row.n_undefined,
        "n_rows": row.n_rows,
        "weight": row.weight,
        "error_bound": _bound(row.value, row.error_bound),
    }


def with_origin(metrics: pa.Table, origin: Origin) -> pa.Table:
    """``metrics`` with the columns of ``origin`` in every row."""
    for name, text in vars(origin).items():
        index, column = metrics.schema.get_field_index(name), pa.repeat(pa.scalar(text, pa.string()), metrics.num_rows)
        metrics = metrics.set_column(index, metrics.schema.field(name), column)
    return metrics


def _bound(value: float, bound: float | None) -> float | None:
    """The largest possible error of ``value``; None if it is exact, or if the value or the bound is undefined."""
    return None if bound is None or math.isnan(value) or math.isnan(bound) else bound
