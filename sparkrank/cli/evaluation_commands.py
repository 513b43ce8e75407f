"""The commands ``sparkrank evaluate`` and ``merge``, which evaluate days and windows and replace their tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from sparkrank.base import checks
from sparkrank.base.errors import escape
from sparkrank.base.redaction import shown_url
from sparkrank.cli.answers import answer, answer_line, backfill_document, day_document, verdict_line, window_document
from sparkrank.cli.gate_commands import closer_line
from sparkrank.cli.invocation import Invocation, after_commit, end_with_verdict
from sparkrank.cli.options import VERBOSE, command_stages, day_option, prometheus_options, spec_options
from sparkrank.config import Spec
from sparkrank.engines.lanes import needs_session
from sparkrank.inputs.window import Window, spans
from sparkrank.jobs.backfill import backfill, worst_code
from sparkrank.jobs.evaluate_job import evaluate_day
from sparkrank.jobs.merge_job import merge_days
from sparkrank.jobs.pipes_job import pipes_run
from sparkrank.jobs.prometheus_job import PrometheusFile
from sparkrank.jobs.publish_job import publishes_by_spark
from sparkrank.jobs.target import Target
from sparkrank.report.changes import changes_text
from sparkrank.results.run_results import BackfilledDay, DayResult, WindowResult
from sparkrank.run.day_request import resolve_day
from sparkrank.run.session import command_session
from sparkrank.tables.commit.days import needs_spark
from sparkrank.text.comparison_text import stored_comparisons_text
from sparkrank.text.gates_text import verdicts_text
from sparkrank.text.text import MOST_LINES, fitted, metrics_text, quality_text, unlisted_sentences, warnings_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@click.command()
@spec_options
@day_option("--date", "day", "The day to evaluate; without it, the spec's day.")
@day_option("--from", "first", "The first of many days to evaluate, in order.")
@day_option("--to", "last", "The last of many days to evaluate.")
@click.option("--again", is_flag=True, help="With --from: also evaluate days again that the same spec has evaluated.")
@click.option("--allow-missing", is_flag=True, help="With --from: skip days without input, and list them.")
@prometheus_options
@click.option("--pipes", is_flag=True, help="Also report the day to Dagster, which has started the command.")
@VERBOSE
@click.pass_obj
def evaluate(
    invocation: Invocation,
    /,
    spec: Spec,
    day: str | None,
    first: str | None,
    last: str | None,
    prometheus: PrometheusFile | None,
    pipes: bool,
    is_whole: bool,
    **of_many: bool,
) -> None:
    """Evaluate a day of impressions, or many in one session, and replace each in the tables."""
    window = _window(day, first, last, of_many)
    if window is not None and prometheus is not None:
        raise click.UsageError("--prometheus writes one day, but --from and --to name several: use merge for a window")
    if window is not None and pipes:
        raise click.UsageError("--pipes reports one day, and --from and --to name many: use a partition for each day")
    if window is None:
        day = resolve_day(spec, day)  # before Spark starts, which takes seconds
    session = command_session("evaluate", is_needed=needs_session(spec.engine.lane))
    with pipes_run(spec) if pipes else nullcontext() as dagster, session as spark:
        invocation.interrupts.spark = spark
        if window is not None:
            _backfill(spec, window, spark, invocation, is_whole, **of_many)
            return
        result = evaluate_day(spec, day, spark, command_stages(), invocation.interrupts.hold)
        if prometheus is not None:
            prometheus.write(Target.of_day(spec, result.day), result.verdicts, spark)
        if dagster is not None:
            dagster.report(result)
    with after_commit():
        below = [f"Lane: {result.lane} ({escape(result.lane_reason)})"]
        below += [] if result.changes is None else [changes_text(result.changes)]
        answer(lambda: _shown(result.day, result.day, spec, result, below, is_whole), lambda: day_document(result))
    if dagster is None:  # Dagster drops the checks of a command that fails, and they have the verdicts
        end_with_verdict(result.judgment)


def _window(day: str | None, first: str | None, last: str | None, flags: Mapping[str, bool]) -> Window | None:
    if first is None and last is None:
        for flag in (flag for flag, is_given in flags.items() if is_given):
            raise click.UsageError(f"--{flag.replace('_', '-')} is for many days: name them with --from and --to")
        return None
    if day is not None:
        raise click.UsageError(f"--date and {'--to' if first is None else '--from'} do not go together")
    if first is None or last is None:
        lacking, given = ("--from", "--to") if first is None else ("--to", "--from")
        raise click.UsageError(f"{given} needs {lacking}: a range of days has a first and a last day")
    return Window.of(first, last)


def _backfill(
    spec: Spec, window: Window, spark: SparkSession | None, invocation: Invocation, is_whole: bool, **flags: bool
) -> None:
    """Evaluate the days of ``window`` in order, and print a line for each day as soon as it is evaluated."""
    done: list[BackfilledDay] = []
    held = invocation.interrupts
    how: Any = {**flags, "before_day": held.release, "before_commit": held.hold, "stages": command_stages}
    try:
        for evaluated in backfill(spec, window, spark, **how):
            done.append(evaluated)
            with after_commit():
                answer_line(partial(_backfilled_text, evaluated, is_whole=is_whole))
    except BaseException:
        invocation.done = backfill_document(done)
        if done and len(done) < window.count:
            stopped = window.days[len(done)]
            with suppress(OSError):  # the error itself is raised
                answer_line(lambda: f"Stopped at {stopped}: the days before it stay, and the same command resumes")
        raise
    code = worst_code(done)
    with after_commit():
        answer(lambda: f"\n{_backfill_text(done)}", lambda: {"exit_code": code, **backfill_document(done)})
    if code:
        sys.exit(code)


@click.command()
@spec_options
@day_option("--from", "first", "The first day of the window.", required=True)
@day_option("--to", "last", "The last day of the window.", required=True)
@click.option("--allow-missing", is_flag=True, help="Merge the stored days, and list the missing ones in runs.")
@prometheus_options
@VERBOSE
@click.pass_obj
def merge(
    invocation: Invocation,
    spec: Spec,
    first: str,
    last: str,
    allow_missing: bool,
    prometheus: PrometheusFile | None,
    is_whole: bool,
) -> None:
    """Evaluate a window of days from their stored states, and replace the window in the tables."""
    window = Window.of(first, last)
    with command_session("merge", is_needed=needs_spark(spec.output.path) or publishes_by_spark(spec)) as spark:
        invocation.interrupts.spark = spark
        hold = invocation.interrupts.hold
        result = merge_days(spec, window, spark, command_stages(), allow_missing=allow_missing, before_commit=hold)
        if prometheus is not None:
            prometheus.write(Target.of_window(spec, window), result.verdicts, spark)
    count = len(result.days)
    what = f"{window}, {count} {'day' if count == 1 else 'days'} pooled"
    below = [f"Missing: {spans(result.missing)}"] if result.missing else []
    with after_commit():
        answer(lambda: _shown(str(window), what, spec, result, below, is_whole), lambda: window_document(result))
    end_with_verdict(result.judgment)


def _shown(
    name: str, what: str, spec: Spec, result: DayResult | WindowResult, below: Sequence[str], is_whole: bool
) -> str:
    head = f"Metrics of {what} (± {spec.uncertainty.level * 100:g} % interval)"
    compared = "" if result.comparisons is None else stored_comparisons_text(result.comparisons)
    verdicts = "" if result.judgment is None else verdicts_text(result.judgment.verdicts, is_whole=is_whole)
    longest = max(map(len, result.folders))
    folders = [
        f"  {name:<{longest}}  {escape(shown_url(str(folder)))}" for name, folder in sorted(result.folders.items())
    ]
    closer = "" if result.judgment is None else closer_line(spec, result.judgment)
    stages = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.seconds.items())
    verdict = verdict_line(name, spec, result.verdict)
    parts = [
        f"{head}\n\n{metrics_text(result.metrics)}",
        "\n".join(map(escape, unlisted_sentences(result.quality))),
        compared,
        quality_text(result.quality),
        warnings_text(result.warnings),
        verdicts,
        "\n".join(["Tables", *folders]),
        "\n".join(filter(None, [f"Stages: {stages}", *below, closer, verdict])),
    ]
    return f"\n{fitted([verdict, *parts], sys.maxsize if is_whole else MOST_LINES)}"


def _backfilled_text(day: BackfilledDay, *, is_whole: bool = False) -> str:
    """Return a line for ``day`` and, indented below it, its exceeded quality limits, warnings and verdicts."""
    result = day.result
    if result is not None:
        checked = result.quality.to_pylist()
        rows = next((row["count"] for row in checked if row["check"] == checks.ROWS_READ), 0)
        line = f"{day.day}  evaluated: {rows:,.0f} rows in {day.seconds:.1f} s, lane {result.lane}"
        verdicts = "" if result.judgment is None else verdicts_text(result.judgment.verdicts, is_whole=is_whole)
        below = [quality_text(result.quality), warnings_text(result.warnings), verdicts]
    elif day.state == "there":
        line = f"{day.day}  there already, by the same spec (run {day.run_id}): skipped, --again evaluates it"
        stopped = [] if day.stored is None else [verdict for verdict in day.stored.verdicts if verdict.stops]
        verdicts = verdicts_text(stopped, "Gates that stop it, until it is accepted or evaluated again")
        below = [warnings_text(day.warnings), verdicts]
    else:
        line, below = f"{day.day}  no input: {escape(day.reason)}", []
    return "\n".join([line, *(f"  {indented}" for text in below for indented in text.splitlines())])


def _backfill_text(days: Sequence[BackfilledDay]) -> str:
    """Return one line each for the days that were evaluated, were stored already, or have no input."""
    names = {state: [day.day for day in days if day.state == state] for state in ("evaluated", "there", "no input")}
    lines = [f"Evaluated: {_days_text(names['evaluated'])}", f"There already: {_days_text(names['there'])}"]
    if names["no input"]:
        lines.append(f"Without input: {_days_text(names['no input'])}")
    return "\n".join(lines)


def _days_text(days: Sequence[str]) -> str:
    count = f"{len(days)} day" if len(days) == 1 else f"{len(days)} days"
    return f"{count} ({spans(days)})" if days else count
