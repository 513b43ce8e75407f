"""What metrics add to the time of the nightly set: 20 million rows, the local lane, all in one process in turns.

    python -m benchmarks.metric_costs
    python -m benchmarks.metric_costs --metrics 'ild(by=catalog.category)@10' mcc --repeats 5

A metric takes its own inputs with it: who adds the first metric of items pays for reading them, too.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sparkrank as sr
from benchmarks import generate, machine
from benchmarks.generate import LogShape
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments

NIGHTLY = SETS["nightly"]
OF_LISTS = NIGHTLY[:15]
NOTHING, ITEMS, CATALOG, PAST = "", "items", "items and their columns", "items and what was before"
LABELS, PROPENSITIES = "two further labels", "propensities"


def _by_label(metric: str, label: str) -> str:
    name, _, cutoff = metric.partition("@")
    name, _, given = name.rstrip(")").partition("(")
    return f"{name}(label={label}{given and ','}{given}){cutoff and '@'}{cutoff}"


# By what they read beside the columns of the nightly set: metrics, each added alone, or several under one name.
ADDED: Mapping[str, Sequence[str | tuple[str, tuple[str, ...]]]] = {
    LABELS: [
        (
            "15 metrics of lists by two labels",
            tuple(_by_label(own, name) for name in ("cart", "pay") for own in OF_LISTS),
        )
    ],
    PROPENSITIES: [
        "ndcg(propensity=ips)@10",
        (
            "ndcg, r and p with propensity=snips, @10",
            tuple(f"{name}(propensity=snips)@10" for name in ("ndcg", "r", "p")),
        ),
    ],
    NOTHING: [
        *("gmean(ap)", "n_rel_ret", "set_ap", "iprec11", "median(first_rank)", "relevance_position", "fallout@10"),
        *("rbp", "pfound@10", "judged@10", "mcc", "balanced_accuracy", "recall(at_precision=0.3)", "auc(max_fpr=0.1)"),
        *("lift(top=0.1)", "ece(mass=20)", "mcb", "calibration_gap", "rmse", "group_mae"),
    ],
    ITEMS: [
        *("coverage@10", "gini@10", "novelty@10", "entropy@10", "personalization@10", "percentile_rank"),
    ],
    CATALOG: [
        *("shown(of=catalog.price)@10", "cg(gain=catalog.price)@10", "distinct(by=catalog.category)@10"),
        *("entropy(by=catalog.category)@10", "ild(by=catalog.category)@10"),
        *("ild(by=catalog.genres,distance=jaccard)@10", "ild(by=catalog.vector,distance=cosine)@10"),
        *("alpha_ndcg(by=catalog.genres)@10", "exposure_gap(by=catalog.category,against=relevant)@10"),
        "awrf(by=catalog.category,against=relevant)@10",
    ],
    PAST: ["shown(of=interactions.rows)@10", "shown(of=tier,is=tail)@10", "novelty(of=users,over=lists)@10", "new@10"],
}


def catalog(shape: LogShape) -> pa.Table:
    """The items of the log, each also with two genres and a vector of eight numbers."""
    items, random = generate.catalog(shape), np.random.default_rng(11)
    names = pa.array([f"genre-{number:02d}" for number in range(20)])
    genres = names.take(pa.array(random.integers(0, 20, 2 * len(items))))
    vectors = pa.array(random.normal(size=8 * len(items)))
    ends = np.arange(len(items) + 1, dtype=np.int32)
    items = items.append_column("genres", pa.ListArray.from_arrays(2 * ends, genres))
    return items.append_column("vector", pa.ListArray.from_arrays(8 * ends, vectors))


def seconds(log: Path, metrics: Sequence[str], inputs: Mapping[str, Any]) -> tuple[float, float]:
    """Evaluate once, with a group table. Return the seconds by the clock and of the processors."""
    folder = Path(tempfile.mkdtemp(prefix="groups-"))
    roles = {"group": "user_id", "score": "score", "label": "clicked", **inputs}
    start = time.perf_counter(), time.process_time()
    sr.evaluate(str(log), metrics, lane="local", group_table=folder / "groups", **roles).to_pandas()
    taken = time.perf_counter() - start[0], time.process_time() - start[1]
    shutil.rmtree(folder)
    return taken


def measure(shape: LogShape, wanted: Sequence[str] | None, repeats: int, data: Path) -> Iterator[tuple[str, ...]]:
    """A line of the table for each entry of ``ADDED``: what it reads, what it adds, and all over the nightly set."""
    folder = generate.write(shape, data)
    items = {"item": "item_id"}
    inputs: dict[str, dict[str, Any]] = {
        NOTHING: {},
        ITEMS: items,
        CATALOG: {**items, "catalog": catalog(shape)},
        PAST: {**items, "interactions": str(folder / generate.PAST)},
        LABELS: {"label": {"click": "clicked", "cart": "carted", "pay": "paid"}},
        PROPENSITIES: {"propensity": "propensity"},
    }
    log = folder / generate.LOG
    for reads, entries in ADDED.items():
        for entry in entries:
            name, metrics = (entry, (entry,)) if isinstance(entry, str) else entry
            if wanted and name not in wanted:
                continue
            seconds(log, (*NIGHTLY, *metrics), inputs[reads])  # the first time loads what it needs
            turns = [
                (seconds(log, NIGHTLY, {}), seconds(log, (*NIGHTLY, *metrics), inputs[reads])) for _ in range(repeats)
            ]
            (clock, processors), (all_clock, all_processors) = np.transpose(np.array(turns), (1, 2, 0))
            more = statistics.median(all_processors) - statistics.median(processors)
            ratios = (statistics.median(all_clock / clock), statistics.median(all_processors / processors))
            yield name, reads, f"{more:.2f}", *(f"{ratio:.2f}" for ratio in ratios)


def main() -> None:
    parser = arguments(__doc__, repeats=5)
    parser.add_argument("--rows", type=generate.whole, default=20_000_000)
    parser.add_argument("--metrics", nargs="+", metavar="METRIC", help="those of the list to measure (default: all)")
    parser.add_argument("--data", type=Path, default=generate.DEFAULT_ROOT, help="where logs are kept")
    options = parser.parse_args()
    shape = LogShape(rows=options.rows, groups=max(options.rows // 20, 1), layout="beside", funnel=True)
    titles = ("added", "reads", "processors, s added", "clock, over the nightly set", "processors, over it")
    lines = list(measure(shape, options.metrics, options.repeats, options.data))
    Table(machine.command("metric_costs", sys.argv[1:]), titles, lines).tell(options.output)


if __name__ == "__main__":
    main()
