"""Numbers by key add up alike whether they are arrays or tables, and whichever keys they have."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from sparkrank.states import RowSums
from sparkrank.states.keys import KeyedRows, SliceKey
from sparkrank.states.pickling import pickled, unpickled

LIMBS = 6


def sums_of(of_value: Mapping[str | None, float], name: str = "rows") -> RowSums:
    """The values of a slice, each with its number in the first limb."""
    numbers = np.zeros((len(of_value), LIMBS))
    numbers[:, 0] = list(of_value.values())
    return RowSums.of([(SliceKey("m", "country", tuple(of_value), name), numbers)])


def totals(sums: RowSums) -> dict[tuple[str, str], float]:
    return {(row["slice_value"], row["sum"]): row["total_0"] for row in sums.table.to_pylist()}


PARTS = [sums_of({"at": 1.0, "de": 2.0}), sums_of({"at": 10.0, "de": 20.0}), sums_of({"de": 100.0, "ch": 200.0})]


def test_arrays_and_tables_add_up_alike() -> None:
    for as_tables in itertools.product([False, True], repeat=3):
        parts = [RowSums(part.table) if as_table else part for part, as_table in zip(PARTS, as_tables, strict=True)]
        for first, *others in itertools.permutations(parts):
            assert totals(first.merge(*others)) == {("at", "rows"): 11, ("de", "rows"): 122, ("ch", "rows"): 200}


def test_values_that_not_every_part_has_are_put_in_order() -> None:
    parts = [sums_of({"de": 1.0, None: 2.0}), sums_of({"ch": 10.0, "de": 20.0}), sums_of({None: 100.0})]
    merged = parts[0].merge(*parts[1:])
    assert isinstance(merged.rows, KeyedRows)
    (key,) = merged.rows.keys
    assert key.values == ("ch", "de", None)
    assert merged.rows.numbers[:, 0].tolist() == [10, 21, 102]


def test_what_is_sent_is_the_numbers_alone() -> None:
    values = [str(number) for number in range(1000)]
    sums = sums_of(dict.fromkeys(values, 3.0))
    size = len(pickled(sums))
    assert size < 1000 * 8 + 1000 * 16  # one limb of six, and the texts of the values
    assert sums.table.num_rows == 1000
    assert len(pickled(sums)) == size  # the table that was made is not sent beside them
    again = unpickled(pickled(sums))
    assert (again.rows.keys, again.rows.numbers.tolist()) == (sums.rows.keys, sums.rows.numbers.tolist())
