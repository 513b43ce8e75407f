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
    from sparkrank.sources.parquet import ParquetInput


class Lane(Protocol):
    """One way from an input to the states of a day; ``roles`` and the truth, where there is one, are part of it.

    Attributes
    ----------
    name : str
        The word by which a request asks for it.
    needs_session : bool
        Whether it works in a Spark session. Its tables are then Spark DataFrames.
    takes_row_memory : bool
        Whether it holds rows itself, within the ``row_memory`` of a request.
    takes_time_zone : bool
        Whether the SQL of a session reads the rows, so that its time zone counts.
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
        """What to tell a user of the rows, as sentences: what makes their reading slow."""

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        """Why it cannot take ``request``, or under ``auto`` leaves it to others, as far as can be said before anything
        is opened; else None.
        """

    @classmethod
    def open(cls, request: Request, opened: dict[str, ParquetInput], left: str | None) -> Lane:
        """The lane over the rows of ``request``, for which :meth:`why_not` gives None.

        ``opened`` has the Parquet of each side that another lane has looked at, and takes what this one looks at.
        ``left`` is why another left the rows to this one. Raises :class:`sparkrank.base.errors.FrameLaneNeededError`
        where only Spark reads the rows as they should be read, and what the readers raise.
        """

    def check(self, plan: Plan) -> None:
        """Raise :class:`sparkrank.base.errors.InputError` for a column that is missing or cannot play its role."""

    def rows(self) -> int:
        """How many rows there are, at most: what the number of buckets is chosen by."""

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        """Evaluate everything in one pass; with ``files``, the group table is written there by those who solve it."""

    def bucket_schema(self, plan: Plan) -> pa.Schema:
        """The schema of the rows of a bucket."""

    def picked(self, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
        """What ``pick`` makes of the rows, which have the columns of a bucket, by those who read them; empty tables are
        left out. With ``keys``, readers may leave out rows of other groups.
        """

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:
        """The settings of the session that what was read of ``request`` depends on.

        With a time zone of the spec's own (``own_zone``) the session's is not read.
        """


LANES: dict[str, type[Lane]] = {
    ScanLane.name: ScanLane,
    LocalLane.name: LocalLane,
    FrameLane.name: FrameLane,
}


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
