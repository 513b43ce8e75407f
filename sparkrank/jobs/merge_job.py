"""The stages of a merge: the metrics of a window of days from their stored states, without reading an impression.

The groups of a window are the groups of its days: who has a group on two days counts twice, once with each day's
ranking. So a mean over the window is the mean over (group, day) pairs, and the rows under a metric of the whole window
are those of all days.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import CodedSentence, InputError, StateError, listed, shortened
from sparkrank.engines.result import Solved
from sparkrank.inputs.day_marks import in_window
from sparkrank.inputs.window import WINDOW, WINDOWS, Window, spans
from sparkrank.jobs.compare_job import compared
from sparkrank.jobs.gate_job import Judgment, judge_run
from sparkrank.jobs.report_job import REPORT, validate_report, with_report
from sparkrank.jobs.target import Target
from sparkrank.metrics import Plan
from sparkrank.run.provenance import origin_of, runs_table
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import WINDOW_RUNS
from sparkrank.states import Partials
from sparkrank.tables.commit.days import Commit, day_run, table_folders
from sparkrank.tables.rows.finished import Finished
from sparkrank.tables.rows.limits import validate_quality
from sparkrank.tables.rows.outputs import output_tables
from sparkrank.tables.rows.quality import quality_table
from sparkrank.tables.rows.results import metrics_table
from sparkrank.tables.rows.warnings import warnings_of
from sparkrank.tables.stored.required_states import DayCoverage, asked_slices
from sparkrank.tables.stored.stored_days import StoredDay, agreed_session, find_days, merge_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec


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
    judgment: Judgment | None = None  # where the spec has gates
    comparisons: pa.Table | None = None  # where it has a baseline


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

    ``spark`` writes where ``output.path`` is on no local file system, and reads where Arrow cannot open it; elsewhere
    it may be None. ``before_commit`` is called right before the window is shown. Raises :class:`InputError` where days
    lack states (without ``allow_missing``; without any day in any case) or their files cannot be read, and
    :class:`sparkrank.base.errors.StateError` where states are not those that ``spec`` asks for. Then nothing has been
    written.
    """
    started_at = dt.datetime.now(dt.timezone.utc)
    asked_for_report = validate_report(spec)
    plan = spec.plan()
    limits = spec.limits(plan)
    ends = str(window.first), str(window.last)
    output = f"{in_window(spec.output.path, *ends).rstrip('/')}/{WINDOWS}"
    with stages.stage("find"):
        found = find_days(spec.output.path, window.days, spark)
        missing = _missing(spec, window, found, allow_missing)
    with stages.stage("merge"):
        partials, covered = merge_stored(found, plan, spec.source())
        lacking_warnings = _warnings_of_missing(plan, window, covered, allow_missing)
        partials = _counted_by_model(partials, plan, covered)
        session = agreed_session(covered)
    with stages.stage("write"):
        days = tuple(each.day for each in found)
        origin = origin_of(spec, str(window), session, days)
        solved, comparisons = Solved(partials, None), None
        # clustered where there are several days, for a group may have come on more than one of them
        metrics = metrics_table(solved.merged, plan, origin, clustered=len(found) > 1)
        quality = quality_table(partials, plan, limits)
        if plan.compare is not None:
            comparisons, told = compared(found, covered, solved.merged, plan, plan.compare, spec.source(), origin)
            lacking_warnings += told
        validate_quality(quality, limits)
        warnings = [*lacking_warnings, *warnings_of(partials, plan, metrics, limits)]
        metrics = _with_pooling(metrics, plan, covered)
        tables = output_tables(Finished(plan, solved, origin, metrics, quality, comparisons, spec.output.blocks))
        judgment = judge_run(spec, Target.of_window(spec, window), tables, spark)
        if judgment is not None:
            tables["gates"], warnings = judgment.table, [*warnings, *judgment.warnings]
        tables["runs"] = partial(
            runs_table,
            WINDOW_RUNS.schema,
            spec,
            origin,
            started_at,
            stages,
            spark,
            session,
            days=days,
            days_missing=missing,
            rows=partials.counts.get((checks.ROWS_READ, ""), 0),
            **({} if judgment is None else judgment.acceptance),
        )
        commit = Commit(spec.output.keep_runs, before_commit, spec.output.plain)
        written = (REPORT,) if asked_for_report else ()
        with day_run(output, str(window), spark, WINDOW, commit) as run:
            if validate_report(spec, run):
                tables = with_report(spec, Target.of_window(spec, window), run, tables, spark)
            run.commit(tables, written)
    folders = table_folders(output, str(window), {*tables, *written}, WINDOW)
    return WindowResult(
        window,
        days,
        missing,
        tables["metrics"],
        tables["quality"],
        folders,
        stages.seconds,
        warnings,
        judgment,
        tables.get("comparisons"),
    )


def _missing(spec: Spec, window: Window, found: list[StoredDay], allowed: bool) -> tuple[str, ...]:
    there = {each.day for each in found}
    missing = tuple(day for day in window.days if day not in there)
    if not found:
        raise InputError(f"no day of {window} has states under {shortened(spec.output.path)}: evaluate the days first")
    if missing and not allowed:
        raise InputError(
            f"of {window} there are no states of {shortened(spans(missing))} under {shortened(spec.output.path)}: "
            f"evaluate them, or merge the other days with --allow-missing"
        )
    return missing


def _validate_models_meet(plan: Plan, window: Window, covered: Sequence[DayCoverage]) -> None:
    """Raise :class:`StateError` where a metric compares with a model that no day has beside another."""
    for metric, reference in plan.model_compared_with.items():
        for model in plan.models:
            if not any({model, reference} <= each.models for each in covered):
                raise StateError(
                    f"no day of {window} has both the model {shortened(model)} and the model {shortened(reference)}, "
                    f"with which {shortened(metric)} compares: evaluate the days again, or leave one of them out"
                )


def _warnings_of_missing(plan: Plan, window: Window, covered: Sequence[DayCoverage], allowed: bool) -> list[str]:
    """Sentences about the models and slices that some days lack.

    One that starts late lacks nothing: its metrics are over the days from its first on. Raises :class:`StateError`
    where one has a gap, or ends before the window does, and that is not ``allowed``, and where no day has it.
    """
    warnings: list[str] = []
    asked = [
        ("model", model, "models", [each.day for each in covered if model in each.models]) for model in plan.models
    ]
    asked += [("slice", of, "slices", [each.day for each in covered if of in each.slices]) for of in asked_slices(plan)]
    for what, name, key, days in asked:
        lacking = [each.day for each in covered if each.day not in days]
        if not days:
            raise StateError(
                f"no day of {window} has the {what} {name}: evaluate the days again, or leave {name} out of the {key}"
            )
        if not lacking:
            continue
        missing = f"the {what} {name} is missing on {spans(lacking)}"
        if max(lacking) > min(days) and not allowed:
            raise StateError(
                f"{missing}: evaluate {'that day' if len(lacking) == 1 else 'those days'} again, merge with "
                f"--allow-missing, or leave {name} out of the {key}"
            )
        own = [metric for metric, model in plan.model_compared_with.items() if (what, name) == ("model", model)]
        also = f" and {listed(own)} of all models" if own else ""
        told = f"{missing}: its metrics{also} are over {len(days)} of {len(covered)} days"
        warnings.append(CodedSentence(f"{what}_missing_on_days", told).capitalized())
    _validate_models_meet(plan, window, covered)
    return warnings


def _counted_by_model(partials: Partials, plan: Plan, covered: Sequence[DayCoverage]) -> Partials:
    """``partials`` that count the rows and groups of each model that lacks days: those of the days that have it."""
    own: dict[tuple[str, str], int] = {}
    for model in plan.models:
        days = [each for each in covered if model in each.models]
        if len(days) < len(covered):
            own[checks.ROWS_EVALUATED, model] = sum(each.rows for each in days)
            own[checks.GROUPS, model] = sum(each.groups for each in days)
    return replace(partials, counts={**partials.counts, **own})


def _with_pooling(metrics: pa.Table, plan: Plan, covered: Sequence[DayCoverage]) -> pa.Table:
    """``metrics`` with the number of days that have each row's model and slice, and the sentence that says what stood
    in for a group.
    """
    of_the_day = {str(metric) for metric, _ in plan.pooled_metrics}
    counted = {
        (model, of, other): sum({model, other or model} <= each.models and of in each.slices for each in covered)
        for model in plan.models
        for of in asked_slices(plan)
        for other in {None, *plan.model_compared_with.values()}
    }
    compared = {str(metric): plan.model_compared_with.get(str(metric.of_groups)) for metric in plan.metrics}
    whose = zip(*(metrics[name].to_pylist() for name in ("model", "slice", "metric")), strict=True)
    n_days = [counted[model, of, compared[metric]] for model, of, metric in whose]
    keys = ", ".join(plan.keys)
    group, clustered = f"every ({keys}, day) is a group of its own: ", len(covered) > 1 or plan.cluster is not None
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
