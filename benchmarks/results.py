"""What sessions of the benchmark found, as data and as JSON. Every report is computed from this."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import write_whole


@dataclass
class Timing:
    """One contender on one log: seconds of its warm-up and of every timed run, and its peak memory.

    ``values`` counts the metrics that it returned of each model. ``peak_bytes`` is that of the largest of its Python
    processes, 0 where no Python works for it.
    """

    contender: str
    values: int
    group_table: bool
    first_seconds: float
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


class Ratio(NamedTuple):
    """One median over another, and the range of the ratios of the runs that came in the same round."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, seconds: Sequence[float], to: Sequence[float]) -> Ratio:
        rounds = [one / other for one, other in zip(seconds, to, strict=True)]
        return cls(statistics.median(seconds) / statistics.median(to), min(rounds), max(rounds))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"

    def beside(self, limit: float) -> str:
        """The ratio, and whether its median meets a target."""
        return f"{self}, {'met' if self.median <= limit else 'missed'} (<= {limit:g})"


@dataclass(frozen=True)
class LogTimes:
    """All contenders on one log. ``log`` is its shape; ``left_out`` says of the contenders that did not run, why."""

    log: Mapping[str, int | float | str]
    values: Mapping[str, Mapping[str, float]]
    timings: Sequence[Timing]
    left_out: Mapping[str, str]

    @property
    def rows(self) -> int:
        return int(self.log["rows"])

    def timing(self, contender: str) -> Timing | None:
        return next((timing for timing in self.timings if timing.contender == contender), None)


@dataclass(frozen=True)
class Session:
    """All that ran interleaved. ``startup`` is the seconds spent before anything was timed, by what they went into.

    ``java_peak_bytes`` is the most that the Java process held, 0 if there was none; its heap is in ``settings``.
    """

    command: str
    machine: Mapping[str, str]
    metrics: Sequence[str]
    settings: Mapping[str, str]
    startup: Mapping[str, float]
    java_peak_bytes: int
    logs: Sequence[LogTimes]

    def times(self, rows: int) -> LogTimes | None:
        return next((log for log in self.logs if log.rows == rows), None)

    def write(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Session:
        found = json.loads(path.read_text())
        logs = [
            LogTimes(**{**log, "timings": [Timing(**timing) for timing in log["timings"]]}) for log in found["logs"]
        ]
        return cls(**{**found, "logs": logs})
