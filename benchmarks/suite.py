"""The sessions behind docs/performance.md, measured one after the other.

    python -m benchmarks.suite                 # what has no result yet, then the report
    python -m benchmarks.suite 20m 100m --again
    python -m benchmarks.suite 20m 100m --results mine    # of another machine: prints the targets, the page stays

A session that has ended has its result in a file of its own, so an interrupted suite continues where it stopped.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks import report
from benchmarks.shape_table import session_names
from benchmarks.shapes import SHAPES
from benchmarks.targets import targets_table

_EVERY_SIZE = "floor sparkrank-scan sparkrank-frame sparkrank-local sparkrank-numpy spark-windows duckdb polars"

# By the name of its result: the module and its arguments.
SESSIONS: Mapping[str, str] = {
    "1m": "run --rows 2e5 1e6",
    "1m-3-models": f"run --rows 1e6 --models 3 --contenders {_EVERY_SIZE} ranx replay",
    "1m-strings": f"run --rows 1e6 --keys string --contenders {_EVERY_SIZE} ranx replay",
    "20m": "run --rows 20e6 --repeats 9",  # most of the targets
    "20m-3-models": f"run --rows 20e6 --models 3 --contenders {_EVERY_SIZE}",
    "20m-strings": f"run --rows 20e6 --keys string --contenders {_EVERY_SIZE}",
    "100m": f"run --rows 10e6 100e6 --contenders {_EVERY_SIZE}",
    "kernels": "kernels",
    "metric-costs": "metric_costs",
    "day": "day --rows 20e6",
    "cold": "cold --rows 20e6",
    "submit": "submit",
    "merging": "merging --days 365",
    "crossing": "crossing --rows 20e6",
    "crossing-strings": "crossing --rows 20e6 --keys string",
    **{session_names()[name]: f"shapes {name}" for name in SHAPES},
    "whole": "whole --rows 1e6",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="benchmarks.suite", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help=f"of {', '.join(SESSIONS)} (default: all)")
    parser.add_argument("--again", action="store_true", help="measure also what has a result")
    parser.add_argument("--results", type=Path, default=report.RESULTS, help="folder (default: the page's)")
    options = parser.parse_args()
    for name in options.sessions:
        if name not in SESSIONS:
            parser.error(f"there is no session {name}: name some of {', '.join(SESSIONS)}")
    for name in options.sessions or SESSIONS:
        result = options.results / f"{name}.json"
        if options.again or not result.exists():
            print(f"Measuring {name}", file=sys.stderr, flush=True)
            measure(SESSIONS[name], result)
    if options.results.resolve() == report.RESULTS.resolve():
        report.write()
    else:
        print(targets_table(report.read(options.results)))
        print(f"\n{report.blocks({}, options.results)['shapes']}")


def measure(command: str, result: Path) -> None:
    """In a process of its own, so that every session has its own JVM."""
    module, *arguments = command.split()
    subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments, "--output", str(result)], check=True)


if __name__ == "__main__":
    main()
