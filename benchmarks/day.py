"""What pooled metrics add to a nightly job that computes those of groups, in the lanes that read Parquet.

The job runs in this process, from the spec to the tables of the day. Its plain and its full form take turns.

    python -m benchmarks.day --rows 20e6
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import session
from benchmarks.contenders.contender import GROUP
from benchmarks.generate import add_arguments, shape_of, write
from benchmarks.machine import command, usable_cores
from benchmarks.results import Ratio
from benchmarks.sets import OF_DAY, SETS
from benchmarks.table import Table, arguments
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = "2026-11-19"
LANES = ("scan", "local")
OF_GROUPS = tuple(metric for metric in SETS["nightly"] if not metric.startswith("auc"))
FORMS = {"groups": OF_GROUPS, "groups and day": (*OF_GROUPS, *OF_DAY)}


def spec_of(log: Path, label: str, score: str, lane: str, metrics: Sequence[str], output: Path) -> Spec:
    columns = {"group": GROUP, "label": label, "score": score}
    return Spec.model_validate(
        {
            "input": {"path": str(log), "columns": columns},
            "metrics": list(metrics),
            "engine": {"lane": lane},
            "output": {"path": str(output), "groups": True},
        }
    )


def in_turns(
    specs: Mapping[str, Callable[[Path], Spec]], spark: SparkSession | None, repeats: int
) -> dict[str, list[float]]:
    """The seconds of the job by the name of its spec, of which each says where the tables go; a first run of each is
    not counted."""
    seconds: dict[str, list[float]] = {form: [] for form in specs}
    with tempfile.TemporaryDirectory(prefix="sparkrank-") as folder:
        for run in range(repeats + 1):
            for form, spec in specs.items():
                output = Path(folder) / "tables"
                shutil.rmtree(output, ignore_errors=True)
                started = time.perf_counter()
                evaluate_day(spec(output), DAY, spark, Stages())
                if run:
                    seconds[form].append(time.perf_counter() - started)
    return seconds


def main() -> None:
    parser = arguments(__doc__, repeats=5)
    add_arguments(parser)
    options = parser.parse_args()
    shape = shape_of(options)
    log = write(shape)
    spark = session.start(usable_cores(), session.DRIVER_MEMORY)
    session.start_workers(spark, usable_cores())
    lines = []
    for lane in LANES:
        specs = {
            form: partial(spec_of, log, shape.label, shape.scores[0], lane, metrics) for form, metrics in FORMS.items()
        }
        seconds = in_turns(specs, spark if lane == "scan" else None, options.repeats)
        lines.append(line_of(lane, *seconds.values()))
    spark.stop()
    titles = ("lane", *(f"{form}, s" for form in FORMS), "ratio (range over rounds)")
    table = Table(command("day", sys.argv[1:]), titles, lines)
    table.tell(options.output)


def line_of(lane: str, plain: Sequence[float], full: Sequence[float]) -> tuple[str, ...]:
    """The medians of both forms, and their ratio."""
    return lane, *(f"{statistics.median(seconds):.2f}" for seconds in (plain, full)), str(Ratio.of(full, plain))


if __name__ == "__main__":
    main()
