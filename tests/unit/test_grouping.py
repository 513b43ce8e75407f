"""The groups of a bucket and the order in which they stand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.bucket import bucket_columns, evaluate_bucket
from sparkrank.bucket.grouping import Groups, alike_together, groups_of, keys_of
from sparkrank.bucket.impressions import LABEL, key_column, score_column
from sparkrank.metrics import Plan

# Of each group its key, its relevant rows and all of them.
SIZES = {"a": (1, 3), "b": (0, 2), "c": (1, 2), "d": (0, 2), "e": (2, 2), "f": (0, 1)}
IN_ORDER = ["f", "b", "d", "c", "a", "e"]  # b and d, which are alike, as they came


def rows_of(sizes: dict[str, tuple[int, int]]) -> tuple[list[str], np.ndarray]:
    """The key of every row, and whether it is relevant."""
    keys = [key for key, (_, rows) in sizes.items() for _ in range(rows)]
    return keys, np.array([row < relevant for relevant, rows in sizes.values() for row in range(rows)])


@pytest.mark.parametrize("columns", [1, 2])
def test_groups_stand_by_their_relevant_rows_and_then_by_all(columns: int) -> None:
    keys, relevant = rows_of(SIZES)
    rows = pa.table({key_column(index): keys for index in range(columns)})
    groups = alike_together(groups_of(rows.columns), relevant)
    assert keys_of(rows, groups).column(0).to_pylist() == IN_ORDER
    assert [IN_ORDER[code] for code in groups.codes] == keys
    assert groups.sizes is not None
    assert [(int(r), int(n)) for n, r in zip(*groups.sizes[:2], strict=True)] == [SIZES[key] for key in IN_ORDER]


def test_from_255_rows_on_groups_stand_as_they_came() -> None:
    sizes = {"long": (300, 600), "longer": (255, 255), "few": (254, 900), "short": (254, 254)}
    keys, relevant = rows_of(sizes)
    rows = pa.table({key_column(0): keys})
    groups = alike_together(groups_of(rows.columns), relevant)
    assert keys_of(rows, groups).column(0).to_pylist() == ["short", "few", "long", "longer"]
    assert groups.sizes is not None
    assert groups.sizes.rows.tolist() == [254, 900, 600, 255]


def test_a_bucket_without_rows_has_no_groups() -> None:
    found = alike_together(groups_of([pa.chunked_array([pa.array([], pa.int64())])]), np.empty(0, np.bool_))
    assert isinstance(found, Groups)
    assert found.count == len(found.codes) == 0


def test_the_group_table_stands_in_this_order() -> None:
    """A row without a judgment is not relevant."""
    keys, relevant = rows_of(SIZES)
    labels = pa.array(relevant.astype(np.int8), mask=np.array(keys) == "b")
    rows = pa.table({key_column(0): keys, LABEL: labels, score_column(0): np.arange(float(len(keys)))})
    plan = Plan.of(["p@1"], ["m"], ["user"])
    table = evaluate_bucket(rows.select(bucket_columns(plan, 1)), plan).groups
    assert table is not None
    assert table["user"].to_pylist() == IN_ORDER
    assert list(zip(table["n_relevant"].to_pylist(), table["n_rows"].to_pylist(), strict=True)) == [
        SIZES[key] for key in IN_ORDER
    ]
    # the last row of a group scores highest: it is relevant where all of them are
    assert table["p@1"].to_pylist() == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
