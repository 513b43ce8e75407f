"""The stages of a day's evaluation, from a spec to tables that others can read."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank import checks
from sparkrank.day_marks import day_of, on_day, on_days
from sparkrank.engines.buckets import bucket_count
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.lanes import settled
from sparkrank.engines.spark.session_settings import time_zone, with_session
from sparkrank.errors import SpecError, shortened
from sparkrank.evaluation import all_blocks
from sparkrank.run.lane import open_day, told_of_inference
from sparkrank.run.provenance import origin_of, runs_table
from sparkrank.run.stages import Stages
from sparkrank.tables.days import day_run, local_path, table_folders
from sparkrank.tables.limits import refuse_over_limits
from sparkrank.tables.refusals import refuse_undefined, refuse_unusable
from sparkrank.tables.results import result_tables
from sparkrank.tables.schemas import RUNS
from sparkrank.tables.states import of_run, states_table
from sparkrank.tables.warnings import warnings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

GROUPS = "groups"


@dataclass(frozen=True)
class DayResult:
    """What a run of the job leaves for the one who started it."""

    day: str
    lane: str
    lane_reason: str
    metrics: pa.Table
    quality: pa.Table
    folders: dict[str, str]
    seconds: dict[str, float]
    warnings: list[str]


def evaluate_day(spec: Spec, day: str | None, spark: SparkSession | None, stages: Stages) -> DayResult:
    """Evaluate one day and replace it in the tables. ``spark`` may be absent where ``engine.lane`` is ``local``.

    Raises :class:`SpecError` without a day or where the output needs Spark and there is none, and
    :class:`sparkrank.errors.InputError` when the input is unusable; then nothing has been written.
    """
    day = resolve_day(spec, day)
    with time_zone(spark, spec.input.time_zone):
        return _evaluated(spec, day, spark, stages)


def _evaluated(spec: Spec, day: str, spark: SparkSession | None, stages: Stages) -> DayResult:
    started_at = dt.datetime.now(dt.timezone.utc)
    plan = spec.plan()
    limits = spec.limits(plan)
    output = on_day(spec.output.path, day)
    if spark is None and local_path(output) is None:
        raise SpecError(
            f"output.path is {shortened(output)}, which needs Spark: the lane local writes to local paths alone"
        )
    with stages.stage("open"):
        lane = open_day(spec.input, spec.truth, spec.engine.lane, day, spec.roles, plan, spark)
        lane = settled(lane, spec.engine.row_memory)
        lane.check(plan)
    with stages.stage("count"):
        counted = bucket_count(lane.rows(), spec.engine.bucket_rows) if plan.keys else 1
        buckets = spec.engine.buckets or counted
    with day_run(output, day, spark) as run:
        written = (GROUPS,) if plan.group_table and run.folder is not None else ()
        with stages.stage("evaluate"):
            files = GroupFiles.at(f"{run.folder}/{GROUPS}") if written else None
            result = lane.evaluate(plan, buckets, files)
        try:
            with stages.stage("check"):
                has_schema = any(rows is not None and rows.fields for rows in (spec.input, spec.truth))
                refuse_unusable(result.partials, plan, limits.bad, has_schema)
                origin = origin_of(spec, day, lane.session)
                source = with_session(spec.source(), lane.session)
                tables: dict[str, Any] = {
                    **result_tables(result.partials, plan, origin, limits, result.exact),
                    "states": states_table(
                        result.partials,
                        plan,
                        source,
                        blocks=spec.output.blocks,
                        exact=result.exact,
                        run_id=origin.run_id,
                    ),
                }
                refuse_undefined(tables["metrics"], plan)
                refuse_over_limits(tables["quality"], limits)
                warnings = [
                    *told_of_inference(spec.input, spec.truth, spec.roles),
                    *warnings_of(result.partials, plan, tables["metrics"], limits),
                ]
                if spec.output.blocks:
                    tables["blocks"] = all_blocks(result, plan)
                if result.groups is not None:
                    tables[GROUPS] = result.groups
            with stages.stage("write"):
                tables["runs"] = partial(
                    runs_table,
                    RUNS.schema,
                    spec,
                    origin,
                    started_at,
                    stages,
                    spark,
                    lane.session,
                    result.partials.loops,
                    lane=lane.name,
                    lane_reason=lane.reason,
                    input=" with truth ".join(
                        on_day(each.path or f"table {each.table}", day)
                        for each in (spec.input, spec.truth)
                        if each is not None
                    ),
                    rows=result.partials.counts.get((checks.ROWS_READ, ""), 0),
                    buckets=buckets,
                )
                run.commit(of_run(tables, origin.run_id), written)
        finally:
            result.release()
    folders = table_folders(output, day, {*tables, *written})
    return DayResult(
        day, lane.name, lane.reason, tables["metrics"], tables["quality"], folders, stages.seconds, warnings
    )


def resolve_day(spec: Spec, day: str | None) -> str:
    """The day to evaluate: as given, else the spec's. Raises :class:`SpecError` when there is none or it is no date."""
    if day is None:
        if spec.day is None:
            raise SpecError("no day is given: name it with --date YYYY-MM-DD or as day in the spec")
        return spec.day.isoformat()
    if day_of(day) is None:
        raise SpecError(f"--date {day} is not a day of the form YYYY-MM-DD")
    return day


def places_of(spec: Spec, day: str) -> list[str]:
    """What is read and written for ``day``, a line each: ``input.path: /log/dt=2026-01-31``."""
    lines = []
    for what, rows in (("input", spec.input), ("truth", spec.truth)):
        if rows is None:
            continue
        if rows.path is not None:
            lines += [f"{what}.path: {path}" for path in on_days(rows.path, day)]
        texts = {"table": rows.table, "where": rows.where}
        lines += [f"{what}.{key}: {on_day(text, day)}" for key, text in texts.items() if text is not None]
    return [*lines, f"output.path: {on_day(spec.output.path, day)}"]
