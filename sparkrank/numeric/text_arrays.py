"""Arrow's arrays of texts as their bytes, and as codes with each distinct text once."""

from __future__ import annotations

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
    """The type in which texts of ``kind`` have their ends."""
    return np.int64 if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else np.int32


def text_ends(texts: pa.Array) -> Ends:
    """Where each of ``texts`` begins in their bytes, and where the last ends."""
    if len(texts) == 0:  # there may be no offsets at all
        return np.zeros(1, end_type(texts.type))
    ends = np.frombuffer(texts.buffers()[1], end_type(texts.type))
    return ends[texts.offset : texts.offset + len(texts) + 1]


def text_bytes(texts: pa.Array) -> NDArray[np.uint8]:
    """The bytes in which ``texts`` stand, and maybe others."""
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def texts_of(kind: pa.DataType, ends: Ends, data: pa.Buffer) -> pa.Array:
    """Texts of ``kind`` that end in ``data`` where ``ends`` (one more than texts) say."""
    return pa.Array.from_buffers(kind, len(ends) - 1, [None, pa.py_buffer(ends), data])


def coded(values: pa.Array, null_encoding: str = "mask") -> pa.DictionaryArray:
    """``values``, which are no dictionary, with each distinct one once, in order of first occurrence.

    A null has no code, or, with ``null_encoding`` "encode", one as other values have. Compiled loops take 10 ns for a
    text of 16 bytes where Arrow takes 25.
    """
    if not native.runs("texts", is_text(values.type) and not values.null_count):
        return values.dictionary_encode(null_encoding=null_encoding)
    ends, codes = text_ends(values), np.empty(len(values), np.int32)
    distinct_ends, distinct = np.empty_like(ends), np.empty(int(ends[-1] - ends[0]), np.uint8)
    count = native.texts.number(ends, text_bytes(values), codes, distinct_ends, distinct)
    kept = distinct_ends[: count + 1].copy()
    texts = texts_of(values.type, kept, pa.py_buffer(distinct[: kept[-1]].copy()))
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts)
