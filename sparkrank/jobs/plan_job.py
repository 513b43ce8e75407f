"""The plan of a day before its evaluation: rows, buckets and tasks, and the run times of recent days of the spec."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import FrameLaneNeededError, SparkrankError, SpecError
from sparkrank.config import Spec
from sparkrank.engines.file_evaluation import FILE_BATCH_ROWS
from sparkrank.engines.request import AUTO
from sparkrank.inputs.buckets import bucket_count, task_count
from sparkrank.inputs.day_marks import day_of, on_day
from sparkrank.results.run_results import DayPlan, StoredRun
from sparkrank.run.day_request import request_of
from sparkrank.run.provenance import is_same_question
from sparkrank.schemas.tables import QUALITY, RUNS
from sparkrank.sources.colocation import Colocation, shared_names
from sparkrank.sources.parquet import SPLIT_ROWS
from sparkrank.sources.selection import Sides
from sparkrank.tables.commit.days import stored_names
from sparkrank.tables.stored.day_files import day_files

STORED_RUNS = 3  # the number of last days that the plan shows


def plan_day(spec: Spec, day: str, rows: int | None) -> DayPlan:
    """Return the plan of Spark's evaluation of a day, without starting Spark. ``rows`` replaces a count of rows.

    Raise :class:`SpecError` if only Spark can count the rows, and :class:`InputError` if the input is unusable.
    """
    plan, engine, colocation = spec.plan(), spec.engine, Colocation.parse(spec.input.grouped)
    partitions: tuple[str, ...] = ()
    if rows is None:
        rows, splits, rows_from, partitions = _counted(spec, day, colocation)
    else:
        splits, rows_from = math.ceil(rows / SPLIT_ROWS), "given by --rows"
    if not plan.evaluates_splits and colocation is None:
        buckets = engine.buckets or bucket_count(rows, engine.bucket_rows, len(plan.models))
        tasks = task_count(buckets)
        pieces = splits * tasks
    else:  # the tasks that read the rows evaluate them
        buckets, tasks, pieces = 1, splits, 0
    tables = ("lists", *(["truth"] if plan.joins else []), *plan.past, *(["catalog"] if plan.has_catalog else []))
    stored = tuple(stored_runs(spec, day))
    return DayPlan(day, rows, rows_from, splits, buckets, tasks, pieces, stored, tables, partitions)


def _counted(spec: Spec, day: str, colocation: Colocation | None) -> tuple[int, int, str, tuple[str, ...]]:
    """Return the number of rows, the number of splits, a text that says where the rows were counted, and partitions.

    The partitions contain whole groups; there are none unless ``auto`` may evaluate them whole.
    """
    request = request_of(spec, day, None)
    try:
        sides = Sides.open(request.sides, request.roles, request.plan, {})
        sides.check(request.plan)
    except FrameLaneNeededError as error:
        raise SpecError(f"only Spark can count the rows ({error}): give their number with --rows") from None
    places = [side for side, _ in request.sides]
    where = ", before any where" if any(side.where is not None for side in places) else ""
    counted_in = "the footers" if all(side.format == "parquet" for side in places) else "the files"
    if colocation is None:
        splits = len(sides.splits(request.plan, SPLIT_ROWS))
    else:
        splits = len(sides.file_sets(request.plan, colocation, FILE_BATCH_ROWS))
    may_be_whole = request.grouped == AUTO and not request.plan.evaluates_splits
    partitions = shared_names(sides.group_partitions) if may_be_whole else ()
    return sides.rows, splits, f"counted in {counted_in}{where}", partitions


def stored_runs(spec: Spec, day: str) -> list[StoredRun]:
    """Return the runs of the last stored days up to ``day``, without unreadable runs and runs of other specs.

    If all stored days are later than ``day``, return the runs of the last stored days.
    """
    output = on_day(spec.output.path, day)
    names = sorted(name for name in stored_names(output) or () if day_of(name) is not None)
    before = [name for name in names if name <= day] or names
    runs = (_stored_run(spec, output, name) for name in before[-STORED_RUNS:])
    return [run for run in runs if run is not None]


def _stored_run(spec: Spec, output: str, day: str) -> StoredRun | None:
    try:
        files = day_files(output, day, ("runs", "quality"), None)
        names = ("spec", "lane", "rows", "buckets", "stages")
        run = files.read("runs", pa.schema([RUNS.schema.field(name) for name in names])).to_pylist()[0]
        if not is_same_question(spec, run["spec"]):
            return None
        quality = files.read("quality", pa.schema([QUALITY.schema.field(name) for name in ("check", "count")]))
        groups = quality.filter(pc.equal(pc.cast(quality["check"], pa.string()), checks.GROUPS))["count"].to_pylist()
        seconds = {str(stage): float(value) for stage, value in json.loads(run["stages"] or "{}").items()}
        counts = int(run["rows"] or 0), int(max(groups, default=0) or 0), int(run["buckets"] or 1)
        return StoredRun(day, str(run["lane"]), *counts, seconds)
    except (SparkrankError, KeyError, IndexError, TypeError, ValueError, pa.ArrowException, OSError):
        return None
