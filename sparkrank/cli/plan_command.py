"""The command ``sparkrank plan``: the numbers of rows, buckets and tasks of a day before an evaluation."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial

import click

from sparkrank.base.errors import escape, itemize, quote
from sparkrank.cli.answers import answer
from sparkrank.cli.options import day_option, spec_options
from sparkrank.config import Spec
from sparkrank.jobs.plan_job import plan_day
from sparkrank.results.run_results import DayPlan, StoredRun
from sparkrank.run.day_request import resolve_day

MOST_ROWS = 10**15


def _row_count(context: click.Context, option: click.Parameter, text: str | None) -> int | None:  # noqa: ARG001
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (1 <= number <= MOST_ROWS and number == int(number)):
        raise click.BadParameter(f"{quote(text)} is not a whole number from 1 to {MOST_ROWS:g}, such as 1000000 or 1e6")
    return int(number)


@click.command()
@partial(spec_options, for_stored=True)
@day_option("--date", "day", "The day to plan; without it, the spec's day.")
@click.option("--rows", callback=_row_count, metavar="N", help="The number of rows, as 1e9; counted by default.")
def plan(spec: Spec, day: str | None, rows: int | None) -> None:
    """Count the splits, buckets, tasks and pieces of a day, and show how long stored days of the spec took."""
    counts = plan_day(spec, resolve_day(spec, day), rows)
    answer(lambda: plan_text(counts), lambda: asdict(counts))


def plan_text(plan: DayPlan) -> str:
    """Return the counts of ``plan``, and below them the run times of stored days, as lines of text."""
    cut = f"{plan.buckets:,} buckets, {plan.tasks:,} tasks, {plan.pieces:,} pieces"
    without_shuffle = "evaluated by the tasks that read them: no rows are shuffled"
    lines = [
        f"Plan of {plan.day}: {plan.rows:,} rows, {plan.rows_from}",
        f"  {plan.splits:,} splits, {cut if plan.pieces else without_shuffle}",
    ]
    if plan.partitions:
        named = itemize(map(escape, plan.partitions))
        lines.append(
            f"  partitions by {named} hold whole groups: if large and even, they are evaluated without a shuffle"
        )
    if plan.tables != ("lists",):
        sent = "; the catalog is not among these rows: it is sent to every worker" if "catalog" in plan.tables else ""
        lines.append(f"  reads {itemize(plan.tables)}{sent}")
    stored = [_stored_text(run) for run in plan.stored] or ["  no stored day of the same spec"]
    return "\n".join([*lines, "", "What days took", *stored])


def _stored_text(run: StoredRun) -> str:
    stages = ", ".join(f"{escape(name)} {seconds:,.1f} s" for name, seconds in run.seconds.items())
    return (
        f"  {run.day}  {run.rows:,} rows, {run.groups:,} groups, {run.buckets:,} buckets, lane {escape(run.lane)}: "
        f"{sum(run.seconds.values()):,.1f} s ({stages})"
    )
