"""A whole command, from the shell to its tables, beside a bare spark-submit that reads the same file.

The bare one has a single function of Python on Arrow's arrays. So the ratio says what sparkrank adds to a job that
Spark starts, reads for and ends in any case. Values are checked in a first round, which is not counted.

    python -m benchmarks.whole --rows 1e6
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks import cold, generate, machine
from benchmarks.check import TOLERANCE, Check, DisagreementError
from benchmarks.contenders import Value, Values
from benchmarks.contenders.sparkrank_lanes import values_of
from benchmarks.generate import LogShape
from benchmarks.results import LogTimes, Session, Timing
from benchmarks.sets import SETS
from benchmarks.table import markdown

BARE = "bare"
LANES = {"sparkrank-scan": "scan", "sparkrank-local": "local", "sparkrank-frame": "frame"}
LIMIT = 1.2  # of the bare one's time, for the lane that a nightly job takes
SESSION = "whole"


@dataclass(frozen=True)
class Ended:
    """The values of a command that has ended."""

    name: str
    found: Values
    table: Path | None = None

    def prepare(self) -> None: ...

    def run(self) -> None: ...

    def values(self) -> Values:
        return self.found


def commands_of(commands: cold.Commands) -> Mapping[str, Sequence[str]]:
    """Each command by its name: the bare one, the lanes, and DuckDB where it is installed."""
    known = commands.all()
    others = {name: known[name] for name in ("duckdb",) if name in known}
    return {BARE: commands.bare(), **{name: known[lane] for name, lane in LANES.items()}, **others}


def compare(name: str, printed: str, commands: cold.Commands, check: Check) -> None:
    """Raises :class:`DisagreementError` where a command has other values than those before it."""
    if name == BARE:
        compare_bare(json.loads(printed.splitlines()[-1]), commands)
    elif name in LANES:
        metrics = pq.read_table(commands.tables / "metrics", partitioning=None).to_pandas()
        check.compare(Ended(name, values_of(metrics, commands.work)))
    else:
        told = json.loads(printed.splitlines()[-1])
        check.compare(
            Ended(name, {model: {of: Value(*each) for of, each in found.items()} for model, found in told.items()})
        )


def compare_bare(told: Mapping[str, float], commands: cold.Commands) -> None:
    """Raises :class:`DisagreementError` where the bare job has not read every row of the log."""
    work = commands.work
    rows = ds.dataset(work.log).to_table(columns=[work.scores[0], work.label])
    expected = pc.sum(rows[work.scores[0]].filter(pc.greater(rows[work.label], 0))).as_py()
    if told["rows"] != rows.num_rows or not math.isclose(told["sum"], expected, rel_tol=TOLERANCE):
        raise DisagreementError(f"the bare job has {told}, the log {rows.num_rows} rows and the sum {expected!r}")


def measure(options: argparse.Namespace, arguments: Sequence[str]) -> Session:
    """Each command once, its values compared, then all in turns."""
    shape = LogShape(rows=options.rows, groups=max(options.rows // 20, 1))
    described, started = machine.describe(), time.perf_counter()
    log = generate.write(shape, options.data)
    startup, check = {"logs": time.perf_counter() - started}, Check(shape)
    timings = []
    with tempfile.TemporaryDirectory(prefix="sparkrank-") as folder:
        commands = cold.Commands(shape, log, Path(folder))
        all_commands = commands_of(commands)
        for name, command in all_commands.items():
            seconds, printed = cold.ended(command, commands.tables)
            compare(name, printed, commands, check)
            timings.append(Timing(name, len(SETS["nightly"]) if name != BARE else 0, name != BARE, seconds))
        for _ in range(options.repeats):
            for timing in timings:
                timing.seconds.append(cold.seconds_of(all_commands[timing.contender], commands.tables))
    return Session(
        command=machine.command("whole", arguments),
        machine=described,
        metrics=SETS["nightly"],
        settings={"spark.driver.memory": cold.DRIVER_MEMORY},
        startup=startup,
        java_peak_bytes=0,
        logs=[LogTimes(asdict(shape), check.values, timings, {})],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=generate.whole, default=1_000_000, help="1e6 is understood too")
    parser.add_argument("--repeats", type=int, default=5, help="times that each is measured (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=generate.DEFAULT_ROOT, help="where logs are kept")
    parser.add_argument("--output", type=Path, help="write everything as JSON to this file too")
    options = parser.parse_args()
    session = measure(options, sys.argv[1:])
    if options.output:
        session.write(options.output)
    (times,) = session.logs
    base = times.timing(BARE)
    lines = [cold.line_of(each.contender, each.seconds, base.seconds) for each in times.timings if base is not None]
    print(markdown((f"command, {times.rows:,} rows", "median, s", "range, s", f"over {BARE}"), lines))


if __name__ == "__main__":
    main()
