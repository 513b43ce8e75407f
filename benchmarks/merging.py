"""Seconds to merge stored days of two teams, made up, from a local disk.

The large team has many models, slices and metrics of groups; the other the nightly set, with the score blocks under its
metrics of the day. Twelve days of each are made, and the window repeats them.

    python -m benchmarks.merging --days 365
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import machine
from benchmarks.generate import whole
from benchmarks.memory import peak_of
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments
from sparkrank.metrics import Plan
from sparkrank.metrics.slices import ALL
from sparkrank.pipeline import merge_days
from sparkrank.spec import Spec
from sparkrank.stages import Stages
from sparkrank.states import MeanStates, Partials, ScoreBlocks, Series
from sparkrank.states.block_rows import blocks_table
from sparkrank.states.keys import SliceKey
from sparkrank.states.means import MeanRows, weighted_sums
from sparkrank.tables.days import write_day
from sparkrank.tables.states import states_table
from sparkrank.tables.windows import Window

FIRST = dt.date(2026, 1, 1)
GROUPS, ROWS = 1000, 20_000  # of a mean: what a state costs does not grow with them
MADE = 12
NAMES = ("ndcg", "ndcg(gain=exp2)", "ap", "rr", "p", "r", "hit", "f")
TEAMS = {  # metrics, models, slice values
    "large": ([f"{name}@{k}" for name in NAMES for k in range(1, 6)], 20, 50),
    "nightly": (list(SETS["nightly"]), 2, 1),
}


def spec_of(output: Path, metrics: list[str], models: int, slices: int) -> Spec:
    scores = {f"model {number}": f"score_{number}" for number in range(models)}
    columns = {"group": "user_id", "label": "clicked", "score": scores}
    document = {"input": {"path": "unread", "columns": columns}, "metrics": metrics, "output": {"path": str(output)}}
    document["slices"] = ["country"] if slices > 1 else []
    return Spec.model_validate(document)


def means(plan: Plan, slices: int, draw: np.random.Generator) -> MeanStates:
    """A state for each model, slice value and metric of groups; the whole day is a slice value too."""
    sums = np.concatenate([weighted_sums(draw.random(GROUPS), None) for _ in range(1000)])
    values = {ALL: [ALL], "country": [f"country {number}" for number in range(1, slices)]}
    keys = [
        SliceKey(model, of, found, str(metric))
        for model in plan.models
        for of, found in values.items()
        for metric, _ in plan.group_metrics
    ]
    counts = [GROUPS, 0, GROUPS, ROWS]
    return MeanStates.of(
        [
            MeanRows(key, np.tile(counts, (len(key.values), 1)), sums[draw.integers(0, len(sums), len(key.values))])
            for key in keys
        ]
    )


def blocks(plan: Plan, rows: int, draw: np.random.Generator) -> dict[Series, ScoreBlocks]:
    """The blocks of a click model's scores, for each model and rule."""
    found = {}
    for model in plan.models:
        scores = draw.beta(0.5, 20, rows)
        clicks = draw.random(rows) < scores
        for rule in plan.block_rules:
            found[Series(model, ALL, ALL, rule)] = ScoreBlocks.of(rule, scores, clicks, sums=True)
    return found


def days_of(spec: Spec, slices: int, rows: int) -> Iterator[dict[str, pa.Table]]:
    """The tables of the days that are made."""
    plan = spec.plan()
    for seed in range(MADE):
        draw = np.random.default_rng(seed)
        partials = Partials(means(plan, slices, draw), blocks(plan, rows, draw), counts={("rows read", ""): rows})
        states = states_table(partials, plan, spec.source(), blocks=True)
        yield {"states": states, "blocks": blocks_table(partials.blocks, weighted=False)}


def measure(team: str, days: int, rows: int, repeats: int, folder: Path) -> tuple[str, ...]:
    """The line of a team: rows of its tables, median and range of the seconds, processor time, peak memory."""
    metrics, models, slices = TEAMS[team]
    spec = spec_of(folder / team, metrics, models, slices)
    made = list(days_of(spec, slices, rows))
    window = Window(FIRST, FIRST + dt.timedelta(days=days - 1))
    for index, day in enumerate(window.days):
        write_day(spec.output.path, day, made[index % MADE])
    counts = [sum(made[index % MADE][name].num_rows for index in range(days)) for name in ("states", "blocks")]
    del made
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
