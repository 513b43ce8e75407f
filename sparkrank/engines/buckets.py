"""How many buckets a day falls into, and tasks the buckets. Results do not depend on it; speed and memory do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sparkrank.errors import SpecError

if TYPE_CHECKING:
    from sparkrank.metrics import Plan

# A bucket costs some milliseconds beside its rows: 20 million rows of one model and integer keys take all lanes a tenth
# longer in buckets of 400,000, in buckets of 2,500,000 as long (docs/performance.md). One of this size with three
# models, slices or a truth is solved in 0.1 to 0.4 GB.
BUCKET_ROWS = 1_000_000
MOST_BUCKETS = 100_000  # a hundred billion rows; every split is cut into as many pieces
# A day of a million rows or two is quickest in as many buckets as there are cores, but not in smaller ones than these.
BUCKETS_OF_A_SMALL_DAY = 4
LEAST_BUCKET_ROWS = 250_000

# Starting a Python task costs 15 ms, a bucket's way through it 80 ms. States are merged before they leave a task, so
# more buckets to a task send less. The few tasks of a small day get fewer buckets each, so that no core is idle.
BUCKETS_PER_TASK = 3
TASKS_OF_A_SMALL_DAY = 8


def bucket_count(rows: int, bucket_rows: int = BUCKET_ROWS) -> int:
    """Buckets for ``rows`` rows, of at most about ``bucket_rows`` each."""
    small = min(BUCKETS_OF_A_SMALL_DAY, math.ceil(rows / LEAST_BUCKET_ROWS))
    return max(1, small, math.ceil(rows / bucket_rows))


def refuse_buckets(buckets: int | None, plan: Plan) -> None:
    """Raise :class:`SpecError` where there are no groups to be cut into ``buckets``."""
    if buckets is not None and not plan.keys:
        raise SpecError(f"buckets is {buckets}, but no group column is named: rows are evaluated where they are read")


def task_count(buckets: int) -> int:
    """Tasks that solve ``buckets`` buckets."""
    return min(buckets, max(TASKS_OF_A_SMALL_DAY, math.ceil(buckets / BUCKETS_PER_TASK)))
