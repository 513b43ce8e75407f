"""How many buckets a day falls into, and how many tasks solve them."""

from __future__ import annotations

import itertools

import pytest

from sparkrank.engines.shuffle.group_runs import RUN_ROWS
from sparkrank.inputs.buckets import MOST_BUCKETS, bucket_count, first_buckets, task_count, task_of


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


@pytest.mark.parametrize(("models", "buckets"), [(1, 12), (8, 12), (9, 14), (16, 24), (200, 300)])
def test_buckets_of_many_models_have_as_many_scores(models: int, buckets: int) -> None:
    """12 million rows: 12 buckets of at most 8 million scores each."""
    assert bucket_count(12_000_000, models=models) == buckets
    assert 12_000_000 * models <= buckets * 8_000_000


def test_there_are_no_more_buckets_than_loops_cut() -> None:
    """Where there are more rows, each has more: of 100 billion 1.5 million, which is one run of groups."""
    assert (
        bucket_count(10**12, 10**7, models=1000) == bucket_count(10**12) == bucket_count(10**9, 1_000) == MOST_BUCKETS
    )
    assert 10**11 / bucket_count(10**11) < RUN_ROWS


# 3 buckets a task up to 225, and then 5 times the root: 5 * 15 = 225 / 3, 5 * 31.6 = 158.1, 5 * 100, 5 * 316.2 = 1581.1
@pytest.mark.parametrize(
    ("buckets", "tasks"),
    [(1, 1), (8, 8), (20, 8), (24, 8), (25, 9), (225, 75), (1000, 159), (10_000, 500), (100_000, 1582)],
)
def test_tasks_of_buckets(buckets: int, tasks: int) -> None:
    assert task_count(buckets) == tasks


@pytest.mark.parametrize("buckets", [1, 3, 8, 20, 1000, 1001])
def test_a_task_has_buckets_that_follow_one_another(buckets: int) -> None:
    for tasks in {1, task_count(buckets), buckets}:
        firsts = first_buckets(buckets, tasks)
        assert (firsts[0], firsts[-1], len(firsts)) == (0, buckets, tasks + 1)
        for task, (first, last) in enumerate(itertools.pairwise(firsts)):
            assert last - first in (buckets // tasks, -(-buckets // tasks))  # no task has two more than another
            assert {task_of(bucket, buckets, tasks) for bucket in range(first, last)} == {task}
