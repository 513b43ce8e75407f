"""A window of days. Tables of windows are in a separate folder, so that readers of daily tables find only days::

<output>/windows/metrics/window=2026-11-13..2026-11-19
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from sparkrank.base.errors import SpecError, shorten
from sparkrank.inputs.day_marks import day_of

WINDOW = "window"  # the column by which window tables are partitioned
WINDOWS = "windows"  # their folder
_ONE = dt.timedelta(days=1)
# A century: a longer window comes from a mistyped year. Each day is looked up in its own folders, in 0.17 ms on a near
# disk, and in many times that in an object store.
MOST_DAYS = 36_525


@dataclass(frozen=True)
class Window:
    """The days from ``first`` to ``last``, both included."""

    first: dt.date
    last: dt.date

    @classmethod
    def of(cls, first: str, last: str) -> Window:
        """Return the window from the day ``first`` to ``last`` (YYYY-MM-DD).

        Messages call the two days ``--from`` and ``--to``.
        """
        window = cls(_day("--from", first), _day("--to", last))
        if window.last < window.first:
            raise SpecError(f"--from {first} is after --to {last}: give the earlier day as --from")
        if window.count > MOST_DAYS:
            raise SpecError(
                f"--from {first} --to {last} is a window of {window.count} days: at most {MOST_DAYS} are allowed"
            )
        return window

    @property
    def count(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def days(self) -> tuple[str, ...]:
        return tuple((self.first + index * _ONE).isoformat() for index in range(self.count))

    def __str__(self) -> str:
        return f"{self.first}..{self.last}"


def spans(days: Iterable[str]) -> str:
    """Format ascending ``days`` for a message, with neighbours joined: ``2026-11-13, 2026-11-15..2026-11-17``."""
    numbered = enumerate(map(dt.date.fromisoformat, days))
    runs = (list(run) for _, run in itertools.groupby(numbered, lambda each: each[1] - each[0] * _ONE))
    ends = ((run[0][1], run[-1][1]) for run in runs)
    return ", ".join(str(first) if first == last else f"{first}..{last}" for first, last in ends)


def _day(option: str, text: str) -> dt.date:
    day = day_of(text)
    if day is None:
        raise SpecError(f"{option} {shorten(text)} is not a day of the form YYYY-MM-DD")
    return day
