"""How many buckets a day falls into, and how many tasks solve them."""

from __future__ import annotations

import itertools

from sparkrank.engines.shuffle.group_runs import RUN_ROWS
from sparkrank.inputs.buckets import MOST_BUCKETS, bucket_count, first_buckets, task_count, task_of


def test_buckets_of_a_day() -> None:
    # A small day has one for each core, and none below a quarter of a million rows.
    of_rows = {0: 1, 250_000: 1, 250_001: 2, 1_000_000: 4, 4_000_000: 4, 4_000_001: 5, 20_000_000: 20, 10**9: 1000}
    assert {rows: bucket_count(rows) for rows in of_rows} == of_rows
    assert bucket_count(1_000_001, bucket_rows=100_000) == 11  # of the size that is asked for


def test_buckets_of_many_models_have_as_many_scores() -> None:
    """12 million rows: 12 buckets of at most 8 million scores each."""
    of_models = {1: 12, 8: 12, 9: 14, 16: 24, 200: 300}
    assert {models: bucket_count(12_000_000, models=models) for models in of_models} == of_models
    assert all(12_000_000 * models <= buckets * 8_000_000 for models, buckets in of_models.items())


def test_there_are_no_more_buckets_than_loops_cut() -> None:
    """Where there are more rows, each has more: of 100 billion 1.5 million, which is one run of groups."""
    most = {bucket_count(10**12, 10**7, models=1000), bucket_count(10**12), bucket_count(10**9, 1_000)}
    assert most == {MOST_BUCKETS}
    assert 10**11 / bucket_count(10**11) < RUN_ROWS


def test_tasks_of_buckets() -> None:
    # 3 buckets a task up to 225, and then 5 times the root: 5 * 15 = 225 / 3, 5 * 31.6 = 158.1, 5 * 100, 5 * 316.2
    tasks = {1: 1, 8: 8, 20: 8, 24: 8, 25: 9, 225: 75, 1000: 159, 10_000: 500, 100_000: 1582}
    assert {buckets: task_count(buckets) for buckets in tasks} == tasks


def test_a_task_has_buckets_that_follow_one_another() -> None:
    for buckets in (1, 3, 8, 20, 1000, 1001):
        for tasks in {1, task_count(buckets), buckets}:
            firsts = first_buckets(buckets, tasks)
            assert (firsts[0], firsts[-1], len(firsts)) == (0, buckets, tasks + 1)
            for task, (first, last) in enumerate(itertools.pairwise(firsts)):
                assert last - first in (buckets // tasks, -(-buckets // tasks))  # no task has two more than another
                assert {task_of(bucket, buckets, tasks) for bucket in range(first, last)} == {task}
