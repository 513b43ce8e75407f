"""The day, or the window of days, of stored tables that a command is about."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sparkrank.inputs.day_marks import in_window, on_day
from sparkrank.inputs.window import WINDOW, WINDOWS, Window
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.stored.stored_results import StoredResult, stored_result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec


@dataclass(frozen=True)
class Target:
    """A day, or a window of days, of the tables of a spec."""

    output: str
    window: Window
    is_window: bool

    @classmethod
    def of_day(cls, spec: Spec, day: str) -> Target:
        """A day."""
        date = dt.date.fromisoformat(day)
        return cls(spec.output.path, Window(date, date), False)

    @classmethod
    def of_window(cls, spec: Spec, window: Window) -> Target:
        """A window."""
        return cls(spec.output.path, window, True)

    @property
    def name(self) -> str:
        """The day or window as the tables name it."""
        return str(self.window) if self.is_window else str(self.window.first)

    @property
    def column(self) -> str:
        """The partition column of its tables."""
        return WINDOW if self.is_window else DAY

    @property
    def folder(self) -> str:
        """Where its tables are."""
        if not self.is_window:
            return on_day(self.output, self.name)
        return f"{in_window(self.output, str(self.window.first), str(self.window.last)).rstrip('/')}/{WINDOWS}"

    def stored(self, spark: SparkSession | None, *, is_past: bool = False) -> StoredResult | None:
        """Its tables, or with ``is_past`` what later days are compared with; None if there are none."""
        return stored_result(self.folder, self.name, spark, self.column, is_past=is_past)

    def earlier(self, days: int) -> Target | None:
        """The same target, so many ``days`` earlier; None before the calendar begins."""
        try:
            shift = dt.timedelta(days)
            return replace(self, window=Window(self.window.first - shift, self.window.last - shift))
        except OverflowError:
            return None

    def overlaps(self, other: Target) -> bool:
        """Whether the two have a day in common."""
        return self.window.first <= other.window.last and other.window.first <= self.window.last
