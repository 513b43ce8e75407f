"""Whole numbers that add up, which numpy and Arrow let pass 64 bits without a word.

Counts never come that far. Sums in units of 2^-32 of a row do, from two billion rows of one block or item on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from sparkrank.errors import StateError
from sparkrank.numeric.types import Ints

MOST = 2**63 - 1
HALF = 32  # bits
# Sums of upper halves with which those of lower halves, of up to 2^16 parts, make no more than 64 bits.
_LEAST, _MOST = -(2**31), 2**31 - 2**16 - 1


def refuse_overflow(parts: Sequence[Ints], sums_of: Callable[[Sequence[Ints]], Ints], what: str) -> None:
    """Raise :class:`StateError` where numbers of ``parts``, those of each part, have a sum beyond 64 bits.

    ``sums_of`` adds up numbers that stand as those of the parts do. ``what`` they are is for the sentence.
    """
    if sum(map(_size, parts)) <= MOST:
        return
    upper = sums_of([part >> HALF for part in parts])  # of which 2^32 add up
    if upper.min() < _LEAST or upper.max() > _MOST:
        raise StateError(f"{what} do not add up in 64 bits (those of two billion rows always do): merge fewer days")


def refuse_overflow_by_key(tables: Sequence[pa.Table], key: Sequence[str], name: str, what: str) -> None:
    """The same of the numbers in the column ``name``, of which those under one ``key`` are added up."""

    def sums_of(parts: Sequence[Ints]) -> Ints:
        keys = pa.concat_tables([table.select(key) for table in tables]).unify_dictionaries()
        rows = keys.append_column(name, pa.array(np.concatenate(parts)))
        sums: Ints = rows.group_by(list(key), use_threads=False).aggregate([(name, "sum")])[f"{name}_sum"].to_numpy()
        return sums

    refuse_overflow([table[name].to_numpy() for table in tables], sums_of, what)


def _size(numbers: Ints) -> int:
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
