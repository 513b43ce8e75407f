"""Arrow's text arrays as raw bytes, and dictionary encoding of texts."""

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
    return np.int64 if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else np.int32


def text_ends(texts: pa.Array) -> Ends:
    """The start of each of ``texts`` in their bytes, and the end of the last one (n + 1)."""
    if len(texts) == 0:  # such an array may have no offsets buffer
        return np.zeros(1, end_type(texts.type))
    ends = np.frombuffer(texts.buffers()[1], end_type(texts.type))
    return ends[texts.offset : texts.offset + len(texts) + 1]


def text_bytes(texts: pa.Array) -> NDArray[np.uint8]:
    """The bytes that contain ``texts``, and possibly other bytes."""
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)


def texts_of(kind: pa.DataType, ends: Ends, data: pa.Buffer) -> pa.Array:
    """Texts of ``kind`` in ``data``, at the offsets ``ends`` (one more than there are texts)."""
    return pa.Array.from_buffers(kind, len(ends) - 1, [None, pa.py_buffer(ends), data])


def coded(values: pa.Array, null_encoding: str = "mask") -> pa.DictionaryArray:
    """``values`` dictionary-encoded in order of first occurrence. A null has a code if ``null_encoding`` says so."""
    if not native.runs("texts", is_text(values.type) and not values.null_count):
        return values.dictionary_encode(null_encoding=null_encoding)
    ends, codes = text_ends(values), np.empty(len(values), np.int32)
    distinct_ends, distinct = np.empty_like(ends), np.empty(int(ends[-1] - ends[0]), np.uint8)
    count = native.texts.number(ends, text_bytes(values), codes, distinct_ends, distinct)
    used_ends = distinct_ends[: count + 1].copy()
    texts = texts_of(values.type, used_ends, pa.py_buffer(distinct[: used_ends[-1]].copy()))
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts)
