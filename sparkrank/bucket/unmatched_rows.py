"""The choice of unmatched rows for a warning: one of the lists, of the relevant truth, and of the rest of the truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.numeric.array_types import Flags, Ints
from sparkrank.numeric.key_hashes import Hashes
from sparkrank.numeric.text_arrays import is_text
from sparkrank.states.distinct_items import SCATTERED
from sparkrank.states.unmatched import UnmatchedRow


def unmatched_rows(
    sides: Mapping[str, tuple[int, Flags]],
    items: Ints,
    distinct: pa.Array | None,
    hashes: Hashes | None,
    keys: pa.Table | None,
    few: Ints,
) -> dict[str, UnmatchedRow]:
    """Return the unmatched row with the lowest item hash of each side with unmatched rows.

    A side is the lists, the relevant truth, or the rest of the truth.

    ``sides`` maps each side to its first row, and to flags of its unmatched rows. ``items`` contains the items of all
    rows, as integers or, if ``distinct`` is not None, as indices into it. ``hashes`` are the hashes of ``distinct``.
    ``keys`` contains the group key of each row (None: the results have no key). ``few`` lists rows with the lowest
    hashes, if known. All rows of a side are searched only if ``few`` contains none of the side's unmatched rows.
    """
    unmatched = {}
    for side, (start, flags) in sides.items():
        rows = few[np.searchsorted(few, start) : np.searchsorted(few, start + len(flags))]
        rows = rows[flags[rows - start]]
        if not len(rows):
            rows = start + np.flatnonzero(flags)
        if not len(rows):
            continue
        flagged = items[rows]
        if hashes is None:
            places = flagged.view(np.uint64) * SCATTERED
        else:
            there = np.zeros(len(hashes), np.bool_)
            there[flagged] = True
            flagged = np.flatnonzero(there)
            places = hashes[flagged]
        place = places.min()
        first = np.unique(flagged[places == place])
        texts = values_as_bytes(pa.array(first) if distinct is None else distinct.take(pa.array(first)))
        chosen = pc.index(texts, pc.min(texts)).as_py()
        group: tuple[bytes, ...] = ()
        if keys is not None:
            group = _least_group(keys.take(pa.array(rows[items[rows] == first[chosen]])))
        unmatched[side] = UnmatchedRow(int(place), texts[chosen].as_py(), group)
    return unmatched


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
