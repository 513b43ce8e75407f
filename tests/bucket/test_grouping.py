"""The order in which the groups of a bucket stand in the group table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.bucket import bucket_columns, evaluate_bucket
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.grouping import groups_of, keys_of
from sparkrank.bucket.impressions import LABEL, key_column, score_column
from sparkrank.metrics import plan_of

# Of each group its key, its relevant rows and all of them: the last ones of a group score highest.
SIZES = {"a": (1, 3), "b": (0, 2), "c": (1, 2), "d": (0, 2), "e": (2, 2), "f": (0, 1)}
IN_ORDER = ["f", "b", "d", "a", "c", "e"]  # b and d, which are alike, as they came; the hit of c stands above that of a


# The key of every row, and whether it is relevant.
ROW_KEYS = [key for key, (_, rows) in SIZES.items() for _ in range(rows)]
RELEVANT = np.array([row < relevant for relevant, rows in SIZES.values() for row in range(rows)])


@pytest.mark.parametrize("columns", [1, 2])
def test_groups_have_the_keys_of_their_rows(columns: int) -> None:
    rows = pa.table({key_column(index): ROW_KEYS for index in range(columns)})
    groups = groups_of(rows.columns)
    assert keys_of(BucketRows(rows), groups).take(pa.array(groups.codes)).to_pydict() == rows.to_pydict()


@pytest.mark.parametrize("models", [["m"], ["m", "n"]])
def test_the_group_table_stands_by_relevant_rows_and_where_hits_are(models: list[str]) -> None:
    """Of each model by its own list: that of the second is the other way round. No judgment is not relevant."""
    labels = pa.array(RELEVANT.astype(np.int8), mask=np.array(ROW_KEYS) == "b")
    score = np.arange(float(len(ROW_KEYS)))
    scores = {score_column(index): score * (-1) ** index for index in range(len(models))}
    rows = pa.table({key_column(0): ROW_KEYS, LABEL: labels, **scores})
    plan = plan_of(["p@1"], models, ["user"])
    table = evaluate_bucket(rows.select(bucket_columns(plan, 1)), plan).groups
    in_order = [*IN_ORDER, *["f", "b", "d", "c", "a", "e"][: len(IN_ORDER) * (len(models) - 1)]]
    assert table["user"].to_pylist() == in_order
    assert table["model"].to_pylist() == [model for model in models for _ in SIZES]
    sizes = list(zip(*(table[name].to_pylist() for name in ("n_relevant", "n_rows")), strict=True))
    assert sizes == [SIZES[key] for key in in_order]
    # the first model has hits at 3 of a and 2 of c, the other at 1 of both
    assert table["p@1"].to_pylist() == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0][: len(in_order)]
