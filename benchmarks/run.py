"""Times every contender on one log in one session: interleaved runs, medians, ratios.

python -m benchmarks.run --rows 1e6 --set small --repeats 5
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import generate, machine, session
from benchmarks.check import Check
from benchmarks.contenders import ALONE, ON_SPARK, Contender, Work
from benchmarks.memory import peak_of, pyspark_workers
from benchmarks.process import OwnProcess
from benchmarks.report import Report, Timing
from benchmarks.sets import SETS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Entrant:
    """A contender, the processes whose memory is its own, and what must be up before it is timed."""

    contender: Contender
    processes: Callable[[], list[int]]
    warm: Callable[[], None]


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    names = options.contenders or [name for name in (*ON_SPARK, *ALONE) if _installed(name)]
    shape = generate.shape_of(options)
    startup: dict[str, float] = {}
    with contextlib.ExitStack() as stack, _timed(startup, "log"):
        log = generate.write(shape, options.data)
    with contextlib.ExitStack() as stack:
        output = Path(tempfile.mkdtemp(prefix="sparkrank-benchmarks-"))
        stack.callback(shutil.rmtree, output)
        work = Work(log, SETS[options.set], shape.label, shape.graded, options.cores, output)
        described = machine.describe()
        entrants = []
        if any(name in ON_SPARK for name in names):
            spark = _start_spark(options, startup)
            stack.callback(spark.stop)
            described.update(machine.java(spark))
            entrants += [_on_spark(name, work, spark) for name in names if name in ON_SPARK]
        entrants += [_alone(name, work, stack) for name in names if name in ALONE]
        check = Check(shape)
        timings = [_first_run(entrant, check) for entrant in entrants]
        _timed_runs(entrants, timings, options.repeats)
    report = Report(
        command=shlex.join(["python", "-m", "benchmarks.run", *(arguments or sys.argv[1:])]),
        machine=described,
        log=asdict(shape),
        metrics=work.metrics,
        settings={**session.SETTINGS, "spark.driver.memory": options.driver_memory},
        startup=startup,
        values=check.values,
        timings=timings,
    )
    print(report.markdown())
    if options.output:
        report.write_json(options.output)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description="Time every way to the same metrics.")
    generate.add_arguments(parser)
    parser.add_argument("--set", choices=tuple(SETS), default="small", help="the metrics")
    parser.add_argument(
        "--contenders", nargs="+", choices=(*ON_SPARK, *ALONE), metavar="NAME", help="default: all that are installed"
    )
    parser.add_argument("--repeats", type=generate.whole, default=5, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--cores", type=generate.whole, default=machine.usable_cores(), help="threads for everyone")
    parser.add_argument("--driver-memory", default=session.DRIVER_MEMORY, help="heap of Spark (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="also write everything as JSON to this file")
    return parser.parse_args(arguments)


def _installed(name: str) -> bool:
    return name in ON_SPARK or importlib.util.find_spec(name) is not None


def _start_spark(options: argparse.Namespace, startup: dict[str, float]) -> SparkSession:
    with _timed(startup, "Spark session"):
        spark = session.start(options.cores, options.driver_memory)
    with _timed(startup, "Python workers"):
        session.start_workers(spark, options.cores)
    return spark


def _on_spark(name: str, work: Work, spark: SparkSession) -> Entrant:
    return Entrant(ON_SPARK[name](work, spark), pyspark_workers, lambda: session.start_workers(spark, work.cores))


def _alone(name: str, work: Work, stack: contextlib.ExitStack) -> Entrant:
    process = stack.enter_context(OwnProcess(ALONE[name], work))
    return Entrant(process, process.processes, lambda: None)


def _first_run(entrant: Entrant, check: Check) -> Timing:
    """The run that warms everything up and whose values are compared with those of the others."""
    contender = entrant.contender
    contender.prepare()
    seconds, _ = _run(entrant)
    _tell(f"{contender.name}: first run {seconds:.2f} s")
    check.compare(contender)
    return Timing(contender.name, len(contender.values()), contender.table is not None, seconds)


def _timed_runs(entrants: Sequence[Entrant], timings: Sequence[Timing], repeats: int) -> None:
    """Every contender once, then every contender again: whatever else the machine does meets all of them."""
    for repeat in range(1, repeats + 1):
        for entrant, timing in zip(entrants, timings, strict=True):
            seconds, peak = _run(entrant)
            timing.seconds.append(seconds)
            timing.peak_bytes = max([peak, timing.peak_bytes or 0])
            _tell(f"{timing.name}: run {repeat} of {repeats} {seconds:.2f} s")


def _run(entrant: Entrant) -> tuple[float, int]:
    """Seconds of one run, and the highest memory of any of its Python processes."""
    entrant.warm()
    with peak_of(entrant.processes) as peak:
        start = time.perf_counter()
        entrant.contender.run()
        seconds = time.perf_counter() - start
    return seconds, max(peak, default=0)


@contextlib.contextmanager
def _timed(startup: dict[str, float], what: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    startup[what] = time.perf_counter() - start


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
