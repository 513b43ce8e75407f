"""Pickling of values for the way between workers, with tables as Arrow streams.

A run unpickles only bytes that its own workers have pickled.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import pyarrow as pa


class _Pickler(pickle.Pickler):
    """Pickles tables as Arrow streams, which is faster than Arrow's own pickling for few rows and many columns."""

    def reducer_override(self, value: Any) -> Any:
        return (_table_of, (stream_of(value),)) if isinstance(value, pa.Table) else NotImplemented


def stream_of(rows: pa.Table | pa.RecordBatch) -> pa.Buffer:
    """``rows`` as an Arrow stream."""
    sink = pa.BufferOutputStream()
    write_stream(rows, sink)
    return sink.getvalue()


def write_stream(rows: pa.Table | pa.RecordBatch, sink: pa.NativeFile) -> None:
    """Write ``rows`` to ``sink`` as an Arrow stream."""
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)


def _table_of(stream: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()


def pickled(value: object) -> bytes:
    """``value`` as bytes."""
    sink = io.BytesIO()
    _Pickler(sink, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return sink.getvalue()


def unpickled(packed: bytes | pa.Buffer) -> Any:
    """The value that :func:`pickled` returned as bytes."""
    return pickle.loads(packed)  # noqa: S301 - by this run
