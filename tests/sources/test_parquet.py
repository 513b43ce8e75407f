"""Finding and reading Parquet: folders, patterns, schemas that differ, row groups of any size."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import InputError
from sparkrank.sources.conditions import pushed_down
from sparkrank.sources.parquet import ParquetInput, Split, read_split
from tests.support.parquet_files import at, rows_of, write


def test_a_folder_a_file_and_a_pattern(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        write(tmp_path / f"log/dt=2026-01-0{day}/part-0.parquet", a=[day])
    write(tmp_path / "log/_hidden/part.parquet", a=[9])
    (tmp_path / "log/_SUCCESS").touch()
    log = tmp_path / "log"
    assert rows_of(ParquetInput.at(str(log)), ["a", "dt"]) == [(n, date(2026, 1, n)) for n in (1, 2, 3)]
    assert rows_of(ParquetInput.at(f"{log}/dt=2026-01-02"), ["a"]) == [(2,)]
    assert rows_of(ParquetInput.at(f"file://{log}/dt=2026-01-02/part-0.parquet"), ["a"]) == [(2,)]
    assert rows_of(ParquetInput.at(f"{log}/dt=2026-01-0[13]"), ["a"]) == [(1,), (3,)]
    for mark in "^!":  # as Spark takes them
        assert rows_of(ParquetInput.at(f"{log}/dt=2026-01-0[{mark}2]"), ["a"]) == [(1,), (3,)]
    write(tmp_path / "log/part.parquet", a=[4])  # above the pattern, though what there is of its path matches
    assert rows_of(ParquetInput.at(f"{log}/*/*.parquet"), ["a"]) == [(1,), (2,), (3,)]
    (tmp_path / "log/part.parquet").unlink()
    for inside in ("dt=2026-01-02/part-0.parquet", "dt=2026-01-02", "dt=*", "*/*.parquet"):  # below them is no folder
        assert ParquetInput.at(f"{log}/{inside}").schema.names == ["a"]


@pytest.mark.parametrize("path", ["nowhere", "empty", "log/*.nothing"])
def test_nothing_there(tmp_path: Path, path: str) -> None:
    write(tmp_path / "log/a.parquet", a=[1])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there is no parquet input at"):
        ParquetInput.at(str(tmp_path / path))


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        ParquetInput.at(str(tmp_path))


def test_schemas_that_differ_meet_in_the_widest(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=pa.array([1], pa.int32()), s=pa.array([0.5], pa.float32()))
    write(tmp_path / "2.parquet", a=pa.array([2**40]), s=pa.array([0.25]), extra=["x"])
    source = ParquetInput.at(str(tmp_path))
    assert (source.schema.field("a").type, source.schema.field("s").type) == (pa.int64(), pa.float64())
    assert rows_of(source, ["a", "s", "extra"]) == [(1, 0.5, None), (2**40, 0.25, "x")]


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
    try:
        write(tmp_path / "1.parquet", a=held)
    except pa.ArrowNotImplementedError as error:
        pytest.skip(f"this Arrow writes no such texts: {error}")
    write(tmp_path / "2.parquet", a=["z"])
    source = ParquetInput.at(str(tmp_path))
    assert source.schema.field("a").type == pa.string()
    assert rows_of(source, ["a"]) == [("x",), (None,), ("y",), ("z",)]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
@pytest.mark.parametrize("texts", [pa.string(), pa.large_string()], ids=str)
def test_how_a_writer_held_its_arrays_does_not_matter(tmp_path: Path, kind, texts: pa.DataType) -> None:
    write(tmp_path / "1.parquet", a=pa.array([["x"], None, []], kind(texts)))
    write(tmp_path / "2.parquet", a=[["z"]])
    source = ParquetInput.at(str(tmp_path))
    assert source.schema.field("a").type == pa.list_(pa.string())
    assert rows_of(source, ["a"]) == [(["x"],), (None,), ([],), (["z"],)]


def test_arrays_of_one_length_are_arrays(tmp_path: Path) -> None:
    """Without a null among them: that is what pyarrow before 26 does not read."""
    write(tmp_path / "1.parquet", a=pa.array([[1, 2], [4, 5]], pa.list_(pa.int32(), 2)))
    write(tmp_path / "2.parquet", a=[[3]])
    source = ParquetInput.at(str(tmp_path))
    assert source.schema.field("a").type == pa.list_(pa.int64())
    assert rows_of(source, ["a"]) == [([1, 2],), ([4, 5],), ([3],)]


FOLDERS = [
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
    (["1.2.3", "1.10", "2"], ["1.2.3", "1.10", "2"]),  # versions
]


def test_values_in_the_names_of_folders_have_the_types_of_spark(tmp_path: Path) -> None:
    for number, (folders, values) in enumerate(FOLDERS):
        log = tmp_path / f"{number}/key=x"  # names above the input, and those of its files, say nothing
        for place, folder in enumerate(folders):
            write(log / f"key={folder}/key=y.parquet", a=[place])
        assert sorted(rows_of(ParquetInput.at(str(log)), ["a", "key"])) == list(enumerate(values))


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
        write(tmp_path / f"day={day}/a.parquet", day=["2020-05-05"], a=[place])
    read = ParquetInput.at(str(tmp_path))
    assert sorted(rows_of(read, ["a", "day"])) == [(1, date(2026, 1, 1)), (2, date(2026, 1, 2)), (3, None)]
    where = pushed_down(condition, read.schema)
    assert [row[0] for row in rows_of(read, ["a"], where)] == kept


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("more/b.parquet", "more/b.parquet in a folder that is not named key=value"),
        ("day=1/b.parquet", "has a.parquet and day=1/b"),
    ],
)
def test_files_of_which_spark_would_leave_some_out_are_refused(tmp_path: Path, other: str, sentence: str) -> None:
    write(tmp_path / "a.parquet", a=[1])
    write(tmp_path / other, a=[2])
    with pytest.raises(InputError, match=sentence):
        ParquetInput.at(str(tmp_path))
    assert rows_of(ParquetInput.at(f"{tmp_path}/*.parquet"), ["a"]) == [(1,)]


def test_folders_of_several_keys_are_refused(tmp_path: Path) -> None:
    for key in ("day", "hour", "week"):
        write(tmp_path / f"{key}=1/a.parquet", a=[1])
    with pytest.raises(InputError, match=r"has day=1/a.parquet and hour=1/a.parquet, in folders of different columns"):
        ParquetInput.at(str(tmp_path))


@pytest.mark.parametrize("path", ["LOG", "LOG/", "file:LOG/", "file://LOG", "file://LOG/"])
def test_what_spark_takes_for_hidden_is_skipped_and_nothing_else(tmp_path: Path, path: str) -> None:
    log = tmp_path / "_by/.log"  # where the input itself lies does not matter
    write(log / "_day=1/a.parquet", a=[1])  # a partition column may begin with an underscore
    for hidden in ("_temporary/a.parquet", ".b.parquet", "_c.parquet"):
        write(log / hidden, a=[9])
        write(log / "_day=1" / hidden, a=[9])
    assert rows_of(ParquetInput.at(path.replace("LOG", str(log))), ["a", "_day"]) == [(1, 1)]
    assert rows_of(ParquetInput.at(path.replace("LOG", f"{log}/_day=[12]")), ["a"]) == [(1,)]


def test_a_column_that_is_null_in_every_file_is_one_of_whole_numbers(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=pa.nulls(2), b=pa.nulls(2))
    write(tmp_path / "2.parquet", a=pa.nulls(1), b=["x"])
    source = ParquetInput.at(str(tmp_path))
    assert source.schema.types == [pa.int32(), pa.string()]
    assert rows_of(source, ["a", "b"]) == [(None, None), (None, None), (None, "x")]


def test_schemas_that_cannot_meet_are_named(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=[1])
    write(tmp_path / "2.parquet", a=["x"])
    with pytest.raises(InputError, match=r"cannot be read as parquet: .*a"):
        ParquetInput.at(str(tmp_path))


def test_splits_hold_whole_row_groups_and_small_files_together(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", row_group_size=10, a=list(range(35)))  # row groups of 10, 10, 10 and 5
    write(tmp_path / "2.parquet", a=[35, 36])
    write(tmp_path / "3.parquet", a=pa.array([], pa.int64()))
    source = ParquetInput.at(str(tmp_path))
    assert source.file_rows == 37
    assert [split.rows for split in source.file_splits(20)] == [20, 17]
    assert [split.rows for split in source.file_splits(1)][:4] == [10, 10, 10, 5]
    assert [row for (row,) in rows_of(source, ["a"], split_rows=20)] == list(range(37))


def test_the_largest_splits_come_first(tmp_path: Path) -> None:
    """Those of one size stay in the order of their files."""
    for name, rows in (("1", 3), ("2", 5), ("3", 3), ("4", 4)):
        write(tmp_path / f"{name}.parquet", a=[int(name)] * rows)
    source = ParquetInput.at(str(tmp_path))
    assert [split.rows for split in source.file_splits(5)] == [5, 4, 3, 3]
    assert [row for (row,) in rows_of(source, ["a"], split_rows=5)] == [2] * 5 + [4] * 4 + [1] * 3 + [3] * 3


def test_a_table_is_read_in_batches(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", row_group_size=10, a=list(range(100)))
    source = ParquetInput.at(str(tmp_path))
    [split] = source.file_splits()
    sizes = [table.num_rows for table in read_split(split, source.schema, at("a"), None, batch_rows=30)]
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
    write(tmp_path / "1.parquet", row_group_size=100, a=list(range(200)))
    source = ParquetInput.at(str(tmp_path))
    [split] = travel(source.file_splits())
    assert sum(table.num_rows for table in read_split(split, source.schema, at("a"), None)) == 200
    [split] = travel(source.file_splits())
    write(tmp_path / "new", row_group_size=row_group_size, a=list(range(1000, 1000 + rows)))
    (tmp_path / "new").replace(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"1.parquet (was written anew while the job ran|cannot be read)"):
        list(read_split(split, source.schema, at("a"), None))


def test_a_file_deleted_under_the_job_is_named(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=[1])
    source = ParquetInput.at(str(tmp_path))
    [split] = source.file_splits()
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(InputError, match=r"1.parquet was deleted while the job ran"):
        list(read_split(split, source.schema, at("a"), None))


@pytest.mark.parametrize("broken", ["pages", "length"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, broken: str) -> None:
    """A footer that is whole says nothing of the pages before it, nor of a file that is being written again."""
    file = tmp_path / "1.parquet"
    write(file, a=list(range(1000)))
    data = file.read_bytes()
    if broken == "pages":
        file.write_bytes(bytes(len(data) - 1000) + data[-1000:])
    source = ParquetInput.at(str(tmp_path))
    [split] = source.file_splits()
    if broken == "length":
        file.write_bytes(data[: len(data) // 2])
    told = r"cannot be read: \w" if broken == "pages" else "was written anew while the job ran"
    with pytest.raises(InputError, match=f"1.parquet {told}"):
        list(read_split(split, source.schema, at("a"), None))


@pytest.mark.parametrize("names", ["abc", "bac", "cab", "acb", "bca", "cba"])
def test_the_first_file_with_rows_that_lacks_a_column_is_named(tmp_path: Path, names: str) -> None:
    """Files without rows lack nothing, wherever they stand."""
    whole, lacking, empty = (tmp_path / f"{name}.parquet" for name in names)
    write(whole, a=[1], b=[1])
    write(empty, a=pa.array([], pa.int64()))
    assert ParquetInput.at(str(tmp_path)).lacking == {"b": ""}
    write(lacking, a=[2])
    assert ParquetInput.at(str(tmp_path)).lacking == {"b": str(lacking)}
    write(tmp_path / "z.parquet", a=[3])
    assert ParquetInput.at(str(tmp_path)).lacking == {"b": str(lacking)}


def test_rows_of_arrays_count_by_their_elements(tmp_path: Path) -> None:
    """Nine rows are not many, but a bucket has a row for each of their elements."""
    rows = pa.table({"u": range(9), "items": [list(range(10))] * 8 + [[]], "true": [[1, 2]] * 7 + [None, [3]]})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=3)
    source = ParquetInput.at(str(tmp_path))
    # by the footer, in which an empty array is one element: 8 x 10 + 1 items, and 7 x 2 + 1 + 1 true ones
    assert source.rows((), at("items", "true")) == 81 + 16
    assert source.rows((), {}) == 9
    assert [split.rows for split in source.file_splits(36, arrays=["items", "true"])] == [3, 3, 3]
    assert [split.rows for split in source.file_splits(72, arrays=["items", "true"])] == [6, 3]
    assert [split.rows for split in source.file_splits(36)] == [9]
