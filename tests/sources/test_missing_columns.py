"""Files that lack a column which others have: refused for every role and every condition, whatever names the files.

CSV and JSON are in :mod:`tests.cases.text_files`, and Spark's lane in :mod:`tests.spark.test_missing_columns`.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import sparkrank as sr
from sparkrank.base.errors import InputError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources.stored_files import named_in
from tests.support.commands import local_spec
from tests.support.parquet_files import write

ROWS = {"u": ["a", "a"], "i": ["x", "y"], "s": [0.5, 0.25], "y": [0, 1], "surface": ["home", "feed"]}
COLUMNS = {"group": "u", "item": "i", "score": "s", "label": "y"}
LACKED = 'lacks the {0}.where column "surface", which other files have: rows that lost a value cannot be told from'


def without(column: str) -> dict:
    return {name: values for name, values in ROWS.items() if name != column}


def spec_of(folder: Path, where: str, side: str, lane: str = "local") -> Spec:
    """An input and a truth, of which the file b of ``side`` has no column surface, which ``where`` asks for."""
    for of in ("input", "truth"):
        write(folder / of / "a.parquet", **ROWS)
        write(folder / of / "b.parquet", **(without("surface") if of == side else ROWS))
    columns = {name: COLUMNS[name] for name in ("group", "item", "score")}
    source: dict[str, Any] = {"columns": columns, "path": f"{folder}/input"}
    truth = {"path": f"{folder}/truth", "columns": {"label": "y"}}
    (source if side == "input" else truth)["where"] = where
    return local_spec(folder, source, truth=truth, engine={"lane": lane})


@pytest.mark.parametrize("side", ["input", "truth"])
def test_a_file_lacks_what_a_condition_asks_for(tmp_path: Path, side: str) -> None:
    """A text that says the name of the column does not ask for it."""
    for where in ("surface = 'home'", "surface IS NULL", "s > 0 AND `surface` IN ('feed', 'home')"):
        with pytest.raises(InputError, match=f"{side}/b.parquet of the {side} {LACKED.format(side)}"):
            evaluate_day(spec_of(tmp_path, where, side), "2026-01-01", None, Stages())
    result = evaluate_day(spec_of(tmp_path, "u <> 'surface'", "truth"), "2026-01-01", None, Stages())
    assert result.metrics["n_groups"].to_pylist() == [1]


def test_columns_that_a_condition_names() -> None:
    for where, named in (
        ("a = 'b'", ["a"]),
        ("a = 'it''s b' or b > 1", ["a", "b"]),
        (r"a = 'it\'s b'", ["a"]),
        ('a = "b"', ["a"]),
        ("`b` > 0", ["b"]),
        ("ab > 0 and t.B is null", ["b"]),
        ("a = 'c", ["a", "c"]),  # no text, for it does not end: Spark says so
        (None, []),
    ):
        assert list(named_in(["a", "b", "c"], (), where)) == named


@pytest.mark.parametrize("side", ["input", "truth"])
@pytest.mark.parametrize(
    ("role", "lacks", "kind"), [("group", "u", "parquet"), ("item", "i", "orc"), ("label", "y", "orc")]
)
def test_a_file_lacks_the_column_of_a_role(tmp_path: Path, role: str, lacks: str, side: str, kind: str) -> None:
    """Of files by path, and of a dataset of Arrow, behind a filter or not."""
    for name, of in itertools.product("ab", ("whole", "part")):
        rows = pa.table(ROWS if (name, of) != ("b", "part") else without(lacks))
        (tmp_path / of).mkdir(exist_ok=True)
        (pq if kind == "parquet" else orc).write_table(rows, tmp_path / of / f"{name}0")
    places = {"impressions": "part" if side == "input" else "whole"} | ({"truth": "part"} if side == "truth" else {})
    datasets = {given: ds.dataset(tmp_path / of, format=kind) for given, of in places.items()}
    forms: list[dict[str, Any]] = [datasets]
    forms += [{given: rows.filter(ds.field(column).is_valid()) for given, rows in datasets.items()} for column in "ui"]
    if kind == "parquet":
        forms.append({given: str(tmp_path / of) for given, of in places.items()})
    for form in forms:
        told = rf'b0 of the {side} lacks the {role} column "{lacks}", which other files have'
        with pytest.raises(InputError, match=told):
            sr.evaluate(metrics=["rr"], **form, **COLUMNS)
    whole = sr.evaluate(ds.dataset(tmp_path / "whole", format=kind), ["rr"], **COLUMNS)
    assert whole["rr"] == 1 / 3  # each file has x, which is not relevant, before y: x, x, y, y
