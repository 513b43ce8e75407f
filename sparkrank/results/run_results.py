"""The results of jobs, printed by commands: for a day, a window, the days of a backfill, or a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.gates.day_verdict import DayVerdict, day_verdict
from sparkrank.gates.judgment import Judgment
from sparkrank.gates.verdicts import GateVerdict
from sparkrank.report.changes import Changes


@dataclass(frozen=True, kw_only=True)
class StoredTables:
    """The tables that a job stored, with the ``folders`` of tables and the ``seconds`` of stages, by name.

    ``judgment`` is None without gates, and ``comparisons`` is None without a baseline.
    """

    metrics: pa.Table
    quality: pa.Table
    folders: dict[str, str]
    seconds: dict[str, float]
    warnings: list[str]
    judgment: Judgment | None = None
    comparisons: pa.Table | None = None

    @property
    def verdicts(self) -> tuple[GateVerdict, ...]:
        """The verdicts of all gates."""
        return () if self.judgment is None else self.judgment.verdicts

    @property
    def verdict(self) -> DayVerdict:
        """The overall verdict on the run, from its gates, its warnings and the checks that exceed their limits."""
        exceeded = pc.sum(pc.equal(self.quality["ok"], False)).as_py() or 0
        return day_verdict((verdict.check for verdict in self.verdicts), len(self.warnings) + exceeded)


def stored_by(tables: Mapping[str, Any], judgment: Judgment | None, warnings: Sequence[str]) -> dict[str, Any]:
    """Return the fields of :class:`StoredTables`, by name, for a run's tables, judgment and warnings."""
    sentences = [*warnings, *([] if judgment is None else judgment.warnings)]
    stored = {name: tables.get(name) for name in ("metrics", "quality", "comparisons")}
    return {**stored, "judgment": judgment, "warnings": sentences}


@dataclass(frozen=True, kw_only=True)
class DayResult(StoredTables):
    """The result of a day that was evaluated in ``lane`` and stored.

    ``changes`` is None if no previous day has tables.
    """

    day: str
    lane: str
    lane_reason: str
    changes: Changes | None = None


@dataclass(frozen=True, kw_only=True)
class WindowResult(StoredTables):
    """The result of a stored window, merged from ``days``. The days in ``missing`` have no stored tables to merge."""

    window: str
    days: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class PublishedDay:
    """A stored day or window, the external ``place`` of its copies, and the tables copied to the place this time.

    ``written`` contains the names of these tables.
    """

    name: str
    place: str
    written: tuple[str, ...]


@dataclass(frozen=True)
class BackfilledDay:
    """A day of a backfill: its ``result`` if it was evaluated, or the ``reason`` why there is no input.

    If the ``state`` is ``there``, the day was already stored. ``run_id`` then names its run, and ``stored`` contains
    the verdicts other than pass, or is None if the spec has no gates. ``warnings`` contains a sentence for each tracker
    that lacks the day and fails.
    """

    day: str
    state: Literal["evaluated", "there", "no input"]
    seconds: float = 0.0
    result: DayResult | None = None
    reason: str = ""
    run_id: str | None = None
    stored: Judgment | None = None
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code for only this day: 3 or 5 if gates stop the day and no person has accepted it, otherwise 0."""
        judgment = self.stored if self.result is None else self.result.judgment
        return 0 if judgment is None else judgment.exit_code


@dataclass(frozen=True)
class StoredRun:
    """A stored day of a spec, with its numbers of ``rows``, ``groups`` and ``buckets``.

    ``seconds`` contains the run time of each stage.
    """

    day: str
    lane: str
    rows: int
    groups: int
    buckets: int
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class DayPlan:
    """The size of a day that is to be evaluated, and the run times of recent ``stored`` days of the same spec.

    ``partitions`` names the partitions of whole groups, by which ``grouped: auto`` may avoid a shuffle.
    """

    day: str
    rows: int
    rows_from: str
    splits: int
    buckets: int
    tasks: int
    pieces: int
    stored: tuple[StoredRun, ...]
    tables: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
