"""Files that lack a column which others have: refused for every role and every condition, whatever names the files.

CSV and JSON are in :mod:`tests.cases.text_files`, and Spark's lane in :mod:`tests.spark.test_missing_columns`.
"""

from __future__ import annotations

from pathlib import Path

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
    asked = {"columns": columns, "path": f"{folder}/input"}
    truth = {"path": f"{folder}/truth", "columns": {"label": "y"}}
    (asked if side == "input" else truth)["where"] = where
    return Spec.model_validate(
        {
            "input": asked,
            "truth": truth,
            "metrics": ["rr"],
            "output": {"path": f"{folder}/out"},
            "engine": {"lane": lane},
        }
    )


@pytest.mark.parametrize("side", ["input", "truth"])
@pytest.mark.parametrize("where", ["surface = 'home'", "SURFACE IS NULL", "s > 0 AND `surface` IN ('feed', 'home')"])
def test_a_file_lacks_what_a_condition_asks_for(tmp_path: Path, where: str, side: str) -> None:
    if where.isupper():  # which Spark alone takes for the column
        where = where.lower().replace("is null", "IS NULL")
    with pytest.raises(InputError, match=f"{side}/b.parquet of the {side} {LACKED.format(side)}"):
        evaluate_day(spec_of(tmp_path, where, side), "2026-01-01", None, Stages())


def test_a_condition_may_say_the_name_of_a_column_that_it_does_not_ask_for(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("side", "lacks", "kind"),
    [("input", "u", "parquet"), ("input", "s", "orc"), ("truth", "i", "parquet"), ("truth", "y", "orc")],
)
def test_a_file_of_a_dataset_of_arrow_lacks_nothing_either(tmp_path: Path, lacks: str, side: str, kind: str) -> None:
    for name in ("a", "b"):
        for of in ("whole", "part"):
            rows = pa.table(ROWS if (name, of) != ("b", "part") else without(lacks))
            (tmp_path / of).mkdir(exist_ok=True)
            (pq if kind == "parquet" else orc).write_table(rows, tmp_path / of / f"{name}0")
    whole, part = (ds.dataset(tmp_path / of, format=kind) for of in ("whole", "part"))
    asked = {"group": "u", "item": "i", "score": "s", "label": "y"}
    given = {"impressions": part} if side == "input" else {"impressions": whole, "truth": part}
    with pytest.raises(InputError, match=rf'b0 of the {side} lacks the \w+ column "{lacks}", which other files have'):
        sr.evaluate(metrics=["rr"], **given, **asked)
    for column in (ds.field("u"), ds.field("i")):
        filtered = {name: dataset.filter(column.is_valid()) for name, dataset in given.items()}
        with pytest.raises(InputError, match="which other files have"):
            sr.evaluate(metrics=["rr"], **filtered, **asked)
    found = sr.evaluate(whole, ["rr"], **asked)
    assert found["rr"] == 1 / 3  # each file has x, which is not relevant, before y: x, x, y, y
