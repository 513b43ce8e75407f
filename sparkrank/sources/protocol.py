"""The protocol of a source, through which lanes (ways of running an evaluation) read rows of any format.

To add a format, write a class that follows :class:`Source`, and add a line to
:data:`sparkrank.sources.formats.SOURCES`.
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
    """Rows that one task reads, in tables of bounded size. ``first`` is the index of the first row in the source."""

    first: int
    read: Callable[[], Iterator[pa.Table]]


class Source(Protocol):
    """The rows of an input or a truth.

    Attributes
    ----------
    pushes_conditions : bool
        Whether the source uses a condition to skip rows before reading them.
    leaves_to_spark : bool
        Whether Spark reads the same rows from this format. If so, anything that Arrow cannot evaluate or represent (an
        SQL condition, a type) is left to Spark. If not, it is refused.
    """

    pushes_conditions: ClassVar[bool]
    leaves_to_spark: ClassVar[bool]

    @classmethod
    def open(cls, side: SideRows, roles: Roles) -> Source:
        """Open the rows of ``side``, reading nothing but footers or the beginnings of files.

        Raises :class:`sparkrank.base.errors.InputError` if there are no files or the files do not fit together,
        :class:`sparkrank.base.errors.StoreError` if the store fails, and :class:`sparkrank.base.errors.SpecError` for
        an option that the reader does not know.
        """

    @property
    def schema(self) -> pa.Schema:
        """The columns, including those from folder names."""

    @property
    def warnings(self) -> list[str]:
        """Warnings about anything that makes reading slow."""

    def check(self, roles: Roles, where: str | None) -> None:
        """Raise :class:`sparkrank.base.errors.InputError` if a file lacks a column that ``roles`` or ``where`` use.

        The types of role columns have been checked before.
        """

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:
        """The number of bucket rows before any condition: one per row, or one per element of ``arrays``.

        A row with long strings in ``columns`` counts as several. The number of buckets is chosen from this count.
        """

    def splits(
        self, places: Mapping[str, Place], split_rows: int, where: Condition | None, arrays: Mapping[str, Place]
    ) -> list[Split]:
        """Splits of the rows for which ``where`` is true, of about ``split_rows`` bucket rows each, largest first.

        Splits read the columns at ``places``, in plain types, under the names in ``places``. Elements of the columns in
        ``arrays`` are bucket rows.
        """
