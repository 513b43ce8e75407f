"""The stages of a merge: the metrics of a window of days from their stored states, without reading an impression.

The groups of a window are the groups of its days: who has a group on two days counts twice, once with each day's
ranking. So a mean over the window is the mean over (group, day) pairs, and the rows under a metric of the whole window
are those of all days.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank import checks
from sparkrank.errors import InputError
from sparkrank.metrics import Plan
from sparkrank.pipeline.runs import WINDOW_RUNS, origin_of, runs_table
from sparkrank.stages import Stages
from sparkrank.states.block_rows import blocks_table
from sparkrank.tables.days import table_folders, write_day
from sparkrank.tables.limits import refuse_over_limits
from sparkrank.tables.results import result_tables
from sparkrank.tables.stored import StoredDay, find_days, merge_stored
from sparkrank.tables.warnings import warnings_of
from sparkrank.tables.windows import WINDOW, WINDOWS, Window, spans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.spec import Spec


@dataclass(frozen=True)
class WindowResult:
    """What a merge leaves for the one who started it."""

    window: Window
    days: tuple[str, ...]
    missing: tuple[str, ...]
    metrics: pa.Table
    quality: pa.Table
    folders: dict[str, str]
    seconds: dict[str, float]
    warnings: list[str]


def merge_days(
    spec: Spec, window: Window, spark: SparkSession | None, stages: Stages, *, allow_missing: bool = False
) -> WindowResult:
    """Evaluate ``window`` from the states of its days and replace it in the tables of windows.

    ``spark`` writes where ``output.path`` is on no local file system, and reads where Arrow cannot open it; elsewhere
    it may be absent. Raises :class:`InputError` where days lack states (without ``allow_missing``; without any day in
    any case) or their files cannot be read, and :class:`sparkrank.errors.StateError` where states are not those that
    ``spec`` asks for. Then nothing has been written.
    """
    started_at = dt.datetime.now(dt.timezone.utc)
    plan = spec.plan()
    limits = spec.limits(plan)
    output = f"{spec.output.path.replace('{date}', str(window)).rstrip('/')}/{WINDOWS}"
    with stages.stage("find"):
        found = find_days(spec.output.path, window.days, spark)
        missing = _missing(spec, window, found, allow_missing)
    with stages.stage("merge"):
        partials = merge_stored(found, plan, spec.source())
    with stages.stage("write"):
        days = tuple(each.day for each in found)
        origin = origin_of(spec, str(window), days)
        tables = result_tables(partials, plan, origin, limits)
        refuse_over_limits(tables["quality"], limits)
        warnings = warnings_of(partials, plan, tables["metrics"], limits)
        if spec.output.blocks:
            tables["blocks"] = blocks_table(partials.blocks, weighted=plan.weighted, unsummed=plan.unsummed_rules)
        tables["metrics"] = _with_pooling(tables["metrics"], plan, len(days))
        tables["runs"] = runs_table(
            WINDOW_RUNS,
            spec,
            origin,
            started_at,
            stages,
            spark,
            days=days,
            days_missing=missing,
            rows=partials.counts.get((checks.ROWS_READ, ""), 0),
        )
        write_day(output, str(window), tables, spark, WINDOW)
    folders = table_folders(output, str(window), tables, WINDOW)
    return WindowResult(window, days, missing, tables["metrics"], tables["quality"], folders, stages.seconds, warnings)


def _missing(spec: Spec, window: Window, found: list[StoredDay], allowed: bool) -> tuple[str, ...]:
    there = {each.day for each in found}
    missing = tuple(day for day in window.days if day not in there)
    if not found:
        raise InputError(f"no day of {window} has states under {spec.output.path}: evaluate the days first")
    if missing and not allowed:
        raise InputError(
            f"of {window} there are no states of {spans(missing)} under {spec.output.path}: evaluate them, or merge "
            f"the other days with --allow-missing"
        )
    return missing


def _with_pooling(metrics: pa.Table, plan: Plan, days: int) -> pa.Table:
    """``metrics`` with the number of days, and the sentence that says what stood in for a group."""
    pairs = f"every ({', '.join(plan.keys)}, day) is a group of its own: {days} days pooled"
    rows = f"the rows of {days} days together"
    of_the_day = {str(metric) for metric, _ in plan.day_metrics}
    pooling = pa.array([rows if text in of_the_day else pairs for text in metrics["metric"].to_pylist()], pa.string())
    n_days = pa.repeat(pa.scalar(days), metrics.num_rows)
    return metrics.append_column("n_days", n_days).append_column("pooling", pooling)
