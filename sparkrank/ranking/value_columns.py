"""The columns of values, such as prices, that metrics read besides labels and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

# How a column of values is read. The table of roles has a role for each (VALUES in role_table.py).
ValueKind: TypeAlias = Literal["number", "text"]


CATALOG = "catalog"


def catalog_column(name: str) -> str | None:
    """Return the column of the catalog that ``name`` stands for, or None if it stands for a column of the rows."""
    table, dot, column = name.partition(".")
    return column if table == CATALOG and dot and column else None


@dataclass(frozen=True)
class ValueColumn:
    """A column ``name`` whose values a metric reads as numbers (NaN for a null) or as texts (codes, -1 for a null).

    If ``equals`` is given, the column is read as texts, and its values are 1 where the text is ``equals``, else 0. If
    ``is_share`` is true, a value is the share of the catalog's items with a text that have the same text.
    """

    name: str
    kind: ValueKind = "number"
    equals: str | None = None
    is_share: bool = False

    @property
    def is_of_item(self) -> bool:
        """Whether the column is looked up by item, in contrast to a column of the rows."""
        return catalog_column(self.name) is not None

    @property
    def stored(self) -> ValueColumn:
        """The column as a bucket holds it, of which other values may be computed."""
        return replace(self, equals=None, is_share=False)

    @property
    def share(self) -> ValueColumn:
        """The shares of the catalog's items that have the values of this column of texts."""
        return replace(self, is_share=True)
