"""The lane ``scan``: Parquet, CSV and JSON named by path, which Spark's tasks read with Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sparkrank.engines.one_group import narrowed
from sparkrank.engines.reading import arrow_sides, settings_of_source
from sparkrank.engines.spark.failures import task_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import Solved
    from sparkrank.metrics import Plan
    from sparkrank.sources.parquet import ParquetInput
    from sparkrank.sources.sources import Sides

_NAMES = {"parquet": "Parquet", "csv": "CSV", "json": "JSON"}


@dataclass(frozen=True)
class ScanLane:
    """Files that Spark's tasks read with Arrow."""

    name: ClassVar[str] = "scan"
    needs_session: ClassVar[bool] = True
    takes_row_memory: ClassVar[bool] = False
    takes_time_zone: ClassVar[bool] = False

    spark: SparkSession
    sides: Sides
    reason: str

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        if (what := request.frame_side) is not None:
            return f"the {what} is a Spark DataFrame"
        what = request.memory_side
        if request.is_in_memory:
            return f"the {what} is a table in memory"
        if request.spark is None:
            return "there is no Spark session"
        return None if what is None else f"the {what} is a table in memory, and what is beside it is not"

    @classmethod
    def open(cls, request: Request, opened: dict[str, ParquetInput], left: str | None) -> ScanLane:  # noqa: ARG003
        assert request.spark is not None  # noqa: S101 - see why_not
        sides = arrow_sides(request, opened)
        return cls(request.spark, sides, f"the input is {_NAMES[request.impressions.format]} named by path")

    @property
    def warnings(self) -> list[str]:
        return self.sides.warnings

    def check(self, plan: Plan) -> None:
        self.sides.check(plan)

    def rows(self) -> int:
        return self.sides.rows

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        from sparkrank.engines.spark.scan import evaluate_scan

        with task_errors(self.spark):
            return evaluate_scan(self.spark, self.sides, plan, buckets, files)

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        return self.sides.schema(plan)

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        from sparkrank.engines.spark.scan import pick_scanned

        with task_errors(self.spark):
            return pick_scanned(self.spark, self.sides if keys is None else narrowed(self.sides, keys), plan, pick)

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:  # noqa: ARG002
        found: dict[str, str] = {}
        for (side, _), source in zip(request.sides, (self.sides.impressions, self.sides.truth), strict=False):
            found |= settings_of_source(side, source, self.spark)
        return found
