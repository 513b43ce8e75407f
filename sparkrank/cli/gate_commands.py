"""The commands ``sparkrank gate`` (to judge stored days) and ``accept`` (to accept them despite a failed gate)."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from sparkrank.base.errors import escape
from sparkrank.cli.answers import answer, judgment_document, verdict_line
from sparkrank.cli.day_options import NamedDays, stored_options
from sparkrank.cli.invocation import Invocation, after_commit, end_with_verdict
from sparkrank.cli.options import VERBOSE, prometheus_options, spec_options
from sparkrank.config import Spec
from sparkrank.gates.chance import records_of
from sparkrank.gates.verdicts import worst_first
from sparkrank.inputs.day_marks import day_of
from sparkrank.jobs.gate_job import VerdictPatterns, accept_stored, gate_stored, replay_days, replayed_window
from sparkrank.jobs.publish_job import publishes_by_spark
from sparkrank.jobs.track_job import track_target
from sparkrank.run.session import command_session
from sparkrank.tables.commit.days import needs_spark
from sparkrank.text.gates_text import replay_text, verdicts_text
from sparkrank.text.terminal import tell
from sparkrank.text.text import MOST_LINES, fitted, warnings_text

if TYPE_CHECKING:
    from sparkrank.gates.judgment import Judgment
    from sparkrank.jobs.prometheus_job import PrometheusFile


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
@click.option("--replay", metavar="90d", help="Show which nights of the last 90, up to --date, each gate would stop.")
@prometheus_options
@VERBOSE
def gate(spec: Spec, named: NamedDays, replay: str | None, prometheus: PrometheusFile | None, is_whole: bool) -> None:
    """Judge a stored day or window by the gates of the spec. The command starts no Spark and writes no tables."""
    if replay is not None:
        if named.first is not None or named.last is not None:
            raise click.UsageError("--replay and --from do not go together: --replay goes back from --date")
        if prometheus is not None:
            raise click.UsageError("--replay and --prometheus do not go together: --replay checks many nights")
        window = replayed_window(spec, replay, named.day)
        nights = replay_days(spec, window)
        records = records_of(nights)
        first, last, count = str(window.first), str(window.last), len(nights)
        counts = {"first": first, "last": last, "nights": count, "days": window.count}
        answer(
            lambda: replay_text(first, last, count, window.count, records),
            lambda: {**counts, "gates": list(map(asdict, records))},
        )
        return
    target = named.target(spec)
    judgment = gate_stored(spec, target)
    _answer_verdicts(judgment, spec, is_whole)
    if prometheus is not None:
        prometheus.write(target, judgment.verdicts)
    end_with_verdict(judgment)


def _answer_verdicts(judgment: Judgment, spec: Spec, is_whole: bool) -> None:
    def text() -> str:
        line = verdict_line(judgment.name, spec, judgment.verdict())
        verdicts, below = verdicts_text(judgment.verdicts, line, is_whole=is_whole), closer_line(spec, judgment)
        most = sys.maxsize if is_whole else MOST_LINES - 2
        shown = fitted([verdicts, warnings_text(judgment.stored_warnings)], most)
        return "\n".join(filter(None, [shown, below, line]))

    answer(text, lambda: judgment_document(judgment))


def closer_line(spec: Spec, judgment: Judgment) -> str:
    """Return the text of a command that shows single groups of the worst failed check; ``""`` without a group table."""
    plan = spec.plan()
    if not plan.keys or not spec.output.groups or day_of(judgment.name) is None:
        return ""
    stored = {str(metric) for metric, _ in plan.group_metrics}
    failing = [
        check
        for check in judgment.verdicts
        if check.stops and check.verdict == "fail" and check.value is not None and check.key.cell.metric in stored
    ]
    judge = spec.judge(plan)
    if not failing or judge is None:
        return ""
    gate, kind, cell = min(failing, key=worst_first).key
    against = next(rule.against for rule in judge.rules if (rule.gate, rule.kind) == (gate, kind))
    command, ways = ("explain", ["--worst", "10"]) if against is None else ("movers", ["--baseline", against])
    words = [
        command,
        "--conf",
        spec.file,
        "--date",
        judgment.name,
        "--metric",
        cell.metric,
        *ways,
        "--model",
        cell.model,
    ]
    return f"Look closer: {escape(shlex.join(['sparkrank', *words]))}"


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
@click.option("--reason", required=True, metavar="TEXT", help="The reason, which is stored in the tables.")
@click.option("--gate", metavar="PATTERN", help="Only the verdicts of the gates with this name.")
@click.option("--metric", metavar="PATTERN", help="Only the verdicts about this metric.")
@click.option("--model", metavar="PATTERN", help="Only the verdicts about this model.")
@click.option("--slice", metavar="COLUMN=VALUE", help="Only the verdicts about this slice value, or about all.")
@click.option("--from-now-on", is_flag=True, help="For an intended change: histories start again with this day.")
@VERBOSE
@click.pass_obj
def accept(
    invocation: Invocation,
    /,
    spec: Spec,
    named: NamedDays,
    reason: str,
    from_now_on: bool,
    is_whole: bool,
    **patterns: str | None,
) -> None:
    """Accept a stored day although a gate stops it, so that later days may be compared with it."""
    target = named.target(spec)
    with command_session("accept", is_needed=needs_spark(spec.output.path) or publishes_by_spark(spec)) as spark:
        invocation.interrupts.spark = spark
        how: Any = {"from_now_on": from_now_on, "before_commit": invocation.interrupts.hold}
        judgment = accept_stored(spec, target, reason, spark, VerdictPatterns(**patterns), **how)
        for sentence in track_target(spec, target, spark):
            tell(f"sparkrank: {sentence}", err=True)
    with after_commit():
        _answer_verdicts(judgment, spec, is_whole)
