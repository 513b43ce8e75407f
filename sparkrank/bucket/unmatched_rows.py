"""The choice of one unmatched row of the lists and one of the truth, which a warning shows to a person."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.bucket.impressions import key_columns
from sparkrank.numeric.array_types import Codes, Flags, Ints
from sparkrank.numeric.text_arrays import is_text, text_bytes, text_ends
from sparkrank.states.unmatched import UnmatchedRow

FEW = 8  # the number of items that are searched one by one
_WORD_BYTES = 8
# Odd multipliers with well-mixed bits: those of Steele, Lea and Flood's SplitMix64 (OOPSLA 2014).
_STEP, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def unmatched_rows(
    rows: pa.Table, sides: Mapping[str, Flags], item: Codes | Ints, items: pa.Array, *, with_group: bool
) -> dict[str, UnmatchedRow]:
    """One unmatched row of each side of a bucket, where ``sides`` flags all unmatched rows (n) of each side.

    ``item`` (n) is the number of each row's item among ``items``. ``with_group`` is true where the key columns have the
    values of the input, and not their hash.
    """
    places, found = place_of(items), {}
    soonest = np.unique(places[np.argpartition(places, FEW)[:FEW]] if len(places) > FEW else places)
    for side, flags in sides.items():
        of_side = _rows_of_first(flags, item, places, soonest)
        if not len(of_side):
            continue
        first = np.unique(item[of_side])
        texts = values_as_bytes(items.take(pa.array(first)))
        chosen = pc.index(texts, pc.min(texts)).as_py()
        group: tuple[bytes, ...] = ()
        if with_group:
            owners = of_side[item[of_side] == first[chosen]]
            group = _least_group(rows.select(key_columns(rows)).take(pa.array(owners)))
        found[side] = UnmatchedRow(int(places[first[chosen]]), texts[chosen].as_py(), group)
    return found


def unmatched_parts(
    rows: pa.Table,
    sides: Mapping[str, tuple[int, Flags]],
    items: Ints,
    distinct: pa.Array | None,
    *,
    with_group: bool,
) -> dict[str, UnmatchedRow]:
    """The result of :func:`unmatched_rows` where the rows of each side lie together, and loops search for the first.

    ``sides`` have the first row of each side, and flag its unmatched rows. ``items`` (n) are whole numbers,
    or places among the ``distinct`` items.
    """
    if distinct is not None:
        everywhere = {side: np.zeros(len(items), np.bool_) for side in sides}
        for side, (start, flags) in sides.items():
            everywhere[side][start : start + len(flags)] = flags
        return unmatched_rows(rows, everywhere, items, distinct, with_group=with_group)
    found = {}
    for side, (start, flags) in sides.items():
        of_side = items[start : start + len(flags)]
        first, place = native.matches.first_place(of_side, flags.view(np.uint8))
        if first < 0:
            continue
        group: tuple[bytes, ...] = ()
        if with_group:  # no two items have one place
            owners = start + np.flatnonzero((of_side == of_side[first]) & flags)
            group = _least_group(rows.select(key_columns(rows)).take(pa.array(owners)))
        found[side] = UnmatchedRow(place, str(of_side[first]).encode(), group)
    return found


def _rows_of_first(flags: Flags, item: Codes | Ints, places: NDArray[np.uint64], soonest: NDArray[np.uint64]) -> Ints:
    """The flagged rows of the first item by place that has any, or of several items that share this place.

    That item is mostly among the ``soonest`` places, and searching for one item is faster than looking at all.
    """
    for place in soonest:
        of_place = np.flatnonzero(places == place)
        if len(of_place) > 1:
            break
        rows = np.flatnonzero(item == of_place[0])
        if len(rows := rows[flags[rows]]):
            return rows
    rows = np.flatnonzero(flags)
    if not len(rows):
        return rows
    there = np.zeros(len(places), np.bool_)
    there[item[rows]] = True
    found: Ints = rows[places[item[rows]] == places[there].min()]
    return found


def _least_group(keys: pa.Table) -> tuple[bytes, ...]:
    """The first of ``keys`` in the order of their texts."""
    texts = pa.table([values_as_bytes(column.combine_chunks()) for column in keys.columns], keys.column_names)
    least = pc.select_k_unstable(texts, 1, [(name, "ascending") for name in texts.column_names])
    return tuple(column[0].as_py() for column in texts.take(least).columns)


def values_as_bytes(values: pa.Array) -> pa.Array:
    """The text of each value as bytes, which may be invalid UTF-8."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_text(values.type) or pa.types.is_fixed_size_binary(values.type):
        return values.cast(pa.large_binary())
    return values.cast(pa.string()).cast(pa.large_binary())


def place_of(items: pa.Array) -> NDArray[np.uint64]:
    """A hash of each of ``items`` (texts, whole numbers or floats): any of them may be the first in its order.

    The hash of a text reads only its length and its last eight bytes. That of a null is arbitrary.
    """
    if is_text(items.type):
        numbers = _ends_of_texts(items)
    elif pa.types.is_floating(items.type):
        numbers = items.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64).view(np.uint64)
    else:
        numbers = items.cast(pa.int64(), safe=False).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    mixed = (numbers + _STEP) * _MIX
    mixed ^= mixed >> np.uint64(31)
    mixed *= _STEP
    mixed ^= mixed >> np.uint64(29)
    return mixed


def _ends_of_texts(texts: pa.Array) -> NDArray[np.uint64]:
    """The last eight bytes of each text as a number, and its length above."""
    ends = text_ends(texts).astype(np.int64)
    padded = np.concatenate([np.zeros(_WORD_BYTES, np.uint8), text_bytes(texts)[ends[0] : ends[-1]]])
    words = np.ndarray(len(padded) - _WORD_BYTES + 1, "<u8", padded, strides=(1,))
    lengths = np.diff(ends)
    missing = 8 * np.maximum(_WORD_BYTES - lengths, 0).astype(
        np.uint64
    )  # bits of a word that belong to the text before
    last = np.where(lengths > 0, words[ends[1:] - ends[0]] >> np.minimum(missing, np.uint64(63)), np.uint64(0))
    numbers: NDArray[np.uint64] = last + lengths.view(np.uint64) * _MIX
    return numbers
