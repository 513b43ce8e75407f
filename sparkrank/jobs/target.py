"""The stored day or window that a command reads or changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import InputError
from sparkrank.inputs.day_marks import in_window, on_day
from sparkrank.inputs.window import WINDOW, WINDOWS, Window, spans
from sparkrank.schemas.tables import DAY_RUNS
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.stored.day_files import day_files
from sparkrank.tables.stored.stored_days import READING_THREADS
from sparkrank.tables.stored.stored_results import StoredResult, stored_result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec


@dataclass(frozen=True)
class Target:
    """A day or a window of days in the tables of a spec. ``output`` is the spec's ``output.path``."""

    output: str
    window: Window
    is_window: bool

    @classmethod
    def of_day(cls, spec: Spec, day: str) -> Target:
        date = dt.date.fromisoformat(day)
        return cls(spec.output.path, Window(date, date), False)

    @classmethod
    def of_window(cls, spec: Spec, window: Window) -> Target:
        return cls(spec.output.path, window, True)

    @property
    def name(self) -> str:
        """The name of the day or window in the partition column, such as ``2026-01-31``."""
        return str(self.window) if self.is_window else str(self.window.first)

    @property
    def column(self) -> str:
        """The partition column of the tables: ``day`` or ``window``."""
        return WINDOW if self.is_window else DAY

    @property
    def folder(self) -> str:
        """The folder that contains the target's tables."""
        if not self.is_window:
            return on_day(self.output, self.name)
        return f"{in_window(self.output, str(self.window.first), str(self.window.last)).rstrip('/')}/{WINDOWS}"

    def stored(self, spark: SparkSession | None, *, is_past: bool = False) -> StoredResult | None:
        """Return the stored tables, or None if there are none.

        If ``is_past`` is true, read only the columns for comparisons with later days.
        """
        return stored_result(self.folder, self.name, spark, self.column, is_past=is_past)

    def outdated(self, run: Mapping[str, Any], spark: SparkSession | None) -> str | None:
        """Return a message with the days of a window that were evaluated after the merge by its ``run``, or None.

        Days that are now missing or unreadable do not count. Earlier releases did not record the merged runs.
        """
        merged = {of_day["day"]: of_day for of_day in run.get(DAY_RUNS.name) or () if of_day is not None}
        known = {*merged, *(run.get("days_missing") or ())} if self.is_window else set()
        days = [day for day in self.window.days if day in known]

        def is_changed(day: str) -> bool:
            try:
                files = day_files(on_day(self.output, day), day, (), spark)
                return files.has("runs") and files.identity != merged.get(day)
            except InputError:
                return False

        with ThreadPoolExecutor(READING_THREADS) as pool:
            changed = [day for day, is_new in zip(days, pool.map(is_changed, days), strict=True) if is_new]
        if not changed:
            return None
        was = "was" if len(changed) == 1 else "were"
        return f"{spans(changed)} {was} evaluated after {self.name} was merged: merge the window again"

    def earlier(self, days: int) -> Target | None:
        """Return the target ``days`` days earlier, or None before the first day of the calendar."""
        try:
            shift = dt.timedelta(days)
            return replace(self, window=Window(self.window.first - shift, self.window.last - shift))
        except OverflowError:
            return None

    def overlaps(self, other: Target) -> bool:
        """Return whether this target and ``other`` have a day in common."""
        return self.window.first <= other.window.last and other.window.first <= self.window.last
