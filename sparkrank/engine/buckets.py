"""How many buckets a day falls into, and tasks the buckets. Results do not depend on it; speed and memory do."""

from __future__ import annotations

import math

# 4 MB of columns: a bucket's sorts stay within a core's share of the cache, and one call of the solver (15 ms) is long
# against what it costs to make it. docs/performance.md has the curve.
BUCKET_ROWS = 150_000


# Starting a Python task costs 15 ms, a bucket's way through it 60 ms: four buckets to a task keep the first below a
# tenth. The few tasks of a small day get fewer buckets each, so that no core is idle.
BUCKETS_PER_TASK = 4
TASKS_OF_A_SMALL_DAY = 8


def bucket_count(rows: int, bucket_rows: int = BUCKET_ROWS) -> int:
    """Buckets for ``rows`` rows."""
    return max(1, math.ceil(rows / bucket_rows))


def task_count(buckets: int) -> int:
    """Tasks that solve ``buckets`` buckets."""
    return min(buckets, TASKS_OF_A_SMALL_DAY + buckets // BUCKETS_PER_TASK)
