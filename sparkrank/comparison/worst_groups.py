"""The groups of a model with the worst values of a metric, as examples to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sparkrank.base.errors import SpecError, hint, shorten
from sparkrank.comparison.group_moments import with_counted
from sparkrank.comparison.group_pairs import ModelGroups, common_keys, paired_groups
from sparkrank.comparison.group_tables import GroupTable, metric_text
from sparkrank.comparison.largest_changes import change_rows, is_higher_better, largest_first
from sparkrank.comparison.runs import counted_undefined


def worst_groups(table: GroupTable, model: str, metric: str, top: int) -> tuple[list[tuple[Any, ...]], str]:
    """Return the keys of the ``top`` groups with the worst ``metric``, worst first. Tied groups are ordered by key.

    The string contains the number of further groups with the value of the last group; it is empty without any.
    """
    if top < 1:
        raise SpecError(f"worst is {top}: a whole number from 1 is needed")
    name = metric_text(table.metrics, metric, table.preset)
    if name is None:
        problem = f'the group table {table.place} has no metric "{shorten(metric)}"'
        raise SpecError(f"{problem}{hint(metric, table.metrics, 'there are')}")
    counted_as = counted_undefined(table.definitions.get(name))
    sign = -1.0 if is_higher_better(name) else 1.0
    side = ModelGroups(table, model).here([name])
    values = with_counted(side.values(name), counted_as)  # an undefined value ranks as the number it counts as
    keys = pa.schema([table.schema.field(name) for name in table.keys])
    numbers = np.arange(len(values))
    chosen = largest_first(side, numbers, values * sign, np.flatnonzero(~np.isnan(values)), keys, top)
    rows, note = side.rows_at(chosen, keys.names), ""
    if len(chosen):
        last = values[chosen[-1]]
        tied, shown = (int(np.count_nonzero(own == last)) for own in (values, values[chosen]))
        if tied > shown:
            first = "the first by key is" if shown == 1 else f"the first {shown:,} by key are"
            note = f"{tied:,} groups have the value {last:.6g}; {first} shown"
    return list(zip(*(rows[name].to_pylist() for name in keys.names), strict=True)), note


def worst_of_two(left: ModelGroups, right: ModelGroups, metric: str, top: int) -> pa.Table:
    """Return the ``top`` pairs of groups with the worst right ``metric``, in the form of :func:`largest_changes`."""
    keys = common_keys(left.table, right.table)
    counted_as = counted_undefined(right.table.definitions.get(metric))
    left, right = left.here([metric]), right.here([metric])
    pairs = paired_groups(left, right)
    values = [with_counted(side.values(metric), counted_as) for side in (left, right)]
    gain = values[1][pairs.right_rows] * (-1.0 if is_higher_better(metric) else 1.0)
    chosen = largest_first(left, pairs.left_rows, gain, np.flatnonzero(~np.isnan(gain)), keys, top)
    return change_rows("worst", left, right, pairs, chosen, values, keys)
