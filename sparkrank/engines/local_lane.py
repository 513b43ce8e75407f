"""The lane ``local``, which evaluates files or tables in memory in this process, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sparkrank.engines.local import ROW_MEMORY_BYTES, evaluate_local, fitting_row_memory, pick_local
from sparkrank.engines.request import AUTO
from sparkrank.engines.spark.session_features import has_pyspark
from sparkrank.sources.selection import Sides

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import Solved
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source


@dataclass(frozen=True)
class SidesLane:
    """The base class of lanes that read ``sides`` (all inputs) with Arrow, so that no session settings matter."""

    takes_time_zone: ClassVar[bool] = False

    sides: Sides
    reason: str

    @property
    def warnings(self) -> list[str]:
        return self.sides.warnings

    def check(self, plan: Plan) -> None:
        self.sides.check(plan)

    def rows(self) -> int:
        return self.sides.rows

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        return self.sides.schema(plan)

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:  # noqa: ARG002
        return {}

    def narrowed(self, keys: GroupKeys | None) -> Sides:
        """Return ``sides`` with readers that, if ``keys`` are given, may skip the rows of all other groups."""
        return self.sides if keys is None else self.sides.narrowed(keys.condition)


@dataclass(frozen=True)
class LocalLane(SidesLane):
    """The lane that reads files or tables in memory in this process. Rows beyond ``row_memory`` bytes go to disk."""

    name: ClassVar[str] = "local"
    needs_session: ClassVar[bool] = False
    takes_row_memory: ClassVar[bool] = True

    row_memory: int = ROW_MEMORY_BYTES

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        if (what := request.frame_side) is not None:
            return f"the {what} is a Spark DataFrame"
        if request.lane == AUTO and request.spark is not None and not request.is_in_memory:
            return "there is a Spark session"
        return None

    @classmethod
    def open(cls, request: Request, opened: dict[str, Source], left: str | None) -> LocalLane:  # noqa: ARG003
        sides = Sides.open(request.sides, request.roles, request.plan, opened)
        reason = f"lane is {cls.name}"
        if request.spark is None:
            reason = "there is no Spark session" if has_pyspark() else "pyspark is not installed"
        if (what := request.memory_side) is not None:
            reason = f"the {what} is a table in memory"
        return cls(sides, reason, fitting_row_memory() if request.row_memory is None else request.row_memory)

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        return evaluate_local(self.sides, plan, buckets, files, self.row_memory)

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        return pick_local(self.narrowed(keys), plan, pick)
