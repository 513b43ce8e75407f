"""The choice of one unmatched row of the lists and one of the truth, which a warning shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Flags, Ints
from sparkrank.numeric.text_arrays import is_text, text_bytes, text_ends
from sparkrank.states.unmatched import UnmatchedRow

_WORD_BYTES = 8
# Odd multipliers with well-mixed bits: those of Steele, Lea and Flood's SplitMix64 (OOPSLA 2014).
_STEP, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def unmatched_rows(
    sides: Mapping[str, tuple[int, Flags]], items: Ints, distinct: pa.Array | None, keys: pa.Table | None
) -> dict[str, UnmatchedRow]:
    """Choose one unmatched row of each side (lists or truth).

    ``sides`` gives the first row of each side and flags of its unmatched rows. ``items`` has the items of all rows, as
    integers or as indices into ``distinct``.
    """
    places = None if distinct is None else place_of(distinct)
    unmatched = {}
    for side, (start, flags) in sides.items():
        of_side = items[start : start + len(flags)]
        place, first = _first_whole(of_side, flags) if places is None else _first_coded(of_side, flags, places)
        if not len(first):
            continue
        texts = values_as_bytes(pa.array(first) if distinct is None else distinct.take(pa.array(first)))
        chosen = pc.index(texts, pc.min(texts)).as_py()
        group: tuple[bytes, ...] = ()
        if keys is not None:
            owners = start + np.flatnonzero((of_side == first[chosen]) & flags)
            group = _least_group(keys.take(pa.array(owners)))
        unmatched[side] = UnmatchedRow(place, texts[chosen].as_py(), group)
    return unmatched


def _first_whole(items: Ints, flags: Flags) -> tuple[int, Ints]:
    """Return the lowest hash of the flagged ``items``, and the only item with that hash (no two integers share one)."""
    if native.runs("first place"):
        row, place = native.matches.first_place(items, flags.view(np.uint8))
        return place, items[row : row + 1]
    flagged = items[flags]
    places = place_of(pa.array(flagged))
    row = int(places.argmin()) if len(places) else 0
    return int(places.min(initial=2**64 - 1)), flagged[row : row + 1]


def _first_coded(items: Ints, flags: Flags, places: NDArray[np.uint64]) -> tuple[int, Ints]:
    there = np.zeros(len(places), np.bool_)
    there[items[flags]] = True
    lowest = places.min(initial=2**64 - 1, where=there)
    return int(lowest), np.flatnonzero(there & (places == lowest))


def _least_group(keys: pa.Table) -> tuple[bytes, ...]:
    texts = pa.table([values_as_bytes(column.combine_chunks()) for column in keys.columns], keys.column_names)
    least = pc.select_k_unstable(texts, 1, [(name, "ascending") for name in texts.column_names])
    return tuple(column[0].as_py() for column in texts.take(least).columns)


def values_as_bytes(values: pa.Array) -> pa.Array:
    """Return each value as a string, encoded in bytes that may be invalid UTF-8."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_text(values.type) or pa.types.is_fixed_size_binary(values.type):
        return values.cast(pa.large_binary())
    return values.cast(pa.string()).cast(pa.large_binary())


def place_of(items: pa.Array) -> NDArray[np.uint64]:
    """Return a hash of each item. Strings are hashed by length and last eight bytes. A null has an arbitrary hash."""
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
    """Return an integer for each string, computed from the last eight bytes and the length of the string."""
    ends = text_ends(texts).astype(np.int64)
    padded = np.concatenate([np.zeros(_WORD_BYTES, np.uint8), text_bytes(texts)[ends[0] : ends[-1]]])
    words = np.ndarray(len(padded) - _WORD_BYTES + 1, "<u8", padded, strides=(1,))
    lengths = np.diff(ends)
    missing = 8 * np.maximum(_WORD_BYTES - lengths, 0).astype(
        np.uint64
    )  # bits of a word that belong to the text before it
    last = np.where(lengths > 0, words[ends[1:] - ends[0]] >> np.minimum(missing, np.uint64(63)), np.uint64(0))
    numbers: NDArray[np.uint64] = last + lengths.view(np.uint64) * _MIX
    return numbers
