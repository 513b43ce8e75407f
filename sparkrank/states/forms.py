"""The stored form of states, which is a table of numbers by key. Days merge by adding the numbers of each key exactly.

The small states share the table ``states``. Histograms, distributions and item counts each have a separate table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sparkrank.histogram.state import AMOUNTS
from sparkrank.numeric.exact_sums import carried
from sparkrank.numeric.overflow import validate_no_overflow_by_key
from sparkrank.schemas.tables import (
    MEAN_NUMBERS,
    PAIR_NUMBERS,
    PART,
    PART_MEAN_NUMBERS,
    PART_SUM_NUMBERS,
    PARTS,
    SUM_NUMBERS,
    TableColumn,
    schema_of,
)
from sparkrank.states import distributions, histogram_table, items
from sparkrank.states.items import ItemCounts
from sparkrank.states.keys import KeyedSums
from sparkrank.states.means import MeanStates
from sparkrank.states.part_bins import PartHistograms
from sparkrank.states.part_states import PartStates
from sparkrank.states.part_sums import PartSums
from sparkrank.states.partials import Partials
from sparkrank.states.row_sums import RowSums

# Increase VERSION when the meaning of a stored number changes: other limbs, units or bin numbers, or another value of a
# metric. A merge then refuses states of an older version.
WITHOUT_PARTS = 2  # the last version without parts: its states still merge if no intervals are requested
VERSION = 3  # version 2 had no parts; version 1 did not distinguish the text "null" from a missing value of a slice

# The key of a state. ``name`` is the metric of a mean or distribution, the quantity of a sum, the check of a count, the
# rule of a histogram, or the exposure of item counts. A count is for the whole day, and for one model, or for all
# models if the model is "".
STATE_KEY = ("model", "slice", "slice_value", "name")


@dataclass(frozen=True)
class StateForm:
    """The way a table stores states of one type (``kind``).

    ``key`` names the key columns, and ``numbers`` the columns that add up. ``shrinks`` is true if merged states may
    need fewer rows than the merged tables have keys. ``is_long`` is true if the strings of the keys may exceed 2 GiB,
    the limit of Arrow's grouping. A new type of state needs a form in :data:`SMALL_FORMS` or :func:`large_forms`, and a
    line in :mod:`sparkrank.metrics.merged`.
    """

    kind: str
    numbers: pa.Schema
    to_table: Callable[[Partials], pa.Table]
    from_table: Callable[[pa.Table], Partials]
    key: tuple[str, ...] = STATE_KEY
    shrinks: bool = False
    is_long: bool = False

    @property
    def is_of_parts(self) -> bool:
        return PART.name in self.key

    @property
    def columns(self) -> list[str]:
        return [*self.key, *self.numbers.names]

    @property
    def schema(self) -> pa.Schema:
        texts = [(name, pa.int64() if name in ("block", PART.name) else pa.string()) for name in self.key]
        return pa.schema([*texts, *self.numbers])

    def merged(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Merge one or more ``tables`` into one row for each key, with the sums of the numbers of that key."""
        if self.is_long:
            return self.to_table(Partials.merged(map(self.from_table, tables)))
        for field in self.numbers:
            if pa.types.is_integer(field.type):
                validate_no_overflow_by_key(tables, self.key, field.name, f"{field.name} in the table {self.kind}")
        together = pa.concat_tables([table.select(self.columns) for table in tables]).unify_dictionaries()
        sums = [(name, "sum") for name in self.numbers.names]
        summed = together.group_by(list(self.key), use_threads=False).aggregate(sums)
        columns = [summed[name] for name in self.key] + [summed[f"{name}_sum"] for name in self.numbers.names]
        merged = pa.table(columns, names=self.columns)
        if self.shrinks:
            shrunk = self.to_table(self.from_table(merged)).select(self.columns)
            merged = shrunk.cast(merged.schema).unify_dictionaries()
        return merged


def _carried(table: pa.Table, numbers: Iterable[TableColumn]) -> pa.Table:
    """Return ``table`` with limbs (the floats that make up an exact sum) in canonical form.

    This form does not depend on the number of buckets whose limbs were added.
    """
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for names in ([field.name for field in column.fields] for column in numbers if column.limbs):
        limbs = carried(np.column_stack([columns[name].to_numpy() for name in names]))
        columns |= {name: pa.array(np.ascontiguousarray(limb)) for name, limb in zip(names, limbs.T, strict=True)}
    return pa.Table.from_arrays([*columns.values()], schema=table.schema)


def _counts_table(partials: Partials) -> pa.Table:
    counts = sorted(partials.counts.items())
    any_slice = pa.repeat(pa.scalar(""), len(counts))
    columns = [
        pa.array([model for (_, model), _ in counts], pa.string()),
        *(any_slice, any_slice),
        pa.array([check for (check, _), _ in counts], pa.string()),
        pa.array([count for _, count in counts], pa.int64()),
    ]
    return pa.table(columns, names=COUNT_FORM.columns)


def _counts_of(rows: pa.Table) -> Partials:
    keys = zip(rows["name"].to_pylist(), rows["model"].to_pylist(), strict=True)
    return Partials(counts=dict(zip(keys, rows["count"].to_pylist(), strict=True)))


def _numbers(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


def _keyed_form(kind: str, state: type[KeyedSums], columns: Iterable[TableColumn], field: str) -> StateForm:
    names = state.schema.names
    numbers = _numbers(state.schema, names[len(state.key) :])

    def to_table(partials: Partials) -> pa.Table:
        table = getattr(partials, field).table
        return _carried(table.rename_columns([*STATE_KEY, *numbers.names]), columns)

    def from_table(rows: pa.Table) -> Partials:
        sums: Any = state(rows.rename_columns(names).cast(state.schema))
        return Partials(**{field: sums})

    return StateForm(kind, numbers, to_table, from_table)


MEAN_FORM = _keyed_form("mean", MeanStates, MEAN_NUMBERS, "means")
SUM_FORM = _keyed_form("sum", RowSums, SUM_NUMBERS, "sums")
BLOCKS_KIND = "blocks"
COUNT_FORM = StateForm("count", pa.schema([("count", pa.int64())]), _counts_table, _counts_of)
DISTRIBUTION_FORM = StateForm(
    "distributions",
    _numbers(distributions.DISTRIBUTION_SCHEMA, ["groups"]),
    lambda partials: distributions.distributions_table(partials.distributions),
    lambda rows: Partials(distributions=distributions.distributions_of_table(rows)),
    key=distributions.DISTRIBUTION_KEY,
    shrinks=True,  # many distinct values fall into coarser bins
)
ITEM_FORM = StateForm(
    "items",
    _numbers(items.ITEM_SCHEMA, items.ITEM_AMOUNTS),
    lambda partials: items.items_table(partials.items),
    lambda rows: Partials(items=ItemCounts.empty().merge(ItemCounts(rows.cast(items.ITEM_SCHEMA)))),
    key=items.ITEM_KEY,
    is_long=True,
)


def _part_form(kind: str, columns: Iterable[TableColumn], field: str) -> StateForm:
    numbers = schema_of(columns)

    def from_table(rows: pa.Table) -> Partials:
        sums: Any = PartSums.of_rows(rows, numbers.names)
        return Partials(parts=PartStates(**{field: sums}))

    def to_table(partials: Partials) -> pa.Table:
        return getattr(partials.parts, field).rows(numbers)

    return StateForm(kind, numbers, to_table, from_table, key=(*STATE_KEY, PART.name))


PART_MEAN_FORM = _part_form("part_mean", PART_MEAN_NUMBERS, "means")
PART_SUM_FORM = _part_form("part_sum", PART_SUM_NUMBERS, "sums")
PAIR_FORM = _part_form("pair", PAIR_NUMBERS, "pairs")
PARTS_KIND = "parts"
# The types of state in the table ``states``. The names of their number columns are unique.
SMALL_FORMS = (MEAN_FORM, SUM_FORM, COUNT_FORM, PART_MEAN_FORM, PART_SUM_FORM, PAIR_FORM)


def parts_form(*, weighted: bool) -> StateForm:
    """Return the form of score bins by part (fixed subset) of the groups.

    Amounts are whole numbers, or limbs (the floats that make up an exact sum) if rows are ``weighted``.
    """
    numbers = PARTS.more[1] if weighted and PARTS.more is not None else PARTS.columns[-3:]
    return StateForm(
        PARTS_KIND,
        schema_of(numbers),
        lambda partials: partials.parts.histograms.rows(weighted=weighted),
        lambda rows: Partials(parts=PartStates(histograms=PartHistograms.of_rows(rows))),
        key=(*histogram_table.SERIES_COLUMNS, PART.name, "block"),
    )


def blocks_form(*, weighted: bool) -> StateForm:
    """Return the form of histograms. Amounts are whole numbers, or exact sums of floats if rows are ``weighted``."""
    names = [*histogram_table.LIMB_COLUMNS, histogram_table.ROWS_COLUMN] if weighted else AMOUNTS
    return StateForm(
        BLOCKS_KIND,
        _numbers(histogram_table.WEIGHTED_BLOCK_SCHEMA if weighted else histogram_table.BLOCK_SCHEMA, names),
        lambda partials: histogram_table.blocks_table(partials.blocks, weighted=weighted),
        lambda rows: Partials(blocks=histogram_table.blocks_of_table(rows)),
        key=(*histogram_table.SERIES_COLUMNS, "block"),
    )


def large_forms(*, weighted: bool) -> tuple[StateForm, ...]:
    return blocks_form(weighted=weighted), DISTRIBUTION_FORM, ITEM_FORM, parts_form(weighted=weighted)
