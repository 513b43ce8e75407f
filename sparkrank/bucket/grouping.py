"""The groups of a bucket: distinct keys, and pairs of keys and other values, encoded as whole numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.base import checks
from sparkrank.bucket.impressions import LIST, key_columns, one_array
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Ints
from sparkrank.numeric.text_arrays import coded, text_bytes, text_ends

FEW_OF_ALL = 4  # fewer than one row in this many is few: three models may each request other rows


@dataclass(frozen=True)
class Groups:
    """The ``count`` groups of n rows.

    ``codes`` (n) is the number of each row's group, from 0 to ``count`` - 1. ``values`` (count) are the keys of the
    groups where the key is one column, and None otherwise.
    """

    codes: Codes
    count: int
    values: pa.Array | None = None

    @cached_property
    def row(self) -> Ints:
        """One row of each group (count)."""
        row = np.empty(self.count, np.int64)
        row[self.codes] = np.arange(len(self.codes))
        return row


def groups_of(keys: Sequence[pa.ChunkedArray], rows: int = 0) -> Groups:
    """The groups of rows that agree in all columns of ``keys``. Without key columns, all ``rows`` form one group.

    Columns are encoded one by one and paired as integers. A dictionary must have each of its values once.
    """
    if not keys:
        return Groups(np.zeros(rows, np.int32), min(rows, 1))
    if len(keys) == 1:
        codes, values = encode(keys[0])
        return Groups(codes, len(values), values)
    codes = _first_pairs(*keys[:2])
    for key in keys[2:]:
        codes = pair_codes(codes, key)
    return numbered(codes)


def _first_pairs(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Codes:
    """Each row's pair of values of two columns, as a number from 0."""
    if native.runs("pairs of keys", _have_loops(one) and _have_loops(other)):
        codes, (first, second) = np.empty(len(one), np.int32), map(_whole_numbers, (one, other))
        native.keys.number_pairs(first, second, codes)
        return codes
    return pair_codes(encode(one)[0], other)


def _whole_numbers(keys: pa.ChunkedArray) -> Ints:
    """The values of ``keys`` (n)."""
    values: Ints = one_array(keys.cast(pa.int64())).to_numpy()
    return values


def _have_loops(keys: pa.ChunkedArray) -> bool:
    """Whether compiled loops number ``keys``."""
    return bool(pa.types.is_signed_integer(keys.type) and not keys.null_count)


def lists_of(rows: pa.Table, counts: Counter[tuple[str, str]]) -> Groups:
    """The groups of ``rows`` that were arrays: each row of arrays is a group, even where several have the same key.

    Adds the number of keys that several groups share to ``counts``.
    """
    codes, lists = encode(rows[LIST])
    groups = Groups(codes, len(lists))
    keys = groups_of(keys_of(rows, groups).columns)
    counts[checks.SEVERAL_LISTS, ""] = int(np.count_nonzero(np.bincount(keys.codes) > 1))
    return groups


def regrouped(rows: pa.Table, plan: Plan) -> tuple[pa.Table, Groups]:
    """``rows``, from which whole groups were taken away, and their groups anew."""
    if plan.arrays:
        codes, lists = encode(rows[LIST])
        return rows, Groups(codes, len(lists))
    return rows, groups_of(rows.select(key_columns(rows)).columns, len(rows))


def numbered(codes: Codes) -> Groups:
    """The groups with the numbers ``codes``, which leave out no number."""
    return Groups(codes, int(codes.max(initial=-1)) + 1)


def keys_of(rows: pa.Table, groups: Groups) -> pa.Table:
    """The key columns of each of the ``groups`` of ``rows``, without dictionaries, which buckets do not share."""
    names = key_columns(rows)
    if groups.values is not None:
        return pa.table([groups.values], names)
    keys = rows.select(names).take(pa.array(groups.row))
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in keys.schema.types]
    return keys.cast(pa.schema(dict(zip(names, plain, strict=True))))


def pair_codes(codes: Codes, column: pa.ChunkedArray) -> Codes:
    """Each row's pair of code and value of ``column``, as a number from 0. A null is a value like any other."""
    more, _ = encode(column)
    return paired(codes, more)


def paired(codes: Codes, more: Codes) -> Codes:
    """Each row's pair of two codes, as a number from 0."""
    pairs = codes.astype(np.int64) * (int(more.max(initial=0)) + 1) + more
    found, _ = encode(pa.chunked_array([pairs]))
    return found


def encode(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """The number of each row's value among the distinct values, and the distinct values. A null is one of them."""
    if native.runs("keys", _have_loops(column)):
        codes, distinct = _numbered_by_loops(column.cast(pa.int64()))
        return codes, pa.array(distinct).cast(column.type)
    values = one_array(column)
    if pa.types.is_dictionary(values.type):  # codes are distinct, but may leave out numbers
        if not values.indices.null_count and len(values.dictionary) <= len(values):
            return _used_codes(values)
        encoded = values.indices.dictionary_encode(null_encoding="encode")
        return encoded.indices.to_numpy(), values.dictionary.take(encoded.dictionary)
    encoded = coded(values, null_encoding="encode")
    return encoded.indices.to_numpy(), encoded.dictionary


def _used_codes(values: pa.DictionaryArray) -> tuple[Codes, pa.Array]:
    """The result of :func:`encode` for codes without null."""
    codes = values.indices.to_numpy().astype(np.int32, copy=False)
    used = np.zeros(len(values.dictionary), np.bool_)
    used[codes] = True
    if used.all():
        return codes, values.dictionary
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return place[codes], values.dictionary.take(pa.array(np.flatnonzero(used)))


def _numbered_by_loops(keys: pa.ChunkedArray) -> tuple[Codes, Ints]:
    """The number of each of ``keys`` (n) in order of first occurrence, and the distinct keys."""
    codes, distinct = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
    count = native.keys.number([piece.to_numpy() for piece in keys.chunks], codes, distinct)
    return codes, distinct[:count].copy()


class TextOrder:
    """The places of n ``items`` in ascending order of their text, compared by bytes as in trec_eval.

    For a few rows, places are among these rows alone, because sorting the texts of all items takes longer.
    """

    def __init__(self, items: pa.ChunkedArray) -> None:
        self._items = items

    def __call__(self, rows: Ints) -> Ints:
        """A number for the item of each of ``rows`` that sorts them by the item's text."""
        if len(rows) * FEW_OF_ALL < len(self._items):
            return _places(one_array(self._items.take(pa.array(rows))))
        return self._of_all[rows]

    @property
    def has_nulls(self) -> bool:
        """Whether a row has no item."""
        return bool(self._items.null_count)

    def texts(self) -> tuple[Ints, NDArray[np.uint8]]:
        """Where each item's text (n) begins in their bytes, and where the last ends (n + 1). No item may be null."""
        return self._texts

    @cached_property
    def _texts(self) -> tuple[Ints, NDArray[np.uint8]]:
        kind = self._items.type
        is_plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        texts = one_array(self._items if is_plain else self._items.cast(pa.string()))
        data = text_bytes(texts)
        return text_ends(texts).astype(np.int64), data if len(data) else np.zeros(1, np.uint8)

    @cached_property
    def _of_all(self) -> Ints:
        return _places(one_array(self._items))


def _places(items: pa.Array) -> Ints:
    """The place of each item. Equal items share a place."""
    encoded = coded(items.cast(pa.string()))
    place = np.empty(len(encoded.dictionary) + 1, np.int64)
    place[pc.array_sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    place[-1] = -1  # a row without an item sorts below all others
    order: Ints = place[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return order
