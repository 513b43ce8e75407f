"""Times every contender on one log in one session: interleaved runs, medians, ratios.

python -m benchmarks.run --rows 1e6 --set small --repeats 5
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import generate, machine, session
from benchmarks.check import Check
from benchmarks.contenders import ALONE, ON_SPARK, Work
from benchmarks.entrants import Entrant, Field, installed, timed
from benchmarks.report import Report, Timing
from benchmarks.sets import SETS


def main() -> None:
    options = _options()
    report = measure(options)
    if options.output:
        report.write_json(options.output)
    print(report.markdown())


def measure(options: argparse.Namespace) -> Report:
    """Every contender once, its values compared, then all of them in turn as often as asked."""
    shape = generate.shape_of(options)
    startup: dict[str, float] = {}
    with timed(startup, "log"):
        log = generate.write(shape, options.data)
    described = machine.describe()
    check = Check(shape)
    with tempfile.TemporaryDirectory(prefix="sparkrank-benchmarks-") as output:
        work = Work(log, SETS[options.set], shape.label, shape.graded, options.cores, Path(output))
        with Field(work, options.driver_memory, startup) as field:
            entrants = field.entrants(options.contenders or installed())
            if field.spark is not None:
                described.update(machine.java(field.spark))
            timings = [_first_run(entrant, check) for entrant in entrants]
            _timed_runs(entrants, timings, options.repeats)
    return Report(
        command=shlex.join(("python", "-m", "benchmarks.run", *sys.argv[1:])),
        machine=described,
        log=asdict(shape),
        metrics=work.metrics,
        settings=session.settings(options.cores, options.driver_memory),
        startup=startup,
        values=check.values,
        timings=timings,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description="Time every way to the same metrics.")
    generate.add_arguments(parser)
    parser.add_argument("--set", choices=tuple(SETS), default="small", help="the metrics (default: %(default)s)")
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
    return parser.parse_args()


def _first_run(entrant: Entrant, check: Check) -> Timing:
    """The run that warms everything up, and whose values are compared with those of the others."""
    contender = entrant.contender
    contender.prepare()
    seconds, _ = entrant.run()
    _tell(f"{contender.name}: first run {seconds:.2f} s")
    check.compare(contender)
    return Timing(contender.name, len(contender.values()), contender.table is not None, seconds)


def _timed_runs(entrants: Sequence[Entrant], timings: Sequence[Timing], repeats: int) -> None:
    """Every contender once, then every contender again: whatever else the machine does meets all of them."""
    for repeat in range(1, repeats + 1):
        for entrant, timing in zip(entrants, timings, strict=True):
            seconds, peak = entrant.run()
            timing.seconds.append(seconds)
            timing.peak_bytes = max(peak, timing.peak_bytes)
            _tell(f"{timing.name}: run {repeat} of {repeats} {seconds:.2f} s")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
