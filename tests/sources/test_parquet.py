"""Reading Parquet: columns of folders, schemas that differ, row groups of any size."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from sparkrank.base.errors import InputError
from sparkrank.sources.conditions import pushed_down
from sparkrank.sources.parquet import ParquetInput, read_split
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
