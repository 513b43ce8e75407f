"""The mergeable state of catalogue metrics: for each item, its exposure and in how many groups it is relevant."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Codes, Flags, Ints
from sparkrank.numeric.overflow import validate_no_overflow
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.numeric.text_arrays import as_strings, coded
from sparkrank.schemas.tables import ITEMS as TABLE
from sparkrank.states.keys import SliceKey, StateKey, in_order, rows_by_key

ITEM_KEY = ("model", "slice", "slice_value", "exposure", "item")
ITEM_SCHEMA = TABLE.schema
ITEM_AMOUNTS = ("shown", "relevant")
PART_DIGITS = 2
TEXT = pa.large_string()  # the items of a large catalogue may have more than 2 GiB
UNIT = 2**32  # the amount of one shown row; each of the tied rows that a cut-off divides counts a share of it


def rows_shown(exposure: Ints) -> float:
    """Return the number of rows that ``exposure`` counts in units of :data:`UNIT`.

    A plain sum of 2^31 rows would overflow.
    """
    whole, part = (int(units.sum()) for units in np.divmod(exposure, UNIT))
    return (whole * UNIT + part) / UNIT


class CodedItems(NamedTuple):
    """The counts of n items by key. All arrays have shape (n,).

    ``shown`` counts the rows with an item, in units of :data:`UNIT`, and ``relevant`` the groups in which the item is
    relevant. ``code`` is the index of an item's key in ``series``. An item in ``item`` is a whole number if the input
    has whole numbers, otherwise a string (:data:`TEXT`).
    """

    series: tuple[StateKey, ...]
    code: Ints
    item: pa.Array
    shown: Ints
    relevant: Ints

    @classmethod
    def of_table(cls, table: pa.Table) -> CodedItems:
        series: list[StateKey] = []
        code = np.zeros(table.num_rows, np.int64)
        for key, rows in rows_by_key(table, ITEM_KEY[:-1]):
            code[rows] = len(series)
            series.append(StateKey(*key))
        shown, relevant = (table[name].to_numpy() for name in ITEM_AMOUNTS)
        return cls(tuple(series), code, table["item"].cast(TEXT).combine_chunks(), shown, relevant)

    def table(self) -> pa.Table:
        """Return a table of :data:`ITEM_SCHEMA`, with one row per item, sorted by key."""
        ordered = sorted(set(self.series), key=in_order)
        rank = {key: number for number, key in enumerate(ordered)}
        code = np.array([rank[key] for key in self.series], np.int64)[self.code]
        rows = pa.table([code, self.item.cast(TEXT), self.shown, self.relevant], ["key", *ITEM_SCHEMA.names[-3:]])
        rows = rows.sort_by([("key", "ascending"), ("item", "ascending")])
        keys = [pa.array(texts, pa.string()).dictionary_encode() for texts in zip(*ordered, strict=True)]
        columns = [texts.take(rows["key"].combine_chunks()) for texts in keys]
        items = as_strings(rows["item"].combine_chunks())
        return pa.table([*columns, items, *rows.columns[2:]], ITEM_SCHEMA.names).cast(ITEM_SCHEMA)


@dataclass(frozen=True)
class ItemCounts:
    """The mergeable counts of items, stored as :class:`CodedItems` or as a table of :data:`ITEM_SCHEMA`."""

    rows: pa.Table | CodedItems

    @classmethod
    @functools.cache  # Arrow takes 0.15 ms to make the table, and every bucket needs it
    def empty(cls) -> ItemCounts:
        return cls(ITEM_SCHEMA.empty_table())

    @classmethod
    def of(
        cls,
        key: SliceKey,
        items: pa.Array,
        codes: Codes,
        shown: Ints,
        relevant: Flags,
        segments: Segments = WHOLE,
    ) -> ItemCounts:
        """Count the items of n rows by slice value. Arrays of rows have shape (n,).

        ``codes`` contains each row's index in ``items``. ``shown`` contains the amount of each row in the exposure of
        its item, in units of :data:`UNIT`, and ``relevant`` flags the rows whose item is relevant.
        """
        if items.null_count:
            rows = np.flatnonzero(items.is_valid().to_numpy(zero_copy_only=False)[codes])
            codes, shown, relevant, segments = codes[rows], shown[rows], relevant[rows], segments.of(rows)
        pair, count, series = codes, len(items), np.zeros(len(items), np.int64)
        item = np.arange(len(items))
        if segments.code is not None:
            pair, distinct = _numbered(pa.array(codes + len(items) * segments.code.astype(np.int64)))
            series, item = np.divmod(distinct.to_numpy(), max(len(items), 1))
            count = len(item)
        amounts = _added(pair, shown, count), np.bincount(pair[relevant], minlength=count)
        kept = np.flatnonzero(items.is_valid().to_numpy(zero_copy_only=False)[item]) if items.null_count else None
        if kept is not None:
            item, series, amounts = item[kept], series[kept], (amounts[0][kept], amounts[1][kept])
        keys = tuple(StateKey(key.model, key.slice, value, key.name) for value in key.values)
        return cls(CodedItems(keys, series, _plain(items).take(pa.array(item)), *amounts))

    @classmethod
    def of_catalogue(cls, items: pa.Array, keys: Sequence[StateKey]) -> ItemCounts:
        """Return counts of 0 for each of ``items`` under each of ``keys``."""
        code = np.repeat(np.arange(len(keys)), len(items))
        none = np.zeros(len(code), np.int64)
        repeated = pa.concat_arrays([_plain(items)] * len(keys))
        return cls(CodedItems(tuple(keys), code, repeated, none, none))

    @classmethod
    def of_target(cls, items: pa.Array, counts: Ints, keys: Sequence[StateKey]) -> ItemCounts:
        """Return counts under each of ``keys``.

        The entry of an item in ``counts`` is the number of groups in which it is relevant.
        """
        code = np.repeat(np.arange(len(keys)), len(items))
        repeated = pa.concat_arrays([_plain(items)] * len(keys))
        return cls(CodedItems(tuple(keys), code, repeated, np.zeros(len(code), np.int64), np.tile(counts, len(keys))))

    @classmethod
    def all_of(cls, parts: Sequence[ItemCounts]) -> ItemCounts:
        return parts[0].merge(*parts[1:]) if parts else cls.empty()

    @cached_property
    def table(self) -> pa.Table:
        return ITEM_SCHEMA.empty_table() if self.is_empty else self.coded.table()

    @cached_property
    def coded(self) -> CodedItems:
        return CodedItems.of_table(self.rows) if isinstance(self.rows, pa.Table) else self.rows

    @property
    def is_empty(self) -> bool:
        return (self.rows.num_rows if isinstance(self.rows, pa.Table) else len(self.rows.code)) == 0

    def merge(self, *others: ItemCounts) -> ItemCounts:
        """Return the counts of the groups of this and all ``others`` together. No group may be in two of the states."""
        filled = [part for part in (self, *others) if not part.is_empty]
        if not filled:
            return self
        parts = [part.coded for part in filled]
        place: dict[StateKey, int] = {}
        for part in parts:
            for key in part.series:
                place.setdefault(key, len(place))
        kinds = {part.item.type for part in parts}
        items = pa.concat_arrays([part.item if len(kinds) == 1 else part.item.cast(TEXT) for part in parts])
        series = np.concatenate([np.array([place[key] for key in part.series], np.int64)[part.code] for part in parts])
        shown, relevant = ([getattr(part, name) for part in parts] for name in ITEM_AMOUNTS)
        are_apart = len(place) == sum(len(part.series) for part in parts)
        if are_apart and not any(isinstance(part.rows, pa.Table) for part in filled):  # a table may have an item twice
            amounts = np.concatenate(shown), np.concatenate(relevant)
            return ItemCounts(CodedItems(tuple(place), series, items, *amounts))
        code, distinct = _numbered(items)
        if len(place) > 1:
            code, pairs = _numbered(pa.array(code + len(distinct) * series))
            series, item = np.divmod(pairs.to_numpy(), len(distinct))
            distinct = distinct.take(pa.array(item))
        else:
            series = np.zeros(len(distinct), np.int64)

        def sums_of(amounts: Sequence[Ints]) -> Ints:
            return _added(code, np.concatenate(amounts), len(distinct))

        validate_no_overflow(shown, sums_of, "the times that an item is shown")
        return ItemCounts(CodedItems(tuple(place), series, distinct, sums_of(shown), sums_of(relevant)))

    def sizes(self) -> list[tuple[StateKey, int]]:
        counts = np.bincount(self.coded.code, minlength=len(self.coded.series)).tolist()
        return [(key, count) for key, count in zip(self.coded.series, counts, strict=True) if count]

    def of_key(self, key: StateKey) -> tuple[pa.Array, Ints, Ints]:
        """Return the items of ``key`` as texts, their exposures, and the numbers of groups where they are relevant."""
        places = self._places.get(key, np.zeros(0, np.int64))
        return self.coded.item.take(pa.array(places)).cast(TEXT), *self.amounts(key)

    def amounts(self, key: StateKey) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        places = self._places.get(key, np.zeros(0, np.int64))
        return self.coded.shown[places], self.coded.relevant[places]

    @cached_property
    def _places(self) -> dict[StateKey, Ints]:
        code, series = self.coded.code, self.coded.series
        if len(series) == 1:
            return {series[0]: np.arange(len(code))}
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(np.bincount(code, minlength=len(series)))
        return dict(zip(series, np.split(order, ends[:-1]), strict=True))


def with_parts(part: Codes, codes: Codes, items: pa.Array) -> tuple[pa.Array, Codes]:
    """Return distinct texts, each made of a part (subset of groups) and an item, and the index of each row's text.

    ``part`` and ``codes`` (indices in ``items``) have one element per row.
    """
    pair, code = np.unique(part * np.int64(len(items)) + codes, return_inverse=True)
    part, item = np.divmod(pair, max(len(items), 1))
    texts = pa.array([f"{own:0{PART_DIGITS}}" for own in range(int(part.max(initial=-1)) + 1)], TEXT)
    joined = pc.binary_join_element_wise(
        texts.take(pa.array(part)), items.cast(TEXT).take(pa.array(item)), pa.scalar(" ", TEXT)
    )
    return joined, code.astype(np.int32)


def split_parts(texts: pa.Array) -> tuple[Ints, pa.Array]:
    """Return the part numbers and the items of texts from :func:`with_parts`."""
    part = pc.utf8_slice_codeunits(texts, 0, PART_DIGITS).cast(pa.int64())
    return part.to_numpy(), pc.utf8_slice_codeunits(texts, PART_DIGITS + 1)


def _added(codes: Codes, amounts: Ints, count: int) -> Ints:
    """Return the sum of ``amounts`` for each code below ``count``, as exact integers. Shape: (count,)."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, codes, amounts)
    return sums


def _numbered(values: pa.Array) -> tuple[Codes, pa.Array]:
    """Return the index of each value among the distinct values, and the distinct values. Nulls are not allowed."""
    if native.runs("keys", values.type == pa.int64()):
        codes, distinct = np.empty(len(values), np.int32), np.empty(len(values), np.int64)
        count = native.keys.number([values.to_numpy()], codes, distinct)
        return codes, pa.array(distinct[:count])
    encoded = coded(values)
    return encoded.indices.to_numpy(), encoded.dictionary


def _plain(items: pa.Array) -> pa.Array:
    """Return ``items`` as 64-bit integers if their type is a signed integer, otherwise as strings."""
    return items.cast(pa.int64() if pa.types.is_signed_integer(items.type) else TEXT)


def items_table(items: ItemCounts) -> pa.Table:
    """Return the counts as the table ``items``, sorted by key."""
    return items.table
