"""What the project set out to reach, and what the results say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from benchmarks.contenders import FLOOR
from benchmarks.results import Ratio, Session, Timing
from benchmarks.table import markdown

NOT_MEASURED = "not measured"
Sessions = Mapping[str, Session]  # by the name of the file they are kept in


class Place(NamedTuple):
    """A contender on the log of a size, in the session of a name."""

    session: str
    contender: str
    rows: int

    def timing(self, sessions: Sessions) -> Timing | None:
        session = sessions.get(self.session)
        log = session.times(self.rows) if session else None
        return log.timing(self.contender) if log else None


class Reached(NamedTuple):
    """What was measured, as text, whether that meets the target, and from how many runs of each contender."""

    text: str
    met: bool
    runs: int


class Target(Protocol):
    @property
    def what(self) -> str: ...

    @property
    def wanted(self) -> str: ...

    def reached(self, sessions: Sessions) -> Reached | None:
        """None where the results do not tell."""


@dataclass(frozen=True)
class AtMost:
    """The median of ``of`` over the median of ``to``, from one session."""

    what: str
    limit: float
    of: Place
    to: Place

    @property
    def wanted(self) -> str:
        return f"<= {self.limit:g}"

    def reached(self, sessions: Sessions) -> Reached | None:
        of, to = self.of.timing(sessions), self.to.timing(sessions)
        if of is None or to is None:
            return None
        ratio = Ratio.of(of.seconds, to.seconds)
        return Reached(str(ratio), ratio.median <= self.limit, len(of.seconds))


@dataclass(frozen=True)
class MemoryBelow:
    """The peak memory of the largest process of any of ``places``, all of which must have been measured."""

    what: str
    limit_bytes: int
    places: tuple[Place, ...]

    @property
    def wanted(self) -> str:
        return f"< {self.limit_bytes / 2**30:g} GiB"

    def reached(self, sessions: Sessions) -> Reached | None:
        timings = [timing for place in self.places if (timing := place.timing(sessions)) and timing.peak_bytes]
        if len(timings) < len(self.places):
            return None
        peak = max(timing.peak_bytes for timing in timings)
        return Reached(f"{peak / 2**30:.2f} GiB", peak < self.limit_bytes, min(len(each.seconds) for each in timings))


def _twenty(contender: str) -> Place:
    return Place("20m", contender, 20_000_000)


def _hundred(contender: str, rows: int = 100_000_000) -> Place:
    return Place("100m", contender, rows)


TARGETS: Sequence[Target] = (
    AtMost("scan lane / DuckDB, 20 M rows", 0.5, _twenty("sparkrank-scan"), _twenty("duckdb")),
    AtMost("local lane / DuckDB, 20 M rows", 0.25, _twenty("sparkrank-local"), _twenty("duckdb")),
    AtMost("frame lane / DuckDB, 20 M rows", 1.0, _twenty("sparkrank-frame"), _twenty("duckdb")),
    AtMost("frame lane / Spark SQL windows, 20 M rows", 0.35, _twenty("sparkrank-frame"), _twenty("spark-windows")),
    AtMost(
        "functions of columns / frame lane, 1 M rows",
        3.0,
        Place("1m", "sparkrank-columns", 1_000_000),
        Place("1m", "sparkrank-frame", 1_000_000),
    ),
    AtMost(
        "functions of columns / a Python function per group, 200,000 rows",
        0.05,
        Place("1m", "sparkrank-columns", 200_000),
        Place("1m", "per-group", 200_000),
    ),
    AtMost("scan lane / the floor, 20 M rows", 1.5, _twenty("sparkrank-scan"), _twenty(FLOOR)),
    AtMost(
        "100 M rows / 10 M rows, scan lane", 10.5, _hundred("sparkrank-scan"), _hundred("sparkrank-scan", 10_000_000)
    ),
    MemoryBelow(
        "peak memory of one Python process, any lane, 100 M rows",
        2**30,
        (_hundred("sparkrank-frame"), _hundred("sparkrank-scan"), _hundred("sparkrank-local")),
    ),
)


def targets_table(sessions: Sessions, targets: Sequence[Target] = TARGETS) -> str:
    """A row for each target: what was wanted, what was reached, and whether that is enough."""
    return markdown(
        ("nightly set, one model, integer keys", "target", "reached (range over rounds)", "", "runs"),
        [_row(target, target.reached(sessions)) for target in targets],
    )


def _row(target: Target, reached: Reached | None) -> tuple[str, ...]:
    if reached is None:
        return target.what, target.wanted, NOT_MEASURED, "", ""
    return target.what, target.wanted, reached.text, "met" if reached.met else "missed", str(reached.runs)
