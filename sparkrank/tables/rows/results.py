"""The rows of the table ``metrics``, computed from the states of a day."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.subjects import are_pooled, subjects_of
from sparkrank.schemas.tables import METRICS
from sparkrank.states.keys import Subject
from sparkrank.uncertainty.samples import Samples
from sparkrank.uncertainty.standard_errors import intervals_of


@dataclass(frozen=True)
class Origin:
    """The origin of a table's rows: the hash of the spec, and the ID of the run."""

    spec_hash: str | None = None
    run_id: str | None = None


NO_ORIGIN = Origin()
DEFINED = ("value", "difference")  # columns in which NaN means undefined


def metrics_table(merged: Merged, plan: Plan, origin: Origin = NO_ORIGIN, *, clustered: bool = False) -> pa.Table:
    """Return a row for each model, slice value and metric. ``clustered`` is true if a group may be on several days."""
    subjects = subjects_of(merged.partials, plan)
    for subject in subjects:
        merged.measure_bins(subject, plan.histogram_metrics)  # all metrics of score bins in one pass
    samples = Samples.of(merged, subjects, plan, clustered=clustered or plan.cluster is not None)
    pooled = are_pooled(subjects, plan)
    metrics = [samples.by_pooling(pooled, partial(_columns, plan=plan, metric=metric)) for metric in plan.metrics]
    return table_of(METRICS.schema, subject_columns(subjects), plan, metrics, origin)


def _columns(samples: Samples, plan: Plan, metric: Metric) -> dict[str, NDArray[Any]]:
    """Return the columns of numbers for ``metric``, including confidence intervals, with a row for each subject."""
    rows, interval = samples.rows(metric), intervals_of(samples, plan, metric)
    return {
        "value": rows.value,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "stderr": interval.stderr,
        "interval": interval.method,
        "degrees": interval.degrees,
        "noise_floor": rows.noise_floor,
        "n_groups": rows.n_groups,
        "n_effective": samples.n_effective(metric),
        "n_undefined": rows.n_undefined,
        "n_rows": rows.n_rows,
        "weight": rows.weight,
        "error_bound": np.where(np.isnan(rows.value), np.nan, rows.error_bound),
    }


def subject_columns(subjects: Sequence[Subject]) -> dict[str, list[str | None]]:
    """Return the columns ``model``, ``slice`` and ``slice_value`` with a row for each of ``subjects``."""
    return {name: [getattr(subject, name) for subject in subjects] for name in Subject._fields}


def table_of(
    schema: pa.Schema,
    texts: Mapping[str, Sequence[str | None]],
    plan: Plan,
    metrics: Sequence[Mapping[str, NDArray[Any]]],
    origin: Origin = NO_ORIGIN,
) -> pa.Table:
    """Return a table with a row for each subject and metric: all metrics of the first subject, then of the second, ...

    A subject is a model and a slice value. ``metrics`` contains the columns of each metric of ``plan``, with a number
    for each subject. ``texts`` contains the columns that name the subjects. NaN becomes null, except in the columns
    where NaN means undefined (:data:`DEFINED`). A metric is left out for a model that lacks it.
    """
    each, times = len(next(iter(texts.values()))), len(metrics)
    subject = pa.array(np.repeat(np.arange(each), times))
    metric = pa.array(np.tile(np.arange(times), each))
    of_metrics = {"metric": [str(own) for own in plan.metrics], "definition": [*map(plan.definition, plan.metrics)]}
    columns: dict[str, pa.Array] = {
        **{name: pa.array(column, pa.string()).take(subject) for name, column in texts.items()},
        **{name: pa.array(column, pa.string()).take(metric) for name, column in of_metrics.items()},
        **{name: pa.repeat(pa.scalar(text, pa.string()), each * times) for name, text in vars(origin).items()},
    }
    for field in schema:
        if field.name not in metrics[0]:
            columns.setdefault(field.name, pa.nulls(each * times, field.type))
        else:
            numbers = np.stack([own[field.name] for own in metrics], axis=1).ravel()
            column = pa.array(numbers, from_pandas=field.name not in DEFINED)
            columns[field.name] = column.cast(field.type)
    table = pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)
    if not plan.absent:
        return table
    models = [texts[name] for name in ("model", "candidate", "baseline") if name in texts]
    rows = itertools.product(zip(*models, strict=True), plan.metrics)
    return table.filter(pa.array([plan.absent.isdisjoint((own, metric) for own in of_row) for of_row, metric in rows]))


def with_origin(metrics: pa.Table, origin: Origin) -> pa.Table:
    """Return the table ``metrics`` with the hash of the spec and the ID of the run from ``origin`` in every row."""
    for name, text in vars(origin).items():
        index, column = metrics.schema.get_field_index(name), pa.repeat(pa.scalar(text, pa.string()), metrics.num_rows)
        metrics = metrics.set_column(index, metrics.schema.field(name), column)
    return metrics
