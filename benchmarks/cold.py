"""Seconds from a command to its tables, everything started anew, as a nightly pipeline starts it.

A job of some seconds is mostly start-up: a JVM that loads and compiles Spark's classes, Python workers that import. The
commands take turns; one round before is not counted, in which a JVM also leaves its class archive.

    python -m benchmarks.cold --rows 20e6
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.contenders import ALONE, Work
from benchmarks.contenders.contender import GROUP
from benchmarks.generate import LogShape, add_arguments, shape_of, write
from benchmarks.machine import command, usable_cores
from benchmarks.results import Ratio
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments

ROOT = Path(__file__).parents[1]
DAY = "2026-11-19"
SPARK_SUBMIT = str(Path(sys.executable).with_name("spark-submit"))
DRIVER_MEMORY = "4g"  # of conf/spark-defaults.conf
# The first compiler's code is there at once. The second's pays where the JVM has much to do, as in the frame lane.
FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
METHODS = "prepare\nrun\nvalues\n"  # what benchmarks.process is asked to do
BASE = "scan"


class Commands:
    """The commands that are measured, on the log of one shape, with everything they write under ``folder``."""

    def __init__(self, shape: LogShape, log: Path, folder: Path) -> None:
        self.tables = folder / "tables"
        self._archive = folder / "classes.jsa"
        self._spec = folder / "spec.yaml"
        columns = {"group": GROUP, "label": shape.label, "score": {score: score for score in shape.scores}}
        document = {
            "input": {"path": str(log), "columns": columns},
            "metrics": list(SETS["nightly"]),
            "output": {"path": str(self.tables), "blocks": False},
        }
        self._spec.write_text(json.dumps(document))  # JSON is YAML
        self.work = Work(log, SETS["nightly"], shape.label, shape.graded, shape.scores, usable_cores(), self.tables)

    def archiving(self) -> Sequence[str]:
        """A run at whose end the JVM writes the classes it has loaded to a file that others map."""
        return self._submit("scan", FIRST_COMPILER, f"-XX:ArchiveClassesAtExit={self._archive}")

    def all(self) -> Mapping[str, Sequence[str]]:
        """By name; those of Spark with the options of the JVM."""
        archive = f"-XX:SharedArchiveFile={self._archive}"
        return {
            BASE: self._submit("scan"),
            f"scan, {FIRST_COMPILER}": self._submit("scan", FIRST_COMPILER),
            "scan, class archive": self._submit("scan", archive),
            "scan, both": self._submit("scan", FIRST_COMPILER, archive),
            "frame": self._submit("frame"),
            "frame, class archive": self._submit("frame", archive),
            "frame, both": self._submit("frame", FIRST_COMPILER, archive),
            "local": [sys.executable, *self.job("local")],
            **{name: self._alone(name) for name in ("duckdb", "polars") if ALONE[name].installed},
        }

    def bare(self) -> Sequence[str]:
        """What any job costs: the same file read by Spark, and one function of Python on Arrow's arrays."""
        script = str(ROOT / "benchmarks" / "bare_job.py")
        return self._submitted([script, str(self.work.log), self.work.scores[0], self.work.label])

    def _submit(self, lane: str, *java: str) -> Sequence[str]:
        return self._submitted(self.job(lane), *java)

    def _submitted(self, job: Sequence[str], *java: str) -> Sequence[str]:
        return [
            SPARK_SUBMIT,
            *("--master", f"local[{usable_cores()}]", "--driver-memory", DRIVER_MEMORY),
            *("--properties-file", str(ROOT / "conf" / "spark-defaults.conf"), "--conf", "spark.ui.enabled=false"),
            *(("--driver-java-options", " ".join(java)) if java else ()),
            *job,
        ]

    def job(self, lane: str) -> Sequence[str]:
        """The job that evaluates the log in a lane, with its arguments."""
        job = str(ROOT / "jobs" / "evaluate.py")
        return [job, "--conf", str(self._spec), "--date", DAY, "--set", f"engine.lane={lane}"]

    def _alone(self, name: str) -> Sequence[str]:
        return [str(ALONE[name].python), "-m", "benchmarks.process", name, self.work.to_json()]


def seconds_of(started: Sequence[str], tables: Path) -> float:
    """The seconds until the command has ended. Raises :class:`subprocess.CalledProcessError` where it fails."""
    return ended(started, tables)[0]


def ended(started: Sequence[str], tables: Path) -> tuple[float, str]:
    """:func:`seconds_of` a command, and what it has printed."""
    shutil.rmtree(tables, ignore_errors=True)
    tables.mkdir()
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", **os.environ, "PYSPARK_PYTHON": sys.executable}
    before = time.perf_counter()
    done = subprocess.run(started, cwd=ROOT, env=environment, input=METHODS, text=True, check=True, capture_output=True)
    return time.perf_counter() - before, done.stdout


def line_of(name: str, seconds: Sequence[float], base: Sequence[float]) -> tuple[str, ...]:
    """The median, the range, and the ratio to the base."""
    median = f"{statistics.median(seconds):.1f}"
    return name, median, f"{min(seconds):.1f} to {max(seconds):.1f}", str(Ratio.of(seconds, base))


def main() -> None:
    parser = arguments(__doc__, repeats=5)
    add_arguments(parser)
    options = parser.parse_args()
    shape = shape_of(options)
    log = write(shape)
    with tempfile.TemporaryDirectory(prefix="sparkrank-") as folder:
        commands = Commands(shape, log, Path(folder))
        seconds_of(commands.archiving(), commands.tables)
        seconds: dict[str, list[float]] = {name: [] for name in commands.all()}
        for run in range(options.repeats + 1):
            for name, started in commands.all().items():
                taken = seconds_of(started, commands.tables)
                if run:
                    seconds[name].append(taken)
    lines = [line_of(name, each, seconds[BASE]) for name, each in seconds.items()]
    table = Table(command("cold", sys.argv[1:]), ("command", "median, s", "range, s", f"over {BASE}"), lines)
    table.tell(options.output)


if __name__ == "__main__":
    main()
