"""How many buckets a day falls into. Results do not depend on it; speed and memory do."""

from __future__ import annotations

import math

# 4 MB of columns: a bucket's sorts stay within a core's share of the cache, and one call of the solver (15 ms) is long
# against what it costs to make it. docs/performance.md has the curve.
BUCKET_ROWS = 150_000


def bucket_count(rows: int, bucket_rows: int = BUCKET_ROWS) -> int:
    """Buckets for ``rows`` rows."""
    return max(1, math.ceil(rows / bucket_rows))
