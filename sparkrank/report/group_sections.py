"""The sections that come of the group table: how values, and differences of two models, are spread over groups.

The table is read a batch at a time, and each value becomes a count in a bin: no row becomes an object of Python. Where
there is no group table, as of a window, the table ``distributions`` has the values of metrics with percentiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sparkrank.base.errors import InputError, MetricError
from sparkrank.bucket.group_rows import MODEL
from sparkrank.comparison.group_pairs import Side, paired_groups
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.metrics import Metric
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.whole_units import TIED
from sparkrank.report.collect import of_all, plain_texts
from sparkrank.report.data import Comparison, GroupDistribution, MetricValue, ModelCounts, PairedDistribution
from sparkrank.report.score_sections import edges_between

BINS = 20  # of values in a range that is known
MOST_METRICS = 24  # in the order of the table
MOST_CANDIDATES = 8  # each of which is paired with the baseline
MOST_PAIRS = 5_000_000  # groups of a model beyond which pairing takes longer than a report should
MOST_VALUES = 400_000_000  # of the group table that are read for a section: of a larger one fewer metrics are shown


@dataclass
class _Counts:
    """The bins of a metric, and the groups of each model in them."""

    edges: Floats
    counts: dict[str, Ints]
    undefined: dict[str, int]

    @classmethod
    def of(cls, edges: Floats, models: Sequence[str]) -> _Counts:
        bins = max(len(edges) - 1, 1)
        return cls(edges, {model: np.zeros(bins, np.int64) for model in models}, dict.fromkeys(models, 0))

    def add(self, model: str, values: Floats) -> None:
        there = values[~np.isnan(values)]
        self.undefined[model] += len(values) - len(there)
        self.counts[model] += _binned(there, self.edges)


def _binned(values: Floats, edges: Floats) -> Ints:
    """How many of ``values`` are in each bin; those beyond the edges are in the bin at that end."""
    count = max(len(edges) - 1, 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, count - 1)
    found: Ints = np.bincount(place, minlength=count)
    return found


def group_distributions(table: GroupTable, models: Sequence[str]) -> tuple[GroupDistribution, ...]:
    """How the values of each metric are spread over the groups of each model.

    Parameters
    ----------
    table : GroupTable
        The group table, which Arrow reads.
    models : sequence of str
        Their order.

    Returns
    -------
    tuple of GroupDistribution
        Of the first :data:`MOST_METRICS` metrics of the table, or of fewer where it is large.

    Raises
    ------
    InputError
        Where its files cannot be read.
    """
    rows = table.count()
    if not rows:
        return ()
    metrics = table.metrics[: _most(MOST_METRICS, rows)]
    known = {metric: edges for metric in metrics if (edges := _known_edges(metric)) is not None}
    others = [metric for metric in metrics if metric not in known]
    ranges = _ranges(table, others) if others else {}
    found = {
        metric: _Counts.of(known[metric] if metric in known else edges_between(*ranges[metric]), models)
        for metric in metrics
    }
    for batch in _batches(table, metrics):
        for model, rows in _by_model(batch, models):
            for metric in metrics:
                found[metric].add(model, rows[metric].cast(pa.float64()).to_numpy(zero_copy_only=False))
    return tuple(_distribution(metric, of, models, "groups") for metric, of in found.items())


def _most(wanted: int, values_of_each: int) -> int:
    """How many of ``wanted`` things are read, each of so many values: one at least."""
    return max(min(wanted, MOST_VALUES // max(values_of_each, 1)), 1)


def _distribution(metric: str, of: _Counts, models: Sequence[str], source: str) -> GroupDistribution:
    by_model = tuple(ModelCounts(model, tuple(of.counts[model].tolist()), of.undefined[model]) for model in models)
    return GroupDistribution(metric, tuple(of.edges.tolist()), by_model, source)  # type: ignore[arg-type]


def _batches(table: GroupTable, columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
    with table.reading():
        if not isinstance(table.rows, ds.Dataset):
            raise TypeError("a DataFrame is counted by Spark")
        for batch in table.rows.scanner(columns=[MODEL, *columns]).to_batches():
            table.validate_files(MODEL, batch[MODEL])
            for column in columns:
                table.validate_files(column, batch[column])
            yield batch


def _by_model(batch: pa.RecordBatch, models: Sequence[str]) -> Iterable[tuple[str, pa.RecordBatch]]:
    """The rows of each of ``models`` in ``batch``."""
    names = batch[MODEL]
    there = set(pc.unique(names).to_pylist())
    for model in models:
        if there == {model}:
            yield model, batch
        elif model in there:
            yield model, batch.filter(pc.equal(names.cast(pa.string()), model))


def _known_edges(metric: str) -> Floats | None:
    """The edges of the values that ``metric`` can have; None where they have no bounds, or nobody knows."""
    with suppress(MetricError):  # of another version
        parsed = Metric.parse(metric)
        declared = parsed.declaration
        low, high = declared.range_of(parsed)
        if math.isfinite(low) and math.isfinite(high):
            return low + (high - low) * (np.arange(BINS + 1) / BINS)
    return None


def _ranges(table: GroupTable, metrics: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The least and the greatest value of each of ``metrics``; infinite where none is defined."""
    found = dict.fromkeys(metrics, (math.inf, -math.inf))
    for batch in _batches(table, metrics):
        for metric in metrics:
            values = batch[metric].cast(pa.float64()).to_numpy(zero_copy_only=False)
            low, high = found[metric]
            found[metric] = (float(np.nanmin(values, initial=low)), float(np.nanmax(values, initial=high)))
    return found


def frame_distributions(table: GroupTable, models: Sequence[str]) -> tuple[GroupDistribution, ...]:
    """The same of a group table that is a Spark DataFrame: its workers count, and the counts alone come back.

    Parameters
    ----------
    table : GroupTable
        The group table.
    models : sequence of str
        Their order.

    Returns
    -------
    tuple of GroupDistribution
    """
    from pyspark.sql import functions as F

    frame, metrics = table.rows, table.metrics[:MOST_METRICS]
    if isinstance(frame, ds.Dataset) or not metrics:
        return ()
    edges = {metric: found for metric in metrics if (found := _known_edges(metric)) is not None}
    others = [metric for metric in metrics if metric not in edges]
    if others:
        nothing = F.lit(None).cast("double")
        there = [F.nanvl(frame[_quoted(metric)].cast("double"), nothing) for metric in others]
        row = frame.select(*(end(value) for value in there for end in (F.min, F.max))).collect()[0]
        for place, metric in enumerate(others):
            low, high = row[2 * place], row[2 * place + 1]
            edges[metric] = edges_between(math.inf, 0.0) if low is None else edges_between(low, high)
    in_order = [edges[metric] for metric in metrics]
    values = [frame[_quoted(metric)].cast("double").alias(f"m{at}") for at, metric in enumerate(metrics)]

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _counted(batch, in_order)

    counted = frame.select(frame[MODEL], *values).mapInArrow(count, "model string, metric int, bin int, groups long")
    sums = counted.groupBy("model", "metric", "bin").agg(F.sum("groups").alias("groups")).collect()
    by_metric = [_Counts.of(each, models) for each in in_order]
    for model, at, place, groups in sums:
        if place < 0:
            by_metric[at].undefined[model] += groups
        else:
            by_metric[at].counts[model][place] += groups
    return tuple(_distribution(metric, of, models, "groups") for metric, of in zip(metrics, by_metric, strict=True))


def _quoted(name: str) -> str:
    """A column's name as Spark's ``frame[...]`` takes it literally."""
    return f"`{name.replace('`', '``')}`"


def _counted(batch: pa.RecordBatch, edges: Sequence[Floats]) -> pa.RecordBatch:
    """The groups of ``batch`` by model, place of the metric, and bin; those without a value have the bin -1."""
    rows: list[tuple[str, int, int, int]] = []
    for model in pc.unique(batch[0]).to_pylist():
        own = batch.filter(pc.equal(batch[0], model))
        for at, each in enumerate(edges):
            values = own[at + 1].to_numpy(zero_copy_only=False)
            there = values[~np.isnan(values)]
            counts = _binned(there, each)
            rows += [(model, at, int(place), int(counts[place])) for place in np.flatnonzero(counts)]
            rows.append((model, at, -1, len(values) - len(there)))
    names, metrics, bins, groups = zip(*rows, strict=True) if rows else ((), (), (), ())
    types = {"model": pa.string(), "metric": pa.int32(), "bin": pa.int32(), "groups": pa.int64()}
    columns = zip((names, metrics, bins, groups), types.values(), strict=True)
    return pa.RecordBatch.from_arrays([pa.array(values, kind) for values, kind in columns], list(types))


def stored_distributions(
    table: pa.Table, values: Iterable[MetricValue], models: Sequence[str]
) -> tuple[GroupDistribution, ...]:
    """The same from the table ``distributions``, of the metrics that have percentiles.

    Parameters
    ----------
    table : pyarrow.Table
        The table ``distributions``.
    values : iterable of MetricValue
        The metrics over the whole day, which count the groups where one is undefined.
    models : sequence of str
        Their order.

    Returns
    -------
    tuple of GroupDistribution
    """
    table = plain_texts(of_all(table))
    undefined: dict[tuple[str, str], int] = {}
    for value in values:
        with suppress(MetricError):
            undefined[str(Metric.parse(value.metric).of_groups), value.model] = value.n_undefined or 0
    found = []
    for metric in pc.unique(table["metric"]).to_pylist()[:MOST_METRICS]:
        rows = table.filter(pc.equal(table["metric"], metric))
        of_all_models = rows["value"].to_numpy()
        known = _known_edges(metric)
        if known is None:
            ends = (float(of_all_models.min()), float(of_all_models.max())) if len(of_all_models) else (math.inf, 0.0)
            known = edges_between(*ends)
        counts = _Counts.of(known, models)
        for model in models:
            own = rows.filter(pc.equal(rows["model"], model))
            place = np.clip(np.searchsorted(known, own["value"].to_numpy(), side="right") - 1, 0, len(known) - 2)
            sums = np.bincount(place, own["groups"].to_numpy(), minlength=len(known) - 1)
            counts.counts[model] += sums.astype(np.int64)
            counts.undefined[model] = undefined.get((metric, model), 0)
        found.append(_distribution(metric, counts, models, "distributions"))
    return tuple(found)


def paired_distributions(
    table: GroupTable, baseline: str, models: Sequence[str], comparisons: Mapping[tuple[str, str], Comparison]
) -> tuple[tuple[PairedDistribution, ...], str | None]:
    """How the differences of groups are spread, of each candidate against the ``baseline``.

    Parameters
    ----------
    table : GroupTable
        The group table, which Arrow reads.
    baseline : str
        The model that others are compared with.
    models : sequence of str
        All models, in order.
    comparisons : mapping
        The rows of ``comparisons`` over the whole day, by metric and candidate.

    Returns
    -------
    tuple of PairedDistribution, str or None
        And a sentence where groups are not paired.
    """
    candidates = [model for model in models if model != baseline][:MOST_CANDIDATES]
    rows = table.count()
    if baseline not in models or not candidates or not rows:
        return (), None
    metrics = table.metrics[: _most(MOST_METRICS, 2 * rows * len(candidates))]
    if rows // len(models) > MOST_PAIRS:
        return (), f"There are more than {MOST_PAIRS:,} groups to pair: sparkrank movers shows those that differ most."
    found = []
    for candidate in candidates:
        left, right = Side(table, baseline), Side(table, candidate)
        try:
            pairs = paired_groups(left, right)
        except InputError as error:
            return (), f"Groups are not paired: {error}."
        for metric in metrics:
            values = (right.values(metric)[pairs.of_right], left.values(metric)[pairs.of_left])
            own = comparisons.get((metric, candidate))
            found.append(_paired(metric, candidate, baseline, values, own))
    order = {metric: index for index, metric in enumerate(metrics)}
    return tuple(sorted(found, key=lambda each: (order[each.metric], candidates.index(each.candidate)))), None


def _paired(
    metric: str, candidate: str, baseline: str, values: tuple[Floats, Floats], comparison: Comparison | None
) -> PairedDistribution:
    difference = values[0] - values[1]
    alone = np.isnan(values[0]) != np.isnan(values[1])  # of what is undefined in both, nothing can be paired
    there = difference[~np.isnan(difference)]
    differing = there[np.abs(there) > TIED]
    most = float(np.abs(differing).max()) if len(differing) else 0.0
    edges = edges_between(-most, most)
    return PairedDistribution(
        metric,
        candidate,
        baseline,
        tuple(edges.tolist()),
        tuple(_binned(differing, edges).tolist()),
        len(there) - len(differing),
        int(np.count_nonzero(alone)),
        comparison,
    )


def sections_of_groups(
    table: GroupTable, models: Sequence[str], comparisons: Sequence[Comparison]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The sections of the group table.

    Parameters
    ----------
    table : GroupTable
        The group table.
    models : sequence of str
        Their order.
    comparisons : sequence of Comparison
        The rows of ``comparisons`` over the whole day; groups are paired where there are any.

    Returns
    -------
    dict, dict
        The sections by name, and why some are empty.
    """
    if table.is_frame:
        told = "The group table is a Spark DataFrame: the report of a stored day pairs its groups."
        return {"distributions": frame_distributions(table, models)}, {"paired": told} if comparisons else {}
    sections: dict[str, Any] = {"distributions": group_distributions(table, models)}
    if not comparisons:
        return sections, {}
    by_key = {(row.metric, row.candidate): row for row in comparisons}
    sections["paired"], why = paired_distributions(table, comparisons[0].baseline, models, by_key)
    return sections, {} if why is None else {"paired": why}
