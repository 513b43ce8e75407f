"""The metrics of a window, merged from the stored states of its days without reading impressions.

A group that occurs on two days counts twice: a mean over the window is the mean over (group, day) pairs.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import CodedSentence, StateError, itemize, shorten
from sparkrank.engines.result import PassResult
from sparkrank.inputs.window import WINDOW, Window, spans
from sparkrank.jobs.compare_job import compare_merged, find_window
from sparkrank.jobs.gate_job import judge_run
from sparkrank.jobs.publish_job import publish_target, validate_publish
from sparkrank.jobs.report_index import REPORT, write_index
from sparkrank.jobs.report_job import validate_report, with_report
from sparkrank.jobs.target import Target
from sparkrank.metrics import Plan
from sparkrank.results.run_results import WindowResult, stored_by
from sparkrank.run.provenance import origin_of, runs_table
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import DAY_RUNS, WINDOW_RUNS
from sparkrank.states import Partials
from sparkrank.tables.commit.days import day_run, table_folders
from sparkrank.tables.commit.links import Commit
from sparkrank.tables.rows.finished import FinishedEvaluation
from sparkrank.tables.rows.limits import validate_quality
from sparkrank.tables.rows.outputs import output_tables
from sparkrank.tables.rows.quality import quality_table
from sparkrank.tables.rows.results import metrics_table
from sparkrank.tables.rows.warnings import warnings_of
from sparkrank.tables.stored.required_states import DayCoverage, needed_slices
from sparkrank.tables.stored.stored_days import agreed_session, merge_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec


def merge_days(
    spec: Spec,
    window: Window,
    spark: SparkSession | None,
    stages: Stages,
    *,
    allow_missing: bool = False,
    before_commit: Callable[[], None] = lambda: None,
) -> WindowResult:
    """Evaluate ``window`` from the states of its days and replace it in the tables of windows.

    ``spark`` reads and writes files that Arrow cannot open, and may be None without such files. The commit calls
    ``before_commit`` right before the new tables become visible. Raise :class:`InputError` if state files cannot be
    read, or if days have no states and ``allow_missing`` is False, and :class:`StateError` if the states do not fit
    ``spec``. After an error, no table has changed.
    """
    started_at = dt.datetime.now(dt.timezone.utc)
    writes_report = validate_report(spec)
    validate_publish(spec, spark, WINDOW)
    plan = spec.plan()
    limits = spec.limits(plan)
    target = Target.of_window(spec, window)
    with stages.stage("find"):
        stored, missing = find_window(spec, window, spark, "merge", allow_missing=allow_missing)
    with stages.stage("merge"):
        partials, coverage = merge_stored(stored, plan, spec.source())
        warnings = _warnings_of_missing(plan, window, coverage, allow_missing)
        partials = _counted_by_model(partials, plan, coverage)
        session = agreed_session(coverage)
    with stages.stage("write"):
        days = tuple(day.day for day in stored)
        origin = origin_of(spec, str(window), session, days)
        solved, comparisons = PassResult(partials, None), None
        # clustered over several days, because a group may occur on more than one day
        metrics = metrics_table(solved.merged, plan, origin, clustered=len(stored) > 1)
        quality = quality_table(partials, plan, limits)
        if plan.compare is not None:
            comparisons, unpaired = compare_merged(
                stored, coverage, solved.merged, plan, plan.compare, spec.source(), origin
            )
            warnings += unpaired
        validate_quality(quality, limits)
        warnings += warnings_of(partials, plan, metrics, limits)
        metrics = _with_pooling(metrics, plan, coverage)
        finished = FinishedEvaluation(plan, solved, origin, metrics, quality, comparisons, spec.output.blocks)
        tables: dict[str, Any] = output_tables(finished)
        own: dict[str, Any] = {
            "days": days,
            "days_missing": missing,
            DAY_RUNS.name: [day.files.identity for day in stored],
            "rows": partials.counts.get((checks.ROWS_READ, ""), 0),
            "warnings": warnings,
        }
        run_arguments = (spec, origin, started_at, stages, spark, session)
        tables["runs"] = partial(runs_table, WINDOW_RUNS.schema, *run_arguments, **own)
        tables, judgment = judge_run(spec, target, tables, spark)
        commit = Commit(spec.output.keep_runs, before_commit, spec.output.plain)
        written = (REPORT,) if writes_report else ()
        with day_run(target.folder, target.name, spark, WINDOW, commit) as run:
            if validate_report(spec, run):
                tables = with_report(spec, target, run, tables, spark)
            run.commit(tables, written)
        warnings += write_index(spec, target)
    if spec.output.publish:
        with stages.stage("publish"):
            publish_target(spec, target, spark)
    folders = table_folders(target.folder, target.name, {*tables, *written}, WINDOW)
    about: Any = {"window": str(window), "days": days, "missing": missing}
    return WindowResult(**stored_by(tables, judgment, warnings), folders=folders, seconds=stages.seconds, **about)


def _warnings_of_missing(plan: Plan, window: Window, coverage: Sequence[DayCoverage], allowed: bool) -> list[str]:
    """Return warnings about models and slices that are missing on some days. A late start is always allowed.

    Raise :class:`StateError` for a gap or an early end unless ``allowed`` is set, or if all days lack a model or slice.
    """
    warnings: list[str] = []
    covered = [("model", model, [day.day for day in coverage if model in day.models]) for model in plan.models]
    covered += [("slice", name, [day.day for day in coverage if name in day.slices]) for name in needed_slices(plan)]
    for what, name, days in covered:
        lacking, leave = [day.day for day in coverage if day.day not in days], f"or leave {name} out of the {what}s"
        if not days:
            raise StateError(f"no day of {window} has the {what} {name}: evaluate the days again, {leave}")
        if not lacking:
            continue
        missing = f"the {what} {name} is missing on {spans(lacking)}"
        if max(lacking) > min(days) and not allowed:
            again = "that day" if len(lacking) == 1 else "those days"
            raise StateError(f"{missing}: evaluate {again} again, merge with --allow-missing, {leave}")
        own = [metric for metric, model in plan.model_compared_with.items() if (what, name) == ("model", model)]
        also = f" and {itemize(own)} of all models" if own else ""
        sentence = f"{missing}: its metrics{also} are over {len(days)} of {len(coverage)} days"
        warnings.append(CodedSentence(f"{what}_missing_on_days", sentence).capitalized())
    for (metric, reference), model in itertools.product(plan.model_compared_with.items(), plan.models):
        if not any({model, reference} <= day.models for day in coverage):
            raise StateError(
                f"no day of {window} has both the model {shorten(model)} and the model {shorten(reference)}, "
                f"with which {shorten(metric)} compares: evaluate the days again, or leave one of them out"
            )
    return warnings


def _counted_by_model(partials: Partials, plan: Plan, coverage: Sequence[DayCoverage]) -> Partials:
    """Return ``partials`` with the row and group counts of a model taken only from the days that have the model."""
    own: dict[tuple[str, str], int] = {}
    for model in plan.models:
        days = [day for day in coverage if model in day.models]
        if len(days) < len(coverage):
            own[checks.ROWS_EVALUATED, model] = sum(day.rows for day in days)
            own[checks.GROUPS, model] = sum(day.groups for day in days)
    return replace(partials, counts={**partials.counts, **own})


def _with_pooling(metrics: pa.Table, plan: Plan, coverage: Sequence[DayCoverage]) -> pa.Table:
    """Return ``metrics`` with the columns ``n_days`` and ``pooling``, a text about how the days of a row are pooled."""
    of_the_day = {str(metric) for metric, _ in plan.pooled_metrics}
    counted = {
        (model, name, other): sum({model, other or model} <= day.models and name in day.slices for day in coverage)
        for model in plan.models
        for name in needed_slices(plan)
        for other in {None, *plan.model_compared_with.values()}
    }
    compared = {str(metric): plan.model_compared_with.get(str(metric.group_metric)) for metric in plan.metrics}
    whose = zip(*(metrics[name].to_pylist() for name in ("model", "slice", "metric")), strict=True)
    n_days = [counted[model, name, compared[metric]] for model, name, metric in whose]
    keys = ", ".join(plan.keys)
    group, clustered = f"every ({keys}, day) is a group of its own: ", len(coverage) > 1 or plan.cluster is not None
    texts, ends = metrics["metric"].to_pylist(), metrics["ci_high"].to_pylist()
    pooling = [
        (f"the rows of {_days(days)} together" if text in of_the_day else f"{group}{_days(days)} pooled")
        + (f"; standard errors cluster by {plan.cluster or keys}" if end is not None and clustered else "")
        for text, days, end in zip(texts, n_days, ends, strict=True)
    ]
    table = metrics.append_column("n_days", pa.array(n_days, pa.int64()))
    return table.append_column("pooling", pa.array(pooling, pa.string()))


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"
