"""The register of lanes, in order of preference. A new lane is a class with the protocol :class:`Lane`, listed here."""

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
    from sparkrank.engines.result import Solved
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source


class Lane(Protocol):
    """A way to evaluate a request, from opening the impressions and any truth to the states of a day.

    ``takes_row_memory`` means the lane holds rows itself; ``takes_time_zone``, that a session's SQL reads its rows.
    """

    name: ClassVar[str]
    needs_session: ClassVar[bool]
    takes_row_memory: ClassVar[bool]
    takes_time_zone: ClassVar[bool]

    @property
    def reason(self) -> str:
        """Why this lane was chosen."""

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user about anything that makes reading slow."""

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        """Why this lane cannot take ``request``, or why ``auto`` should not choose it, before anything is opened."""

    @classmethod
    def open(cls, request: Request, opened: dict[str, Source], left: str | None) -> Lane:
        """Open the rows of ``request``, for which :meth:`why_not` has returned None.

        ``opened`` has the sources that a previous lane opened, and ``left`` says why that lane gave up. Raises
        :class:`sparkrank.base.errors.FrameLaneNeededError` if only Spark can read the rows correctly.
        """

    def check(self, plan: Plan) -> None:
        """Raise :class:`sparkrank.base.errors.InputError` if a column is missing or cannot play its role."""

    def rows(self) -> int:
        """An upper bound on the number of rows, used to choose the number of buckets."""

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        """Evaluate everything in one pass. With ``files``, the tasks write the group table there."""

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        """The schema of bucket rows."""

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        """The non-empty tables that ``pick`` returns where rows are read. Only the groups ``keys`` need be read."""

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:
        """The session settings that the rows depend on, except the time zone if the spec has its ``own_zone``."""


LANES: dict[str, type[Lane]] = {lane.name: lane for lane in (ScanLane, LocalLane, FrameLane)}


def lane_words() -> tuple[str, ...]:
    """The words that a request may use to ask for a lane."""
    return AUTO, *LANES


def needs_session(word: str) -> bool:
    """Whether the lane called ``word`` needs a Spark session, which ``auto`` does if pyspark is installed."""
    return has_pyspark() if word == AUTO else LANES[word].needs_session


def time_zone_lanes() -> list[str]:
    """The words for lanes in which a session's time zone may matter."""
    return [AUTO, *(name for name, lane in LANES.items() if lane.takes_time_zone)]


def row_memory_lanes() -> list[str]:
    """The names of the lanes that hold rows themselves."""
    return [name for name, lane in LANES.items() if lane.takes_row_memory]
