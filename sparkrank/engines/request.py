"""A request for an evaluation, which ``sr.evaluate`` and the jobs build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from sparkrank.base.checks import Limits
from sparkrank.inputs.buckets import BUCKET_ROWS
from sparkrank.inputs.popularity_days import PopularityDays
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.colocation import GroupedWord
from sparkrank.sources.lake_formats import at_version
from sparkrank.sources.side_rows import SideRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


AUTO: Final = "auto"  # the word with which a request leaves the choice of a lane to sparkrank


CATALOG_BYTES = 256 << 20  # the default of ``catalog.most_bytes``, which each Python worker holds


@dataclass(frozen=True)
class CatalogRows:
    """The catalog: ``rows`` with the attributes of items, one row for each item in the column ``item``.

    Workers get the rows; more than ``most_bytes`` bytes are refused. The column ``since``, if any, is the time at which
    an item appeared.
    """

    rows: SideRows
    item: str
    most_bytes: int = CATALOG_BYTES
    since: str | None = None


@dataclass(frozen=True)
class Request:
    """A requested evaluation: the ``impressions``, any separate ``truth``, the ``roles`` of columns, and the ``plan``.

    ``impressions`` contains one element, or one per model if models have separate rows, in the order of the plan's
    models. ``past`` contains the rows of the tables of the past (what groups had before), by their names in ``roles``.

    If ``buckets`` is None, rows are counted, and buckets get about ``bucket_rows`` rows. ``row_memory`` limits the
    bytes of rows in a lane's own memory. ``grouped`` describes the files of whole groups. ``counts`` describes the
    input. ``catalog`` contains the rows with the columns of items that the plan reads. ``popularity`` names the stored
    days from which the popularity of items is read in place of rows of the past.
    """

    impressions: tuple[SideRows, ...]
    truth: SideRows | None
    roles: Roles
    plan: Plan
    limits: Limits
    lane: str = AUTO
    spark: SparkSession | None = None
    buckets: int | None = None
    bucket_rows: int = BUCKET_ROWS
    row_memory: int | None = None
    grouped: GroupedWord = AUTO
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    catalog: CatalogRows | None = None
    past: Mapping[str, SideRows] = field(default_factory=dict)
    popularity: PopularityDays | None = None

    @property
    def sides(self) -> tuple[tuple[SideRows, Roles], ...]:
        """All inputs, each paired with the roles of its columns: the impressions, any truth, then the past."""
        sides = list(zip(self.impressions, self.roles.of_lists, strict=True))
        if self.truth is not None and self.roles.truth is not None:
            sides.append((self.truth, self.roles.truth))
        return (*sides, *((self.past[name], self.roles.past[name]) for name in self.plan.past if name in self.past))

    def without_absent(self) -> Request:
        """Return this request without the optional inputs that have no files yet."""
        absent = [name for name, side in self.past.items() if side.is_absent]
        return replace(self, past={name: side for name, side in self.past.items() if name not in absent})

    def at_versions(self) -> Request:
        """Return this request with each lake table at one version: the requested version, or else the newest."""
        catalog = self.catalog
        return replace(
            self,
            impressions=tuple(map(at_version, self.impressions)),
            truth=None if self.truth is None else at_version(self.truth),
            past={name: at_version(side) for name, side in self.past.items()},
            catalog=None if catalog is None else replace(catalog, rows=at_version(catalog.rows)),
        )

    @property
    def session(self) -> SparkSession | None:
        """The session of the first input that is a DataFrame, or else the session given as ``spark``."""
        frames = (side.given.sparkSession for side, _ in self.sides if side.is_frame)
        return next(frames, self.spark)

    @property
    def frame_side(self) -> str | None:
        """The name, for messages, of the first input that is a Spark DataFrame, or None."""
        return next((side.what for side, _ in self.sides if side.is_frame), None)

    @property
    def memory_side(self) -> str | None:
        """The name, for messages, of the first input that is a table in memory, or None."""
        return next((side.what for side, _ in self.sides if side.is_in_memory), None)

    @property
    def is_in_memory(self) -> bool:
        """Whether all inputs are tables in the memory of this process."""
        return all(side.is_in_memory for side, _ in self.sides)
