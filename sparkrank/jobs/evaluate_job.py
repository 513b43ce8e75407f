"""The evaluation of one day, whose result replaces the day in the tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError, shorten
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.spark.session_settings import time_zone
from sparkrank.inputs.day_marks import on_day
from sparkrank.jobs.gate_job import judge_run
from sparkrank.jobs.notify_job import DayNotices, notices_of_day
from sparkrank.jobs.publish_job import publish_target, validate_publish
from sparkrank.jobs.report_index import REPORT, write_index
from sparkrank.jobs.report_job import changes_of_run, validate_report, with_report
from sparkrank.jobs.target import Target
from sparkrank.jobs.track_job import track_target, validate_track
from sparkrank.results.run_results import DayResult, stored_by
from sparkrank.run.completeness import Completeness
from sparkrank.run.day_request import request_of, resolve_day
from sparkrank.run.execute import EvaluationOutcome, open_request
from sparkrank.run.run_tables import RunParts, tables_of_run
from sparkrank.run.stages import Stages
from sparkrank.tables.commit.days import day_run, needs_spark, table_folders
from sparkrank.tables.commit.links import Commit
from sparkrank.tables.commit.output_folder import new_attempt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

GROUPS = "groups"


def evaluate_day(
    spec: Spec,
    day: str | None,
    spark: SparkSession | None,
    stages: Stages,
    before_commit: Callable[[], None] = lambda: None,
) -> DayResult:
    """Evaluate one day and replace it in the tables. ``spark`` may be None if ``engine.lane`` is ``local``.

    The commit calls ``before_commit`` right before the new tables become visible; if it raises, the old tables stay.
    Raise :class:`SpecError` if no day is given or a required session is missing, and :class:`InputError` if the input
    is unusable. After these errors, no table has changed.
    """
    day = resolve_day(spec, day)
    attempt = new_attempt()
    commit = Commit(spec.output.keep_runs, before_commit, spec.output.plain, attempt)
    with time_zone(spark, spec.input.time_zone), notices_of_day(spec, day, attempt) as notices:
        return notices.completed(_evaluated(spec, day, spark, stages, commit, notices))


def _evaluated(
    spec: Spec, day: str, spark: SparkSession | None, stages: Stages, commit: Commit, notices: DayNotices
) -> DayResult:
    started_at = dt.datetime.now(dt.timezone.utc)
    output = on_day(spec.output.path, day)
    if spark is None and needs_spark(output):
        raise SpecError(
            f"output.path is {shorten(output)}, which needs Spark: without it tables go to local folders, and to "
            f"object stores that Arrow can open"
        )
    validate_report(spec)
    validate_publish(spec, spark)
    validate_track(spec)
    request, target = request_of(spec, day, spark), Target.of_day(spec, day)
    complete = Completeness.of(spec, day, {side.what: side for side, _ in request.sides}, spark)
    opened = replace(open_request(request, stages), completeness=complete)
    notices.opened(opened)
    with day_run(output, day, spark, how=commit) as run:
        has_report = validate_report(spec, run)
        in_folder = opened.request.plan.group_table and run.folder is not None
        written = ((GROUPS,) if in_folder else ()) + ((REPORT,) if has_report else ())
        outcome = opened.evaluate(stages, GroupFiles.at(f"{run.folder}/{GROUPS}", run.attempt) if in_folder else None)
        try:
            with stages.stage("write"):
                tables, judgment = judge_run(spec, target, _tables(outcome, spec, day, started_at, stages), spark)
                changes = changes_of_run(target, tables["metrics"], spark)
                if has_report:
                    tables = with_report(spec, target, run, tables, spark)
                run.commit(tables, written)
        finally:
            with suppress(Exception):  # readers may already see the day, and the session ends soon
                outcome.solved.release()
    warnings = [*outcome.warnings, *(() if changes is None else changes.warnings), *write_index(spec, target)]
    if spec.output.publish:
        with stages.stage("publish"):
            publish_target(spec, target, spark)
    if spec.track:
        with stages.stage("track"):
            warnings += track_target(spec, target, spark)
    own: Any = {"day": day, "lane": outcome.lane.name, "lane_reason": outcome.lane.reason, "changes": changes}
    folders = table_folders(output, day, {*tables, *written})
    return DayResult(**stored_by(tables, judgment, warnings), folders=folders, seconds=stages.seconds, **own)


def _tables(
    outcome: EvaluationOutcome, spec: Spec, day: str, started_at: dt.datetime, stages: Stages
) -> dict[str, Any]:
    plan = outcome.request.plan
    compared = None if plan.compare is None else outcome.comparisons(plan.compare)
    made = outcome.metrics, outcome.quality, compared
    parts = RunParts.of(outcome, own_zone=spec.input.time_zone is not None)
    return tables_of_run(spec, day, plan, outcome.solved, made, parts, started_at, stages)
