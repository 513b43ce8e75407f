"""The lane ``frame``, for any Spark DataFrame, and for any other input that only Spark can read correctly."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sparkrank.base.errors import itemize
from sparkrank.engines.input_frames import settings_of_frame, spark_frame
from sparkrank.engines.request import AUTO
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.spark_tables import is_bucketed
from sparkrank.sources.columns import check_schema
from sparkrank.sources.joined_types import check_joined

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import PassResult
    from sparkrank.engines.spark.batch_converter import FrameSide
    from sparkrank.inputs.roles import Roles
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source
    from sparkrank.sources.side_rows import SideRows
    from sparkrank.states.item_table import ItemTable, ItemValues

SAMPLED_ROWS = 1000


@dataclass(frozen=True)
class FrameLane:
    """The lane for Spark DataFrames.

    ``frames`` contains a DataFrame for the input, or one for each model, and one for the truth if there is any.
    """

    name: ClassVar[str] = "frame"
    needs_session: ClassVar[bool] = True
    takes_row_memory: ClassVar[bool] = False
    takes_time_zone: ClassVar[bool] = True
    takes_grouped: ClassVar[bool] = False

    frames: Sequence[tuple[DataFrame, SideRows, Roles]]
    roles: Roles
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
        frames = [(spark_frame(side, session, roles, opened), side, roles) for side, roles in request.sides]
        reason = left or f"lane is {cls.name}"
        if (what := request.frame_side) is not None:
            reason = f"the {what} is a Spark DataFrame"
        tables = [(side, roles) for side, roles in request.sides if side.table is not None and request.grouped == AUTO]
        bucketed = [side.what for side, roles in tables if is_bucketed(session, str(side.table), roles.group)]
        if bucketed:
            remedy = "path with grouped: files may save the shuffle"
            reason += f"; buckets of {itemize(bucketed)} hold whole groups: {remedy}"
        return cls(frames, request.roles, reason)

    @cached_property
    def _sides(self) -> list[FrameSide]:
        from sparkrank.engines.spark.batch_converter import FrameSide

        return [FrameSide(frame, roles, side.what) for frame, side, roles in self.frames]

    @property
    def _session(self) -> SparkSession:
        return self.frames[0][0].sparkSession

    @property
    def warnings(self) -> list[str]:
        return []

    def check(self, plan: Plan) -> None:
        for side in self._sides:
            check_schema(side.schema, side.roles, plan, side.what)
        first, *others = self._sides
        beside = first.what if plan.long else "lists"
        for side in others:
            check_joined(first.schema, side.schema, first.roles, side.roles, (beside, side.what))

    def rows(self) -> int:
        with task_errors(self._session):
            counts = [int(frame.count()) for frame, *_ in self.frames]
            if self.roles.arrays:
                counts[0] *= _elements_of_row(self._sides[0])
            return sum(counts)

    def shared(self, items: ItemTable) -> ItemValues:
        from sparkrank.engines.spark.shared_items import shared_items

        with task_errors(self._session):
            return shared_items(self._session, items)

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> PassResult:
        from sparkrank.engines.spark.frame import evaluate_frame
        from sparkrank.engines.spark.shared_items import without_items

        with task_errors(self._session):
            return without_items(evaluate_frame(self._sides, plan, buckets, files), plan)

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        from sparkrank.engines.spark.frame import framed_schema

        return framed_schema(self._sides, plan)

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        from sparkrank.engines.spark.frame import pick_from_frames

        with task_errors(self._session):
            return pick_from_frames(self._sides, plan, keys, pick)

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:  # noqa: ARG002
        settings: dict[str, str] = {}
        for frame, side, roles in self.frames:
            settings |= settings_of_frame(side, frame, roles, own_zone)
        return settings


def _elements_of_row(side: FrameSide) -> int:
    """Return an estimate of the mean number of array elements per row. It needs only the first rows."""
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.batch_converter import column_of

    sizes = (F.coalesce(F.size(column_of(side.leaf(name)[0])), F.lit(0)) for name in side.roles.arrays)
    some = side.frame.select(functools.reduce(operator.add, sizes)).limit(SAMPLED_ROWS).collect()
    sizes_of_some: list[int] = [max(0, size) for (size,) in some]
    return max(1, round(sum(sizes_of_some) / max(1, len(some))))
