"""The lane ``scan``, in which Spark's tasks use Arrow to read Parquet, CSV and JSON files given by path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sparkrank.base.errors import FrameLaneNeededError, SparkrankError
from sparkrank.engines.local_lane import SidesLane
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.session_features import core_count
from sparkrank.sources.selection import Selection, Sides

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import PassResult
    from sparkrank.engines.spark.file_scans import FileScan
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source
    from sparkrank.sources.side_rows import SideRows
    from sparkrank.states.item_table import ItemTable, ItemValues

_NAMES = {"parquet": "Parquet", "csv": "CSV", "json": "JSON"}


@dataclass(frozen=True)
class ScanLane(SidesLane):
    """The lane for files that the tasks of the session ``spark`` read with Arrow."""

    name: ClassVar[str] = "scan"
    needs_session: ClassVar[bool] = True
    takes_row_memory: ClassVar[bool] = False

    spark: SparkSession

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        frames = [side for side, _ in request.sides if side.is_frame]
        what = request.memory_side
        if frames and (what is not None or None in (_scan_of(side, request.session) for side in frames)):
            return f"the {request.frame_side} is a Spark DataFrame"
        if request.is_in_memory:
            return f"the {what} is a table in memory"
        if request.session is None:
            return "there is no Spark session"
        return None if what is None else f"the {what} is a table in memory, and what is beside it is not"

    @classmethod
    def open(cls, request: Request, opened: dict[str, Source], left: str | None) -> ScanLane:  # noqa: ARG003
        assert request.session is not None  # noqa: S101 - see why_not
        scans = [_scan_of(side, request.session) for side, _ in request.sides]
        if any(scans):
            sides = _opened_scans(request, scans, opened)
            what, kind = request.frame_side, "DataFrame that only reads Parquet files"
            if what is None:
                kind = "bucketed table of Parquet files"
                what = next(side.what for (side, _), scan in zip(request.sides, scans, strict=True) if scan)
            reason = f"the {what} is a {kind}"
        else:
            sides = Sides.open(request.sides, request.roles, request.plan, opened)
            kind = request.impressions[0].format
            reason = f"the input is {_NAMES.get(kind, kind)} named by path"
        return cls.of(request, sides, reason, core_count(request.session), spark=request.session)

    def shared(self, items: ItemTable) -> ItemValues:
        from sparkrank.engines.spark.shared_items import shared_items

        with task_errors(self.spark):
            return shared_items(self.spark, items)

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> PassResult:
        from sparkrank.engines.spark.scan import evaluate_scan
        from sparkrank.engines.spark.shared_items import without_items

        with task_errors(self.spark):
            return without_items(evaluate_scan(self.spark, self.sides, plan, buckets, files, self.colocation), plan)

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        from sparkrank.engines.spark.scan import pick_from_files

        with task_errors(self.spark):
            return pick_from_files(self.spark, self.narrowed(keys), plan, pick)


def _opened_scans(request: Request, scans: Sequence[FileScan | None], opened: dict[str, Source]) -> Sides:
    """Open the files of ``scans``, and any paths beside them. The frame lane reports errors about these."""
    try:
        pairs = [
            ((Selection.open if scan is None else scan.open)(side, roles, request.plan, opened), roles)
            for (side, roles), scan in zip(request.sides, scans, strict=True)
        ]
        sides = Sides(pairs, request.roles)
        sides.check(request.plan)
    except SparkrankError as error:
        raise FrameLaneNeededError(str(error)) from None
    return sides


def _scan_of(side: SideRows, session: SparkSession | None) -> FileScan | None:
    """Return the scan of files that the DataFrame or table of an input (``side``) does, or None if it may do more."""
    from sparkrank.engines.spark.file_scans import FileScan

    if side.is_frame:
        return FileScan.of(side.given)
    return None if side.table is None or session is None else FileScan.of_table(side, session)
