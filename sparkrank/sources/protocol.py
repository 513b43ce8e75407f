"""The protocol of a source: the methods by which lanes read rows of any format.

A new format needs a class of the protocol :class:`Source`, a function that opens it (:data:`Opener`), and a line in
:data:`sparkrank.sources.formats.SOURCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkrank.inputs.field_paths import Place
    from sparkrank.inputs.roles import Roles
    from sparkrank.sources.conditions import Condition
    from sparkrank.sources.side_rows import SideRows


# The names of the values that all rows of a file share, each with the columns from which it is made.
Partitioning: TypeAlias = Mapping[str, Sequence[str]]


class Split(NamedTuple):
    """The rows that one task reads, in tables of bounded size. ``first`` is the index of the first row in a source."""

    first: int
    read: Callable[[], Iterator[pa.Table]]


class FileSplit(NamedTuple):
    """The rows of the file ``path``, about ``rows``. ``partition`` contains the values of :attr:`partitionings`."""

    path: str
    rows: int
    partition: Mapping[str, str]
    read: Callable[[], Iterator[pa.Table]]


class Source(Protocol):
    """The rows of an input or a truth.

    Attributes
    ----------
    pushes_conditions : bool
        Whether the source uses a condition to skip rows before reading them.
    leaves_to_spark : bool
        Whether Spark reads the same rows from this format. If so, a condition or a type that Arrow does not support is
        left to Spark. If not, such a condition or type raises an error.
    """

    pushes_conditions: ClassVar[bool]
    leaves_to_spark: ClassVar[bool]

    @property
    def schema(self) -> pa.Schema:
        """The schema of all columns, including columns from folder names."""

    @property
    def partitionings(self) -> Sequence[Partitioning]:
        """The partitionings of files: divisions, by metadata or folders, by values that all rows of a file share.

        Each file follows one.
        """

    @property
    def warnings(self) -> list[str]:
        """Warnings about properties of the files that slow reading down."""

    def check(self, roles: Roles, where: str | None) -> None:
        """Raise :class:`InputError` if a file lacks a column of ``roles`` or ``where``.

        The caller has checked the types of the columns with roles.
        """

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:
        """Return the number of bucket rows before any condition: one per row, or one per element of ``arrays``.

        A row with long strings in ``columns`` counts as several. The number of buckets is chosen from this count.
        """

    def splits(
        self, places: Mapping[str, Place], split_rows: int, where: Condition | None, arrays: Mapping[str, Place]
    ) -> list[Split]:
        """Return splits of about ``split_rows`` bucket rows, largest first, of the rows that meet ``where``.

        Each split reads the columns at ``places``, converts them to plain types, and names them by the keys of
        ``places``. Each element of the columns in ``arrays`` becomes a bucket row.
        """

    def files(self, places: Mapping[str, Place], batch_rows: int, where: Condition | None) -> list[FileSplit]:
        """Return a split for each file with rows that may meet ``where``. Such a split has no array columns.

        Tables have about ``batch_rows`` rows. Rows with long strings count as several, as in :meth:`rows`.
        """


class RowsWithoutFiles:
    """The base class of sources whose rows do not come from the caller's files."""

    pushes_conditions: ClassVar[bool] = False

    @property
    def partitionings(self) -> Sequence[Partitioning]:
        return [{}]

    @property
    def warnings(self) -> list[str]:
        return []

    def check(self, roles: Roles, where: str | None) -> None:
        """Do nothing, because all rows have all columns."""

    def files(self, places: Mapping[str, Place], batch_rows: int, where: Condition | None) -> list[FileSplit]:  # noqa: ARG002
        """Return no files, because the rows do not come from files of the caller."""
        return []


# Opens the rows of an input, for columns with roles. Only the footers or the beginnings of files are read. It raises
# InputError if there are no files or the files do not fit together, StoreError if the store fails, and SpecError for an
# option that the reader does not know.
Opener: TypeAlias = "Callable[[SideRows, Roles], Source]"
