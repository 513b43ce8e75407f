"""The groups of a bucket. Each distinct group key is encoded as an integer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sparkrank import native
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode, has_key_loops, paired
from sparkrank.bucket.impressions import LIST, one_array
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.key_hashes import Hashes, hash_keys


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of n rows, numbered from 0 to ``count`` - 1.

    ``codes`` contains the number of each row's group, and ``row`` the last row of each group. ``values`` contains the
    key of each group, or None if a key has several columns or no column. ``in_runs`` is true if rows of the same group
    are mostly adjacent, so that it is faster to look only at the last of adjacent rows.
    """

    codes: Codes
    count: int
    values: pa.Array | None = None
    in_runs: bool = False

    @cached_property
    def row(self) -> Ints:
        row = np.full(self.count, -1)
        if self.in_runs:
            ends = np.flatnonzero(self.codes[1:] != self.codes[:-1])
            row[self.codes[ends]] = ends
            row[self.codes[-1:]] = len(self.codes) - 1
        else:
            row[self.codes] = np.arange(len(self.codes))
        return row

    @classmethod
    def numbered(cls, codes: Codes) -> Groups:
        return cls(codes, int(codes.max(initial=-1)) + 1)


def groups_of(keys: Sequence[pa.ChunkedArray], rows: int = 0) -> Groups:
    """Group rows that are equal in all ``keys`` columns (nulls are equal). Without keys, n ``rows`` form one group."""
    if not keys:
        return Groups(np.zeros(rows, np.int32), min(rows, 1))
    if len(keys) == 1:
        codes, values = encode(keys[0])
        return Groups(codes, len(values), values)
    codes = _first_pairs(*keys[:2])
    for key in keys[2:]:
        codes = paired(codes, encode(key)[0])
    return Groups.numbered(codes)


def _first_pairs(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Codes:
    if native.runs("pairs of keys", has_key_loops(one) and has_key_loops(other)):
        codes = np.empty(len(one), np.int32)
        first, second = (one_array(key.cast(pa.int64())).to_numpy() for key in (one, other))
        native.keys.number_pairs(first, second, codes)
        return codes
    return paired(encode(one)[0], encode(other)[0])


def groups_of_rows(rows: BucketRows, plan: Plan) -> Groups:
    """Return the groups of ``rows``. If the input has arrays, each input row is a group, even if two keys are equal."""
    if not plan.arrays:
        return groups_of(rows.keys.columns, len(rows))
    lists = one_array(rows.table[LIST])
    if not pa.types.is_dictionary(lists.type):  # lists that were shuffled, to meet what their groups had before
        return Groups.numbered(encode(rows.table[LIST])[0])
    groups = Groups(lists.indices.to_numpy(), len(lists.dictionary), in_runs=True)
    if (groups.row < 0).any():  # all rows of a list were rejected
        return Groups.numbered(encode(rows.table[LIST])[0])
    return groups


@cached
def hashes_of_keys(rows: BucketRows, groups: Groups) -> Hashes:
    """Return the hash of each group's key. Shape: (groups,)."""
    return hash_keys([one_array(column) for column in keys_of(rows, groups).columns])


@cached
def keys_of(rows: BucketRows, groups: Groups) -> pa.Table:
    """Return a table of the groups' keys, without dictionaries, because buckets do not share them."""
    keys = rows.keys
    if groups.values is not None:
        return pa.table([groups.values], keys.column_names)
    keys = keys.take(pa.array(groups.row))
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in keys.schema.types]
    return keys.cast(pa.schema(dict(zip(keys.column_names, plain, strict=True))))
