"""The options that name a stored day or window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from sparkrank.cli.options import all_of, day_option
from sparkrank.config import Spec
from sparkrank.inputs.window import Window
from sparkrank.jobs.target import Target
from sparkrank.run.day_request import resolve_day


@dataclass(frozen=True)
class NamedDays:
    """The values of the options ``--date``, ``--from`` and ``--to``. A value is None without the option."""

    day: str | None
    first: str | None
    last: str | None

    def target(self, spec: Spec) -> Target:
        """Return the named window, the named day or the spec's day. Raise a usage error for contradictory options."""
        if (self.first is None) != (self.last is None):
            raise click.UsageError("--from and --to go together: they are the first and the last day of a window")
        if self.first is None or self.last is None:
            return Target.of_day(spec, resolve_day(spec, self.day))
        if self.day is not None:
            raise click.UsageError("--date and --from do not go together: one is a day, the other begins a window")
        return Target.of_window(spec, Window.of(self.first, self.last))

    def targets(self, spec: Spec) -> list[Target]:
        """Return a list with the named day or window, or an empty list (all days) without any option."""
        return [] if self == NamedDays(None, None, None) else [self.target(spec)]


def stored_options(command: Callable[..., None]) -> Callable[..., Any]:
    """Add ``--date``, ``--from`` and ``--to`` to ``command``, whose argument ``named`` gets their values."""

    @wraps(command)
    def bundled(*arguments: Any, day: str | None, first: str | None, last: str | None, **options: Any) -> None:
        command(*arguments, named=NamedDays(day, first, last), **options)

    return all_of(
        day_option("--to", "last", "The last day of a stored window."),
        day_option("--from", "first", "The first day of a stored window."),
        day_option("--date", "day", "The stored day; without it, the spec's day."),
    )(bundled)
