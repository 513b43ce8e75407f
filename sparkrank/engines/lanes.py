"""The lanes that there are, in order of preference. A lane is an implementation detail: same input, same bits out.

A lane from elsewhere is a class that follows the protocol :class:`Lane`, in a module of its own, and one line in
:data:`LANES`: from there come the words that are allowed, the choice, and the sentences about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from sparkrank.engines.local_lane import LocalLane
from sparkrank.engines.request import AUTO
from sparkrank.engines.spark.frame_lane import FrameLane
from sparkrank.engines.spark.scan_lane import ScanLane

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.one_group import GroupKeys, Pick
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import Solved
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source


class Lane(Protocol):
    """One way from an input to the states of a day; ``roles`` and the truth, where there is one, are part of it.

    A request asks for it by ``name``. One that ``needs_session`` makes Spark DataFrames of its tables, one that
    ``takes_row_memory`` holds rows itself, and one that ``takes_time_zone`` reads them by the SQL of a session.
    """

    name: ClassVar[str]
    needs_session: ClassVar[bool]
    takes_row_memory: ClassVar[bool]
    takes_time_zone: ClassVar[bool]

    @property
    def reason(self) -> str:
        """Why it was chosen."""

    @property
    def warnings(self) -> list[str]:
        """Sentences for the user about whatever makes reading slow."""

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        """Why it cannot take ``request``, or leaves it to others under ``auto``, before anything is opened."""

    @classmethod
    def open(cls, request: Request, opened: dict[str, Source], left: str | None) -> Lane:
        """The lane over the rows of ``request``, for which :meth:`why_not` gives None.

        ``opened`` has the source of each side that a lane has looked at; ``left`` is why another left the rows to this
        one. Raises :class:`sparkrank.base.errors.FrameLaneNeededError` where only Spark reads the rows as they should
        be read, and what the readers raise.
        """

    def check(self, plan: Plan) -> None:
        """Raise :class:`sparkrank.base.errors.InputError` for a column that is missing or cannot play its role."""

    def rows(self) -> int:
        """The number of rows, at most, by which the number of buckets is chosen."""

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        """Evaluate everything in one pass; with ``files``, the group table is written there by those who solve it."""

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        """The schema of the rows of a bucket."""

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        """The tables, unless empty, that ``pick`` makes where rows are read, which may be of ``keys`` alone."""

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:
        """Settings of the session that the rows depend on; not its time zone where the spec has its ``own_zone``."""


LANES: dict[str, type[Lane]] = {lane.name: lane for lane in (ScanLane, LocalLane, FrameLane)}


def lane_words() -> tuple[str, ...]:
    """The words by which a request may ask for a lane."""
    return AUTO, *LANES


def needs_session(word: str) -> bool:
    """Whether the lane called ``word`` may work in a Spark session, so that one must be there."""
    return word == AUTO or LANES[word].needs_session


def time_zone_lanes() -> list[str]:
    """The words of lanes in which the time zone of a session may count."""
    return [AUTO, *(name for name, lane in LANES.items() if lane.takes_time_zone)]


def row_memory_lanes() -> list[str]:
    """The lanes that hold rows."""
    return [name for name, lane in LANES.items() if lane.takes_row_memory]
