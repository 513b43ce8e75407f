"""The top values of a slice: those with the most groups. The states of all other values are merged into one value.

States of all values are kept until days have been merged, because the top values differ from day to day.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.metrics import Plan
from sparkrank.metrics.slices import OTHER, slice_name
from sparkrank.metrics.subjects import groups_of_values
from sparkrank.states import Partials
from sparkrank.states.forms import COUNT_FORM, SMALL_FORMS, large_forms


def with_top_values(partials: Partials, plan: Plan) -> Partials:
    """Return ``partials`` with the states of all but the top values merged, in each slice with ``top``.

    Values with equally many groups are ordered by text. A missing value is never merged, and the value
    :data:`OTHER` is never a top value.
    """
    tops = {slice_name(columns): columns[0].top for columns in plan.slices if columns[0].top is not None}
    kept = {name: _top(partials, name, top) for name, top in tops.items()}
    if not kept:
        return partials
    forms = [form for form in (*SMALL_FORMS, *large_forms(weighted=plan.weighted)) if form is not COUNT_FORM]
    tables = ((form, form.to_table(partials)) for form in forms)
    pooled = Partials.merged(
        form.from_table(form.merged([_renamed(table, kept)])) for form, table in tables if table.num_rows
    )
    fields = ("means", "blocks", "sums", "distributions", "items", "parts")
    return replace(partials, **{name: getattr(pooled, name) for name in fields})


def _top(partials: Partials, slice_: str, top: int) -> list[str]:
    values = [(value, groups) for (name, value), groups in groups_of_values(partials).items() if name == slice_]
    named = [(-groups, value) for value, groups in values if value is not None and value != OTHER]
    return [value for _, value in sorted(named)[:top]]


def _renamed(table: pa.Table, kept: dict[str, list[str]]) -> pa.Table:
    """Rename to :data:`OTHER` all values of each slice in ``kept``, except the values to which ``kept`` maps it."""
    values = table["slice_value"].cast(pa.string())
    for name, own in kept.items():
        is_rest = pc.and_(pc.equal(table["slice"], name), pc.invert(pc.is_in(values, pa.array(own, pa.string()))))
        values = pc.if_else(pc.and_(is_rest, pc.is_valid(values)), OTHER, values)
    return table.set_column(table.column_names.index("slice_value"), "slice_value", values)
