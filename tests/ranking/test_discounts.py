"""The discount of a position: by its definition wherever it stands, and in every way that lists are summed up."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank import native
from sparkrank.ranking.discounts import TABLED_POSITIONS, Discount

BY_HAND: dict[str, tuple[Discount, Callable[[int], float]]] = {
    "log2": (Discount(), lambda position: 1 / math.log2(position + 1)),
    "zipf": (Discount("zipf"), lambda position: 1 / position),
    "listed": (Discount("listed", (3.0, 0.5)), lambda position: {1: 3.0, 2: 0.5}.get(position, 0.0)),
}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("furthest", [1, 2, 3, 8, 1000, TABLED_POSITIONS, 2**31 - 1])
def test_of_near_and_far_positions(name: str, furthest: int) -> None:
    discount, by_hand = BY_HAND[name]
    positions = np.array([1, 2, 3, furthest], np.int32)
    np.testing.assert_allclose(discount.at(positions), [by_hand(int(each)) for each in positions], rtol=1e-15)
    assert discount.at(np.empty(0, np.int32)).tolist() == []


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("longest", [0, 1, 2, 3, 4, 100])
def test_a_table_is_long_enough(name: str, longest: int) -> None:
    discount, by_hand = BY_HAND[name]
    table = discount.table(longest)
    assert len(table) > longest
    np.testing.assert_allclose(table[1:], [by_hand(position) for position in range(1, len(table))], rtol=1e-15)


FAR = 10**9
ROWS = pa.table({"user": ["a"] * 4, "score": [4.0, 3.0, 2.0, 1.0], "rank": [1, 3, 70, FAR], "click": [0, 1, 0, 2]})


# At given positions the relevant rows stand at 3 and very far below; best, grades 2 and 1 stand at 1 and 2.
GIVEN = {
    "dcg(discount=zipf)": 1 / 3 + 2 / FAR,
    "dcg(discount=[8,4,2,1])": 1 * 2,
    "ndcg(discount=zipf)": (1 / 3 + 2 / FAR) / (2 / 1 + 1 / 2),
    "ndcg(discount=[8,4,2,1])@3": (1 * 2) / (2 * 8 + 1 * 4),
}
DENSE = {
    "dcg": 1 / math.log2(3) + 2 / math.log2(5),
    "dcg(discount=zipf)": 1 / 2 + 2 / 4,
    "dcg(discount=[1,0.75,0.5,0.25])": 0.75 + 2 * 0.25,
    "dcg(discount=[1,0.75,0.5,0.25])@3": 0.75,
    "ndcg(discount=zipf)": (1 / 2 + 2 / 4) / (2 / 1 + 1 / 2),
    "ndcg(gain=binary,discount=zipf)": (1 / 2 + 1 / 4) / (1 / 1 + 1 / 2),
    "ndcg": (1 / math.log2(3) + 2 / math.log2(5)) / (2 / 1 + 1 / math.log2(3)),
}


@pytest.mark.parametrize("compiled", [True, False], ids=["loops", "numpy"])
def test_lists_by_hand(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several discounts of one gain, in one evaluation: what one of them has summed up is not the other's."""
    monkeypatch.setattr(native, "COMPILED", compiled and native.COMPILED)
    for expected, asked in ((GIVEN, {"rank": "rank", "positions": "given"}), (DENSE, {"score": "score"})):
        found = sr.evaluate(ROWS, [*expected], group="user", label="click", **asked)
        assert [found.value(text) for text in expected] == pytest.approx([*expected.values()], rel=1e-14)


def test_what_is_stored_of_the_default_is_as_it_was() -> None:
    """States name the definition of their metric: one that said more than before would not merge with them."""
    found = sr.evaluate(ROWS, ["dcg@10", "ndcg", "dcg(discount=zipf)"], group="user", score="score", label="click")
    definitions = [text.partition("; ")[0] for text in found.metrics["definition"].to_pylist()]
    assert definitions == ["dcg(gain=linear)@10", "ndcg(gain=linear, ideal=judged)", "dcg(gain=linear, discount=zipf)"]
