"""Tables of whatever library, however their values lie in memory; NaN and ranks from 0, which say two things."""

from __future__ import annotations

import decimal
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sparkrank as sr

ROWS = pa.table({"user": ["a", "a", "b"], "score": [0.5, 0.25, 0.75], "label": [0, 1, 1], "kind": ["x", "y", "x"]})
ROLES = {"group": "user", "score": "score", "label": "label", "slices": ["kind"]}
POLARS = pl.from_arrow(ROWS)
PANDAS = ROWS.to_pandas()
NESTED = pa.table({"row": ROWS.to_struct_array()})


def _in_files(folder: Path) -> ds.Dataset:
    for place in range(3):
        pq.write_table(ROWS.slice(place, 1), folder / f"{place}.parquet")
    return ds.dataset(folder)


GIVEN = {
    "polars": lambda folder: POLARS,
    "lazy": lambda folder: POLARS.lazy().filter(pl.col("score") > 0),
    "lazy of files": lambda folder: pl.scan_parquet([str(file) for file in _in_files(folder).files]),
    "odd polars": lambda folder: POLARS.with_columns(odd=pl.lit(1).cast(pl.Int128)),
    "odd lazy": lambda folder: POLARS.lazy().with_columns(odd=pl.lit(1).cast(pl.Int128)),
    "dataset": _in_files,
    "dataset in memory": lambda folder: ds.dataset(ROWS),
    "reader": lambda folder: pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches(2)),
    "batch": lambda folder: ROWS.to_batches()[0],
    "index": lambda folder: PANDAS.set_index("user"),
    "levels": lambda folder: PANDAS.set_index(["kind", "user"]),
    "level and column": lambda folder: PANDAS.set_index("user", drop=False),
    "unnamed index": lambda folder: PANDAS.set_axis([7, 7, 7]),
    "odd pandas": lambda folder: PANDAS.assign(odd=[1j, object(), {}]),
}


def test_rows_of_any_library(tmp_path: Path) -> None:
    expected = repr(sr.evaluate(ROWS, ["rr", "auc"], **ROLES).table.to_pylist())
    tables = {form: sr.evaluate(make(tmp_path), ["rr", "auc"], **ROLES).table for form, make in GIVEN.items()}
    assert [form for form, table in tables.items() if repr(table.to_pylist()) != expected] == []


def test_what_lies_inside_of_their_columns() -> None:
    roles = {"group": "row.user", "score": {"score": "row.score"}, "label": "row.label"}
    for rows in (
        pl.from_arrow(NESTED).lazy(),
        pl.from_arrow(NESTED),
        pa.RecordBatchReader.from_batches(NESTED.schema, NESTED.to_batches()),
        ds.dataset(NESTED),
        pd.DataFrame({"row": ROWS.to_pylist()}),
    ):
        assert sr.evaluate(rows, ["rr"], **roles).table["value"].to_pylist() == [(1 / 2 + 1) / 2], type(rows)


TENTHS = [decimal.Decimal(f"{n}.5") for n in range(3)]
TEXTS = pa.array(["a", "b", "c"])


def _extension(kind: pa.DataType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


def _coded(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([2, 0, 1], pa.int8()), values)


UUIDS = pa.array([uuid.UUID(int=n).bytes for n in range(3)], pa.binary(16))
VALUES = {
    "uuid": _extension(pa.uuid(), UUIDS),
    "bool8": _extension(pa.bool8(), pa.array([0, 1, 2], pa.int8())),
    "opaque": _extension(pa.opaque(pa.string(), "t", "v"), TEXTS),
    "decimals in a dictionary": _coded(pa.array(TENTHS)),
    "views in a dictionary": _coded(TEXTS.cast(pa.string_view())),
    "wide decimals": pa.array(TENTHS, pa.decimal256(60, 1)),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), TEXTS),
    "interval": pa.array([pa.MonthDayNano([n, 0, 0]) for n in range(3)]),
    "duration": pa.array([1, 2, 3], pa.duration("s")),
    "time": pa.array([1, 2, 3], pa.time32("s")),
    "instants": pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
    "half floats": pa.array(np.array([1.0, 2.0, 3.0], np.float16)),
    "days": pa.array([0, 86_400_000, 2 * 86_400_000], pa.date64()),
    "unsigned": pa.array([1, 2, 2**63], pa.uint64()),
}
if hasattr(pa, "json_"):  # with pyarrow 19
    VALUES["json"] = _extension(pa.json_(), pa.array(['{"a":1}', '{"b":2}', "3"]))
    VALUES["narrow decimals"] = pa.array(TENTHS, pa.decimal32(5, 1))
ARRAYS = {
    "list": lambda values, n: pa.ListArray.from_arrays([0, n], values),
    "large list": lambda values, n: pa.LargeListArray.from_arrays([0, n], values),
    "fixed list": pa.FixedSizeListArray.from_arrays,
    "view": lambda values, n: pa.ListViewArray.from_arrays([0], [n], values),
    "large view": lambda values, n: pa.LargeListViewArray.from_arrays([0], [n], values),
}


def test_items_in_arrays_are_taken_as_items_of_rows_are() -> None:
    """The second of three is true, or all of it is refused by a sentence."""
    wrong = []
    of_rows = {"score": "score", "label": "label", "item": "item"}
    for kind, values in VALUES.items():
        rows = pa.table({"user": [1] * 3, "item": values, "score": [0.9, 0.8, 0.7], "label": [0, 1, 0]})
        given: dict[str, tuple[pa.Table, dict[str, str]]] = {"rows": (rows, of_rows)}
        for form, make in ARRAYS.items():
            arrays = pa.table({"user": [1], "items": make(values, 3), "actual": make(values.slice(1, 1), 1)})
            given[form] = (arrays, {"items": "items", "true_items": "actual"})
        for form, (table, roles) in given.items():
            try:
                told = repr(sr.evaluate(table, ["rr"], group="user", ties="item", **roles).table["value"].to_pylist())
            except sr.InputError as error:
                told = str(error)
            if not re.search("plain values? is needed" if kind == "interval" else r"^\[0\.5\]$", told):
                wrong.append((kind, form, told))
    assert wrong == []


def test_views_that_overlap_and_stand_in_any_order() -> None:
    views = pa.ListViewArray.from_arrays([2, 0, 0, 1], [2, 2, 0, 3], pa.array([1, 2, 3, 4]))
    assert views.to_pylist() == [[3, 4], [1, 2], [], [2, 3, 4]]
    actual = pa.array([[4], [1], [1], [2, 4]])
    rows = pa.table({"user": [1, 2, 3, 4], "items": views, "actual": actual})
    for given in (rows, rows.slice(1)):
        found = sr.evaluate(given, ["ap"], group="user", items="items", true_items="actual").groups.sort_by("user")
        assert found["ap"].to_pylist() == [1 / 2, 1.0, 0.0, (1 / 1 + 2 / 3) / 2][4 - len(given) :]


def _failing() -> pa.RecordBatchReader:
    """A reader of one batch, and then of an error."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield ROWS.to_batches()[0]
        raise ValueError("gone")

    return pa.RecordBatchReader.from_batches(ROWS.schema, batches())


class _Stream:
    """What hands out Arrow, and fails before it does: as a query that runs when it is asked."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise RuntimeError("the query failed\nat line 1")


def _text_files(folder: Path) -> ds.Dataset:
    (folder / "rows.csv").write_text("user,score,label,kind\na,zz,1,x\n", encoding="utf-8")
    return ds.dataset(folder / "rows.csv", format="csv", schema=ROWS.schema)


def _deleted(folder: Path) -> ds.Dataset:
    files = _in_files(folder)
    (folder / "1.parquet").unlink()
    return files


FAILING: dict[str, tuple[Callable[[Path], object], str]] = {
    "files of text": (_text_files, r"a FileSystemDataset that cannot be read: .*invalid value 'zz'$"),
    "a deleted file": (_deleted, "a FileSystemDataset that cannot be read: "),
    "a value": (lambda _: _failing(), r"a RecordBatchReader that cannot be read: gone$"),
    "a stream": (lambda _: _Stream(), r"a _Stream that cannot be read: the query failed$"),
    "a query": (
        lambda _: POLARS.lazy().map_batches(lambda frame: frame.select(pl.col("user").str.to_integer())),
        r"the LazyFrame cannot be collected: ",
    ),
}


@pytest.mark.parametrize("source", FAILING)
def test_a_source_that_fails_while_it_is_read(source: str, tmp_path: Path) -> None:
    """It is unusable input, and no wrong request; the sentence has the reason and no traceback."""
    make, told = FAILING[source]
    lists = ROWS.append_column("item", ROWS["score"]).drop_columns(["label"])
    sides = [{"impressions": make(tmp_path), **ROLES}]
    truth = {"truth": make(tmp_path), "truth_columns": {"item": "score"}}
    sides.append({**ROLES, "impressions": lists, "item": "item", "slices": (), **truth})
    for asked in sides:
        with pytest.raises(sr.InputError, match=told) as refused:
            sr.evaluate(metrics=["rr"], **asked)
        assert "Traceback" not in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("column", ["user", "score", "label"])
def test_a_column_of_polars_that_arrow_has_not(column: str) -> None:
    objects = pl.Series(column, [object()] * len(POLARS), dtype=pl.Object)
    wide = POLARS.with_columns(pl.lit(1).cast(pl.Int128).alias(column))
    frames = [(wide, "Int128"), (wide.lazy(), "Int128"), (POLARS.with_columns(objects), "Object")]
    for frame, kind in frames:
        told = f'whose column "{column}" is of type {kind}, which Arrow does not have: cast it to another'
        with pytest.raises(sr.InputError, match=told):
            sr.evaluate(frame, ["rr"], **ROLES)
        unread = frame.rename({column: "other"}).with_columns(POLARS[column])
        assert sr.evaluate(unread, ["rr"], **ROLES).table["value"].to_pylist()[0] == (1 / 2 + 1) / 2
