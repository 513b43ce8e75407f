"""How many distinct items there are, by the lowest of their hashes: exactly of few, nearly of many."""

from __future__ import annotations

import numpy as np
import pytest

from sparkrank.states.distinct_items import (
    LOWEST,
    SCATTERED,
    distinct_items,
    lowest_by_numpy,
    lowest_hashes,
    merged_hashes,
)


@pytest.mark.parametrize("items", [0, 1, LOWEST - 1, 1_000, 200_000])
@pytest.mark.parametrize("kind", ["in a row", "scattered"])
def test_they_are_counted_in_any_layout(items: int, kind: str) -> None:
    draw = np.random.default_rng(items)
    distinct = np.arange(items) if kind == "in a row" else draw.integers(-(2**62), 2**62, items)
    numbers = draw.permutation(np.repeat(distinct, 2))
    lowest, rows = lowest_hashes(numbers)
    hashes = numbers.view(np.uint64) * SCATTERED
    assert rows.tolist() == np.flatnonzero(np.isin(hashes, np.array(lowest, np.uint64))).tolist()
    assert lowest == tuple(np.unique(hashes)[:LOWEST].tolist())
    for found, by_numpy in zip(lowest_hashes(numbers), lowest_by_numpy(numbers, LOWEST), strict=True):
        assert list(found) == by_numpy.tolist()
    parts = [lowest_hashes(part)[0] for part in (numbers[::3], numbers[1::3], numbers[2::3])]
    assert merged_hashes(parts) == merged_hashes([merged_hashes(parts[1:]), parts[0]]) == lowest
    assert distinct_items(lowest) == pytest.approx(items, rel=0 if items < LOWEST else 0.2)
