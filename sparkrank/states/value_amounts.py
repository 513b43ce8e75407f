"""The attention to each value of a column (the weights of its positions in lists), and the amount that it is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.states.items import UNIT, ItemCounts, rows_shown, split_parts
from sparkrank.states.keys import StateKey


@dataclass(frozen=True, eq=False)
class ValueAmounts:
    """The attention to each of n ``values``, and the amount that each is due, as whole numbers.

    ``attention`` is in units of :data:`sparkrank.states.items.UNIT`, and ``due`` counts rows or items. Both have the
    shape (n,), or (parts, n) if they are amounts by part (fixed subset) of the groups.
    """

    values: pa.Array
    attention: Ints
    due: Ints

    @classmethod
    def of(cls, counts: ItemCounts, key: StateKey, target: StateKey | None) -> ValueAmounts:
        """Return the amounts of ``key``.

        Due amounts are its relevant rows, or the counts of ``target`` if this is given.
        """
        values, attention, relevant = counts.of_key(key)
        if target is None:
            return cls(values, attention, relevant)
        others, _, due = counts.of_key(target)
        every = pa.concat_arrays([values, others]).unique()
        return cls(every, _at(values, attention, every), _at(others, due, every))

    def of_parts(self, counts: ItemCounts, key: StateKey, parts: int, *, varies: bool) -> ValueAmounts | None:
        """Return the amounts of ``key`` in each of ``parts`` parts of the groups, or None if there are none.

        Due amounts are 0 unless they differ by part (``varies``).
        """
        texts, attention, relevant = counts.of_key(key)
        if not len(texts):
            return None
        part, values = split_parts(texts)
        place = pc.index_in(values, value_set=self.values).to_numpy(zero_copy_only=False)
        amounts = np.zeros((2, parts, len(self.values)), np.int64)
        amounts[0, part, place] = attention
        amounts[1, part, place] = relevant if varies else 0
        return ValueAmounts(self.values, *amounts)

    def at(self, values: pa.Array) -> ValueAmounts:
        """Return the amounts of ``values``, which must include all of ``self.values``.

        Other values have the amount 0.
        """
        return ValueAmounts(values, _at(self.values, self.attention, values), _at(self.values, self.due, values))

    def without(self, parts: ValueAmounts) -> ValueAmounts:
        """Return the amounts of all groups minus those of each part in ``parts``. Shape: (parts, n)."""
        return ValueAmounts(self.values, self.attention - parts.attention, self.due - parts.due)

    def shares(self) -> tuple[Floats, Floats]:
        """Return the shares of the attention and of the due amounts. Shares of a total of 0 are NaN."""
        return _shares(self.attention), _shares(self.due)

    def totals(self) -> tuple[float, float]:
        """Return the total attention, in rows, and the total due amount."""
        return rows_shown(self.attention), float(self.due.sum())


def values_of_all(amounts: Sequence[ValueAmounts]) -> pa.Array:
    """Return the values of all ``amounts``, each once and in order."""
    values = pa.concat_arrays([own.values for own in amounts]).unique()
    return values.take(pc.sort_indices(values))


def _shares(amounts: Ints) -> Floats:
    whole, part = (units.sum(axis=-1, keepdims=True) for units in np.divmod(amounts, UNIT))  # 64 bits hold each sum
    with np.errstate(invalid="ignore"):
        shares: Floats = (amounts / UNIT) / (whole + part / UNIT)
    return shares


def _at(values: pa.Array, amounts: Ints, every: pa.Array) -> Ints:
    """Return ``amounts`` rearranged from the order of ``values`` to that of ``every``, with 0 for further values.

    The last axis of the arrays is that of the values.
    """
    spread = np.zeros((*amounts.shape[:-1], len(every)), np.int64)
    spread[..., pc.index_in(values, value_set=every).to_numpy(zero_copy_only=False)] = amounts
    return spread
