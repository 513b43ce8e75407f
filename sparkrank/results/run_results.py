"""The results of jobs, which commands print: a day, a window, the days of a backfill, a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from sparkrank.gates.judgment import Judgment
from sparkrank.report.changes import Changes


@dataclass(frozen=True)
class DayResult:
    """A day that was evaluated and stored.

    ``judgment`` is None without gates, ``comparisons`` is None without a baseline, and ``changes`` is None if no
    previous day has tables.
    """

    day: str
    lane: str
    lane_reason: str
    metrics: pa.Table
    quality: pa.Table
    folders: dict[str, str]
    seconds: dict[str, float]
    warnings: list[str]
    judgment: Judgment | None = None
    comparisons: pa.Table | None = None
    changes: Changes | None = None


@dataclass(frozen=True)
class WindowResult:
    """A window that was merged from ``days`` and stored; ``window`` is its name. See :class:`DayResult`."""

    window: str
    days: tuple[str, ...]
    missing: tuple[str, ...]
    metrics: pa.Table
    quality: pa.Table
    folders: dict[str, str]
    seconds: dict[str, float]
    warnings: list[str]
    judgment: Judgment | None = None
    comparisons: pa.Table | None = None


@dataclass(frozen=True)
class BackfilledDay:
    """A day of a backfill: ``result`` if it was evaluated, otherwise the ``reason`` why not."""

    day: str
    state: Literal["evaluated", "there", "no input"]
    seconds: float = 0.0
    result: DayResult | None = None
    reason: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code of this day alone: 3 or 5 if its gates stop it."""
        judgment = None if self.result is None else self.result.judgment
        return 0 if judgment is None else judgment.exit_code


@dataclass(frozen=True)
class StoredRun:
    """A stored day of the same spec: its rows and groups, and the ``seconds`` of each stage."""

    day: str
    lane: str
    rows: int
    groups: int
    buckets: int
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class DayPlan:
    """The counts of a day before its evaluation, and how long the last stored days of the same spec took."""

    day: str
    rows: int
    rows_from: str
    splits: int
    buckets: int
    tasks: int
    pieces: int
    stored: tuple[StoredRun, ...]
