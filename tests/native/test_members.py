"""Rows whose group and item are in a table of pairs: the compiled loop beside numpy and a set of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.bucket.matching import has_match
from tests.native.with_and_without import both, calls

CASTS: dict[str, Callable[[int], object]] = {"numbers": int, "texts": "item {}".format, "fractions": float}


@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
@pytest.mark.parametrize("pairs_of_group", [0, 1, 3, 5, 256, 257, 300])
def test_rows_whose_pair_is_there(pairs_of_group: int, cast: Callable[[int], object]) -> None:
    """Pairs of a group are compared one by one up to 256, and then looked up among sorted ones."""
    random = np.random.default_rng(pairs_of_group)
    groups = random.permutation(np.repeat(np.arange(4), [pairs_of_group, 2, 0, pairs_of_group // 2])).astype(np.int32)
    items = random.integers(-50, 50 + 4 * pairs_of_group, len(groups)).tolist()
    of_rows = random.integers(0, 4, 2000).astype(np.int32)
    asked = random.integers(-50, 50 + 4 * pairs_of_group, 2000).tolist()
    asked[::7] = [None] * len(asked[::7])
    asked[1::3], of_rows[1::3] = np.resize(items, len(asked[1::3])).tolist(), np.resize(groups, len(asked[1::3]))
    there = set(zip(groups.tolist(), items, strict=True))
    expected = [pair in there for pair in zip(of_rows.tolist(), asked, strict=True)]
    rows = pa.chunked_array([[None if item is None else cast(item) for item in asked]])
    pairs = pa.chunked_array([[cast(item) for item in items]], rows.type)
    with calls() as called:
        for flags in both(lambda: has_match(of_rows, rows, groups, pairs, 4)):
            assert flags.tolist() == expected
    assert called["matches.flag_members"] == 1
    assert sum(expected) > 500


def test_without_pairs_no_row_matches() -> None:
    none, rows = np.empty(0, np.int32), np.zeros(2, np.int32)
    items = pa.chunked_array([[1, 2]])
    assert has_match(rows, items, none, items.slice(0, 0), 1).tolist() == [False, False]
    assert has_match(none, items.slice(0, 0), rows, items, 1).tolist() == []
