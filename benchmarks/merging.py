"""Seconds to merge stored days of two teams, made up, from a local disk.

The large team has many models, slices and metrics of groups; the other the nightly set, with the score blocks under its
metrics of the day. Twelve days of each are evaluated, and the window repeats them.

    python -m benchmarks.merging --days 365
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sparkrank as sr
from benchmarks import machine
from benchmarks.generate import whole
from benchmarks.memory import peak_of
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments
from sparkrank.config import Spec
from sparkrank.inputs.window import Window
from sparkrank.jobs import merge_days
from sparkrank.numeric.memory import give_back_freed_memory
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import FILES
from sparkrank.states.histogram_table import blocks_table
from sparkrank.tables.commit.days import day_run
from sparkrank.tables.rows.states import states_table

FIRST = dt.date(2026, 1, 1)
GROUP_ROWS = 20
MADE = 12
NAMES = ("ndcg", "ndcg(gain=exp2)", "ap", "rr", "p", "r", "hit", "f")
TEAMS = {  # metrics, models, slice values, the most rows: what a mean's state costs does not grow with them
    "large": ([f"{name}@{k}" for name in NAMES for k in range(1, 6)], 20, 50, 20_000),
    "nightly": (list(SETS["nightly"]), 2, 1, 10_000_000),
}


def spec_of(output: Path, metrics: list[str], models: int, slices: int) -> Spec:
    scores = {f"model {number}": f"score_{number}" for number in range(models)}
    columns = {"group": "user_id", "label": "clicked", "score": scores}
    document = {"input": {"path": "unread", "columns": columns}, "metrics": metrics, "output": {"path": str(output)}}
    document["slices"] = ["country"] if slices > 1 else []
    return Spec.model_validate(document)


def rows_of(models: int, slices: int, rows: int, seed: int) -> pa.Table:
    """A day: groups of twenty rows, each group of one country, click models' scores, and clicks as the first says."""
    draw = np.random.default_rng(seed)
    scores = draw.beta(0.5, 20, (models, rows))
    users = np.arange(rows) // GROUP_ROWS
    countries = pa.array([f"country {number}" for number in range(max(slices - 1, 1))])
    return pa.table(
        {
            "user_id": users,
            "country": countries.take(pa.array(users % len(countries))),
            "clicked": draw.random(rows) < scores[0],
            **{f"score_{number}": scores[number] for number in range(models)},
        }
    )


def day_of(spec: Spec, rows: pa.Table) -> dict[str, pa.Table]:
    """The tables that ``sparkrank merge`` reads of a day of ``rows``."""
    roles = spec.roles
    evaluation = sr.evaluate(
        rows,
        spec.metrics,
        group=list(roles.group),
        label=roles.label,
        score=dict(roles.scores),
        slices=spec.slices,
        score_sums=True,
    )
    with evaluation:
        states = states_table(evaluation.partials, spec.plan(), spec.source(), blocks=True)
        parts = evaluation.partials.parts.histograms.rows(weighted=False)
        return {
            "states": states,
            "blocks": blocks_table(evaluation.partials.blocks, weighted=False),
            "parts": parts,
        }


def _runs(files: list[dict[str, Any]] | None, attempt_id: str) -> pa.Table:  # noqa: ARG001 - as a commit calls it
    """The row of a day's run, of which a merge reads the list of its files."""
    return pa.table({FILES.name: pa.array([files], FILES.type)})


def measure(team: str, days: int, rows: int, repeats: int, folder: Path) -> tuple[str, ...]:
    """The line of a team: rows of its tables, median and range of the seconds, processor time, peak memory."""
    metrics, models, slices, most = TEAMS[team]
    spec = spec_of(folder / team, metrics, models, slices)
    made = [day_of(spec, rows_of(models, slices, min(rows, most), seed)) for seed in range(min(MADE, days))]
    window = Window(FIRST, FIRST + dt.timedelta(days=days - 1))
    for index, day in enumerate(window.days):
        with day_run(spec.output.path, day) as run:
            run.commit({**made[index % MADE], "runs": _runs})
    counts = [sum(made[index % MADE][name].num_rows for index in range(days)) for name in ("states", "blocks")]
    del made
    give_back_freed_memory()
    seconds, processor = [], []
    with peak_of(lambda: [os.getpid()]) as peak:
        for _ in range(repeats):
            start, started = time.perf_counter(), time.process_time()
            merge_days(spec, window, None, Stages())
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - started)
    figures = f"{np.median(seconds):.1f}", f"{min(seconds):.1f} to {max(seconds):.1f}", f"{np.median(processor):.1f}"
    return team, *(f"{count:,}" for count in counts), *figures, f"{peak[0] / 2**30:.1f} GiB" if peak else ""


def main() -> None:
    parser = arguments(__doc__, repeats=3)
    parser.add_argument("--days", type=whole, default=365)
    parser.add_argument(
        "--rows", type=whole, default=2_000_000, help="rows with a score of a day (default: %(default)s)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sparkrank-") as folder:
        lines = [measure(team, options.days, options.rows, options.repeats, Path(folder)) for team in TEAMS]
    print(", ".join(f"{name} {value}" for name, value in machine.describe().items()))
    titles = ("team", "states", "score blocks", "median, s", "range, s", "CPU, s", "peak memory")
    table = Table(machine.command("merging", sys.argv[1:]), titles, lines)
    table.tell(options.output)


if __name__ == "__main__":
    main()
