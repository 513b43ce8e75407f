"""Pickled values whose arrays and tables stand behind them, from where they are read without a copy.

Only what this run has pickled is read again, on its way from one of its workers to another.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pyarrow as pa

_WORD = 8  # bytes: each part begins with a full one


class _Pickler(pickle.Pickler):
    """Tables go as Arrow streams: an eighth of the time, for a table of a few rows and many columns."""

    def reducer_override(self, value: Any) -> Any:
        return (_table_of, (stream_of(value),)) if isinstance(value, pa.Table) else NotImplemented


def stream_of(table: pa.Table) -> pa.Buffer:
    """``table`` as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _table_of(stream: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()


def pickled(value: object) -> bytes:
    """``value`` in bytes: how many parts there are and how long each is, in words; then the pickle and the arrays."""
    sink = io.BytesIO()
    arrays: list[pickle.PickleBuffer] = []
    _Pickler(sink, protocol=5, buffer_callback=arrays.append).dump(value)
    parts = [sink.getbuffer(), *(array.raw() for array in arrays)]
    joined = bytearray(np.array([len(parts), *map(len, parts)], np.int64))
    for part in parts:
        joined += part
        joined += bytes(-len(part) % _WORD)
    return bytes(joined)


def unpickled(packed: bytes | pa.Buffer) -> Any:
    """The value that :func:`pickled` was given; its arrays cannot be written."""
    count, *_ = np.frombuffer(packed, np.int64, 1).tolist()
    sizes = np.frombuffer(packed, np.int64, count, _WORD)
    starts = np.cumsum([_WORD * (1 + count), *(-(-sizes[:-1] // _WORD) * _WORD)]).tolist()
    whole = memoryview(packed)
    first, *arrays = (whole[start : start + size] for start, size in zip(starts, sizes.tolist(), strict=True))
    return pickle.loads(first, buffers=arrays)  # noqa: S301 - by this run
