"""Every shape of evaluation beside its rivals: which rows, which metrics, and what is asked of them.

    python -m benchmarks.shapes --rows 2e6                       # all shapes
    python -m benchmarks.shapes lists text --rows 10e6 --contenders sparkrank-local duckdb

Each shape is a session of its own, as :mod:`benchmarks.run` makes them. Where no rival has a shape, the lanes do the
same work without what the shape is about: ``plain-scan`` beside ``sparkrank-scan``, and so on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import generate, machine, run, session
from benchmarks.contenders.contender import GROUP
from benchmarks.process import EVERY
from benchmarks.results import Ratio, Session
from benchmarks.sets import BINNED, EXACT, SETS, SIX
from benchmarks.table import markdown

LANES = ("sparkrank-scan", "sparkrank-local", "sparkrank-frame")
PLAIN = ("plain-scan", "plain-local", "plain-frame")
YARDSTICK = "duckdb"
RIVALS = (YARDSTICK, "polars")
LIBRARIES = ("rectools", "replay", "ranx", "recommenders", "recommenders-spark")
LIBRARY_LIMIT = 0.05  # of the time of a library that has the shape
NIGHTLY = SETS["nightly"]
LIMITS = {"sparkrank-scan": 0.5, "sparkrank-local": 0.25, "sparkrank-frame": 1.0}  # of the yardstick's time
# Beside the nightly set: what lists show, how different it is, and how well known.
BEYOND = ("shown(of=catalog.price)@10", "ild(by=catalog.category)@10", "novelty@10")
GROUPED = {"asked": {"grouped": "files"}, "plain": {"asked": {}}}


@dataclass(frozen=True)
class Shape:
    """Rows as ``log`` says of :class:`benchmarks.generate.LogShape`, and ``metrics`` as ``asked`` of them.

    ``asked`` are fields of :class:`benchmarks.contenders.Work`. ``limits`` are the targets: the most that each lane may
    take of the time of the yardstick, and ``plain_limit`` of its own without what the shape is about. ``rows`` and
    ``repeats`` are those of the long benchmark.
    """

    title: str
    metrics: tuple[str, ...] = SIX
    log: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    contenders: tuple[str, ...] = (*LANES, *RIVALS)
    limits: Mapping[str, float] = field(default_factory=lambda: LIMITS)
    plain_limit: float | None = None
    rows: int = 10_000_000
    repeats: int = 3


SHAPES: Mapping[str, Shape] = {
    "nightly": Shape(
        "nightly set",
        NIGHTLY,
        limits={"sparkrank-scan": 0.3, "sparkrank-local": 0.12, "sparkrank-frame": 0.4},
        rows=20_000_000,
    ),
    "lists": Shape("lists joined with a truth", log={"layout": "lists"}),
    "lists-libraries": Shape(
        "lists joined with a truth, beside libraries",
        log={"layout": "lists"},
        contenders=(*LANES, YARDSTICK, *LIBRARIES),
        limits={},
        rows=1_000_000,
    ),
    "arrays": Shape("arrays of a list and its truth", log={"layout": "arrays"}, contenders=(*LANES, YARDSTICK)),
    "bucketed": Shape(
        "all rows of a user in one file",
        NIGHTLY,
        log={"bucketed": True},
        asked=GROUPED,
        contenders=("sparkrank-scan", "sparkrank-local", YARDSTICK, "plain-scan", "plain-local"),
        limits={"sparkrank-scan": 0.25},
        plain_limit=0.7,
        rows=20_000_000,
    ),
    "bucketed-lists": Shape(
        "lists and truth of a user in files of one number",
        log={"layout": "lists"},
        asked=GROUPED,
        contenders=("sparkrank-scan", "sparkrank-local", YARDSTICK, "plain-scan", "plain-local"),
        limits={"sparkrank-scan": 0.4},
    ),
    "slices": Shape(
        "two slice columns and their combination",
        log={"slices": True},
        asked={"slices": (("country",), ("device",), ("country", "device"))},
    ),
    "text": Shape("text keys of 21 letters", log={"keys": "text"}),
    "pairs": Shape("keys of two columns", log={"sessions": True}),
    "models-3": Shape("3 models", log={"models": 3}),
    "models-10": Shape("10 models", log={"models": 10}),
    "graded": Shape("graded labels", log={"labels": "graded"}),
    "ties": Shape(
        "ties by text items, of 30 % of scores",
        log={"ties": 0.3, "items": "text"},
        asked={"by_item": True},
        contenders=(*LANES, YARDSTICK),
    ),
    "weights": Shape("weighted rows", SETS["small"], log={"weighted": True}),
    "exact": Shape(
        "exact bins, scores all distinct",
        EXACT,
        asked={"group_table": False, "plain": {"metrics": BINNED}},
        contenders=(*LANES, YARDSTICK, *PLAIN),
        plain_limit=2.0,
        rows=20_000_000,
    ),
    "exact-weights": Shape(
        "the same with weighted rows",
        EXACT,
        log={"weighted": True},
        asked={"group_table": False, "plain": {"metrics": BINNED}},
        contenders=(*LANES, YARDSTICK, *PLAIN),
        plain_limit=2.0,
        rows=20_000_000,
    ),
    "parts": Shape(
        "parts for intervals, on against off",
        NIGHTLY,
        asked={"asked": {"uncertainty": True}, "plain": {"asked": {"uncertainty": False}}},
        contenders=(*LANES, *PLAIN),
    ),
    "comparisons": Shape(
        "parts, comparisons and gates, on against off",
        NIGHTLY,
        log={"models": 2},
        asked={
            "job": "day",
            "asked": {
                "compare": {"baseline": "score_1"},
                "gates": [{"metric": metric, "not_worse_than": "baseline"} for metric in ("ndcg@10", "auc")],
            },
            "plain": {"asked": {"uncertainty": {"off": True}}},
        },
        contenders=(*LANES, *PLAIN),
    ),
    "novelty": Shape(
        "novelty of items, on against off",
        ("ndcg@10", "novelty@10"),
        asked={"plain": {"metrics": ("ndcg@10",)}},
        contenders=(*LANES, YARDSTICK, *PLAIN),
    ),
    "beyond": Shape(
        "a catalog, what is shown, diversity and novelty, on against off",
        (*NIGHTLY, *BEYOND),
        log={"layout": "beside"},
        asked={"plain": {"metrics": NIGHTLY}},
        contenders=(*LANES, *PLAIN),
        plain_limit=1.3,
        rows=20_000_000,
    ),
    "exclude": Shape(
        "the same, and as many pairs that users had before left out",
        (*NIGHTLY, *BEYOND),
        log={"layout": "beside"},
        asked={"excludes": True, "plain": {"metrics": NIGHTLY}},
        contenders=(*LANES, *PLAIN),
        plain_limit=1.8,
        rows=20_000_000,
    ),
    "csv": Shape(
        "CSV, as a job",
        log={"format": "csv"},
        asked={"job": "day"},
    ),
    "heavy": Shape("half of all rows in one group", NIGHTLY, log={"heavy": 0.5}, rows=20_000_000),
    "week": Shape(
        "a week of stored days merged",
        NIGHTLY,
        log={"layout": "days", "days": 7},
        asked={"job": "week", "keys": (GROUP, "day"), "group_table": False},
        contenders=("sparkrank-local", YARDSTICK),
    ),
    "backfill": Shape(
        "200 days of 5,000 rows",
        NIGHTLY,
        log={"layout": "days", "days": 200},
        asked={"job": "backfill"},
        contenders=("sparkrank-local", YARDSTICK),
        rows=1_000_000,
    ),
    "backfill-scan": Shape(
        "10 days, each a day of the scan lane",
        NIGHTLY,
        log={"layout": "days", "days": 10},
        asked={"job": "backfill"},
        contenders=("sparkrank-scan", YARDSTICK),
    ),
}


def measure(name: str, options: argparse.Namespace, arguments: Sequence[str]) -> Session:
    """The session of the shape ``name``."""
    shape = SHAPES[name]
    rows = options.rows or shape.rows
    contenders = [each for each in shape.contenders if each in (options.contenders or shape.contenders)]
    for each in contenders:
        if each in LIBRARIES and not EVERY[each].installed:
            print(f"{each} is left out: it is not installed", file=sys.stderr, flush=True)
    settings = {
        **vars(options),
        **shape.log,
        "rows": [rows],
        "groups": max(rows // shape.log.get("days", 1) // 20, 1),
        "repeats": options.repeats or shape.repeats,
        "contenders": [each for each in contenders if each not in LIBRARIES or EVERY[each].installed],
    }
    return run.measure(argparse.Namespace(**settings), arguments, shape.metrics, shape.asked, "shapes")


def line_of(title: str, session_of_shape: Session) -> tuple[str, ...]:
    """The median of each contender over that of the yardstick, the seconds of this one, and what plain lanes save."""
    (times,) = session_of_shape.logs
    yardstick = times.timing(YARDSTICK)
    cells = [f"{times.rows:,}", "" if yardstick is None else f"{yardstick.median:.2f}"]
    for name, to in (*((name, YARDSTICK) for name in (*LANES, "polars")), *zip(LANES, PLAIN, strict=True)):
        of, other = times.timing(name), times.timing(to)
        cells.append("" if of is None or other is None else str(Ratio.of(of.seconds, other.seconds)))
    return title, *cells


TITLES = ("shape", "rows", f"{YARDSTICK}, s", *(f"{name} over it" for name in (*LANES, "polars")))
PLAIN_TITLES = tuple(f"{name} over {plain}" for name, plain in zip(LANES, PLAIN, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.shapes", description="Time every shape of evaluation.")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)} (default: all)")
    parser.add_argument("--rows", type=generate.whole, help="rows of each shape (default: its own)")
    parser.add_argument("--contenders", nargs="+", metavar="NAME", help="those of a shape (default: all)")
    parser.add_argument("--repeats", type=generate.whole, help="timed runs of each (default: the shape's own)")
    parser.add_argument("--cores", type=generate.whole, default=machine.usable_cores(), help="threads for each")
    parser.add_argument("--driver-memory", default=session.DRIVER_MEMORY, help="heap of Spark (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=generate.DEFAULT_ROOT, help="where logs are kept")
    parser.add_argument("--output", type=Path, help="the session as JSON, or of several shapes a folder for them")
    options = parser.parse_args()
    for name in options.shapes:
        if name not in SHAPES:
            parser.error(f"there is no shape {name}: name some of {', '.join(SHAPES)}")
    lines = []
    for name in options.shapes or SHAPES:
        measured = measure(name, options, sys.argv[1:])
        if options.output:
            measured.write(options.output if options.output.suffix == ".json" else options.output / f"{name}.json")
        lines.append(line_of(SHAPES[name].title, measured))
        print(f"{name}: {' | '.join(lines[-1])}", file=sys.stderr, flush=True)
    print(markdown((*TITLES, *PLAIN_TITLES), lines))


if __name__ == "__main__":
    main()
