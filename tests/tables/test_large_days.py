"""The tables of a day are columns: more slice values cost no more calls of Python's functions."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.tables.rows.comparisons import comparisons_table
from sparkrank.tables.rows.results import metrics_table

METRICS = ["ndcg@5", "p@5", "hit@5", "ap", "rr"]
CALLS_PER_ROW = 20  # of functions, built-in ones too: logarithms and the like; with an object a row it was 500


def evaluated(values: int) -> sr.Evaluation:
    """Two models on groups of three rows, four groups for each value of a slice."""
    drawn, groups = np.random.default_rng(0), np.repeat(np.arange(4 * values), 3)
    scores = {name: drawn.random(len(groups)) for name in ("old", "new")}
    click = (drawn.random(len(groups)) < 0.4).astype(np.int64)
    rows = pa.table({"user": groups, "click": click, "country": [f"v{each % values}" for each in groups], **scores})
    columns = {"group": "user", "label": "click", "score": {name: name for name in scores}}
    return sr.evaluate(rows, METRICS, **columns, slices=["country"], compare="old")


def calls(made: Callable[[], Any]) -> tuple[int, int]:
    """The rows that it makes, and the calls of functions on the way, without those of the standard library."""
    profile = cProfile.Profile()
    table = profile.runcall(made)
    return table.num_rows, pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["metrics", "comparisons"])
def test_rows_are_not_made_one_by_one(name: str) -> None:
    counted = []
    for values in (100, 100, 500):  # the first imports what is imported late
        solved = evaluated(values).solved
        merged, plan = solved.merged, evaluated(values).plan
        merged.measure_bins(next(iter(merged.partials.means.subjects())), ())
        makers = {
            "metrics": lambda merged=merged, plan=plan: metrics_table(merged, plan),
            "comparisons": lambda merged=merged, plan=plan: comparisons_table(merged, plan, Comparison("old")),
        }
        counted.append(calls(makers[name]))
    (rows, few), (more_rows, many) = counted[1:]
    assert more_rows > rows + 1900
    assert (many - few) / (more_rows - rows) < CALLS_PER_ROW
