"""The protocol of a source, by which lanes read rows of any format.

A format from elsewhere is a class that follows :class:`Source` and a line in :data:`sparkrank.sources.formats.SOURCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkrank.inputs.field_paths import Place
    from sparkrank.inputs.roles import Roles
    from sparkrank.sources.conditions import Condition
    from sparkrank.sources.side_rows import SideRows


class Split(NamedTuple):
    """Rows that one task reads, in tables of bounded size, and the number of the ``first`` of them in the source."""

    first: int
    read: Callable[[], Iterator[pa.Table]]


class Source(Protocol):
    """The rows of an input or a truth.

    Attributes
    ----------
    pushes_conditions : bool
        Whether it skips rows by a condition before it reads them.
    leaves_to_spark : bool
        Whether Spark reads the same rows of this format, so that what Arrow cannot decide (a condition in SQL, a type)
        is left to Spark. Otherwise it is refused.
    """

    pushes_conditions: ClassVar[bool]
    leaves_to_spark: ClassVar[bool]

    @classmethod
    def open(cls, side: SideRows, roles: Roles) -> Source:
        """The rows of ``side``, of which nothing but footers or beginnings is read.

        Raises :class:`sparkrank.base.errors.InputError` where nothing is there or files do not fit together,
        :class:`sparkrank.base.errors.StoreError` where the store fails, and :class:`sparkrank.base.errors.SpecError`
        for an option that the reader does not know.
        """

    @property
    def schema(self) -> pa.Schema:
        """The columns, those of folders too."""

    @property
    def warnings(self) -> list[str]:
        """Sentences about whatever makes reading slow."""

    def check(self, roles: Roles, where: str | None) -> None:
        """Raise :class:`sparkrank.base.errors.InputError` where a file lacks a column of ``roles`` or of the SQL
        ``where``; the types of ``roles`` are right.
        """

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:
        """The bucket rows that these rows make before any condition: one each, or one for each element of ``arrays``.

        A row of long texts in ``columns`` counts as several. The number of buckets is chosen by it.
        """

    def splits(
        self, places: Mapping[str, Place], split_rows: int, where: Condition | None, arrays: Mapping[str, Place]
    ) -> list[Split]:
        """Splits of the rows that ``where`` holds for, of about ``split_rows`` bucket rows each, the largest first.

        They read the columns at ``places``, in plain types, under the names that these have there. ``arrays`` are those
        of them whose elements are bucket rows.
        """
