"""The largest groups in the table quality, with their keys, and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.bucket import evaluate_bucket
from sparkrank.metrics import plan_of
from sparkrank.states import Partials
from sparkrank.states.largest import LargeGroup, merged_largest

ASKED: dict[str, Any] = {"metrics": ["ndcg@5"], "group": "user", "score": "score", "label": "clicked"}


def rows_of(*sizes: tuple[str, int]) -> pa.Table:
    users = [user for user, size in sizes for _ in range(size)]
    return pa.table({"user": users, "score": np.arange(float(len(users))), "clicked": np.zeros(len(users), np.int64)})


def sizes_of(*sizes: tuple[str, int], **settings: Any) -> list[tuple[str, float, str | None]]:
    rows = sr.evaluate(rows_of(*sizes), **ASKED, **settings).quality.to_pylist()
    return [(row["check"], row["count"], row["example"]) for row in rows if "largest" in row["check"]]


def test_the_largest_groups_stand_in_quality() -> None:
    """A key is often a person: where no table has it, quality has not."""
    assert sizes_of(("b", 1000), ("c", 999), ("a", 3000), ("d", 5)) == [
        ("rows of the largest group", 3000.0, 'user "a"'),
        ("rows of the second largest group", 1000.0, 'user "b"'),
        ("rows of the third largest group", 999.0, None),
    ]
    assert sizes_of(("a", 3000), ("b", 10), group_table=False) == [
        ("rows of the largest group", 3000.0, None),
        ("rows of the second largest group", 10.0, None),
        ("rows of the third largest group", 0.0, None),
    ]


def largest_of(keys: np.ndarray) -> Partials:
    rows = {"key_0": keys, "label": np.zeros(len(keys), np.int8), "score_0": np.arange(float(len(keys)))}
    return evaluate_bucket(pa.table(rows), plan_of(["ndcg@5"], ["m"], ["user"])).partials


def test_of_equal_groups_the_same_are_named_in_any_order_and_buckets() -> None:
    assert largest_of(np.empty(0, np.int64)).largest == (LargeGroup(0),) * 3
    keys = np.random.default_rng(0).permutation(np.repeat(np.arange(50), 1000))
    halves = Partials.merged([largest_of(keys[keys % 2 == half]) for half in (0, 1)])
    assert largest_of(keys).largest == halves.largest == tuple(LargeGroup(1000, (key,)) for key in (b"9", b"8", b"7"))


@given(st.lists(st.lists(st.builds(LargeGroup, st.integers(0, 5), st.tuples(st.binary(max_size=2))))))
def test_the_largest_of_parts_are_those_of_all(parts: list[list[LargeGroup]]) -> None:
    """In any order, merged at once or in two steps."""
    together = sorted((group for part in parts for group in part), reverse=True)[:3]
    steps = [merged_largest(map(tuple, some)) for some in (parts[2:], parts[:2])]
    assert merged_largest(map(tuple, parts)) == merged_largest(steps) == tuple(together)
