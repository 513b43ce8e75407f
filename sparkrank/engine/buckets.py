"""How many buckets a day falls into, and tasks the buckets. Results do not depend on it; speed and memory do."""

from __future__ import annotations

import math

# A bucket of this size costs 65 ns a row, one of 150,000 rows 82. Larger buckets send less: the score blocks of
# all buckets overlap, and each bucket sends its own (docs/performance.md).
BUCKET_ROWS = 400_000
MOST_BUCKETS = 100_000  # forty billion rows; every split is cut into as many pieces

# Starting a Python task costs 15 ms, a bucket's way through it 80 ms. States are merged before they leave a task, so
# more buckets to a task send less. The few tasks of a small day get fewer buckets each, so that no core is idle.
BUCKETS_PER_TASK = 4
TASKS_OF_A_SMALL_DAY = 8


def bucket_count(rows: int, bucket_rows: int = BUCKET_ROWS) -> int:
    """Buckets for ``rows`` rows."""
    return max(1, math.ceil(rows / bucket_rows))


def task_count(buckets: int) -> int:
    """Tasks that solve ``buckets`` buckets."""
    return min(buckets, TASKS_OF_A_SMALL_DAY + buckets // BUCKETS_PER_TASK)
