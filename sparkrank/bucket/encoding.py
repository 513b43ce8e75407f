"""Encoding of column values as integers: distinct values, pairs of values, and the order of strings."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.bucket.impressions import one_array
from sparkrank.numeric.array_types import Codes, Ints
from sparkrank.numeric.text_arrays import coded, text_bytes, text_ends

FEW_OF_ALL = 4  # a request for fewer than one row in this many is small: each of three models may request other rows


def encode(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Return the index of each row's value among the distinct values, and these values, which may include null."""
    if native.runs("keys", has_key_loops(column)):
        codes, distinct = np.empty(len(column), np.int32), np.empty(len(column), np.int64)
        count = native.keys.number([piece.to_numpy() for piece in column.cast(pa.int64()).chunks], codes, distinct)
        return codes, pa.array(distinct[:count].copy()).cast(column.type)
    values = one_array(column)
    if pa.types.is_dictionary(values.type):  # distinct values have distinct codes, but some codes may be unused
        if not values.indices.null_count and len(values.dictionary) <= len(values):
            return _used_codes(values)
        encoded = values.indices.dictionary_encode(null_encoding="encode")
        return encoded.indices.to_numpy(), values.dictionary.take(encoded.dictionary)
    encoded = coded(values, null_encoding="encode")
    return encoded.indices.to_numpy(), encoded.dictionary


def has_key_loops(keys: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_signed_integer(keys.type) and not keys.null_count)


def _used_codes(values: pa.DictionaryArray) -> tuple[Codes, pa.Array]:
    codes = values.indices.to_numpy().astype(np.int32, copy=False)
    used = np.zeros(len(values.dictionary), np.bool_)
    used[codes] = True
    if used.all():
        return codes, values.dictionary
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return place[codes], values.dictionary.take(pa.array(np.flatnonzero(used)))


def paired(codes: Codes, more: Codes) -> Codes:
    """Return a number (from 0) for the pair of ``codes`` and ``more`` in each row. Equal pairs get equal numbers."""
    pairs = codes.astype(np.int64) * (int(more.max(initial=0)) + 1) + more
    return encode(pa.chunked_array([pairs]))[0]


class TextOrder:
    """The order of items by the bytes of their strings, as in trec_eval. For few rows, only their items are sorted."""

    def __init__(self, items: pa.ChunkedArray) -> None:
        self._items = items

    def __call__(self, rows: Ints) -> Ints:
        """Return a number for the item of each of ``rows``. The numbers sort as the strings of the items do."""
        if len(rows) * FEW_OF_ALL < len(self._items):
            return places_of_texts(one_array(self._items.take(pa.array(rows))))
        return self._places_of_all[rows]

    @property
    def has_nulls(self) -> bool:
        return bool(self._items.null_count)

    @cached_property
    def texts(self) -> tuple[Ints, NDArray[np.uint8]]:
        """The n + 1 offsets of the items' strings, and the bytes of all strings. No item may be null."""
        kind = self._items.type
        is_plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        texts = one_array(self._items if is_plain else self._items.cast(pa.string()))
        data = text_bytes(texts)
        return text_ends(texts).astype(np.int64), data if len(data) else np.zeros(1, np.uint8)

    @cached_property
    def _places_of_all(self) -> Ints:
        return places_of_texts(one_array(self._items))


def places_of_texts(items: pa.Array) -> Ints:
    """Return the rank of each item's text among the distinct texts, or -1 for a null."""
    encoded = coded(items.cast(pa.string()))
    place = np.empty(len(encoded.dictionary) + 1, np.int64)
    place[pc.array_sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    place[-1] = -1  # a row without an item sorts below all others
    order: Ints = place[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return order
