"""What a run of the benchmark found: first as data, then as Markdown and JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Timing:
    """One contender: seconds of its warm-up and of every timed run, and the peak memory of one of its Python processes.

    ``values`` counts the metrics that it returned; ``peak_bytes`` is 0 where no Python works for it.
    """

    name: str
    values: int
    group_table: bool
    first_seconds: float
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Report:
    """All of a run. ``startup`` is the seconds that were spent before anything was timed, by what they went into."""

    command: str
    machine: Mapping[str, str]
    log: Mapping[str, object]
    metrics: Sequence[str]
    settings: Mapping[str, str]
    startup: Mapping[str, float]
    values: Mapping[str, float]
    timings: Sequence[Timing]

    def ratio(self, of: Timing, to: Timing) -> float:
        return of.median / to.median

    def write_json(self, path: Path) -> None:
        """Everything, with the medians and the ratios (``ratios[a][b]`` is the time of a over that of b)."""
        medians = {timing.name: timing.median for timing in self.timings}
        ratios = {of.name: {to.name: self.ratio(of, to) for to in self.timings} for of in self.timings}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**asdict(self), "medians": medians, "ratios": ratios}, indent=2) + "\n")

    def markdown(self) -> str:
        parts = [
            f"`{self.command}`",
            ", ".join(f"{name} {value}" for name, value in self.machine.items()),
            "Log: " + ", ".join(f"{name} {value}" for name, value in self.log.items()),
            "Metrics: " + " ".join(self.metrics),
            "Before: " + ", ".join(f"{what} {seconds:.1f} s" for what, seconds in self.startup.items()),
            self._timings(),
            "Time of the row over time of the column:",
            self._ratios(),
        ]
        return "\n\n".join(parts)

    def _timings(self) -> str:
        rows = int(str(self.log["rows"]))
        titles = (
            "contender",
            "values",
            "group table",
            "first run, s",
            "median, s",
            "range, s",
            "rows/s",
            "peak Python",
        )
        return table(
            titles,
            [
                (
                    timing.name,
                    f"{timing.values} of {len(self.metrics)}",
                    "yes" if timing.group_table else "no",
                    f"{timing.first_seconds:.2f}",
                    f"{timing.median:.2f}",
                    f"{min(timing.seconds):.2f} to {max(timing.seconds):.2f}",
                    f"{rows / timing.median:,.0f}",
                    f"{timing.peak_bytes / 2**20:.0f} MiB" if timing.peak_bytes else "",
                )
                for timing in self.timings
            ],
        )

    def _ratios(self) -> str:
        titles = ("", *(timing.name for timing in self.timings))
        return table(titles, [(of.name, *(f"{self.ratio(of, to):.2f}" for to in self.timings)) for of in self.timings])


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, the first column of names, the others of figures."""
    widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(len(titles))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (width + 1) + (":" if column else "-") for column, width in enumerate(widths))
    return "\n".join((line(titles), f"|{rule}|", *map(line, rows)))
