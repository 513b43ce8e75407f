"""The door of the job: from a spec and a day to a request, and from what it leaves to tables that others can read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import MOST_SENTENCE, SpecError, escaped, shortened
from sparkrank.base.redaction import redact, shown_url
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.request import Request, Side
from sparkrank.engines.spark.session_settings import time_zone, with_session
from sparkrank.inputs.day_marks import as_pattern, day_of, on_day, on_days
from sparkrank.jobs.gate_job import Judgment, added, judge_run
from sparkrank.jobs.report_job import REPORT, changes_of_run, validate_report, with_report
from sparkrank.jobs.target import Target
from sparkrank.report.changes import Changes
from sparkrank.run.completeness import Completeness
from sparkrank.run.execute import Outcome, open_request
from sparkrank.run.provenance import origin_of, runs_table
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import RUNS
from sparkrank.tables.commit.days import Commit, day_run, needs_spark, table_folders
from sparkrank.tables.rows.finished import Finished
from sparkrank.tables.rows.outputs import output_tables
from sparkrank.tables.rows.results import with_origin
from sparkrank.tables.rows.states import of_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.config.sections import Input, Truth

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
    judgment: Judgment | None = None  # where the spec has gates
    comparisons: pa.Table | None = None  # where it has a baseline
    changes: Changes | None = None  # where one of the days before has tables


def evaluate_day(
    spec: Spec,
    day: str | None,
    spark: SparkSession | None,
    stages: Stages,
    before_commit: Callable[[], None] = lambda: None,
) -> DayResult:
    """Evaluate one day and replace it in the tables. ``spark`` may be None where ``engine.lane`` is ``local``.

    ``before_commit`` is called right before the day is shown, and what it raises leaves the day as it was. Raises
    :class:`SpecError` without a day or where the output needs Spark and there is none, and
    :class:`sparkrank.base.errors.InputError` when the input is unusable; then nothing has been written.
    """
    day = resolve_day(spec, day)
    with time_zone(spark, spec.input.time_zone):
        return _evaluated(spec, day, spark, stages, Commit(spec.output.keep_runs, before_commit, spec.output.plain))


def _evaluated(spec: Spec, day: str, spark: SparkSession | None, stages: Stages, commit: Commit) -> DayResult:
    started_at = dt.datetime.now(dt.timezone.utc)
    output = on_day(spec.output.path, day)
    if spark is None and needs_spark(output):
        raise SpecError(
            f"output.path is {shortened(output)}, which needs Spark: without it tables go to local folders, and to "
            f"object stores that Arrow can open"
        )
    validate_report(spec)
    request, target = request_of(spec, day, spark), Target.of_day(spec, day)
    complete = Completeness.of(spec, day, {side.what: side for side, _ in request.sides}, spark)
    opened = replace(open_request(request, stages), completeness=complete)
    with day_run(output, day, spark, how=commit) as run:
        has_report = validate_report(spec, run)
        in_folder = opened.request.plan.group_table and run.folder is not None
        written = ((GROUPS,) if in_folder else ()) + ((REPORT,) if has_report else ())
        outcome = opened.evaluate(stages, GroupFiles.at(f"{run.folder}/{GROUPS}", run.attempt) if in_folder else None)
        try:
            with stages.stage("write"):
                tables = _tables(outcome, spec, day, started_at, stages)
                judgment = judge_run(spec, target, tables, spark)
                tables = added(tables, judgment)
                changes = changes_of_run(target, tables["metrics"], spark)
                if has_report:
                    tables = with_report(spec, target, run, tables, spark)
                run.commit(tables, written)
        finally:
            outcome.solved.release()
    return DayResult(
        day,
        outcome.lane.name,
        outcome.lane.reason,
        tables["metrics"],
        tables["quality"],
        table_folders(output, day, {*tables, *written}),
        stages.seconds,
        [*outcome.warnings, *([] if judgment is None else judgment.warnings)],
        judgment,
        tables.get("comparisons"),
        changes,
    )


def _tables(outcome: Outcome, spec: Spec, day: str, started_at: dt.datetime, stages: Stages) -> dict[str, Any]:
    """The tables of the day, each as the writer of a day takes it."""
    request, solved = outcome.request, outcome.solved
    plan, partials = request.plan, solved.partials
    session = outcome.lane.session_settings(request, own_zone=spec.input.time_zone is not None)
    origin = origin_of(spec, day, session)
    finished = Finished(
        plan,
        solved,
        origin,
        with_origin(outcome.metrics, origin),
        outcome.quality,
        None if plan.compare is None else with_origin(outcome.comparisons(plan.compare), origin),
        spec.output.blocks,
        with_session(spec.source(), session),
    )
    tables: dict[str, Any] = output_tables(finished)
    tables["runs"] = partial(
        runs_table,
        RUNS.schema,
        spec,
        origin,
        started_at,
        stages,
        request.spark,
        session,
        partials.loops,
        solved.refusals,
        lane=outcome.lane.name,
        lane_reason=shortened(outcome.lane.reason, MOST_SENTENCE),
        input=" with truth ".join(shown_url(side.name) for side, _ in request.sides),
        rows=partials.counts.get((checks.ROWS_READ, ""), 0),
        buckets=outcome.buckets,
    )
    return of_run(tables, origin.run_id)


def request_of(spec: Spec, day: str, spark: SparkSession | None) -> Request:
    """What ``spec`` asks for on ``day``."""
    roles, plan, engine = spec.roles, spec.plan(), spec.engine
    return Request(
        side_of("input", spec.input, day),
        None if spec.truth is None else side_of("truth", spec.truth, day),
        roles,
        plan,
        spec.limits(plan),
        engine.lane,
        spark,
        engine.buckets,
        engine.bucket_rows,
        engine.row_memory,
    )


def side_of(what: str, rows: Input | Truth, day: str) -> Side:
    """Where the rows of ``day`` are; ``what`` names them in sentences: input or truth."""
    return Side(
        what,
        path=None if rows.path is None else as_pattern(rows.path, day),
        paths=() if rows.path is None else tuple(on_days(rows.path, day)),
        table=None if rows.table is None else on_day(rows.table, day),
        name=on_day(rows.path or f"table {rows.table}", day),
        format=rows.format,
        options=rows.options,
        fields=rows.fields,
        where=None if rows.where is None else on_day(rows.where, day),
        partition_types=rows.partition_types,
    )


def resolve_day(spec: Spec, day: str | None) -> str:
    """The day to evaluate: as given, else the spec's. Raises :class:`SpecError` when there is none or it is no date."""
    if day is None:
        if spec.day is None:
            raise SpecError("no day is given: name it with --date YYYY-MM-DD or as day in the spec")
        return spec.day.isoformat()
    if day_of(day) is None:
        raise SpecError(f"--date {shortened(day)} is not a day of the form YYYY-MM-DD")
    return day


def places_of(spec: Spec, day: str) -> list[str]:
    """What is read and written for ``day``, a line each: ``input.path: /log/dt=2026-01-31``."""
    lines = []
    for what, rows in (("input", spec.input), ("truth", spec.truth)):
        if rows is None:
            continue
        if rows.path is not None:
            lines += [f"{what}.path: {shown_url(path)}" for path in on_days(rows.path, day)]
        texts = {"table": rows.table, "where": rows.where}
        lines += [f"{what}.{key}: {redact(on_day(text, day))}" for key, text in texts.items() if text is not None]
    return list(map(escaped, (*lines, f"output.path: {shown_url(on_day(spec.output.path, day))}")))
