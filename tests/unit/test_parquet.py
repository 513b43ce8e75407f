"""Finding and reading Parquet: folders, patterns, schemas that differ, row groups of any size."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.engine.conditions import UntranslatableError, pushed_down
from sparkrank.engine.parquet import ParquetInput, Split, read_split
from sparkrank.errors import InputError


def _write(path: Path, row_group_size: int | None = None, **columns) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)


def _rows(source: ParquetInput, columns: list[str], where=None, **settings) -> list[tuple]:
    tables = [
        table
        for split in source.splits(**settings, where=where)
        for table in read_split(split, source.schema, columns, where)
    ]
    return [tuple(row.values()) for table in tables for row in table.select(columns).to_pylist()]


def test_a_folder_a_file_and_a_pattern(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        _write(tmp_path / f"log/dt=2026-01-0{day}/part-0.parquet", a=[day])
    _write(tmp_path / "log/_hidden/part.parquet", a=[9])
    (tmp_path / "log/_SUCCESS").touch()
    (tmp_path / "log/dt=2026-01-02/part-1.parquet").touch()  # a file without a byte holds no row
    log = tmp_path / "log"
    assert _rows(ParquetInput.at(str(log)), ["a", "dt"]) == [(n, date(2026, 1, n)) for n in (1, 2, 3)]
    assert _rows(ParquetInput.at(f"{log}/dt=2026-01-02"), ["a"]) == [(2,)]
    assert _rows(ParquetInput.at(f"file://{log}/dt=2026-01-02/part-0.parquet"), ["a"]) == [(2,)]
    assert _rows(ParquetInput.at(f"{log}/dt=2026-01-0[13]"), ["a"]) == [(1,), (3,)]
    for mark in "^!":  # as Spark takes them
        assert _rows(ParquetInput.at(f"{log}/dt=2026-01-0[{mark}2]"), ["a"]) == [(1,), (3,)]
    _write(tmp_path / "log/part.parquet", a=[4])  # above the pattern, though what there is of its path matches
    assert _rows(ParquetInput.at(f"{log}/*/*.parquet"), ["a"]) == [(1,), (2,), (3,)]
    (tmp_path / "log/part.parquet").unlink()
    for inside in ("dt=2026-01-02/part-0.parquet", "dt=2026-01-02", "dt=*", "*/*.parquet"):  # below them is no folder
        assert ParquetInput.at(f"{log}/{inside}").schema.names == ["a"]


@pytest.mark.parametrize("path", ["nowhere", "empty", "log/*.nothing"])
def test_nothing_there(tmp_path: Path, path: str) -> None:
    _write(tmp_path / "log/a.parquet", a=[1])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there is no parquet input at"):
        ParquetInput.at(str(tmp_path / path))


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        ParquetInput.at(str(tmp_path))


def test_schemas_that_differ_meet_in_the_widest(tmp_path: Path) -> None:
    _write(tmp_path / "1.parquet", a=pa.array([1], pa.int32()), s=pa.array([0.5], pa.float32()))
    _write(tmp_path / "2.parquet", a=pa.array([2**40]), s=pa.array([0.25]), extra=["x"])
    source = ParquetInput.at(str(tmp_path))
    assert (source.schema.field("a").type, source.schema.field("s").type) == (pa.int64(), pa.float64())
    assert _rows(source, ["a", "s", "extra"]) == [(1, 0.5, None), (2**40, 0.25, "x")]


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_how_a_writer_held_its_texts_does_not_matter(tmp_path: Path, kind: pa.DataType) -> None:
    """Parquet has texts of one kind; pandas writes categories so, and Polars large texts."""
    texts = pa.array(["x", None, "y"])
    held = texts.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else texts.cast(kind)
    _write(tmp_path / "1.parquet", a=held)
    _write(tmp_path / "2.parquet", a=["z"])
    source = ParquetInput.at(str(tmp_path))
    assert source.schema.field("a").type == pa.string()
    assert _rows(source, ["a"]) == [("x",), (None,), ("y",), ("z",)]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
@pytest.mark.parametrize("texts", [pa.string(), pa.large_string()], ids=str)
def test_how_a_writer_held_its_arrays_does_not_matter(tmp_path: Path, kind, texts: pa.DataType) -> None:
    _write(tmp_path / "1.parquet", a=pa.array([["x"], None, []], kind(texts)))
    _write(tmp_path / "2.parquet", a=[["z"]])
    source = ParquetInput.at(str(tmp_path))
    assert source.schema.field("a").type == pa.list_(pa.string())
    assert _rows(source, ["a"]) == [(["x"],), (None,), ([],), (["z"],)]


@pytest.mark.parametrize(
    ("folders", "values"),
    [
        (["1", "02", "__HIVE_DEFAULT_PARTITION__"], [1, 2, None]),
        (["1", "3000000000", "-1"], [1, 3_000_000_000, -1]),
        (["1.5", "2", "1"], [1.5, 2.0, 1.0]),
        (["2026-01-01", "2026-01-02", "__HIVE_DEFAULT_PARTITION__"], [date(2026, 1, 1), date(2026, 1, 2), None]),
        (["2026-01-01", "a%2Fb", "1"], ["2026-01-01", "a/b", "1"]),
        (["2026%2D01%2D01", "2026-01-02", "2026-01-03"], [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)]),
        (["__HIVE_DEFAULT_PARTITION__"], [None]),
        (["1e5", "nan", "1"], ["1e5", "nan", "1"]),
        (["0x10", "0x11", "1"], ["0x10", "0x11", "1"]),
        (["1.5", "2147483647", "-2147483648"], [1.5, 2**31 - 1.0, -(2.0**31)]),
        (["1.5", "2147483648", "1"], ["1.5", "2147483648", "1"]),  # to Spark, bigint and double have no type but text
        (["2026-02-30", "2026-01-01", "2026-01-02"], ["2026-02-30", "2026-01-01", "2026-01-02"]),
        (["99999999999999999999", "1", "2"], ["99999999999999999999", "1", "2"]),
    ],
)
def test_values_in_the_names_of_folders_have_the_types_of_spark(tmp_path: Path, folders: list, values: list) -> None:
    log = tmp_path / "key=x"  # names above the input, and those of its files, say nothing
    for place, folder in enumerate(folders):
        _write(log / f"key={folder}/key=y.parquet", a=[place])
    assert sorted(_rows(ParquetInput.at(str(log)), ["a", "key"])) == list(enumerate(values))


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("day = '2026-01-01'", [1]),
        ("day > '2026-01-01' AND a > 0", [2]),
        ("day IS NULL", [3]),
        ("day = '2020-05-05'", []),
    ],
)
def test_folders_say_what_files_say_too(tmp_path: Path, condition: str, kept: list[int]) -> None:
    for place, day in enumerate(["2026-01-01", "2026-01-02", "__HIVE_DEFAULT_PARTITION__"], start=1):
        _write(tmp_path / f"day={day}/a.parquet", day=["2020-05-05"], a=[place])
    read = ParquetInput.at(str(tmp_path))
    assert sorted(_rows(read, ["a", "day"])) == [(1, date(2026, 1, 1)), (2, date(2026, 1, 2)), (3, None)]
    where = pushed_down(condition, read.schema)
    assert [row[0] for row in _rows(read, ["a"], where)] == kept


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("more/b.parquet", "more/b.parquet in a folder that is no key=value"),
        ("day=1/b.parquet", "has a.parquet and day=1/b"),
    ],
)
def test_files_of_which_spark_would_leave_some_out_are_refused(tmp_path: Path, other: str, sentence: str) -> None:
    _write(tmp_path / "a.parquet", a=[1])
    _write(tmp_path / other, a=[2])
    with pytest.raises(InputError, match=sentence):
        ParquetInput.at(str(tmp_path))
    assert _rows(ParquetInput.at(f"{tmp_path}/*.parquet"), ["a"]) == [(1,)]


def test_folders_of_several_keys_are_refused(tmp_path: Path) -> None:
    for key in ("day", "hour", "week"):
        _write(tmp_path / f"{key}=1/a.parquet", a=[1])
    with pytest.raises(InputError, match=r"has day=1/a.parquet and hour=1/a.parquet, in folders of different columns"):
        ParquetInput.at(str(tmp_path))


@pytest.mark.parametrize("path", ["LOG", "LOG/", "file:LOG/", "file://LOG", "file://LOG/"])
def test_what_spark_takes_for_hidden_is_skipped_and_nothing_else(tmp_path: Path, path: str) -> None:
    log = tmp_path / "_by/.log"  # where the input itself lies does not matter
    _write(log / "_day=1/a.parquet", a=[1])  # a partition column may begin with an underscore
    for hidden in ("_temporary/a.parquet", ".b.parquet", "_c.parquet", "d.parquet._COPYING_"):
        _write(log / hidden, a=[9])
        _write(log / "_day=1" / hidden, a=[9])
    assert _rows(ParquetInput.at(path.replace("LOG", str(log))), ["a", "_day"]) == [(1, 1)]
    assert _rows(ParquetInput.at(path.replace("LOG", f"{log}/_day=[12]")), ["a"]) == [(1,)]


def test_a_column_that_is_null_in_every_file_is_one_of_whole_numbers(tmp_path: Path) -> None:
    _write(tmp_path / "1.parquet", a=pa.nulls(2), b=pa.nulls(2))
    _write(tmp_path / "2.parquet", a=pa.nulls(1), b=["x"])
    source = ParquetInput.at(str(tmp_path))
    assert source.schema.types == [pa.int32(), pa.string()]
    assert _rows(source, ["a", "b"]) == [(None, None), (None, None), (None, "x")]


def test_schemas_that_cannot_meet_are_named(tmp_path: Path) -> None:
    _write(tmp_path / "1.parquet", a=[1])
    _write(tmp_path / "2.parquet", a=["x"])
    with pytest.raises(InputError, match=r"cannot be read as parquet: .*a"):
        ParquetInput.at(str(tmp_path))


def test_splits_hold_whole_row_groups_and_small_files_together(tmp_path: Path) -> None:
    _write(tmp_path / "1.parquet", row_group_size=10, a=list(range(35)))  # row groups of 10, 10, 10 and 5
    _write(tmp_path / "2.parquet", a=[35, 36])
    _write(tmp_path / "3.parquet", a=pa.array([], pa.int64()))
    source = ParquetInput.at(str(tmp_path))
    assert source.rows == 37
    assert [split.rows for split in source.splits(20)] == [20, 17]
    assert [split.rows for split in source.splits(1)][:4] == [10, 10, 10, 5]
    assert [row for (row,) in _rows(source, ["a"], split_rows=20)] == list(range(37))


def test_a_table_is_read_in_batches(tmp_path: Path) -> None:
    _write(tmp_path / "1.parquet", row_group_size=10, a=list(range(100)))
    source = ParquetInput.at(str(tmp_path))
    [split] = source.splits()
    sizes = [table.num_rows for table in read_split(split, source.schema, ["a"], None, batch_rows=30)]
    assert sizes == [30, 30, 30, 10]


@pytest.mark.parametrize(
    ("rows", "row_group_size"), [(400, 100), (200, 200), (50, 50), (200, 100)], ids=["more", "joined", "fewer", "other"]
)
@pytest.mark.parametrize("travel", [copy.deepcopy, list], ids=["by a task", "here"])
def test_a_file_written_anew_under_the_job_is_named(
    tmp_path: Path, rows: int, row_group_size: int, travel: Callable[[list[Split]], list[Split]]
) -> None:
    """A task reads the footer again, and the row groups of the plan may be some of those of the new file.

    A copy is made as for a task, by pickling the fragment.
    """
    _write(tmp_path / "1.parquet", row_group_size=100, a=list(range(200)))
    source = ParquetInput.at(str(tmp_path))
    [split] = travel(source.splits())
    assert sum(table.num_rows for table in read_split(split, source.schema, ["a"], None)) == 200
    [split] = travel(source.splits())
    _write(tmp_path / "new", row_group_size=row_group_size, a=list(range(1000, 1000 + rows)))
    (tmp_path / "new").replace(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"1.parquet (was written anew while the job ran|cannot be read)"):
        list(read_split(split, source.schema, ["a"], None))


def test_a_file_deleted_under_the_job_is_named(tmp_path: Path) -> None:
    _write(tmp_path / "1.parquet", a=[1])
    source = ParquetInput.at(str(tmp_path))
    [split] = source.splits()
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(InputError, match=r"1.parquet was deleted while the job ran"):
        list(read_split(split, source.schema, ["a"], None))


@pytest.mark.parametrize("broken", ["pages", "length"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, broken: str) -> None:
    """A footer that is whole says nothing of the pages before it, nor of a file that is being written again."""
    file = tmp_path / "1.parquet"
    _write(file, a=list(range(1000)))
    source = ParquetInput.at(str(tmp_path))
    [split] = source.splits()
    data = file.read_bytes()
    file.write_bytes(bytes(len(data) - 1000) + data[-1000:] if broken == "pages" else data[: len(data) // 2])
    with pytest.raises(InputError, match=r"1.parquet cannot be read: \w"):
        list(read_split(split, source.schema, ["a"], None))


SCHEMA = pa.schema({"a": pa.int64(), "s": pa.float64(), "f": pa.float32(), "t": pa.string(), "d": pa.date32()})


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("a = 2", [2]),
        ("a <> 2 and t = 'it''s'", [1]),
        ("a >= 2 AND s < 0.5", [3]),
        ("a in (1, 3)", [1, 3]),
        ("a in (3, 9, 1)", [1, 3]),
        ("t is null", [3]),
        ("`t` IS NOT NULL AND d = '2026-01-02'", [2]),
        ("d > '2026-01-01'", [2]),  # null > a day holds for no row
        ("a = 2 and a = 3", []),
        ("a in (1, 3) and s < 0.5", [3]),
        ("t is null and a = 1", []),
        ("t is not null and a = 2", [2]),
        (" a  =2\n", [2]),
        ("`in` in (5, 6) and `in` <> 6", [1]),  # in backquotes it is a column
    ],
)
def test_conditions_that_are_pushed_down(tmp_path: Path, condition: str, kept: list[int]) -> None:
    days = pa.array(["2026-01-01", "2026-01-02", None]).cast(pa.date32())
    _write(tmp_path / "1.parquet", a=[1, 2, 3], s=[0.5, 0.75, 0.25], t=["it's", "b", None], d=days, **{"in": [5, 6, 7]})
    source = ParquetInput.at(str(tmp_path))
    where = pushed_down(condition, source.schema)
    assert [a for (a,) in _rows(source, ["a"], where)] == kept


def test_whole_numbers_are_exact(tmp_path: Path) -> None:
    """2^53 + 1 is the first that no double is."""
    _write(tmp_path / "1.parquet", a=[2**53, 2**53 + 1])
    source = ParquetInput.at(str(tmp_path))
    whole = "9007199254740993"
    for condition in (f"a = {whole}", f"a = {whole}.0", "a > 9007199254740992", f"a in ({whole})", f"a in ({whole}.0)"):
        assert _rows(source, ["a"], pushed_down(condition, source.schema)) == [(2**53 + 1,)]


@pytest.mark.parametrize(
    ("condition", "kept"), [("s > 5", [2, 3]), ("s >= 7", [2, 3]), ("s < 5", [1]), ("s <= 7", [1, 3]), ("s = 7", [3])]
)
def test_nan_is_larger_than_any_number(tmp_path: Path, condition: str, kept: list[int]) -> None:
    """As in Spark's SQL (its reference, "NaN Semantics"), also in a row group of which statistics know no number."""
    _write(tmp_path / "1.parquet", row_group_size=1, a=[1, 2, 3, 4], s=[1.0, math.nan, 7.0, None])
    source = ParquetInput.at(str(tmp_path))
    assert [a for (a,) in _rows(source, ["a"], pushed_down(condition, source.schema))] == kept


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("s > 5", [2, 4, 5]),
        ("s >= 7", [2, 4, 5]),
        ("s <> 5", [2, 4, 5]),
        ("s != 7", [1, 2, 3, 5]),
        ("s <= 5", [1, 3]),
        ("s = 5", [1, 3]),
        ("s > 5 and s <> 7", [2, 5]),
        ("s > 5 and a < 5 and a > 1", [2, 4]),
        ("a in (1, 2) and s >= 5", [1, 2]),
    ],
)
def test_nan_is_found_beside_one_number(tmp_path: Path, condition: str, kept: list[int]) -> None:
    """Of a row group whose least and largest number are one, NaN or not, the statistics say that all rows have it."""
    _write(tmp_path / "1.parquet", row_group_size=2, a=[1, 2, 3, 4, 5, 6], s=[5.0, math.nan, 5.0, 7.0, math.nan, None])
    source = ParquetInput.at(str(tmp_path))
    where = pushed_down(condition, source.schema)
    assert [a for (a,) in _rows(source, ["a"], where)] == kept


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("s in (0)", [1, 2, 3]),
        ("s in (5, -0.0)", [1, 2, 3, 4]),
        ("s in (1, 2)", []),
        ("s = 0", [1, 2, 3]),
        ("s <> 0", [4]),
        ("s < 0", []),
        ("s >= 0", [1, 2, 3, 4]),
    ],
)
@pytest.mark.parametrize("row_group_size", [1, 2, 4])
def test_minus_zero_is_zero(tmp_path: Path, row_group_size: int, condition: str, kept: list[int]) -> None:
    """As in SQL; the statistics of a row group of zeros say that they lie between -0.0 and 0.0."""
    _write(tmp_path / "1.parquet", row_group_size=row_group_size, a=[1, 2, 3, 4], s=[0.0, 0.0, -0.0, 5.0])
    source = ParquetInput.at(str(tmp_path))
    where = pushed_down(condition, source.schema)
    assert [a for (a,) in _rows(source, ["a"], where)] == kept


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("a >= 95", 10),
        ("a in (3, 7)", 10),
        ("a in (3, 57)", 20),
        ("a = 42 and b is not null", 0),
        ("b is null", 50),
        ("b is not null", 50),
    ],
)
def test_row_groups_that_cannot_match_are_not_read(tmp_path: Path, condition: str, rows: int) -> None:
    """Ten of ten rows each; b is null in those from 0 to 49."""
    _write(tmp_path / "1.parquet", row_group_size=10, a=list(range(100)), b=[None] * 50 + list(range(50)))
    source = ParquetInput.at(str(tmp_path))
    assert sum(split.rows for split in source.splits(where=pushed_down(condition, source.schema))) == rows


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "a = 1 or a = 2",
        "not a = 1",
        "b = 1",
        "a = 'x'",
        "a = '1'",
        "t = 1",
        "lower(t) = 'x'",
        "a + 1 = 2",
        "a = 1.5",
        "f < 0.1",  # which Spark compares as float64, to which 0.1 as float32 is not less
        "a =",
        "a in ()",
        "a in (1",
        "a in (1 2)",
        "a < (1)",
        "a = 1 = 1",
        "a > -1AND a < 3",  # which Spark's parser refuses
    ],
)
def test_conditions_that_only_spark_can_decide(condition: str) -> None:
    with pytest.raises(UntranslatableError):
        pushed_down(condition, SCHEMA)


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("1 = a", "1 is not a column"),
        ("tt = 'de'", 'tt is not a column, did you mean "t"?'),
        ("a = 1 and", "an empty condition is not a column"),
        ("a = 2 or a = 1", "OR is not understood"),
        ("a = 2 + a", "+ a is not understood"),
        ("a = 2 + 1234567890 + 1234567890", "+ 1234567890 + 12345 is not understood"),  # its first 20 characters
        ("a < 9223372036854775808", "9223372036854775808 is no value of type int64"),  # 2^63
        ("a in (1, 18446744073709551616)", "18446744073709551616 is no value of type int64"),  # 2^64
        (r"t = 'a\tb'", r"'a\tb' has an escape"),  # Spark's SQL reads a tab
        ("d = '2026-02-30'", "'2026-02-30' is no value of type date32[day]"),
    ],
)
def test_what_only_spark_can_decide_is_named(condition: str, sentence: str) -> None:
    with pytest.raises(UntranslatableError) as told:
        pushed_down(condition, SCHEMA)
    assert str(told.value) == sentence
