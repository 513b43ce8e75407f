"""The numbers of buckets and of tasks for a day, which have effects on speed and memory, but not on results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sparkrank.base.errors import SpecError
from sparkrank.numeric.key_hashes import MAX_LOOP_BUCKETS

if TYPE_CHECKING:
    from sparkrank.metrics import Plan

# Each bucket has a fixed cost of some milliseconds. For 20 million rows of one model and integer keys, all lanes take a
# tenth longer with buckets of 400,000 rows, and as long with buckets of 2,500,000 (docs/performance.md). A bucket of
# this size with three models, slices or a truth needs 0.1 to 0.4 GB.
BUCKET_ROWS = 1_000_000
MOST_BUCKET_ROWS = 1_000_000_000_000
# With more models, a bucket has fewer rows, so that it has as many scores. Each score takes some 30 bytes while its
# bucket is evaluated: twenty models of a million rows took more than a gigabyte.
MODELS_OF_A_BUCKET = 8
# Compiled loops support no more buckets. A day of more than 65 billion rows has larger buckets instead, and above 131
# billion rows, each bucket is split again by the task that evaluates it.
MOST_BUCKETS = MAX_LOOP_BUCKETS
# A day of one or two million rows is fastest in as many buckets as there are cores, with at least this many rows each.
BUCKETS_OF_A_SMALL_DAY = 4
LEAST_BUCKET_ROWS = 250_000

# Starting a Python task costs 15 ms, and each bucket 80 ms. A task merges its states before it sends them, so more
# buckets per task send less. The few tasks of a small day get fewer buckets each, so that no core is idle.
BUCKETS_PER_TASK = 3
TASKS_OF_A_SMALL_DAY = 8
# Every split of the input sends a block of rows to every task. If the number of tasks grew with the rows, as that of
# splits does, the number of blocks would grow with the square of the rows. So beyond some hundred million rows, the
# number of tasks is this factor times the square root of the number of buckets.
TASKS_BY_ROOT = 5

FAN_IN = 64  # packed states that one task, and finally the driver, merges
# The same with slices, whose states have megabytes: 64 such states would be more than the driver may collect
# (spark.driver.maxResultSize), and tasks merge states in parallel, while the driver merges one after the other.
FAN_IN_OF_SLICES = 8


def bucket_count(rows: int, bucket_rows: int = BUCKET_ROWS, models: int = 1) -> int:
    """Return the number of buckets, up to :data:`MOST_BUCKETS`, for about ``bucket_rows`` rows in each bucket.

    Examples
    --------
    >>> bucket_count(10_000_000), bucket_count(10_000_000, models=8), bucket_count(10_000_000, models=20)
    (10, 10, 25)
    """
    small = min(BUCKETS_OF_A_SMALL_DAY, math.ceil(rows / LEAST_BUCKET_ROWS))
    of_scores = math.ceil(rows * models / (bucket_rows * MODELS_OF_A_BUCKET))
    return min(MOST_BUCKETS, max(1, small, math.ceil(rows / bucket_rows), of_scores))


def validate_buckets(buckets: int | None, plan: Plan) -> None:
    """Raise :class:`SpecError` if a number of ``buckets`` is requested but the plan has no groups."""
    if buckets is not None and not plan.keys:
        raise SpecError(f"buckets is {buckets}, but no group column is named: rows are evaluated where they are read")


def task_count(buckets: int) -> int:
    most = math.ceil(TASKS_BY_ROOT * math.sqrt(buckets))
    return min(buckets, max(TASKS_OF_A_SMALL_DAY, min(most, math.ceil(buckets / BUCKETS_PER_TASK))))


def fan_in(plan: Plan) -> int:
    return min(FAN_IN, FAN_IN_OF_SLICES) if plan.slices else FAN_IN


def first_buckets(buckets: int, tasks: int) -> list[int]:
    """Return the number of the first bucket of each task, then ``buckets``. The buckets of a task are consecutive."""
    return [-(-task * buckets // tasks) for task in range(tasks + 1)]


def task_of(bucket: int, buckets: int, tasks: int) -> int:
    return bucket * tasks // buckets
