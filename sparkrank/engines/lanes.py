"""The register of lanes, in order of preference. A lane is a class of the protocol :class:`Lane` and a line here."""

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
    """One route from an input, with its ``roles`` and its truth if there is one, to the states of a day.

    ``takes_row_memory``: it holds rows itself. ``takes_time_zone``: it reads rows by the SQL of a session.
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
        """Why this lane cannot take ``request`` or leaves it to others under ``auto``, before anything is opened."""

    @classmethod
    def open(cls, request: Request, opened: dict[str, Source], left: str | None) -> Lane:
        """Open the rows of ``request``, for which :meth:`why_not` has returned None.

        ``opened`` are sources that another lane has opened, and ``left`` is why it left the rows to this one. Raises
        :class:`sparkrank.base.errors.FrameLaneNeededError` where only Spark reads the rows correctly.
        """

    def check(self, plan: Plan) -> None:
        """Raise :class:`sparkrank.base.errors.InputError` for a column that is missing or cannot play its role."""

    def rows(self) -> int:
        """An upper bound on the number of rows, from which the number of buckets is chosen."""

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        """Evaluate everything in one pass. With ``files``, the tasks write the group table there."""

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        """The schema of the rows of a bucket."""

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        """The non-empty tables that ``pick`` makes where rows are read. Only rows of ``keys`` need be read."""

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:
        """The session settings that the rows depend on, without the time zone where the spec has its ``own_zone``."""


LANES: dict[str, type[Lane]] = {lane.name: lane for lane in (ScanLane, LocalLane, FrameLane)}


def lane_words() -> tuple[str, ...]:
    """The words by which a request may ask for a lane."""
    return AUTO, *LANES


def needs_session(word: str) -> bool:
    """Whether the lane called ``word`` works in a Spark session: ``auto`` does where pyspark is installed."""
    return has_pyspark() if word == AUTO else LANES[word].needs_session


def time_zone_lanes() -> list[str]:
    """The words of lanes for which the time zone of a session may matter."""
    return [AUTO, *(name for name, lane in LANES.items() if lane.takes_time_zone)]


def row_memory_lanes() -> list[str]:
    """The names of the lanes that hold rows themselves."""
    return [name for name, lane in LANES.items() if lane.takes_row_memory]
