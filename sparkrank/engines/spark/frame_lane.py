"""The lane ``frame``: any Spark DataFrame, and all input that only Spark can read correctly."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sparkrank.engines.reading import settings_of_frame, spark_frame
from sparkrank.engines.spark.failures import task_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import Solved
    from sparkrank.inputs.roles import Roles
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source

SAMPLED_ROWS = 1000


@dataclass(frozen=True)
class FrameLane:
    """Any Spark DataFrame, and a second one of a truth."""

    name: ClassVar[str] = "frame"
    needs_session: ClassVar[bool] = True
    takes_row_memory: ClassVar[bool] = False
    takes_time_zone: ClassVar[bool] = True

    frame: DataFrame
    roles: Roles
    truth: DataFrame | None = None
    reason: str = "the input is a Spark DataFrame"

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        if request.is_in_memory:
            return f"the {request.memory_side} is a table in memory"
        return "there is no Spark session" if request.session is None else None

    @classmethod
    def open(cls, request: Request, opened: dict[str, Source], left: str | None) -> FrameLane:
        session = request.session
        assert session is not None  # noqa: S101 - see why_not
        frames = [spark_frame(side, session, roles, opened) for side, roles in request.sides]
        reason = left or f"lane is {cls.name}"
        if (what := request.frame_side) is not None:
            reason = f"the {what} is a Spark DataFrame"
        return cls(frames[0], request.roles, frames[1] if len(frames) > 1 else None, reason)

    @cached_property
    def _sides(self) -> tuple[DataFrame, DataFrame | None]:
        """Both sides, with columns for roles that name values inside other columns."""
        from sparkrank.engines.spark.nested import with_nested

        truth, of_truth = self.truth, self.roles.truth
        beside = None if truth is None or of_truth is None else with_nested(truth, of_truth, "truth")
        return with_nested(self.frame, self.roles, "input"), beside

    @property
    def warnings(self) -> list[str]:
        return []

    def check(self, plan: Plan) -> None:
        from sparkrank.engines.spark.columns import check_schema, check_truth_schema

        frame, truth = self._sides
        check_schema(frame.schema, self.roles, plan)
        if truth is not None and self.roles.truth is not None:
            check_schema(truth.schema, self.roles.truth, plan, "truth")
            check_truth_schema(frame.schema, truth.schema, self.roles)

    def rows(self) -> int:
        with task_errors(self.frame.sparkSession):
            if self.roles.arrays:
                return int(self.frame.count()) * _elements_of_row(self._sides[0], self.roles.arrays)
            return self.frame.count() + (0 if self.truth is None else self.truth.count())

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        from sparkrank.engines.spark.frame import evaluate_frame

        with task_errors(self.frame.sparkSession):
            frame, truth = self._sides
            return evaluate_frame(frame, self.roles, plan, buckets, files, truth)

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        from sparkrank.engines.spark.frame import framed_schema

        return framed_schema(*self._sides, self.roles, plan)

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        from sparkrank.engines.spark.frame import pick_framed

        with task_errors(self.frame.sparkSession):
            return pick_framed(*self._sides, self.roles, plan, keys, pick)

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:
        settings: dict[str, str] = {}
        for (side, roles), frame in zip(request.sides, (self.frame, self.truth), strict=False):
            if frame is not None:
                settings |= settings_of_frame(side, frame, roles, own_zone)
        return settings


def _elements_of_row(frame: DataFrame, arrays: Sequence[str]) -> int:
    """The elements of ``arrays`` in a row of ``frame``, from its first rows: a full count would read them all."""
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.values import named

    sizes = (F.coalesce(F.size(named(column)), F.lit(0)) for column in arrays)
    some = frame.select(functools.reduce(operator.add, sizes)).limit(SAMPLED_ROWS).collect()
    sizes_of_some: list[int] = [max(0, size) for (size,) in some]
    return max(1, round(sum(sizes_of_some) / max(1, len(some))))
