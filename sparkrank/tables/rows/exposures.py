"""The table ``exposures``: the attention to each value of a column, the amount due to it, and their ratio."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.attention_metric import AttentionMetric
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.slices import OTHER
from sparkrank.metrics.subjects import are_pooled, subjects_of
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.schemas.tables import EXPOSURES
from sparkrank.states.keys import Subject
from sparkrank.states.value_amounts import ValueAmounts
from sparkrank.stats.intervals import LEAST_GROUPS, jackknife, jackknife_degrees, t_intervals

MOST_VALUES = 1_000


def exposures_table(merged: Merged, plan: Plan, *, clustered: bool = False) -> pa.Table:
    """Return a row for each model, slice value, metric of attention, and value of its column.

    ``clustered`` is true if groups may occur on several days.
    """
    subjects = subjects_of(merged.partials, plan)
    of_clusters = are_pooled(subjects, plan) | (clustered or plan.cluster is not None)
    tables = [
        _rows(merged, subject, metric, declared, plan, clustered=bool(own))
        for subject, own in zip(subjects, of_clusters, strict=True)
        for metric, declared in plan.attention_metrics
    ]
    return pa.concat_tables([EXPOSURES.schema.empty_table(), *tables])


def _rows(
    merged: Merged, subject: Subject, metric: Metric, declared: AttentionMetric, plan: Plan, *, clustered: bool
) -> pa.Table:
    every = declared.amounts(merged, subject, metric)
    values, place = _values(every)
    amounts = _pooled(every, place, len(values))
    exposure, due = amounts.shares()
    ratio, sizes = (
        _ratio(amounts),
        merged.sizes_of_parts(subject, metric.judging) if plan.parted_slices(subject.slice) else None,
    )
    stderr, low, high = np.full((3, len(values)), np.nan)
    parts = None if sizes is None else declared.amounts_of_parts(merged, subject, metric, len(sizes))
    groups = declared.n_effective(merged, subject, metric, clustered=clustered) or 0.0
    if sizes is not None and parts is not None and groups >= LEAST_GROUPS:
        without = _ratio(amounts.without(_pooled(parts, place, len(values)))).T
        error, degrees = jackknife(ratio, without, sizes)[0], jackknife_degrees(ratio, without, sizes)
        ends = (0.0, np.inf)
        made = t_intervals(ratio, error, np.minimum(degrees, groups - 1), plan.uncertainty.level, ends=ends)
        stderr, low, high = made.stderr, made.low, made.high
    texts = [pa.repeat(pa.scalar(text, pa.string()), len(values)) for text in (*subject, str(metric))]
    numbers = (exposure, due, ratio, low, high, stderr)
    nullable = [pa.array(own, mask=np.isnan(own)) for own in numbers]
    return pa.Table.from_arrays([*texts, pa.array(values, pa.string()), *nullable], schema=EXPOSURES.schema)


def _values(amounts: ValueAmounts) -> tuple[list[str], Ints]:
    """Return the values that have a row, by descending attention, and the row of each value."""
    texts = amounts.values.to_pylist()
    ranks = sorted(range(len(texts)), key=lambda at: (texts[at] == OTHER, -amounts.attention[at], texts[at]))
    order = np.array(ranks, np.int64)
    place = np.empty(len(texts), np.int64)
    place[order] = np.arange(len(texts))
    names = [texts[at] for at in order[:MOST_VALUES].tolist()]
    if len(texts) > MOST_VALUES:
        names[-1] = OTHER
    return names, np.minimum(place, MOST_VALUES - 1)


def _pooled(amounts: ValueAmounts, place: Ints, count: int) -> ValueAmounts:
    attention, due = (np.zeros((*own.shape[:-1], count), np.int64) for own in (amounts.attention, amounts.due))
    np.add.at(attention.T, place, amounts.attention.T)
    np.add.at(due.T, place, amounts.due.T)
    return ValueAmounts(amounts.values, attention, due)


def _ratio(amounts: ValueAmounts) -> Floats:
    exposure, due = amounts.shares()
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: Floats = exposure / due
    return np.where(due > 0, quotient, np.nan)
