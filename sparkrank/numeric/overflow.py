"""A check that sums of integers fit in 64 bits, because numpy and Arrow would wrap around without an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from sparkrank.base.errors import StateError
from sparkrank.numeric.array_types import Ints

INT64_MAX = 2**63 - 1
HALF_BITS = 32  # bits
# Limits for the sum of upper halves: together with the lower halves of up to 2^16 parts, the total fits 64 bits.
_LEAST_UPPER, _MOST_UPPER = -(2**31), 2**31 - 2**16 - 1


def validate_no_overflow(parts: Sequence[Ints], sums_of: Callable[[Sequence[Ints]], Ints], what: str) -> None:
    """Raise :class:`StateError` about ``what`` if one of the sums ``sums_of(parts)`` exceeds 64 bits."""
    if sum(map(_size, parts)) <= INT64_MAX:
        return
    upper = sums_of([part >> HALF_BITS for part in parts])  # 2^32 of these add up without overflow
    if upper.min() < _LEAST_UPPER or upper.max() > _MOST_UPPER:
        raise StateError(f"{what} do not add up in 64 bits (those of two billion rows always do): merge fewer days")


def validate_no_overflow_by_key(tables: Sequence[pa.Table], key: Sequence[str], name: str, what: str) -> None:
    """Raise :class:`StateError` about ``what`` if sums of the column ``name`` by ``key`` over ``tables`` overflow."""

    def sums_of(parts: Sequence[Ints]) -> Ints:
        keys = pa.concat_tables([table.select(key) for table in tables]).unify_dictionaries()
        rows = keys.append_column(name, pa.array(np.concatenate(parts)))
        sums: Ints = rows.group_by(list(key), use_threads=False).aggregate([(name, "sum")])[f"{name}_sum"].to_numpy()
        return sums

    validate_no_overflow([table[name].to_numpy() for table in tables], sums_of, what)


def _size(numbers: Ints) -> int:
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
