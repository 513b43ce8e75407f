"""Access to the raw bytes of Arrow's string and binary arrays, and dictionary encoding of strings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank import native

Ends = NDArray[np.signedinteger[Any]]


def is_text(kind: pa.DataType) -> bool:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def end_type(kind: pa.DataType) -> type[np.signedinteger[Any]]:
    return np.int64 if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else np.int32


def text_ends(texts: pa.Array) -> Ends:
    """Return the start of each string in the bytes of ``texts``, and the end of the last string (n + 1 offsets)."""
    if len(texts) == 0:  # such an array may have no offsets buffer
        return np.zeros(1, end_type(texts.type))
    ends = np.frombuffer(texts.buffers()[1], end_type(texts.type))
    return ends[texts.offset : texts.offset + len(texts) + 1]


def text_bytes(texts: pa.Array) -> NDArray[np.uint8]:
    """Return the data buffer of ``texts``, which may contain other bytes before and after those of ``texts``."""
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def texts_of(kind: pa.DataType, ends: Ends, data: pa.Buffer) -> pa.Array:
    """Return an array of type ``kind`` whose n strings are in ``data``, at the n + 1 offsets ``ends``."""
    return pa.Array.from_buffers(kind, len(ends) - 1, [None, pa.py_buffer(ends), data])


def coded(values: pa.Array, null_encoding: str = "mask") -> pa.DictionaryArray:
    """Return ``values`` dictionary-encoded in order of first occurrence. ``null_encoding`` is an option of Arrow."""
    if not native.runs("texts", is_text(values.type) and not values.null_count):
        return values.dictionary_encode(null_encoding=null_encoding)
    ends, codes = text_ends(values), np.empty(len(values), np.int32)
    distinct_ends, distinct = np.empty_like(ends), np.empty(int(ends[-1] - ends[0]), np.uint8)
    count = native.texts.number(ends, text_bytes(values), codes, distinct_ends, distinct)
    used_ends = distinct_ends[: count + 1].copy()
    texts = texts_of(values.type, used_ends, pa.py_buffer(distinct[: used_ends[-1]].copy()))
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts)


def encoded_column(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return ``column`` dictionary-encoded as one array, even if its plain strings exceed the 2 GiB of one array."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if not encoded.num_chunks:  # pyarrow 18 cannot combine zero chunks
        return pa.array([], encoded.type.value_type).dictionary_encode()
    return encoded.chunk(0) if encoded.num_chunks == 1 else encoded.unify_dictionaries().combine_chunks()


CHUNK_BYTES = 1 << 30  # strings with 32-bit offsets are limited to 2 GiB in one array


def as_strings(texts: pa.LargeStringArray) -> pa.ChunkedArray:
    """Return ``texts`` (without nulls) as a column of type string, in chunks of about :data:`CHUNK_BYTES`."""
    ends, data = text_ends(texts).astype(np.int64), texts.buffers()[2] or pa.py_buffer(b"")
    cuts = np.unique([0, *np.searchsorted(ends, np.arange(ends[0] + CHUNK_BYTES, ends[-1], CHUNK_BYTES)), len(texts)])
    chunks = [
        texts_of(pa.string(), (ends[start : end + 1] - ends[start]).astype(np.int32), data[ends[start] : ends[end]])
        for start, end in itertools.pairwise(cuts.tolist())
    ]
    return pa.chunked_array(chunks, pa.string())
