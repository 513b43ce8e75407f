"""Every shape of evaluation beside its rivals: which rows, which metrics, and what is asked of them.

    python -m benchmarks.shapes --rows 2e6                       # all shapes
    python -m benchmarks.shapes lists text --rows 10e6 --contenders sparkrank-local duckdb

Each shape is a session of its own, as :mod:`benchmarks.run` makes them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import generate, machine, run, session
from benchmarks.results import Ratio, Session
from benchmarks.table import markdown

CONTENDERS = ("sparkrank-frame", "sparkrank-scan", "sparkrank-local", "duckdb", "polars")
YARDSTICK = "duckdb"


@dataclass(frozen=True)
class Shape:
    """Rows as ``log`` says of :class:`benchmarks.generate.LogShape`, and the metrics of ``set`` by ``slices``."""

    title: str
    set: str = "six"
    log: Mapping[str, Any] = field(default_factory=dict)
    slices: tuple[tuple[str, ...], ...] = ()


SHAPES: Mapping[str, Shape] = {
    "nightly": Shape("nightly set", "nightly"),
    "lists": Shape("lists joined with a truth", log={"layout": "lists"}),
    "slices": Shape(
        "two slice columns and their combination",
        log={"slices": True},
        slices=(("country",), ("device",), ("country", "device")),
    ),
    "text": Shape("text keys of 21 letters", log={"keys": "text"}),
}


def measure(shape: Shape, options: argparse.Namespace, arguments: Sequence[str]) -> Session:
    """The session of one shape."""
    settings = {**vars(options), **shape.log, "set": shape.set}
    return run.measure(argparse.Namespace(**settings), arguments, slices=shape.slices)


def line_of(title: str, session_of_shape: Session) -> tuple[str, ...]:
    """The median of each contender over that of the yardstick, and the seconds of this one."""
    (times,) = session_of_shape.logs
    yardstick = times.timing(YARDSTICK)
    cells = []
    for name in CONTENDERS:
        timing = times.timing(name)
        if timing is None or yardstick is None:
            cells.append("")
        elif name == YARDSTICK:
            cells.append(f"{timing.median:.2f} s")
        else:
            cells.append(str(Ratio.of(timing.seconds, yardstick.seconds)))
    return title, *cells


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.shapes", description="Time every shape of evaluation.")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)} (default: all)")
    generate.add_arguments(parser)
    parser.add_argument("--contenders", nargs="+", metavar="NAME", default=list(CONTENDERS))
    parser.add_argument("--repeats", type=generate.whole, default=5, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--cores", type=generate.whole, default=machine.usable_cores(), help="threads for each")
    parser.add_argument("--driver-memory", default=session.DRIVER_MEMORY, help="heap of Spark (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="a folder for the session of each shape as JSON")
    options = parser.parse_args()
    for name in options.shapes:
        if name not in SHAPES:
            parser.error(f"there is no shape {name}: name some of {', '.join(SHAPES)}")
    options.rows = [options.rows]
    lines = []
    for name in options.shapes or SHAPES:
        measured = measure(SHAPES[name], options, sys.argv[1:])
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            measured.write(options.output / f"{name}.json")
        lines.append(line_of(SHAPES[name].title, measured))
    print(markdown((f"{options.rows[0]:,} rows, over {YARDSTICK}", *CONTENDERS), lines))


if __name__ == "__main__":
    main()
