"""Reading Parquet: columns of folders and their types, schemas that differ, row groups of any size."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, SpecError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources.conditions import pushed_down
from sparkrank.sources.parquet import ParquetInput, read_split
from tests.support.commands import local_spec
from tests.support.parquet_files import at, rows_of, write


def test_a_folder_a_file_and_a_pattern(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        write(tmp_path / f"log/dt=2026-01-0{day}/part-0.parquet", a=[day])
    log = tmp_path / "log"
    assert rows_of(ParquetInput.at(str(log)), ["a", "dt"]) == [(n, date(2026, 1, n)) for n in (1, 2, 3)]
    assert rows_of(ParquetInput.at(f"file://{log}/dt=2026-01-02/part-0.parquet"), ["a"]) == [(2,)]
    for inside in ("dt=2026-01-02/part-0.parquet", "dt=2026-01-02", "dt=*", "*/*.parquet"):  # below them is no folder
        assert ParquetInput.at(f"{log}/{inside}").schema.names == ["a"]


def test_schemas_that_differ_meet_in_the_widest(tmp_path: Path) -> None:
    """A column that is null in every file is one of whole numbers."""
    write(tmp_path / "1.parquet", a=pa.array([1], pa.int32()), s=pa.array([0.5], pa.float32()), n=pa.nulls(1))
    write(tmp_path / "2.parquet", a=pa.array([2**40]), s=pa.array([0.25]), n=pa.nulls(1), extra=["x"])
    source = ParquetInput.at(str(tmp_path))
    kinds = {field.name: field.type for field in source.schema}
    assert kinds == {"a": pa.int64(), "s": pa.float64(), "n": pa.int32(), "extra": pa.string()}
    assert rows_of(source, ["a", "s", "n", "extra"]) == [(1, 0.5, None, None), (2**40, 0.25, None, "x")]
    write(tmp_path / "3.parquet", a=["x"])
    with pytest.raises(InputError, match=r"cannot be read as parquet: .*a"):
        ParquetInput.at(str(tmp_path))


TEXTS = pa.array(["x", None, "y"])
LISTS = pa.array([["x"], None, []])
HELD = {
    "large texts": TEXTS.cast(pa.large_string()),
    "views": TEXTS.cast(pa.string_view()),
    "a dictionary": TEXTS.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "a dictionary of large texts": TEXTS.dictionary_encode().cast(pa.dictionary(pa.int32(), pa.large_string())),
    "large lists": LISTS.cast(pa.large_list(pa.string())),
    "lists of large texts": LISTS.cast(pa.list_(pa.large_string())),
    "lists of one length": pa.array([["x", "y"], ["z", "z"]], pa.list_(pa.string(), 2)),  # null from pyarrow 26 on
}


def test_how_a_writer_held_its_values_does_not_matter(tmp_path: Path) -> None:
    """Parquet has texts of one kind; pandas writes categories so, and Polars large texts."""
    wrong = []
    for form, held in HELD.items():
        plain = LISTS if pa.types.is_nested(held.type) else TEXTS
        try:
            write(tmp_path / form / "1.parquet", a=held)
        except pa.ArrowNotImplementedError:  # which this Arrow does not write
            continue
        write(tmp_path / form / "2.parquet", a=plain)
        source = ParquetInput.at(str(tmp_path / form))
        rows = [row for (row,) in rows_of(source, ["a"])]
        if source.schema.field("a").type != plain.type or rows != held.to_pylist() + plain.to_pylist():
            wrong.append((form, source.schema, rows))
    assert wrong == []


NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
FOLDERS: list[tuple[list[str], list | None]] = [
    (["1", "02", NO_VALUE], [1, 2, None]),
    (["1", "3000000000", "-1"], [1, 3_000_000_000, -1]),
    (["1.5", "2", "1"], [1.5, 2.0, 1.0]),
    (["2026-01-01", "2026-01-02", NO_VALUE], [date(2026, 1, 1), date(2026, 1, 2), None]),
    (["2026-01-01", "a%2Fb", "1"], ["2026-01-01", "a/b", "1"]),
    (["2026%2D01%2D01", "2026-01-02", "2026-01-03"], [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)]),
    ([NO_VALUE], [None]),
    (["1.5", "2147483647", "-2147483648"], [1.5, 2**31 - 1.0, -(2.0**31)]),
    # texts
    *(
        (texts.split(), None)
        for texts in (
            "1e5 nan 1",
            "0x10 0x11 1",
            "1.5 2147483648 1",  # to Spark, bigint and double have no type but text
            "2026-02-30 2026-01-01 2026-01-02",
            "99999999999999999999 1 2",
            "1.2.3 1.10 2",  # versions
        )
    ),
]


def test_values_in_the_names_of_folders_have_the_types_of_spark(tmp_path: Path) -> None:
    for number, (folders, values) in enumerate(FOLDERS):
        log = tmp_path / f"{number}/key=x"  # names above the input, and those of its files, say nothing
        for place, folder in enumerate(folders):
            write(log / f"key={folder}/key=y.parquet", a=[place])
        assert sorted(rows_of(ParquetInput.at(str(log)), ["a", "key"])) == list(enumerate(values or folders))


def test_folders_say_what_files_say_too(tmp_path: Path) -> None:
    for place, day in enumerate(["2026-01-01", "2026-01-02", NO_VALUE], start=1):
        write(tmp_path / f"day={day}/a.parquet", day=["2020-05-05"], a=[place])
    read = ParquetInput.at(str(tmp_path))
    assert sorted(rows_of(read, ["a", "day"])) == [(1, date(2026, 1, 1)), (2, date(2026, 1, 2)), (3, None)]
    for condition, kept in (
        ("day = '2026-01-01'", [(1,)]),
        ("day > '2026-01-01' AND a > 0", [(2,)]),
        ("day IS NULL", [(3,)]),
        ("day = '2020-05-05'", []),
    ):
        assert rows_of(read, ["a"], pushed_down(condition, read.schema)) == kept, condition


def test_splits_hold_whole_row_groups_and_small_files_together(tmp_path: Path) -> None:
    """The largest come first, and those of one size in the order of their files."""
    write(tmp_path / "1.parquet", row_group_size=10, a=list(range(35)))  # row groups of 10, 10, 10 and 5
    write(tmp_path / "2.parquet", a=[35, 36])
    write(tmp_path / "3.parquet", a=pa.array([], pa.int64()))
    source = ParquetInput.at(str(tmp_path))
    assert source.file_rows == 37
    assert [split.rows for split in source.file_splits(20)] == [20, 17]
    assert [split.rows for split in source.file_splits(1)][:4] == [10, 10, 10, 5]
    assert [row for (row,) in rows_of(source, ["a"], split_rows=20)] == list(range(37))
    for name, rows in enumerate((3, 5, 3, 4)):
        write(tmp_path / f"other/{name}.parquet", a=[name] * rows)
    other = ParquetInput.at(str(tmp_path / "other"))
    assert [row for (row,) in rows_of(other, ["a"], split_rows=5)] == [1] * 5 + [3] * 4 + [0] * 3 + [2] * 3


def test_a_split_is_read_in_batches_and_its_file_named_if_it_cannot_be_read(tmp_path: Path) -> None:
    """A footer that is whole says nothing of the pages before it."""
    file = tmp_path / "1.parquet"
    write(file, row_group_size=10, a=list(range(1000)))
    source = ParquetInput.at(str(tmp_path))
    [split] = source.file_splits()
    rows = [table.num_rows for table in read_split(split, source.schema, at("a"), None, batch_rows=300)]
    assert rows == [300, 300, 300, 100]
    data = file.read_bytes()
    footer = len(data) - int.from_bytes(data[-8:-4], "little") - 8
    file.write_bytes(bytes(footer) + data[footer:])
    [split] = ParquetInput.at(str(tmp_path)).file_splits()
    with pytest.raises(InputError, match=r"1.parquet cannot be read: \w"):
        list(read_split(split, source.schema, at("a"), None))


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        ParquetInput.at(str(tmp_path))


@pytest.mark.parametrize("names", ["abc", "bac", "cba"])
def test_the_first_file_with_rows_that_lacks_a_column_is_named(tmp_path: Path, names: str) -> None:
    """Files without rows lack nothing, wherever they stand."""
    whole, lacking, empty = (tmp_path / f"{name}.parquet" for name in names)
    write(whole, a=[1], b=[1])
    write(empty, a=pa.array([], pa.int64()))
    assert ParquetInput.at(str(tmp_path)).lacking == {"b": ""}
    write(lacking, a=[2])
    write(tmp_path / "z.parquet", a=[3])
    assert ParquetInput.at(str(tmp_path)).lacking == {"b": str(lacking)}


ROLES = {"group": "user", "score": "score", "label": "label"}
SPELLED = ["7", "07", "007"]


def _write_users(path: Path) -> None:
    """Of each user two items, of which the second is relevant."""
    for user in SPELLED:
        write(path / f"user={user}/a.parquet", item=[1, 2], score=[0.5, 0.25], label=[0, 1])


def _spec(tmp_path: Path, **rows: Any) -> Spec:
    _write_users(tmp_path / "log")
    return local_spec(tmp_path, {"path": str(tmp_path / "log"), "columns": ROLES, **rows})


def test_texts_by_the_spec_and_by_a_call(tmp_path: Path) -> None:
    spec = _spec(tmp_path, partition_types="text")
    [metrics] = evaluate_day(spec, "2026-11-19", None, Stages()).metrics.to_pylist()
    assert (metrics["n_groups"], metrics["value"]) == (3, 1 / 2)
    groups = sr.evaluate(tmp_path / "log", ["rr"], partition_types="text", **ROLES).groups
    assert sorted(groups["user"].to_pylist()) == sorted(SPELLED)
    with pytest.raises(InputError, match=r'"user=007" and "user=07", which are one .*input.partition_types: text'):
        evaluate_day(_spec(tmp_path), "2026-11-19", None, Stages())


def test_texts_of_a_truth(tmp_path: Path) -> None:
    """Lists whose users are texts find those of the folders."""
    _write_users(tmp_path / "truth")
    write(tmp_path / "lists/a.parquet", user=["07", "007", "7"], item=[2, 2, 2], score=[1.0, 1.0, 1.0])
    write(tmp_path / "numbers/a.parquet", user=[7], item=[2], score=[1.0])
    asked = {"group": "user", "score": "score", "item": "item", "truth": tmp_path / "truth", "label": "label"}
    table = sr.evaluate(tmp_path / "lists", ["rr"], partition_types="text", **asked).table
    assert (table["n_groups"].to_pylist(), table["value"].to_pylist()) == ([3], [1.0])
    with pytest.raises(InputError, match=r'the truth has the folders "user=007" and "user=07".*truth.partition_types'):
        sr.evaluate(tmp_path / "numbers", ["rr"], **asked)


def test_values_of_no_role_are_kept_apart_too(tmp_path: Path) -> None:
    for hour in SPELLED:
        write(tmp_path / f"log/user={hour}/a.parquet", who=[1, 1], score=[0.5, 0.25], label=[0, 1])
    asked = {"group": "who", "score": "score", "label": "label"}
    with pytest.raises(InputError, match="which are one value of the column user"):
        sr.evaluate(tmp_path / "log", ["rr"], **asked)
    assert sr.evaluate(tmp_path / "log", ["rr"], partition_types="text", **asked).table["n_rows"].to_pylist() == [6]


def test_the_choice_changes_what_the_numbers_are_of(tmp_path: Path) -> None:
    inferred, text = (_spec(tmp_path, partition_types=types) for types in ("inferred", "text"))
    assert inferred.hash() != text.hash()
    assert inferred.source() == _spec(tmp_path).source()
    assert text.source() == f"{inferred.source()}, partition_types=text"
    lists = {"path": "lists", "columns": {"group": "user", "score": "score", "item": "item"}}
    truth = {"path": "truth", "columns": {"label": "label"}}
    inferred, text = (local_spec(tmp_path, lists, truth={**truth, "partition_types": t}) for t in ("inferred", "text"))
    assert inferred.hash() != text.hash()
    assert text.source() == f"{inferred.source()}, truth partition_types=text"


def test_texts_are_refused_where_there_are_no_folders_or_columns_have_types(tmp_path: Path) -> None:
    rows = pa.table({"user": ["7"], "score": [0.5], "label": [1]})
    with pytest.raises(SpecError, match="partition_types is text, but no path is given"):
        sr.evaluate(rows, ["rr"], partition_types="text", **ROLES)
    with pytest.raises(SpecError, match=r'partition_types is "txt", did you mean "text"\? \(allowed: inferred, text\)'):
        sr.evaluate(rows, ["rr"], partition_types="txt", **ROLES)  # type: ignore[arg-type]
    for source in ({"table": "impressions"}, {"path": "log", "format": "delta"}):
        told = r"has partition_types text, but (table impressions|format delta), whose columns"
        with pytest.raises(ValueError, match=told):
            local_spec(tmp_path, {**source, "columns": ROLES, "partition_types": "text"})
