"""What tests of inputs share: three rows of two users, and what is found of them."""

from __future__ import annotations

import pyarrow as pa

import sparkrank as sr
from sparkrank.metrics import Plan

ROLES = {"group": "user", "score": "score", "label": "label", "buckets": 2}
ROWS = pa.table({"user": ["a", "a", "b"], "score": [0.5, 0.25, 0.75], "label": [0, 1, 1]})
PLAN = Plan.of(["rr"], ["score"], ["label"])
RR = [["a", 1 / 2], ["b", 1.0]]  # the relevant row of a stands second, that of b first


def groups_of(evaluation: sr.Evaluation) -> list[list]:
    with evaluation:
        groups = evaluation.groups
        rows = groups.to_pylist() if isinstance(groups, pa.Table) else [row.asDict() for row in groups.collect()]
    return sorted([row["user"], row["rr"]] for row in rows)
