"""The stages of a day's evaluation, from a spec to tables that others can read."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import sparkrank
from sparkrank.engine.buckets import bucket_count
from sparkrank.engine.lanes import Lane
from sparkrank.errors import SpecError
from sparkrank.evaluation import all_blocks, refuse_unusable
from sparkrank.stages import Stages
from sparkrank.tables.curves import curves_table
from sparkrank.tables.days import table_folders, write_day
from sparkrank.tables.reading import open_day
from sparkrank.tables.results import Origin, metrics_table, quality_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.spec import Spec

RUNS = pa.schema(
    [
        ("run_id", pa.string()),
        ("status", pa.string()),
        ("started_at", pa.timestamp("us", tz="UTC")),
        ("lane", pa.string()),
        ("lane_reason", pa.string()),
        ("input", pa.string()),
        ("rows", pa.int64()),
        ("buckets", pa.int64()),
        ("stages", pa.string()),
        ("versions", pa.string()),
        ("spec_hash", pa.string()),
        ("spec", pa.string()),
    ]
)


@dataclass(frozen=True)
class DayResult:
    """What a run of the job leaves for the one who started it."""

    day: str
    metrics: pa.Table
    quality: pa.Table
    folders: dict[str, str]
    seconds: dict[str, float]


def evaluate_day(spec: Spec, day: str | None, spark: SparkSession | None, stages: Stages) -> DayResult:
    """Evaluate one day and replace it in the tables. ``spark`` may be absent where ``engine.lane`` is ``local``.

    Raises :class:`SpecError` without a day, and :class:`sparkrank.errors.InputError` when the input is unusable; then
    nothing has been written.
    """
    started_at = dt.datetime.now(dt.timezone.utc)
    day = resolve_day(spec, day)
    plan = spec.plan()
    roles = spec.input.columns.roles
    output = spec.output.path.replace("{date}", day)
    with stages.stage("open"):
        lane = open_day(spec.input, spec.engine.lane, day, roles, plan, spark)
        lane.check(roles, plan)
    with stages.stage("count"):
        buckets = spec.engine.buckets or bucket_count(lane.rows(), spec.engine.bucket_rows)
    with stages.stage("evaluate"):
        result = lane.evaluate(roles, plan, buckets)
    try:
        with stages.stage("check"):
            refuse_unusable(result.partials, plan, spec.quality.max_bad_fraction)
            origin = Origin(spec.hash(), run_id(spec, day))
            tables: dict[str, Any] = {
                "metrics": metrics_table(result.partials, plan, origin, result.measured),
                "quality": quality_table(result.partials, plan, spec.quality.max_bad_fraction, result.measured),
            }
            if spec.output.blocks:
                tables["blocks"] = all_blocks(result, plan)
            if plan.curve_points:
                tables["curves"] = curves_table(result, plan)
            if result.groups is not None:
                tables["groups"] = result.groups
        with stages.stage("write"):
            rows = int(tables["quality"]["count"][0].as_py())
            tables["runs"] = _runs_table(spec, day, origin, started_at, rows, buckets, lane, spark, stages)
            write_day(output, day, tables, spark)
    finally:
        result.release()
    return DayResult(day, tables["metrics"], tables["quality"], table_folders(output, day, tables), stages.seconds)


def resolve_day(spec: Spec, day: str | None) -> str:
    """The day to evaluate: as given, else the spec's. Raises :class:`SpecError` when there is none or it is no date."""
    if day is None:
        if spec.day is None:
            raise SpecError("no day is given: name it with --date YYYY-MM-DD or as day in the spec")
        return spec.day.isoformat()
    try:
        return dt.date.fromisoformat(day).isoformat()
    except ValueError:
        raise SpecError(f"--date {day} is not a day of the form YYYY-MM-DD") from None


def run_id(spec: Spec, day: str) -> str:
    """The same for the same question: a rerun of a day leaves the same rows. ``runs`` says when each was run."""
    asked = f"{spec.hash()} {day} {sparkrank.__version__}"
    return f"{day}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


def _runs_table(
    spec: Spec,
    day: str,
    origin: Origin,
    started_at: dt.datetime,
    rows: int,
    buckets: int,
    lane: Lane,
    spark: SparkSession | None,
    stages: Stages,
) -> pa.Table:
    versions = {
        "sparkrank": sparkrank.__version__,
        "spark": None if spark is None else spark.version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }
    row = {
        "run_id": origin.run_id,
        "status": "done",
        "started_at": started_at,
        "lane": lane.name,
        "lane_reason": lane.reason,
        "input": (spec.input.path or f"table {spec.input.table}").replace("{date}", day),
        "rows": rows,
        "buckets": buckets,
        "stages": json.dumps(stages.seconds),
        "versions": json.dumps(versions),
        "spec_hash": origin.spec_hash,
        "spec": spec.as_text(),
    }
    return pa.Table.from_pylist([row], schema=RUNS)
