"""docs/tables.md: it is what the schemas print, and tables have the columns of their schemas."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.metrics.labels import level_text
from sparkrank.schemas.tables import QUALITY, TableSchema, columns
from sparkrank.tables.rows.outputs import OUTPUTS
from sparkrank.text.text import table_text
from tests.support.commands import exit_code

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"


def test_a_table_is_printed_with_each_column_and_limbs_as_one_row() -> None:
    more = ("Else:", columns("n text: n"))
    table = TableSchema("some", "A row each.", columns("model text\nw limbs: Σ w"), more)
    rows = "| `model` | string | |\n| `w_0` to `w_5` | double | Σ w |"
    head = "| column | type | meaning |\n|---|---|---|"
    assert table_text(table) == f"## `some`\n\nA row each.\n\n{head}\n{rows}\n\nElse:\n\n{head}\n| `n` | string | n |"
    assert table.schema.names == ["model", *(f"w_{limb}" for limb in range(6))]
    assert table.whole_schema.names == [*table.schema.names, "n"]


def test_each_column_stands_once_and_says_what_it_means() -> None:
    known = {"model", "slice", "slice_value", "value", "buckets", "started_at", "metric"}
    for table in (each.schema for each in OUTPUTS):
        names = table.whole_schema.names
        assert len(names) == len(set(names)), table.name
        assert {column.name for column in table.columns if not column.meaning} <= known, table.name


def test_the_command_prints_the_page_or_some_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("tables") == 0
    printed = capsys.readouterr().out.rstrip("\n")
    assert printed.startswith("## `metrics`\n")
    assert PAGE.read_text(encoding="utf-8").rstrip("\n").endswith(f"\n\n{printed}")
    assert exit_code("tables", "quality", "runs") == 0
    printed = capsys.readouterr().out
    assert re.findall(r"^## `(\w+)`$", printed, re.MULTILINE) == ["quality", "runs"]
    assert exit_code("tables", "metric") == 2
    assert capsys.readouterr().err.endswith(
        'sparkrank: there is no table "metric", did you mean "metrics"? (there are: metrics, comparisons, '
        "disparities, groups, blocks, curves, gains, positions, distributions, items, exposures, parts, quality, "
        "gates, states, runs, decomposition)\n"
    )


def test_the_average_of_the_page_leaves_the_undefined_out() -> None:
    duckdb = pytest.importorskip("duckdb")
    average = re.search(r"`(avg\(nullif\(ap, [^`]*)`", PAGE.read_text(encoding="utf-8"))
    rows = pa.table({"user": [1, 1, 2, 3], "score": [0.5, 0.25, 0.5, 0.5], "label": [0, 1, 1, 0]})
    groups = sr.evaluate(rows, ["ap"], group="user", score="score", label="label").groups
    assert average is not None
    [(plain, defined)] = duckdb.arrow(groups).aggregate(f"avg(ap), {average[1]}").fetchall()
    assert math.isnan(plain)
    assert defined == (1 / 2 + 1) / 2


def test_every_check_is_described() -> None:
    """Under its name, by which limits know it; the whole of a check need be none itself."""
    names = {name for key, name in vars(checks).items() if key.isupper() and isinstance(name, str)}
    names -= {checks.SCORED_IN_GROUPS}
    level = level_text(None)
    names |= {each(level) for each in (checks.one_class_groups, checks.relevant_truth, checks.relevant_unlisted)}
    names |= {checks.outside_range("r@2", 0, 1)}
    assert [name for name in sorted(names) if f"`{name}`" not in QUALITY.notes] == []
