"""The day or the window of stored tables that a command is about."""

from __future__ import annotations

import click

from sparkrank.config import Spec
from sparkrank.doors.commands.options import all_of
from sparkrank.inputs.window import Window
from sparkrank.jobs.evaluate_job import resolve_day
from sparkrank.jobs.target import Target

stored_options = all_of(
    click.option("--to", "last", metavar="YYYY-MM-DD", help="The last day of a stored window."),
    click.option("--from", "first", metavar="YYYY-MM-DD", help="The first day of a stored window."),
    click.option("--date", "day", metavar="YYYY-MM-DD", help="The stored day; without it, the spec's day."),
)


def target_of(spec: Spec, day: str | None, first: str | None, last: str | None) -> Target:
    """The window from ``first`` to ``last``, or the ``day``; raises a usage error for what does not go together."""
    if (first is None) != (last is None):
        raise click.UsageError("--from and --to go together: they are the ends of a window")
    if first is None or last is None:
        return Target.of_day(spec, resolve_day(spec, day))
    if day is not None:
        raise click.UsageError("--date and --from do not go together: one is a day, the other the begin of a window")
    return Target.of_window(spec, Window.of(first, last))
