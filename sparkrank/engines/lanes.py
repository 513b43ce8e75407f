"""The register of lanes, in order of preference. A new lane is a class that implements :class:`Lane`, listed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from sparkrank.engines.local_lane import LocalLane
from sparkrank.engines.request import AUTO
from sparkrank.engines.spark.frame_lane import FrameLane
from sparkrank.engines.spark.scan_lane import ScanLane
from sparkrank.engines.spark.session_features import has_pyspark

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import PassResult
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source
    from sparkrank.states.item_table import ItemTable, ItemValues


class Lane(Protocol):
    """A way to evaluate a request, from opening the impressions and any truth to the states of a day.

    ``takes_row_memory`` is true if the lane itself keeps rows in memory, ``takes_time_zone`` if Spark SQL reads the
    rows, and ``takes_grouped`` if the tasks that read files of whole groups can evaluate them.
    """

    name: ClassVar[str]
    needs_session: ClassVar[bool]
    takes_row_memory: ClassVar[bool]
    takes_time_zone: ClassVar[bool]
    takes_grouped: ClassVar[bool]

    @property
    def reason(self) -> str:
        """The reason why this lane was chosen."""

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user about inputs that are slow to read."""

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        """Return the reason why this lane cannot run ``request``, or why ``auto`` should avoid this lane, or None."""

    @classmethod
    def open(cls, request: Request, opened: dict[str, Source], left: str | None) -> Lane:
        """Open the inputs of ``request``, for which :meth:`why_not` has returned None.

        ``opened`` contains the sources opened by a previous lane, and ``left`` the reason why that lane gave up. Raise
        :class:`FrameLaneNeededError` if only Spark can read the rows correctly.
        """

    def check(self, plan: Plan) -> None:
        """Raise :class:`InputError` if a column is missing or its type does not fit its role."""

    def rows(self) -> int:
        """Return an upper bound on the number of rows, from which the number of buckets is chosen."""

    def shared(self, items: ItemTable) -> ItemValues:
        """Send ``items`` to all processes that evaluate buckets, and return a reference to them for the plan."""

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> PassResult:
        """Evaluate all rows in one pass. If ``files`` is given, the tasks write the group table to these files."""

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        """Return the Arrow schema of the rows that buckets receive."""

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        """Apply the function ``pick`` (from tables to tables) to all rows, or at least to those of the groups ``keys``.

        Return the non-empty tables.
        """

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:
        """Return the session settings on which the rows depend.

        The time zone is left out if the spec has its ``own_zone``.
        """


LANES: dict[str, type[Lane]] = {lane.name: lane for lane in (ScanLane, LocalLane, FrameLane)}


def lane_words() -> tuple[str, ...]:
    """Return the words by which a request may choose a lane: ``auto`` and the names of all lanes."""
    return AUTO, *LANES


def needs_session(word: str) -> bool:
    """Return whether the lane called ``word`` needs a Spark session. ``auto`` does if pyspark is installed."""
    return has_pyspark() if word == AUTO else LANES[word].needs_session


def time_zone_lanes() -> list[str]:
    """Return ``auto`` and the names of the lanes in which the time zone of a session may change the result."""
    return [AUTO, *(name for name, lane in LANES.items() if lane.takes_time_zone)]


def grouped_lanes() -> list[str]:
    """Return the names of the lanes whose reading tasks can evaluate files of whole groups."""
    return [name for name, lane in LANES.items() if lane.takes_grouped]


def row_memory_lanes() -> list[str]:
    """Return the names of the lanes that keep rows in the memory of this process."""
    return [name for name, lane in LANES.items() if lane.takes_row_memory]
