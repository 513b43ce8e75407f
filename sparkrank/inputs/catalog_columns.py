"""The columns of a catalog that an evaluation reads, and the plan of the pass over its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sparkrank.base.errors import SpecError, quote
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.metrics.slices import SliceColumn, source_of
from sparkrank.ranking.value_columns import CATALOG, ValueColumn, catalog_column


@dataclass(frozen=True)
class CatalogPlan(Plan):
    """The plan of a pass over a catalog (a table of items). It reads items, ``columns`` of values, and slice columns.

    ``since`` is the column with the time at which an item appeared, or None.
    """

    columns: tuple[ValueColumn, ...] = ()
    since: str | None = None

    @classmethod
    def of_items(cls, plan: Plan, item: str, since: str | None = None) -> CatalogPlan:
        """Return the plan that reads the columns of ``plan`` from a catalog. ``item`` is its column of items."""
        parts = {source_of(part): part for columns in reversed(plan.slices) for part in columns}
        sliced = ((catalog_column(source.column), parts[source]) for source in plan.slice_sources)
        slices = ((SliceColumn(inner, part.edges),) for inner, part in sliced if inner is not None)
        named = ((value, catalog_column(value.name)) for value in plan.value_columns)
        values = tuple(replace(value, name=inner) for value, inner in named if inner is not None)
        times = () if since is None else (CATALOG,)
        return cls(
            (), (), (), slices=tuple(slices), item=item, shows_items=True, times=times, columns=values, since=since
        )

    @property
    def roles(self) -> Roles:
        of_rows = {key: column for key, column in (("item", self.item), ("time", self.since)) if column is not None}
        return Roles((), {}, {}, of_rows, slices=self.slices, values=self.columns)

    @cached_property
    def value_columns(self) -> tuple[ValueColumn, ...]:
        return self.columns

    def table_of(self, column: str) -> None:
        """Return None, because the rows of a catalog have all columns themselves."""


def columns_of_catalog(named: Any, roles: Roles) -> tuple[str, str | None]:
    """Return the columns of a catalog for its items and for the time at which an item appeared (or None).

    ``named`` maps ``item`` and ``since`` to columns. By default, the item column has the same name as in the lists.
    """
    if named is not None and (not isinstance(named, Mapping) or not named or not {*named} <= {"item", "since"}):
        needed = "a mapping of item, since or both to columns of the catalog is needed"
        raise SpecError(f"catalog_columns is {quote(named)}: {needed}")
    item, since = ((named or {}).get(role) for role in ("item", "since"))
    if (item := roles.item if item is None else item) is None:
        raise SpecError("the lists have no item column: name the catalog's by catalog_columns={'item': ...}")
    for role, column in (("item", item), ("since", since)):
        if column is not None and not isinstance(column, str):
            raise SpecError(f"the {role} column of the catalog is {quote(column)}: a name, which is a text, is needed")
    return item, since
