"""Arrow arrays in memory that are not what they say: refused by the name of their column, in every role."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sparkrank as sr

AB = pa.array(["a", "b"])


def _ends(*ends: int, kind: Any = np.int32) -> pa.Buffer:
    return pa.py_buffer(np.array(ends, kind))


def _texts(kind: pa.DataType, *ends: int, data: bytes = b"abcdef") -> pa.Array:
    width = np.int64 if kind in (pa.large_string(), pa.large_binary()) else np.int32
    return pa.Array.from_buffers(kind, len(ends) - 1, [None, _ends(*ends, kind=width), pa.py_buffer(data)])


def _coded(codes: list[int], texts: pa.Array = AB) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), texts, safe=False)


def _listed(*ends: int) -> pa.Array:
    return pa.ListArray.from_buffers(pa.list_(pa.int64()), 3, [None, _ends(*ends)], children=[pa.array([1, 2, 3])])


def _view(length: int, place: int) -> pa.Array:
    views = np.array([[20, 0, 0, 0]] * 5 + [[length, 0, 0, place]], np.int32)
    return pa.Array.from_buffers(pa.string_view(), 6, [None, pa.py_buffer(views), pa.py_buffer(b"\0" * 20)])


DOWN = (0, 6, 2, 3, 1, 5, 6)
FAULTY = {
    "offsets that go down": _texts(pa.string(), *DOWN),
    "large offsets of bytes that go down": _texts(pa.large_binary(), *DOWN),
    "an end behind the bytes": _texts(pa.string(), 0, 1, 2, 9_999, 4, 5, 6),
    "an offset below 0": _texts(pa.string(), 0, 1, -5, 3, 4, 5, 6),
    "no UTF-8": _texts(pa.string(), 0, 1, 2, 3, 4, 5, 6, data=b"abc\xffef"),
    "a code behind the dictionary": _coded([0, 1, 0, 1, 0, 7]),
    "a code below 0": _coded([0, 1, 0, 1, 0, -1]),
    "codes of faulty texts": _coded([0, 1, 2, 3, 4, 5], _texts(pa.string(), *DOWN)),
}
with suppress(ValueError):  # before pyarrow 19 views are not made of buffers
    FAULTY |= {"a view of no length": _view(-1, 0), "a view behind its bytes": _view(20, 9_999)}
LISTS = {
    "list offsets that go down": _listed(0, 2, 1, 3),
    "a list behind its elements": _listed(0, 2, 999, 3),
    "lists of faulty texts": pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), _texts(pa.string(), *DOWN)),
}


LOG = pa.table(
    {"u": list("aaabbb"), "i": list("abcabc"), "c": ["x"] * 6, "s": [3.0, 2, 1, 1, 2, 3], "y": [0, 1, 0, 0, 0, 1]}
)
ROLES = {"group": "u", "item": "i", "score": "s", "label": "y", "slices": ["c"], "ties": "item"}


def _refused(column: str, rows: Any, **asked: Any) -> None:
    with pytest.raises(sr.InputError) as refused:
        sr.evaluate(rows, ["rr"], lane="local", **asked)
    assert f'"{column}" of the' in str(refused.value)
    assert "is not valid Arrow: " in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_column_is_named(fault: str) -> None:
    """In a table, a stream and Arrow's own columns of pandas, as a key, item or slice, of a truth and inside of it."""
    for name in "uic":
        rows = LOG.set_column(LOG.column_names.index(name), name, FAULTY[fault])
        _refused(name, rows, **ROLES)
        _refused(name, pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches()), **ROLES)
        of_arrow = {column: pd.arrays.ArrowExtensionArray(rows[column]) for column in rows.column_names}
        _refused(name, pd.DataFrame(of_arrow), **ROLES)
    truth = pa.table({"u": LOG["u"], "i": FAULTY[fault]})
    _refused("i", LOG, truth=truth, **{**ROLES, "slices": (), "label": None})
    nested = pa.StructArray.from_arrays([FAULTY[fault], pa.array([1] * 6)], ["name", "age"])
    _refused("user", LOG.append_column("user", nested), **{**ROLES, "group": "user.name"})


def test_faulty_arrays_are_named() -> None:
    for fault, column in LISTS.items():
        good: list = [["a"]] * 3 if fault.endswith("texts") else [[1]] * 3
        for role in ("items", "true_items") if fault.endswith("texts") else ("items", "true_items", "label"):
            columns = {"u": [1, 2, 3], "items": good, "true_items": good, "label": [[1]] * 3, role: column}
            asked = {"items": "items", "true_items": "true_items", "label": "label" if role == "label" else None}
            _refused(role, pa.table(columns), group="u", **asked)


def test_what_has_no_role_is_not_looked_at() -> None:
    rows = LOG.append_column("n", FAULTY["no UTF-8"])
    assert sr.evaluate(rows, ["rr"], **ROLES).table["value"].to_pylist()[0] == 0.75
