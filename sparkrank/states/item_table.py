"""A table of items, from which buckets look up the values of the items of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.key_hashes import Hashes, hash_keys
from sparkrank.ranking.value_columns import CATALOG, ROWS

TARGET_ROWS = ROWS  # a column that buckets do not read; shares of values among the interactions' rows come from it
TEXT = pa.large_string()  # the items of a large catalog may have more than 2 GiB


@dataclass(frozen=True, eq=False)
class ItemTable:
    """The values of items, sorted by the hash of the item. No item may be null or twice in ``items``.

    ``columns`` maps the name of a bucket column to its values, one for each of ``items``. ``name`` is the name of the
    table. ``totals`` maps the name of a bucket column to a total, if the values are shares or ranks of that total.
    """

    items: pa.Array
    columns: Mapping[str, pa.Array]
    name: str = CATALOG
    totals: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        items: pa.Array,
        columns: Mapping[str, pa.Array],
        name: str = CATALOG,
        totals: Mapping[str, int] | None = None,
    ) -> ItemTable:
        keys = plain_items(items)
        order = pa.array(np.argsort(hash_keys([keys]), kind="stable"))
        taken = {column: values.take(order) for column, values in columns.items()}
        return cls(keys.take(order), taken, name, totals or {})

    @property
    def nbytes(self) -> int:
        return sum(int(values.nbytes) for values in (self.items, *self.columns.values()))

    @cached
    def distinct(self, name: str) -> int:
        """Return the number of distinct values in the column ``name``, without null."""
        return len(pc.unique(self.columns[name]).drop_null())

    @cached_property
    def _hashes(self) -> Hashes:
        """The hashes of the items in ascending order, followed by the largest possible hash."""
        return np.append(hash_keys([self.items]), np.iinfo(np.uint64).max)

    @cached_property
    def _unused_bits(self) -> np.uint64:
        return np.uint64(64 - len(self.items).bit_length())

    @cached_property
    def _starts(self) -> Ints:
        """For each value of the leading bits, the index of the first hash with this or a greater value."""
        prefixes = np.arange(1 << len(self.items).bit_length(), dtype=np.uint64)
        starts: Ints = np.searchsorted(self._hashes[:-1], prefixes << self._unused_bits)
        return starts

    def _place_of(self, hashes: Hashes) -> Ints:
        """Return the index of the first hash in the table that is not below each of ``hashes``.

        The search starts at the first hash with the same leading bits.
        """
        place: Ints = self._starts[hashes >> self._unused_bits]
        behind = np.flatnonzero(self._hashes[place] < hashes)
        while len(behind):
            place[behind] += 1
            behind = behind[self._hashes[place[behind]] < hashes[behind]]
        return place

    def find(self, items: pa.Array) -> Ints:
        """Return the index of each of ``items`` in the table, or -1 for an item that is null or not in the table."""
        found = np.full(len(items), -1, np.int64)
        if not len(self.items) or not _alike(items.type, self.items.type):
            return found
        items = plain_items(items)
        hashes, open_ = hash_keys([items]), np.flatnonzero(items.is_valid().to_numpy(zero_copy_only=False))
        place = self._place_of(hashes[open_])
        while len(open_):  # a second time only where two items have the same hash
            inside = np.flatnonzero(place < len(self.items))
            inside = inside[self._hashes[place[inside]] == hashes[open_[inside]]]
            open_, place = open_[inside], place[inside]
            same = pc.equal(items.take(pa.array(open_)), self.items.take(pa.array(place)))
            is_same = same.to_numpy(zero_copy_only=False)
            found[open_[is_same]] = place[is_same]
            open_, place = open_[~is_same], place[~is_same] + 1
        return found

    def shares(self, column: str, values: pa.Array, of: str) -> Floats:
        """Return the share of each of ``values`` in the sum of the :meth:`counts` of ``column``; NaN for a null."""
        texts, counts = self.counts(column, of)
        place = pc.index_in(values.cast(TEXT), value_set=texts).fill_null(len(texts)).to_numpy(zero_copy_only=False)
        shares: Floats = np.append(counts / max(int(counts.sum()), 1), 0.0)[place]
        shares[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return shares

    @cached
    def counts(self, column: str, of: str) -> tuple[pa.Array, Ints]:
        """Return the values in ``column`` as texts, and the number of items or rows with each value.

        If ``of`` is ``catalog``, items of the catalog are counted, else rows of the interactions (:data:`TARGET_ROWS`).
        """
        if of == CATALOG:
            counted = pc.value_counts(self.columns[column].drop_null())
            return counted.field("values").cast(TEXT), counted.field("counts").to_numpy()
        codes = self.columns[column].dictionary_encode()
        rows = pa.table({"code": codes.indices, "rows": self.columns[TARGET_ROWS]}).drop_null()
        summed = rows.group_by("code").aggregate([("rows", "sum")])
        return codes.dictionary.take(summed["code"].combine_chunks()).cast(TEXT), summed["rows_sum"].to_numpy()


def _alike(kind: pa.DataType, other: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) == pa.types.is_integer(other))


def plain_items(items: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return ``items`` as 64-bit integers, as doubles, or as texts."""
    if pa.types.is_floating(items.type):
        return items.cast(pa.float64())
    return items.cast(pa.int64() if pa.types.is_integer(items.type) else TEXT, safe=False)


class ItemValues(Protocol):
    """A reference from a plan to a table of items. On a worker, :attr:`table` is the table itself."""

    @property
    def table(self) -> ItemTable: ...


@dataclass(frozen=True, eq=False)
class HeldItems:
    """A table of items in the memory of this process."""

    table: ItemTable


def repeated_items(items: pa.Array) -> list[str]:
    """Return the texts of the items that occur more than once in ``items``, sorted."""
    counted = pc.value_counts(items)
    several = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
    return sorted(several.cast(pa.string()).to_pylist())
