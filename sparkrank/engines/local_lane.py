"""The lane ``local``, which evaluates files or tables in memory in this process, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pyarrow as pa

from sparkrank.base.errors import SpecError, itemize
from sparkrank.engines.file_evaluation import FILE_BATCH_ROWS
from sparkrank.engines.local import ROW_MEMORY_BYTES, evaluate_local, fitting_row_memory, pick_local
from sparkrank.engines.request import AUTO
from sparkrank.engines.spark.session_features import has_pyspark
from sparkrank.sources.colocation import Colocation, shared_names, why_not_by_partitions
from sparkrank.sources.library_rows import LibraryRows
from sparkrank.sources.selection import Sides
from sparkrank.states.item_table import HeldItems

if TYPE_CHECKING:
    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import PassResult
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Partitioning, Source
    from sparkrank.states.item_table import ItemTable, ItemValues

L = TypeVar("L", bound="SidesLane")


@dataclass(frozen=True)
class SidesLane:
    """The base class of lanes that read the inputs (``sides``) with Arrow, so that no session settings matter.

    ``reason`` is the reason for the choice of the lane. ``colocation`` describes the files of whole groups, if any.
    """

    takes_time_zone: ClassVar[bool] = False
    takes_grouped: ClassVar[bool] = True

    sides: Sides
    reason: str
    colocation: Colocation | None

    @classmethod
    def of(cls: type[L], request: Request, sides: Sides, reason: str, cores: int | None, **own: Any) -> L:  # noqa: PYI019
        """Return the lane for the inputs ``sides``.

        The lane's reason is ``reason``, then the inputs that a library reads, and why rows are or are not shuffled.
        """
        colocation = Colocation.parse(request.grouped)
        by_library = [
            f"{own.source.library} reads the {own.what}, as its files alone do not say what its rows are"
            for own, _ in sides.pairs
            if isinstance(own.source, LibraryRows)
        ]
        if colocation is not None and by_library:
            raise SpecError(f"grouped is {request.grouped}, but {by_library[0]}: leave it out")
        reasons = [reason, *by_library, *([] if colocation is None else [colocation.reason])]
        if request.grouped == AUTO and not request.plan.arrays and any(ways := sides.group_partitions):
            colocation, because = _by_partitions(sides, request.plan, ways, cores)
            reasons.append(because)
        return cls(sides, "; ".join(reasons), colocation, **own)

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
        """Return all inputs. If ``keys`` are given, the readers of the inputs may skip the rows of all other groups."""
        return self.sides if keys is None else self.sides.narrowed(keys.condition)


def _by_partitions(
    sides: Sides, plan: Plan, ways: Sequence[Partitioning], cores: int | None
) -> tuple[Colocation | None, str]:
    """Return the colocation that ``auto`` uses if files are in partitions by the group key, and the reason.

    ``ways`` are the partitionings. The colocation is None if rows are shuffled nevertheless.
    """
    if not (values := shared_names(ways)):
        some = itemize(sorted({name for way in ways for name in way}))
        return None, f"partitions by {some} hold whole groups, but not all files are in such partitions"
    colocation = Colocation("folders", values=values)
    rows = [files.rows for files in sides.file_sets(plan, colocation, FILE_BATCH_ROWS)]
    whole = f"partitions by {itemize(values)} hold whole groups"
    if (because := why_not_by_partitions(rows, cores)) is not None:
        return None, f"{whole}, but {because}"
    return colocation, f"{whole}, so that no rows are shuffled"


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
        row_memory = fitting_row_memory() if request.row_memory is None else request.row_memory
        return cls.of(request, sides, reason, pa.cpu_count(), row_memory=row_memory)

    def shared(self, items: ItemTable) -> ItemValues:
        return HeldItems(items)

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> PassResult:
        return evaluate_local(self.sides, plan, buckets, files, self.row_memory, self.colocation)

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        return pick_local(self.narrowed(keys), plan, pick)
