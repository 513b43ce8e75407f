"""What tests of the lanes share: a log in files, and the rows of a table of any lane, as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr

METRICS = ["ndcg@3", "ap", "rr", "p@2", "group_auc", "gauc", "auc", "auc(exact)", "auc_up(digits=1)"]
ROLES = {"score": {"a": "score", "b": "other"}, "label": "label", "reference_rank": "shown", "score_sums": True}


def log_rows() -> pa.Table:
    """3,000 impressions with ties, nulls and fractions."""
    rng = np.random.default_rng(17)
    n = 3_000
    return pa.table(
        {
            "user_id": rng.integers(0, 200, n),
            "name": np.char.add("user-", rng.integers(0, 200, n).astype("U4")),
            "born": pa.array(rng.integers(0, 3, n).astype(np.int32)).cast(pa.date32()),
            "item": np.char.add("i", rng.integers(0, 50, n).astype("U4")),
            "score": np.where(rng.random(n) < 0.3, rng.integers(0, 4, n) / 4, rng.random(n).round(3)),
            "other": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.2),
            "shown": pa.array(rng.integers(1, 30, n), mask=rng.random(n) < 0.1),
            "weight": 1 / rng.uniform(0.01, 1, n),
            "label": pa.array(rng.choice([-1.0, 0.0, 0.1, 0.5, 1.0, 3.0], n), mask=rng.random(n) < 0.1),
        }
    )


def write_log(folder: Path) -> Path:
    """Write the impressions of :func:`log_rows` to ``folder``, in files that differ in schema and size."""
    rows = log_rows()
    narrow = rows.schema.set(0, pa.field("user_id", pa.int32()))
    pq.write_table(rows[:1].cast(narrow), folder / "0.parquet")
    pq.write_table(rows[1:1].drop_columns(["other"]), folder / "1.parquet")
    pq.write_table(rows[1:2000], folder / "2.parquet", row_group_size=300)
    pq.write_table(rows[2000:], folder / "3.parquet", row_group_size=7)
    return folder


def groups_with_ties() -> pa.Table:
    """Groups of one to thirty rows with ties, and scores and labels that are null."""
    rng = np.random.default_rng(17)
    user = np.sort(rng.integers(0, 40, 600))
    return pa.table(
        {
            "user_id": user,
            "item": [f"i{item}" for item in np.arange(600) % 37],
            "score": pa.array(rng.random(600).round(1), mask=rng.random(600) < 0.1),
            "label": pa.array(rng.integers(0, 3, 600), mask=rng.random(600) < 0.1),
        }
    )


def rows_of(table) -> list[dict]:
    """The rows of a table of any lane, every float as its exact text, in a fixed order."""
    rows = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    return sorted(({name: repr(value) for name, value in row.items()} for row in rows), key=str)


def bits_of(evaluation: sr.Evaluation) -> list[list[dict]]:
    with evaluation:
        groups = [] if evaluation.groups is None else rows_of(evaluation.groups)
        metrics = rows_of(evaluation.metrics)
        assert rows_of(evaluation.table) == metrics
        return [metrics, groups, rows_of(evaluation.blocks), rows_of(evaluation.quality)]
