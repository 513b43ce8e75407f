"""The table ``disparities``: the distance between the values of a slice, for each model, slice and metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.subjects import subjects_of
from sparkrank.numeric.array_types import Ints
from sparkrank.schemas.tables import DISPARITIES
from sparkrank.tables.rows.finished import FinishedEvaluation
from sparkrank.tables.rows.results import NO_ORIGIN, Origin
from sparkrank.uncertainty.differences import compare_samples
from sparkrank.uncertainty.samples import Samples

_OF_TEST = ("stderr", "ci_low", "ci_high", "degrees", "n_groups", "n_effective")


def finished_disparities(finished: FinishedEvaluation) -> pa.Table | None:
    """Return the table ``disparities`` of a day or a window, or None if no disparities are requested."""
    if not finished.plan.disparities:
        return None
    is_window = finished.source is None
    return disparities_table(finished.solved.merged, finished.plan, finished.origin, clustered=is_window)


def disparities_table(merged: Merged, plan: Plan, origin: Origin = NO_ORIGIN, *, clustered: bool = False) -> pa.Table:
    """Return a row for each model, slice in ``plan.disparities`` and metric.

    ``clustered`` is true if groups may occur on several days. A missing value does not count as a value of the slice.
    """
    subjects = [own for own in subjects_of(merged.partials, plan) if own.slice in plan.disparities]
    subjects = [own for own in subjects if own.slice_value is not None]
    samples = Samples.of(merged, subjects, plan, clustered=clustered or plan.cluster is not None)
    of_slices: dict[tuple[str, str], list[int]] = {}
    for place, own in enumerate(subjects):
        of_slices.setdefault(own[:2], []).append(place)
    by_metric = [list(_rows(samples, plan, metric, of_slices)) for metric in plan.metrics]
    rows = [
        {**row, **vars(origin)}
        for of_slice in zip(*by_metric, strict=True)
        for row, metric in zip(of_slice, plan.metrics, strict=True)
        if (row["model"], metric) not in plan.absent
    ]
    return pa.Table.from_pylist(rows, DISPARITIES.schema)


def _rows(
    samples: Samples, plan: Plan, metric: Metric, of_slices: dict[tuple[str, str], list[int]]
) -> Iterator[dict[str, Any]]:
    if not of_slices:
        return
    values = samples.rows(metric).value
    ends = [_ends(values, np.array(places, np.int64)) for places in of_slices.values()]
    lowest, highest = (np.array([own[end] for own in ends], np.int64) for end in (0, 1))
    numbers = _numbers(samples, plan, metric, lowest, highest)
    for row, ((model, slice_), places) in enumerate(of_slices.items()):
        count = int(np.count_nonzero(~np.isnan(values[places])))
        named: dict[str, Any] = {"model": model, "slice": slice_, "metric": str(metric), "n_values": count}
        named["definition"] = plan.definition(metric)
        if count:
            named |= {"lowest": samples.subjects[lowest[row]].slice_value, "lowest_value": float(values[lowest[row]])}
            named |= {"highest": samples.subjects[highest[row]].slice_value}
            named |= {"highest_value": float(values[highest[row]])}
        yield named | ({name: _plain(column[row]) for name, column in numbers.items()} if count > 1 else {})


def _ends(values: NDArray[np.float64], places: Ints) -> tuple[int, int]:
    """Return the first place of the lowest and of the highest value; any place if all are undefined."""
    own = values[places]
    low, high = np.where(np.isnan(own), np.inf, own).argmin(), np.where(np.isnan(own), -np.inf, own).argmax()
    return int(places[low]), int(places[high])


def _numbers(samples: Samples, plan: Plan, metric: Metric, lowest: Ints, highest: Ints) -> dict[str, NDArray[Any]]:
    """Return the columns of the difference and the quotient of two ends, tested by parts of the groups."""
    level = plan.uncertainty.look_level
    gap = compare_samples(samples, samples, (highest, lowest), metric, level).columns(level)
    # the quotient minus 1 is the relative difference between the lowest and the highest value
    share = compare_samples(samples, samples, (lowest, highest), metric, level).columns(level)
    values = samples.rows(metric).value
    is_share = (values[highest] > 0) & (values[lowest] >= 0)
    columns = {"difference": gap["difference"], "interval": gap["interval"], **{name: gap[name] for name in _OF_TEST}}
    for name, relative in (("ratio", "relative"), ("ratio_low", "relative_low"), ("ratio_high", "relative_high")):
        columns[name] = np.where(is_share, 1 + share[relative], np.nan)
    if plan.uncertainty.sequential:  # an interval for one look is not valid for all looks
        for name in ("stderr", "ci_low", "ci_high", "ratio_low", "ratio_high"):
            columns[name] = np.full(len(lowest), np.nan)
    return columns


def _plain(number: Any) -> Any:
    """Return a number of a table, or None for NaN. Counts are whole."""
    return None if number is None or number != number else number  # noqa: PLR0124
