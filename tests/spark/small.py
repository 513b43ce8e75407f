"""What tests of inputs share: three rows of two users, and what is found of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import sparkrank as sr
from sparkrank.base.checks import NO_LIMITS
from sparkrank.config.sections import Input
from sparkrank.engines.input_frames import spark_frame
from sparkrank.engines.lanes import Lane
from sparkrank.engines.request import Request
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.run.day_request import side_of
from sparkrank.run.lane import open_lane

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = "2026-11-19"
ROLES = {"group": "user", "score": "score", "label": "label", "buckets": 2}
ROWS = pa.table({"user": ["a", "a", "b"], "score": [0.5, 0.25, 0.75], "label": [0, 1, 1]})
RR = [["a", 1 / 2], ["b", 1.0]]  # the relevant row of a stands second, that of b first


def groups_of(evaluation: sr.Evaluation) -> list[list]:
    with evaluation:
        groups = evaluation.groups
        rows = groups.to_pylist() if isinstance(groups, pa.Table) else [row.asDict() for row in groups.collect()]
    return sorted([row["user"], row["rr"]] for row in rows)


def lane_of(given: Input, lane: str, roles: Roles, plan: Plan, spark: SparkSession | None) -> Lane:
    """The lane by which a spec that asks for ``lane`` reads ``given``."""
    return open_lane(Request((side_of("input", given, DAY),), None, roles, plan, NO_LIMITS, lane, spark))


def frame_of(given: Input, spark: SparkSession, roles: Roles | None = None, day: str = DAY) -> DataFrame:
    """``given`` as Spark reads it."""
    return spark_frame(side_of("input", given, day), spark, roles)
