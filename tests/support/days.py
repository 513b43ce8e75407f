"""What tests of metrics of the whole day share: rows as (score, clicked, weight), and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sparkrank.bucket import evaluate_bucket
from sparkrank.metrics import Metric, plan_of
from sparkrank.states import Partials
from tests.support.buckets import MODEL, day

Rows = Sequence[tuple[float, bool, float]]  # score, clicked, weight

# Sums are kept to 2^-84, which is 5e-26: of scores far below these, quotients by their sum lose digits.
PROBABILITIES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(1e-9, 1)
ROWS = st.lists(st.tuples(PROBABILITIES, st.booleans(), st.integers(0, 3).map(float)), min_size=1, max_size=12)


def partials_of(rows: Rows, metrics: Sequence[str], weighted: bool = True, kind: pa.DataType | None = None) -> Partials:
    scores, clicks, weights = np.array(rows, dtype=float).reshape(len(rows), 3).T
    columns = {"key_0": np.arange(len(rows)), "label": clicks, "score_0": pa.array(scores).cast(kind or pa.float64())}
    columns |= {"weight": weights} if weighted else {}
    plan = plan_of(metrics, [MODEL], ["user"], group_table=False, weighted=weighted)
    return evaluate_bucket(pa.table(columns), plan).partials


def values(rows: Rows, metrics: Sequence[str], weighted: bool = True) -> list[float]:
    return [value for value, _ in bounded(rows, metrics, weighted)]


def bounded(rows: Rows, metrics: Sequence[str], weighted: bool = False) -> list[tuple[float, float]]:
    partials = partials_of(rows, metrics, weighted)
    return [day(partials, Metric.parse(metric)) for metric in metrics]
