"""SQL conditions pushed down to Parquet: the rows they keep, the row groups they read, what is left to Spark."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from sparkrank.sources.conditions import UntranslatableError, pushed_down
from sparkrank.sources.parquet import ParquetInput
from tests.support.parquet_files import rows_of, write

SCHEMA = pa.schema({"a": pa.int64(), "s": pa.float64(), "f": pa.float32(), "t": pa.string(), "d": pa.date32()})


def kept(folder: Path, condition: str) -> list[int]:
    """Column a of the rows for which the condition is true."""
    source = ParquetInput.at(str(folder))
    return [a for (a,) in rows_of(source, ["a"], pushed_down(condition, source.schema))]


PUSHED = {
    "a = 2": [2],
    "a <> 2 and t = 'it''s'": [1],
    "a >= 2 AND s < 0.5": [3],
    "a in (3, 9, 1)": [1, 3],
    "`t` IS NOT NULL AND d = '2026-01-02'": [2],
    "d > '2026-01-01'": [2],  # null > a day holds for no row
    "a = 2 and a = 3": [],
    "a in (1, 3) and s < 0.5": [3],
    "t is null": [3],
    "t is null and a = 1": [],
    " a  =2\n": [2],
    "`in` in (5, 6) and `in` <> 6": [1],  # in backquotes it is a column
}


def test_conditions_that_are_pushed_down(tmp_path: Path) -> None:
    days = pa.array(["2026-01-01", "2026-01-02", None]).cast(pa.date32())
    write(tmp_path / "1.parquet", a=[1, 2, 3], s=[0.5, 0.75, 0.25], t=["it's", "b", None], d=days, **{"in": [5, 6, 7]})
    assert {condition: kept(tmp_path, condition) for condition in PUSHED} == PUSHED


def test_whole_numbers_are_exact(tmp_path: Path) -> None:
    """2^53 + 1 is the first that no double is."""
    write(tmp_path / "1.parquet", a=[2**53, 2**53 + 1])
    whole = "9007199254740993"
    for condition in (f"a = {whole}", f"a = {whole}.0", "a > 9007199254740992", f"a in ({whole})", f"a in ({whole}.0)"):
        assert kept(tmp_path, condition) == [2**53 + 1]


NAN = math.nan
# As in Spark's SQL (its reference, "NaN Semantics") NaN is larger than any number, and -0.0 is 0.0. Statistics know
# nothing of NaN: of a row group with NaN and one number they say that all rows have the number.
FLOATS = {
    ((1.0, NAN, 7.0, None), 1): {"s > 5": [2, 3], "s >= 7": [2, 3], "s < 5": [1], "s <= 7": [1, 3], "s = 7": [3]},
    ((5.0, NAN, 5.0, 7.0, NAN, None), 2): {
        "s > 5": [2, 4, 5],
        "s >= 7": [2, 4, 5],
        "s <> 5": [2, 4, 5],
        "s != 7": [1, 2, 3, 5],
        "s <= 5": [1, 3],
        "s > 5 and s <> 7": [2, 5],
        "s > 5 and a < 5 and a > 1": [2, 4],
        "a in (1, 2) and s >= 5": [1, 2],
    },
    **{
        ((0.0, 0.0, -0.0, 5.0), size): {
            "s in (0)": [1, 2, 3],
            "s in (5, -0.0)": [1, 2, 3, 4],
            "s in (1, 2)": [],
            "s = 0": [1, 2, 3],
            "s <> 0": [4],
            "s < 0": [],
            "s >= 0": [1, 2, 3, 4],
        }
        for size in (1, 2, 4)
    },
}


def test_nan_is_larger_than_any_number_and_minus_zero_is_zero(tmp_path: Path) -> None:
    for place, ((floats, size), conditions) in enumerate(FLOATS.items()):
        folder = tmp_path / f"{place}"
        write(folder / "1.parquet", row_group_size=size, a=list(range(1, len(floats) + 1)), s=list(floats))
        assert {condition: kept(folder, condition) for condition in conditions} == conditions, (floats, size)


def test_row_groups_that_cannot_match_are_not_read(tmp_path: Path) -> None:
    """Ten of ten rows each; b is null in those from 0 to 49."""
    write(tmp_path / "1.parquet", row_group_size=10, a=list(range(100)), b=[None] * 50 + list(range(50)))
    source = ParquetInput.at(str(tmp_path))
    read = {"a >= 95": 10, "a in (3, 7)": 10, "a in (3, 57)": 20, "a = 42 and b is not null": 0}
    for condition, rows in (read | {"b is null": 50, "b is not null": 50}).items():
        splits = source.file_splits(where=pushed_down(condition, source.schema))
        assert sum(split.rows for split in splits) == rows, condition


UNDECIDED = {
    "": "an empty condition is not a column",
    "1 = a": "1 is not a column",
    "tt = 'de'": 'tt is not a column, did you mean "t"?',
    "a = 1 and": "an empty condition is not a column",
    "a = 2 or a = 1": "OR is not understood",
    "a = 2 + 1234567890 + 1234567890": "+ 1234567890 + 12345 is not understood",  # its first 20 characters
    "a < 9223372036854775808": "9223372036854775808 is not a value of type int64",  # 2^63
    "a in (1, 18446744073709551616)": "18446744073709551616 is not a value of type int64",  # 2^64
    r"t = 'a\tb'": r"'a\tb' has an escape",  # Spark's SQL reads a tab
    "d = '2026-02-30'": "'2026-02-30' is not a value of type date32[day]",
    "a = 1.5": "1.5 is not a value of type int64",
    "a = '1'": "'1' is compared with a column of type int64",
    "t = 1": "1 is compared with a column of type string",
    "f < 0.1": "0.1 is compared with a column of type float",  # as float32 it is not less to Spark
    "a =": "the condition on a is not understood",
    "a in ()": "a list is not understood",
    "a in (1": "the condition on a is not understood",
    "a = 1 = 1": "= is not understood",
    "a > -1AND a < 3": "-1AND a < 3 is not understood",  # which Spark's parser refuses
}


def test_what_only_spark_can_decide_is_named() -> None:
    for condition, told in UNDECIDED.items():
        with pytest.raises(UntranslatableError) as refused:
            pushed_down(condition, SCHEMA)
        assert str(refused.value) == told
