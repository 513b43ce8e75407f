"""docs/tables.md: its columns and types are those of the tables."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.pipeline.runs import RUNS
from sparkrank.states.block_rows import BLOCKS, WEIGHTED_BLOCKS
from sparkrank.states.distributions import DISTRIBUTIONS
from sparkrank.states.items import ITEMS
from sparkrank.tables.curves import CURVES
from sparkrank.tables.quality import QUALITY
from sparkrank.tables.results import METRICS
from sparkrank.tables.states import STATES

pytestmark = pytest.mark.same_without_loops

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
TABLES = {
    "metrics": METRICS,
    "curves": CURVES,
    "distributions": DISTRIBUTIONS,
    "items": ITEMS,
    "quality": QUALITY,
    "states": STATES,
    "runs": RUNS,
}
_ROW = re.compile(r"^\| `(\w+)`(?: to `(\w+)`)? \| ([^|]+) \|", re.MULTILINE)


def told(table: str) -> list[tuple[str, str]]:
    """The columns of ``table`` with their types, as the page has them; ``w_0`` to ``w_5`` are six."""
    _, section = PAGE.read_text(encoding="utf-8").split(f"\n## `{table}`\n")
    columns = []
    for first, last, kind in _ROW.findall(section.partition("\n## ")[0]):
        stem = first.removesuffix("_0")
        names = [f"{stem}_{index}" for index in range(int(last[-1]) + 1)] if last else [first]
        columns += [(name, kind) for name in names]
    return columns


def columns_of(schema: pa.Schema) -> list[tuple[str, str]]:
    return [(field.name, str(field.type)) for field in schema]


@pytest.mark.parametrize("table", TABLES)
def test_the_page_has_every_column(table: str) -> None:
    assert told(table) == columns_of(TABLES[table])


def test_the_page_has_the_columns_of_blocks_with_weights_and_without() -> None:
    whole, more = told("blocks")[: len(BLOCKS)], told("blocks")[len(BLOCKS) :]
    assert whole == columns_of(BLOCKS)
    assert [name for name, _ in whole] + [name for name, _ in more] == WEIGHTED_BLOCKS.names
    assert more == columns_of(WEIGHTED_BLOCKS)[len(BLOCKS) :]


def test_the_average_of_the_page_leaves_the_undefined_out() -> None:
    duckdb = pytest.importorskip("duckdb")
    average = re.search(r"`(avg\(nullif\(ap, [^`]*)`", PAGE.read_text(encoding="utf-8"))
    rows = pa.table({"user": [1, 1, 2, 3], "score": [0.5, 0.25, 0.5, 0.5], "label": [0, 1, 1, 0]})
    groups = sr.evaluate(rows, ["ap"], group="user", score="score", label="label").groups
    assert average is not None
    [(plain, told)] = duckdb.arrow(groups).aggregate(f"avg(ap), {average[1]}").fetchall()
    assert math.isnan(plain)
    assert told == (1 / 2 + 1) / 2
