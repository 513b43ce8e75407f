"""Times every contender on logs of one or more sizes in one session: interleaved runs, medians, ratios.

python -m benchmarks.run --rows 1e6 --repeats 5
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import generate, machine, memory, session
from benchmarks.check import Check
from benchmarks.contenders import ALONE, LARGEST, ON_SPARK, Work
from benchmarks.contenders.contender import GROUP
from benchmarks.entrants import Entrant, Field, installed, timed
from benchmarks.generate import LogShape
from benchmarks.results import LogTimes, Session, Timing
from benchmarks.session_tables import session_text
from benchmarks.sets import SETS


def main() -> None:
    options = parser().parse_args()
    result = measure(options, sys.argv[1:], SETS[options.set])
    if options.output:
        result.write(options.output)
    print(session_text(result))


@dataclass(frozen=True)
class Course:
    """One log, and the contenders that run on it."""

    shape: LogShape
    check: Check
    left_out: dict[str, str]
    entrants: list[Entrant] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)

    @classmethod
    def of(cls, shape: LogShape, names: Sequence[str], entry: Field, work: Work) -> Course:
        """With those of the contenders ``names`` that this many rows are not too many for."""
        too_long = {
            name: why for name in names for most, why in [LARGEST.get(name, (shape.rows, ""))] if shape.rows > most
        }
        course = cls(shape, Check(shape, work.by_item), too_long)
        course.entrants.extend(entry.entrant(name, work) for name in names if name not in too_long)
        return course

    def first_runs(self) -> None:
        """What warms everything up, and whose values are compared with those of the others."""
        for entrant in self.entrants:
            contender = entrant.contender
            contender.prepare()
            seconds, _ = entrant.run()
            _tell(f"{contender.name}, {self.shape.rows:,} rows: first run {seconds:.2f} s")
            self.check.compare(contender)
            values = max(map(len, contender.values().values()), default=0)
            self.timings.append(Timing(contender.name, values, contender.table is not None, seconds))

    def round(self, number: int) -> None:
        """Every contender has its turn."""
        for entrant, timing in zip(self.entrants, self.timings, strict=True):
            seconds, peak = entrant.turn()
            timing.seconds.append(seconds)
            timing.peak_bytes = max(peak, timing.peak_bytes)
            _tell(f"{timing.contender}, {self.shape.rows:,} rows: run {number} {seconds:.2f} s")

    def times(self) -> LogTimes:
        return LogTimes(asdict(self.shape), self.check.values, self.timings, self.left_out)


def work_of(shape: LogShape, log: Path, metrics: Sequence[str], cores: int, output: Path) -> Work:
    """What is asked of the log of ``shape``."""
    asked = (tuple(metrics), shape.label, shape.graded, shape.scores, cores, output)
    if shape.layout == "lists":
        return Work(log / generate.LISTS, *asked, truth=log / generate.TRUTH)
    beside = shape.layout == "beside"
    return Work(
        log / generate.LOG if beside else log,
        *asked,
        catalog=log / generate.CATALOG if beside else None,
        past=log / generate.PAST if beside else None,
        keys=(GROUP, "session_id") if shape.sessions else (GROUP,),
        weight="weight" if shape.weighted else None,
        arrays=shape.layout == "arrays",
        days=shape.names_of_days if shape.layout == "days" else (),
        format=shape.format,
    )


def measure(
    options: argparse.Namespace,
    arguments: Sequence[str],
    metrics: Sequence[str],
    asked: Mapping[str, Any] | None = None,
    module: str = "run",
) -> Session:
    """Every contender once, its values compared, then all of them in turn, so that what else happens meets all.

    ``asked`` are fields of :class:`benchmarks.contenders.Work` that no log says by its shape.
    """
    shapes = [generate.shape_with(options, rows) for rows in options.rows]
    startup: dict[str, float] = {}
    with timed(startup, "logs"):
        logs = [generate.write(shape, options.data) for shape in shapes]
    described = machine.describe()
    names = options.contenders or installed()
    with contextlib.ExitStack() as stack:
        output = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sparkrank-benchmarks-")))
        entry = stack.enter_context(Field(options.cores, options.driver_memory, startup))
        courses = []
        for shape, log in zip(shapes, logs, strict=True):
            tables = output / str(shape.rows)
            tables.mkdir()
            work = replace(work_of(shape, log, metrics, options.cores, tables), **(asked or {}))
            courses.append(Course.of(shape, names, entry, work))
        if entry.spark is not None:
            described.update(machine.java(entry.spark))
        for course in courses:
            course.first_runs()
        for number in range(1, options.repeats + 1):
            for course in courses:
                course.round(number)
        java_peak = memory.java_peak()
    return Session(
        command=machine.command(module, arguments),
        machine=described,
        metrics=list(metrics),
        settings=session.settings(options.cores, options.driver_memory),
        startup=startup,
        java_peak_bytes=java_peak,
        logs=[course.times() for course in courses],
    )


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description="Time every way to the same metrics.")
    generate.add_arguments(parser, several=True)
    parser.add_argument("--set", choices=tuple(SETS), default="nightly", help="the metrics (default: %(default)s)")
    names = (*ON_SPARK, *ALONE)
    parser.add_argument(
        "--contenders",
        nargs="+",
        choices=names,
        metavar="NAME",
        help=f"of {', '.join(names)} (default: all that are installed)",
    )
    parser.add_argument("--repeats", type=generate.whole, default=5, help="timed runs of each (default: %(default)s)")
    parser.add_argument(
        "--cores", type=generate.whole, default=machine.usable_cores(), help="threads for each (default: all)"
    )
    parser.add_argument("--driver-memory", default=session.DRIVER_MEMORY, help="heap of Spark (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write everything as JSON to this file too")
    return parser


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
