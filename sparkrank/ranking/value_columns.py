"""The columns of values, such as prices, that metrics read besides labels and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sparkrank.numeric.array_types import Codes, Floats, Ints

# How a column of values is read. The table of roles has a role for each (VALUES in role_table.py).
ValueKind: TypeAlias = Literal["number", "text", "category", "texts", "numbers"]

# Arrays of texts travel joined to one text; no text has this control character.
SEPARATOR = "\x1f"


# The tables of items: the catalog, and the popularity and the first times of items in the interactions.
CATALOG, POPULARITY, FIRST_TIMES = "catalog", "interactions", "first times"
USERS, ROWS, ITEM_RANK, TIER = f"{POPULARITY}.users", f"{POPULARITY}.rows", f"{POPULARITY}.rank", "tier"
GROUP_ITEMS = f"{POPULARITY}.items"  # of a group, not of an item: how many different items it had
# The columns of the popularity of items, with the value of an item that nobody had.
POPULARITY_COLUMNS: Mapping[str, int | str] = {USERS: 0, ROWS: 0, ITEM_RANK: 0, TIER: "new"}


def catalog_column(name: str) -> str | None:
    """Return the column of the catalog called ``name`` (``catalog.NAME``), or None if ``name`` is another column."""
    table, dot, column = name.partition(".")
    return column if table == CATALOG and dot and column else None


@dataclass(frozen=True, eq=False)
class Arrays:
    """The distinct arrays of a column: array i has the ``values`` from ``ends[i]`` to ``ends[i + 1]``.

    ``values`` are codes of texts, or numbers.
    """

    ends: Ints
    values: Codes | Floats


def table_of_items(name: str, *, has_interactions: bool) -> str | None:
    """Return the table of items with the column ``name``, or None if it is a column of the rows.

    The rows may have a column ``tier`` of their own; with interactions, ``tier`` is the tier of an item.
    """
    if catalog_column(name) is not None:
        return CATALOG
    return POPULARITY if name in POPULARITY_COLUMNS and (has_interactions or name != TIER) else None


@dataclass(frozen=True)
class ValueColumn:
    """A column ``name`` whose values a metric reads as numbers (NaN for a null) or as texts (codes, -1 for a null).

    The values of a ``category`` are texts or numbers; their codes ascend like the values. Those of ``texts`` and
    ``numbers`` are arrays, also with codes.

    If ``equals`` is given, the column is read as texts, and its values are 1 where the text is ``equals``, else 0. If
    ``share_of`` names a table, a value is replaced by its share among the catalog's items with a value, or among the
    interactions' rows of such items.
    """

    name: str
    kind: ValueKind = "number"
    equals: str | None = None
    share_of: str | None = None

    @property
    def stored(self) -> ValueColumn:
        """The column in the bucket, without ``equals`` and ``share_of``."""
        return replace(self, equals=None, share_of=None)

    def as_share_of(self, table: str) -> ValueColumn:
        """Return this column of categories with each value replaced by its share in ``table``."""
        return replace(self, share_of=table)
