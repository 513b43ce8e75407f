"""Files that lack a column which others have: refused for every role and every condition, whatever names the files.

CSV and JSON are in :mod:`tests.cases.text_files`, and Spark's lane in :mod:`tests.spark.test_missing_columns`.
"""

from __future__ import annotations

import re
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
from sparkrank.sources.missing_columns import json_columns, orc_columns
from sparkrank.sources.stored_files import StoredFiles, named_in
from tests.unit.parquet_files import write

pytestmark = pytest.mark.same_without_loops

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


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("a = 'b'", ["a"]),
        ("a = 'it''s b' or b > 1", ["a", "b"]),
        (r"a = 'it\'s b'", ["a"]),
        ('a = "b"', ["a"]),
        ("`b` > 0", ["b"]),
        ("ab > 0 and t.B is null", ["b"]),
        ("a = 'c", ["a", "c"]),  # no text, for it does not end: Spark says so
        (None, []),
    ],
)
def test_columns_that_a_condition_names(where: str | None, named: list[str]) -> None:
    assert list(named_in(["a", "b", "c"], (), where)) == named


@pytest.mark.parametrize("lacks", ["u", "s", "y"])
@pytest.mark.parametrize("side", ["input", "truth"])
@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_file_of_a_dataset_of_arrow_lacks_nothing_either(tmp_path: Path, lacks: str, side: str, kind: str) -> None:
    if side == "truth" and lacks == "s":
        lacks = "i"
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


def test_footers_of_orc(tmp_path: Path) -> None:
    for name, rows in (("a", ROWS), ("b", without("y")), ("c", {"u": pa.array([], pa.string())})):
        orc.write_table(pa.table(rows), tmp_path / name)
    found = orc_columns(StoredFiles.at(str(tmp_path), "input", "orc"))
    assert found.names == tuple(ROWS)
    assert found.lacking == {"y": f"{tmp_path}/b", **dict.fromkeys(("i", "s", "surface"), "")}


LONG = 3 << 20  # beyond the first block, and within the next


@pytest.mark.parametrize(
    ("text", "by_lines", "has"),
    [
        ('{"s": 1}\n', True, True),
        ('{"s": null}\n', True, True),
        ('{"t": {"s": 1}}\n', True, False),
        ('{"t": "s"}\n', True, False),
        ('{"t": "\\"s\\": 1"}\n', True, False),
        ('{"t": 1}\n' * LONG + '{"s": 1}\n', True, True),
        ('{"t": 1}\n' * LONG, True, False),
        ('{"\\u0073": 1}\n', True, True),
        ("{'s': 1}\n", True, True),  # which Spark reads and Arrow does not
        ("{'t': 1}\n", True, False),
        ('[\n{\n"t":\n1,\n"s"\n:\n1}]', False, True),
        ('[\n{\n"t":\n1}]', False, False),
        ('[{"t": "' + "x" * LONG + '", "s": 1}]', False, True),
        ("[{s: 1}]", False, True),
        ("[{cats: 1}]", False, False),
        ("\n\n", True, None),
        ("", True, None),
    ],
    ids=lambda text: str(text)[:20],
)
def test_keys_of_json(tmp_path: Path, text: str, by_lines: bool, has: bool | None) -> None:
    """``has`` is None of a file without records, which lacks nothing."""
    (tmp_path / "a").write_text('{"s": 1, "t": 1}\n')
    (tmp_path / "b").write_text(text or " ")
    found = json_columns(StoredFiles.at(str(tmp_path), "input", "json"), {"s"}, by_lines)
    assert found.lacking == ({} if has else {"s": "" if has is None else f"{tmp_path}/b"})


def test_folders_of_lists_and_truth_that_are_one_value_and_not_written_alike(tmp_path: Path) -> None:
    """In numbers they meet, as 007 and 7; the same spelling, and others that nothing is joined by, are left alone."""
    asked = {"group": "u", "item": "i", "score": "s", "label": "y", "truth_columns": {"group": "v"}}
    cases = [("007", "7"), ("1", "1.0"), ("1.5", "1.50"), ("-0", "0"), ("+8", "8"), ("1e1", "10")]
    for index, (ours, theirs) in enumerate(cases):
        folder = tmp_path / str(index)
        write(folder / f"in/u={ours}/a.parquet", i=["x"], s=[0.5])
        write(folder / "in/u=22/a.parquet", i=["x"], s=[0.5])
        write(folder / f"truth/v={theirs}/a.parquet", i=["x"], y=[1])
        write(folder / "truth/v=22/a.parquet", i=["x"], y=[1])
        told = f'the input has the folder "u={ours}" and the truth the folder "v={theirs}", which are one value'
        if (ours, theirs) not in (("1", "1.0"), ("+8", "8"), ("1e1", "10")):  # types differ: told by these, or by Spark
            with pytest.raises(InputError, match=re.escape(told)):
                sr.evaluate(folder / "in", ["rr"], truth=folder / "truth", **asked)
        else:
            with pytest.raises((InputError, sr.SpecError)):
                sr.evaluate(folder / "in", ["rr"], truth=folder / "truth", **asked)
        found = sr.evaluate(folder / "in", ["rr"], truth=folder / "truth", partition_types="text", **asked)
        assert found.table["n_groups"].to_pylist() == [3]
    write(tmp_path / "same/u=007/day=01/a.parquet", i=["x"], s=[0.5])
    write(tmp_path / "truths/v=007/day=1/a.parquet", i=["x"], y=[1])
    assert sr.evaluate(tmp_path / "same", ["rr"], truth=tmp_path / "truths", **asked)["rr"] == 1.0
    with pytest.raises(InputError, match=r'folder "day=01" and the truth the folder "day=1", .* of the slice column'):
        sr.evaluate(tmp_path / "same", ["rr"], truth=tmp_path / "truths", slices=["day"], **asked)
