"""Whole spark-submits, as the README has them: without a settings file, and with many splits and buckets.

    python -m benchmarks.submit

Both commands of a pair evaluate the same rows by the nightly set, in turns after a round that does not count, and their
values must be the same bits. A command is timed from the shell to its end. Its stages, as the table ``runs`` has them,
leave out what Spark takes to start and to end.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks import cold, generate, machine
from benchmarks.check import DisagreementError
from benchmarks.generate import LogShape
from benchmarks.results import Ratio
from benchmarks.table import Table, arguments

TITLES = ("spark-submit", "over", "rows", "command, s", "command over it", "stages, s", "stages over it")


class Submit(NamedTuple):
    """A command on a log of so many ``files``, each of which is a split: ``options`` of Spark, ``more`` of the job."""

    title: str
    files: int
    options: Sequence[str] = ()
    more: Sequence[str] = ()


class Pair(NamedTuple):
    """The target: ``one`` takes at most ``limit`` times as long as ``other``."""

    rows: int
    limit: float
    one: Submit
    other: Submit


SETTINGS = ("--properties-file", str(cold.ROOT / "conf" / "spark-defaults.conf"))
PAIRS = (
    Pair(
        20_000_000,
        1.1,
        Submit("without a settings file, 100 splits", 100),
        Submit("with `conf/spark-defaults.conf`", 100, SETTINGS),
    ),
    Pair(
        10_000_000,
        6.0,
        Submit("without a settings file, 500 splits and 1,000 buckets", 500, more=("--set", "engine.buckets=1000")),
        Submit("8 files and few buckets", 8),
    ),
)


class Times(NamedTuple):
    """Seconds of the rounds of a command."""

    command: list[float]
    stages: list[float]


def in_files(log: Path, files: int, folder: Path) -> Path:
    """Write the rows of ``log`` to so many files of one size in ``folder``."""
    rows, folder = ds.dataset(log).to_table(), folder / f"{files}-files"
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-rows.num_rows // files)
    for number in range(files):
        pq.write_table(rows.slice(number * size, size), folder / f"part-{number:05d}.parquet")
    return folder


def measure(pair: Pair, repeats: int, data: Path) -> tuple[Times, Times]:
    """Both commands in turns. Raises :class:`DisagreementError` where they have other values."""
    shape = LogShape(rows=pair.rows, groups=max(pair.rows // 20, 1))
    log = generate.write(shape, data)
    times = Times([], []), Times([], [])
    with tempfile.TemporaryDirectory(prefix="sparkrank-") as name:
        folder = Path(name)
        logs = {files: in_files(log, files, folder) for files in {pair.one.files, pair.other.files}}
        for turn in range(repeats + 1):
            values = []
            for submit, taken in zip((pair.one, pair.other), times, strict=True):
                commands = cold.Commands(shape, logs[submit.files], folder)
                started = (cold.SPARK_SUBMIT, *submit.options, *commands.job("scan"), *submit.more)
                seconds = cold.seconds_of(started, commands.tables)
                values.append(values_of(commands.tables))
                if turn:
                    taken.command.append(seconds)
                    taken.stages.append(seconds_of_stages(commands.tables))
            if values[0] != values[1]:
                raise DisagreementError(f"{pair.one.title} and {pair.other.title} give {values[0]} and {values[1]}")
    return times


def values_of(tables: Path) -> list[dict[str, object]]:
    """The metrics that a command has written."""
    return pq.read_table(tables / "metrics", columns=["model", "metric", "value"], partitioning=None).to_pylist()


def seconds_of_stages(tables: Path) -> float:
    """What a command says of its stages."""
    (stages,) = pq.read_table(tables / "runs", columns=["stages"], partitioning=None)["stages"].to_pylist()
    return sum(json.loads(stages).values())


def line_of(pair: Pair, one: Times, other: Times) -> tuple[str, ...]:
    """The medians of a command, and their ratios to those of the other one, beside the target."""
    cells = [
        (f"{statistics.median(seconds):.1f}", Ratio.of(seconds, base).beside(pair.limit))
        for seconds, base in zip(one, other, strict=True)
    ]
    return pair.one.title, pair.other.title, f"{pair.rows:,}", *(text for cell in cells for text in cell)


def main() -> None:
    parser = arguments(__doc__, repeats=5)
    parser.add_argument("--data", type=Path, default=generate.DEFAULT_ROOT, help="where logs are kept")
    options = parser.parse_args()
    lines = [line_of(pair, *measure(pair, options.repeats, options.data)) for pair in PAIRS]
    Table(machine.command("submit", sys.argv[1:]), TITLES, lines).tell(options.output)


if __name__ == "__main__":
    main()
