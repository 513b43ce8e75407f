"""Whole numbers and score blocks in few bytes: what comes out is what went in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparkrank.kernels.blocks import BlockRule
from sparkrank.states import Partials, ScoreBlocks, Series
from sparkrank.states.narrow import narrow, narrow_ascending, widen, widen_ascending

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.lists(INT64 | st.integers(-300, 300) | st.integers(2**40 - 2, 2**40 + 2), max_size=20)


@given(NUMBERS)
@example([-(2**63), 2**63 - 1])
@example([0, 255])
@example([0, 256])
@example([-1, 2**32 - 2])
@example([-1, 2**32 - 1])
def test_whole_numbers_come_back(values: list[int]) -> None:
    assert widen(narrow(np.array(values, np.int64))).tolist() == values


@given(st.lists(INT64, min_size=1, max_size=20).map(sorted))
@example([-(2**63), 2**63 - 1])
def test_ascending_numbers_come_back(values: list[int]) -> None:
    assert widen_ascending(*narrow_ascending(np.array(values, np.int64))).tolist() == values


@pytest.mark.parametrize(("most", "size"), [(255, 1), (2**16 - 1, 2), (2**32 - 1, 4), (2**40 - 1, 5), (2**48 - 1, 6)])
def test_the_bytes_of_a_number_are_those_that_the_largest_needs(most: int, size: int) -> None:
    parts = narrow(np.array([7, 7 + most], np.int64)).parts
    assert sum(part.itemsize for part in parts) == size


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize(
    "rule",
    [BlockRule("bits", 12), BlockRule("digits", 5), BlockRule("digits", 15), BlockRule("bins", 15), BlockRule("exact")],
    ids=str,
)
@given(st.lists(st.floats(0, 1) | st.floats(allow_nan=False), max_size=20), st.data())
def test_blocks_come_back(rule: BlockRule, weighted: bool, scores: list[float], data: st.DataObject) -> None:
    rows = len(scores)
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), np.bool_)
    weights = np.array(data.draw(st.lists(st.floats(0, 1e6), min_size=rows, max_size=rows)))
    blocks = ScoreBlocks.of(rule, np.array(scores, float), flags, True, weights if weighted else None)
    series = Series("m", "all", "all", rule)
    back = Partials.unpack(Partials(blocks={series: blocks}).pack()).blocks[series]
    assert back.rule == rule
    for name in ("block", "pos", "neg", "offset", "rows"):
        assert getattr(back, name).tolist() == getattr(blocks, name).tolist()
