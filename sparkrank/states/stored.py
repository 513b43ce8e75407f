"""States as tables, so that they outlive the run that made them.

Every type of state has a :class:`Form`: rows of numbers under a key. Rows under one key, of any number of days, merge
by adding the numbers, which is exact (:mod:`sparkrank.numeric.exact_sums`). The rows of all small states share the
table ``states``; the score blocks, the distributions and the counts of items, which are many, have the tables
``blocks``, ``distributions`` and ``items``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sparkrank.histogram.state import AMOUNTS
from sparkrank.numeric.overflow import refuse_overflow_by_key
from sparkrank.states import distributions, items, means
from sparkrank.states import histogram_table as block_rows
from sparkrank.states import row_sums as sums
from sparkrank.states.items import ItemCounts
from sparkrank.states.means import MeanStates
from sparkrank.states.partials import Partials
from sparkrank.states.row_sums import RowSums

# Raise it when a number that is stored comes to mean something else: other limbs or units, other numbers of blocks, a
# metric's value changed. States of another version are then refused instead of merged.
VERSION = 2  # 1: the text "null" and no value of a slice were one value

# Whose numbers these are. ``name`` is the metric of a mean or a distribution, the quantity of a sum, the check of a
# count, the rule of blocks, what is counted of items. A count is of the whole day, and of a model or, where that is
# "", of all.
KEY = ("model", "slice", "slice_value", "name")


@dataclass(frozen=True)
class Form:
    """How states of one type stand in a table: the columns of the key, and those of numbers that add up.

    ``to_table`` may give more columns than these, for people to read. A new type of state needs a form and its place
    in :data:`SMALL` or :func:`large_forms`, and, where a metric is computed from it, in
    :mod:`sparkrank.metrics.kinds`. The first columns of ``key``
    stand for :data:`KEY`. ``shrinks``: merged, states may need fewer rows than were added up.
    """

    kind: str
    numbers: pa.Schema
    to_table: Callable[[Partials], pa.Table]
    from_table: Callable[[pa.Table], Partials]
    key: tuple[str, ...] = KEY
    shrinks: bool = False

    @property
    def columns(self) -> list[str]:
        return [*self.key, *self.numbers.names]

    @property
    def schema(self) -> pa.Schema:
        """The types of the columns."""
        texts = [(name, pa.int64() if name == "block" else pa.string()) for name in self.key]
        return pa.schema([*texts, *self.numbers])

    def merged(self, tables: Sequence[pa.Table]) -> pa.Table:
        """The rows of all ``tables`` (one at least), those under one key as one row with the sums of the numbers.

        Texts may be encoded by dictionaries. Raises :class:`sparkrank.errors.StateError` where a whole number comes to
        more than 64 bits hold.
        """
        for field in self.numbers:
            if pa.types.is_integer(field.type):
                refuse_overflow_by_key(tables, self.key, field.name, f"{field.name} in the table {self.kind}")
        together = pa.concat_tables([table.select(self.columns) for table in tables]).unify_dictionaries()
        sums = [(name, "sum") for name in self.numbers.names]
        summed = together.group_by(list(self.key), use_threads=False).aggregate(sums)
        columns = [summed[name] for name in self.key] + [summed[f"{name}_sum"] for name in self.numbers.names]
        merged = pa.table(columns, names=self.columns)
        if self.shrinks:
            shrunk = self.to_table(self.from_table(merged)).select(self.columns)
            merged = shrunk.cast(merged.schema).unify_dictionaries()
        return merged


def _means_table(partials: Partials) -> pa.Table:
    return partials.means.table.rename_columns([*KEY, *MEANS.numbers.names])


def _means_of(rows: pa.Table) -> Partials:
    return Partials(means=MeanStates(rows.rename_columns(means.SCHEMA.names).cast(means.SCHEMA)))


def _sums_table(partials: Partials) -> pa.Table:
    return partials.sums.table.rename_columns([*KEY, *SUMS.numbers.names])


def _sums_of(rows: pa.Table) -> Partials:
    return Partials(sums=RowSums(rows.rename_columns(sums.SCHEMA.names).cast(sums.SCHEMA)))


def _counts_table(partials: Partials) -> pa.Table:
    counts = sorted(partials.counts.items())
    any_slice = pa.repeat(pa.scalar(""), len(counts))
    columns = [
        pa.array([model for (_, model), _ in counts], pa.string()),
        *(any_slice, any_slice),
        pa.array([check for (check, _), _ in counts], pa.string()),
        pa.array([count for _, count in counts], pa.int64()),
    ]
    return pa.table(columns, names=COUNTS.columns)


def _counts_of(rows: pa.Table) -> Partials:
    keys = zip(rows["name"].to_pylist(), rows["model"].to_pylist(), strict=True)
    return Partials(counts=dict(zip(keys, rows["count"].to_pylist(), strict=True)))


def _numbers(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


MEANS = Form(
    "mean",
    _numbers(means.SCHEMA, means.SCHEMA.names[len(means.KEY) :]),
    _means_table,
    _means_of,
)
BLOCKS = "blocks"
COUNTS = Form("count", pa.schema([("count", pa.int64())]), _counts_table, _counts_of)
SUMS = Form(
    "sum",
    _numbers(sums.SCHEMA, sums.SCHEMA.names[len(sums.KEY) :]),
    _sums_table,
    _sums_of,
)
DISTRIBUTIONS = Form(
    "distributions",
    _numbers(distributions.DISTRIBUTIONS, ["groups"]),
    lambda partials: distributions.distributions_table(partials.distributions),
    lambda rows: Partials(distributions=distributions.distributions_of_table(rows)),
    key=distributions.KEY,
    shrinks=True,  # many distinct values fall into blocks
)
ITEMS = Form(
    "items",
    _numbers(items.ITEMS, items.AMOUNTS),
    lambda partials: items.items_table(partials.items),
    lambda rows: Partials(items=ItemCounts.empty().merge(ItemCounts(rows.cast(items.ITEMS)))),
    key=items.KEY,
)
# The types of state that share the table ``states``. Names of number columns are unique among them.
SMALL = (MEANS, SUMS, COUNTS)


def blocks_form(*, weighted: bool) -> Form:
    """The form of score blocks: whole numbers, or limbs where rows are ``weighted``."""
    names = [*block_rows.LIMB_COLUMNS, block_rows.ROWS] if weighted else AMOUNTS
    return Form(
        BLOCKS,
        _numbers(block_rows.WEIGHTED_BLOCKS if weighted else block_rows.BLOCKS, names),
        lambda partials: block_rows.blocks_table(partials.blocks, weighted=weighted),
        lambda rows: Partials(blocks=block_rows.blocks_of_table(rows)),
        key=(*block_rows.SERIES, "block"),
    )


def large_forms(*, weighted: bool) -> tuple[Form, ...]:
    """The types of state that have a table of their own, named by their kind."""
    return blocks_form(weighted=weighted), DISTRIBUTIONS, ITEMS
