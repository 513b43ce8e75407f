"""The groups of a bucket: its keys, and pairs of keys and other values, as whole numbers that tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.impressions import key_columns, one_array
from sparkrank.kernels.order import Codes, Ints


def group_codes(keys: Sequence[pa.ChunkedArray]) -> tuple[Codes, Ints]:
    """Each row's group as a number from 0, and for each group one row that is in it.

    Key columns are encoded one by one (4 ns a row for integers, 30 for strings) and paired as integers. A dictionary
    has each of its values once.
    """
    codes = _encode(keys[0])
    for key in keys[1:]:
        codes = pair_codes(codes, key)
    return codes, row_of_each(codes)


def row_of_each(codes: Codes) -> Ints:
    """For each number in ``codes``, of which none is left out, one row that has it."""
    row_of = np.empty(int(codes.max(initial=-1)) + 1, np.int64)
    row_of[codes] = np.arange(len(codes))
    return row_of


def keys_at(rows: pa.Table, row_of_group: Ints) -> pa.Table:
    """The key columns of those of ``rows``, without dictionaries, which other buckets do not share."""
    keys = rows.select(key_columns(rows)).take(pa.array(row_of_group))
    for index, kind in enumerate(keys.schema.types):
        if pa.types.is_dictionary(kind):
            keys = keys.set_column(index, keys.column_names[index], keys[index].cast(kind.value_type))
    return keys


def pair_codes(codes: Codes, column: pa.ChunkedArray) -> Codes:
    """Each row's pair of code and value of ``column``, as a number from 0; a null is a value of its own."""
    return paired(codes, _encode(column))


def paired(codes: Codes, more: Codes) -> Codes:
    """Each row's pair of two codes, as a number from 0."""
    pairs = codes.astype(np.int64) * (int(more.max(initial=0)) + 1) + more
    return _encode(pa.chunked_array([pairs]))


def _encode(column: pa.ChunkedArray) -> Codes:
    values = one_array(column)
    if pa.types.is_dictionary(values.type):  # its codes tell values apart, but may leave out numbers
        values = values.indices
    codes: Codes = values.dictionary_encode(null_encoding="encode").indices.to_numpy()
    return codes


def text_order(items: pa.ChunkedArray) -> Ints:
    """The place of each item in ascending order of its text, by bytes as trec_eval compares."""
    encoded = one_array(items).cast(pa.string()).dictionary_encode()
    place = np.empty(len(encoded.dictionary) + 1, np.int64)
    place[pc.array_sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    place[-1] = -1  # a row without an item stands below all others
    order: Ints = place[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return order
