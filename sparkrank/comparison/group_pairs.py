"""The pairing of the groups of the left and the right run by key, in this process.

The keys are joined first, without any values: a pair is two row numbers. The value columns are then read one after the
other, so that only two columns are in memory at a time. If there are too many keys for one join, a hash of the key
splits the keys into shares, and the key columns are read once for each share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, itemize, shorten
from sparkrank.bucket.group_rows import MODEL
from sparkrank.comparison.group_tables import GroupTable, is_text_type, plain_field
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.key_hashes import buckets_of_keys

KEYS_AT_ONCE = 4_000_000  # keys of one side joined at once: half a gigabyte for strings of about twenty letters
PAIRS_AT_ONCE = 1 << 20  # pairs whose differences are in memory at once
_ROW = "_row"


@dataclass(frozen=True)
class ModelGroups:
    """The groups of one model in a group table."""

    table: GroupTable
    model: str

    def here(self, columns: Sequence[str]) -> ModelGroups:
        """Return the groups in a form that Arrow can read.

        Keys, counts and ``columns`` of a Spark DataFrame are copied to this process.
        """
        return replace(self, table=self.table.here(self.model, columns))

    def groups(self) -> int:
        """Return the approximate number of groups of the model: rows of the table / models in it."""
        return self.table.count() // max(len(self.table.models), 1)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches with the given ``columns`` of the model's rows, in the order of the row numbers."""
        for batch in self.table.batches(columns):
            yield batch.select(list(columns)).filter(is_text(batch[MODEL], self.model))

    def values(self, column: str) -> Floats:
        """Return one column over all rows of the model as floats, with NaN for nulls."""
        parts = []
        for batch in self.batches([column]):
            self.table.validate_files(column, batch[column])
            parts.append(batch[column].cast(pa.float64()).to_numpy(zero_copy_only=False))
        return np.concatenate(parts) if parts else np.empty(0)

    def batches_at(self, numbers: Ints, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, slice]]:
        """Yield the rows at the ascending indices ``numbers`` in batches, each with its slice of ``numbers``."""
        start = 0
        for batch in self.batches(columns):
            first, last = np.searchsorted(numbers, (start, start + batch.num_rows))
            if last > first:
                yield batch.take(pa.array(numbers[first:last] - start)), slice(first, last)
            start += batch.num_rows

    def rows_at(self, numbers: Ints, columns: Sequence[str]) -> pa.Table:
        """Return the ``columns`` of the rows with the given row ``numbers``, in the order of ``numbers``."""
        order = np.argsort(numbers, kind="stable")
        batches = [batch for batch, _ in self.batches_at(numbers[order], columns)]
        schema = pa.schema([self.table.schema.field(name) for name in columns])
        rows = pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()
        for name in columns:
            self.table.validate_files(name, rows[name])
        return rows.take(pa.array(np.argsort(order, kind="stable")))


@dataclass(frozen=True)
class Pairs:
    """Pairs of groups: row ``left_rows[i]`` of the left run and row ``right_rows[i]`` of the right run.

    ``n_left`` and ``n_right`` count all groups of the runs.
    """

    left_rows: Ints
    right_rows: Ints
    n_left: int
    n_right: int

    def chunks(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the left and right row numbers of the pairs, in chunks of at most :data:`PAIRS_AT_ONCE` pairs."""
        for start in range(0, len(self.left_rows), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            yield self.left_rows[part], self.right_rows[part]


def paired_groups(left: ModelGroups, right: ModelGroups) -> Pairs:
    """Return the pairs of groups with the same key, in arbitrary order.

    Raise :class:`InputError` if a run repeats a key.
    """
    keys = common_keys(left.table, right.table)
    shares = max(-(-max(left.groups(), right.groups()) // KEYS_AT_ONCE), 1)
    numbers, counts = [], np.zeros(2, np.int64)
    for share in range(shares):
        ours, theirs = (_keys(side, keys, place, share, shares) for place, side in enumerate((left, right)))
        counts += (ours.num_rows, theirs.num_rows)
        joined = ours.join(theirs, keys.names, join_type="inner")
        numbers.append([joined[f"{_ROW}{place}"].to_numpy() for place in (0, 1)])
    left_rows, right_rows = (np.concatenate(rows) for rows in zip(*numbers, strict=True))
    for side, others, count in ((left, right_rows, counts[1]), (right, left_rows, counts[0])):
        met = np.zeros(count, np.bool_)
        met[others] = True
        if np.count_nonzero(met) < len(others):  # several groups of one side share a partner
            raise InputError(
                f"{side.table.place} has several groups of {side.model} with one key ({itemize(side.table.keys)}), as "
                "can happen with lists in arrays: such groups cannot be paired, so compare all groups"
            )
    return Pairs(left_rows, right_rows, *counts.tolist())


def common_keys(left: GroupTable, right: GroupTable) -> pa.Schema:
    """Return the key columns in types that fit both tables. Raise :class:`InputError` if names or types differ."""
    if left.keys != right.keys:
        raise InputError(
            f"groups are by {itemize(left.keys)} in {left.place}, and by {itemize(right.keys)} in {right.place}: only "
            "groups of one key are compared"
        )
    return pa.schema([_common(left, right, name) for name in left.keys])


def _common(left: GroupTable, right: GroupTable, name: str) -> pa.Field:
    kinds = [plain_field(table.schema.field(name)).type for table in (left, right)]
    if kinds[0] == kinds[1]:
        return pa.field(name, kinds[0])
    for is_kind, wide in ((pa.types.is_integer, pa.int64()), (is_text_type, pa.large_string())):
        if all(map(is_kind, kinds)) and pa.uint64() not in kinds:
            return pa.field(name, wide)
    raise InputError(
        f'the key "{shorten(name)}" is of type {shorten(kinds[0])} in {left.place}, and of type '
        f"{shorten(kinds[1])} in {right.place}: evaluate one of them with a key of the other's type"
    )


def _keys(side: ModelGroups, keys: pa.Schema, place: int, share: int, shares: int) -> pa.Table:
    kept, start = [], 0
    for batch in side.batches(keys.names):
        numbers = pa.array(np.arange(start, start + batch.num_rows))
        start += batch.num_rows
        for key in keys.names:
            side.table.validate_files(key, batch[key])
        rows = pa.Table.from_batches([batch]).cast(keys).append_column(f"{_ROW}{place}", numbers)
        if shares > 1 and rows.num_rows:
            shares_of_rows = buckets_of_keys([rows[key].combine_chunks() for key in keys.names], shares)
            rows = rows.filter(pa.array(shares_of_rows == share))
        kept.append(rows)
    empty = pa.schema([*keys, pa.field(f"{_ROW}{place}", pa.int64())]).empty_table()
    return pa.concat_tables([empty, *kept])


def is_text(texts: pa.Array, text: str) -> pa.Array:
    """Return a mask of the ``texts`` equal to ``text``.

    In a dictionary array, only the dictionary's values are compared.
    """
    if not pa.types.is_dictionary(texts.type):
        return pc.equal(texts, text)
    places = pc.indices_nonzero(pc.equal(texts.dictionary, text))
    return pc.is_in(texts.indices, places.cast(texts.indices.type))
