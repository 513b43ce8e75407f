"""What an evaluation reads of a catalog: the columns of roles, and the plan of a pass over its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sparkrank.base.errors import SpecError, quote
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.metrics.slices import SliceColumn, source_of
from sparkrank.ranking.value_columns import ValueColumn, catalog_column


@dataclass(frozen=True)
class CatalogPlan(Plan):
    """The plan of a pass over a catalog, which reads items, ``columns`` of values, and the columns of ``slices``."""

    columns: tuple[ValueColumn, ...] = ()

    @classmethod
    def of_items(cls, plan: Plan, item: str) -> CatalogPlan:
        """Return the plan that reads what ``plan`` needs of a catalog whose items are in the column ``item``."""
        parts = {source_of(part): part for columns in reversed(plan.slices) for part in columns}
        sliced = ((catalog_column(source.column), parts[source]) for source in plan.slice_sources)
        slices = ((SliceColumn(inner, part.edges),) for inner, part in sliced if inner is not None)
        named = ((value, catalog_column(value.name)) for value in plan.value_columns)
        values = tuple(replace(value, name=inner) for value, inner in named if inner is not None)
        return cls((), (), (), slices=tuple(slices), item=item, shows_items=True, columns=values)

    @property
    def roles(self) -> Roles:
        of_rows = {} if self.item is None else {"item": self.item}
        return Roles((), None, {}, of_rows, slices=self.slices, values=self.columns)

    @cached_property
    def value_columns(self) -> tuple[ValueColumn, ...]:
        return self.columns


def item_of_catalog(named: Any, roles: Roles) -> str:
    """Return the item column of a catalog from ``named``, which maps roles to columns; by default that of the lists."""
    if named is not None and (not isinstance(named, Mapping) or [*named] != ["item"]):
        raise SpecError(f"catalog_columns is {quote(named)}: a mapping of item to a column of the catalog is needed")
    item = roles.item if named is None else named["item"]
    if item is None:
        raise SpecError("the lists name no item column: catalog_columns={'item': ...} names that of the catalog")
    if not isinstance(item, str):
        raise SpecError(f"the item column of the catalog is {quote(item)}: a name, which is a text, is needed")
    return item
