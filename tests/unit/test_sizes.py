"""How many buckets a day falls into, and how many tasks solve them."""

from __future__ import annotations

import pytest

from sparkrank.engines.buckets import bucket_count, task_count

pytestmark = pytest.mark.same_without_loops


@pytest.mark.parametrize(
    ("rows", "buckets"),
    [
        (0, 1),
        (1, 1),
        (250_000, 1),
        (250_001, 2),  # a small day: one for each core, and none below a quarter of a million rows
        (1_000_000, 4),
        (4_000_000, 4),
        (4_000_001, 5),
        (20_000_000, 20),
        (10**9, 1000),
    ],
)
def test_buckets_of_a_day(rows: int, buckets: int) -> None:
    assert bucket_count(rows) == buckets


def test_buckets_are_of_the_size_that_is_asked_for() -> None:
    assert bucket_count(1_000_001, bucket_rows=100_000) == 11


@pytest.mark.parametrize(("buckets", "tasks"), [(1, 1), (8, 8), (20, 8), (24, 8), (25, 9), (1000, 334)])
def test_tasks_of_buckets(buckets: int, tasks: int) -> None:
    assert task_count(buckets) == tasks
