"""Score blocks as the table ``blocks``, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.state import AMOUNTS, ScoreHistogram, Series
from sparkrank.numeric.exact_sums import LIMBS, Amounts, rounded
from sparkrank.states.keys import in_order, rows_by_key
from sparkrank.tables.schemas import BLOCKS as TABLE

BLOCKS = TABLE.schema
SERIES = ("model", "slice", "slice_value", "rule")
ROWS = "rows"
LIMB_COLUMNS = [f"{name}_{limb}" for name in AMOUNTS for limb in range(LIMBS)]
SUMS_OF_SCORES = ("score_sum", "offset", *(f"offset_{limb}" for limb in range(LIMBS)))
# Where rows have weights, the amounts are sums of them.
WEIGHTED_BLOCKS = pa.schema(
    [field.with_type(pa.float64()) if field.name in AMOUNTS else field for field in TABLE.whole_schema]
)


def blocks_table(
    by_series: Mapping[Series, ScoreHistogram], *, weighted: bool, unsummed: Collection[BinRule] = ()
) -> pa.Table:
    """One row per model, slice, rule and block, ascending by score.

    ``pos``, ``neg``, ``score`` and ``score_sum`` are there to be read. The blocks themselves are ``block`` with the
    whole numbers ``pos``, ``neg`` and ``offset``, or where rows are ``weighted`` with the limbs of those and ``rows``.
    Offsets and sums of scores are null by the rules ``unsummed``.
    """
    schema = WEIGHTED_BLOCKS if weighted else BLOCKS
    tables = [schema.empty_table()]
    for series, blocks in sorted(by_series.items(), key=lambda item: in_order((*item[0][:3], str(item[0].rule)))):
        texts = (series.model, series.slice, series.slice_value, str(series.rule))
        columns = [pa.repeat(pa.scalar(text, pa.string()), len(blocks.block)) for text in texts]
        missing = SUMS_OF_SCORES if series.rule in unsummed else ()
        columns += [
            pa.nulls(len(blocks.block), schema.field(name).type) if name in missing else _column(blocks, name, schema)
            for name in schema.names[len(SERIES) :]
        ]
        tables.append(pa.Table.from_arrays(columns, schema=schema))
    return pa.concat_tables(tables)


def _column(blocks: ScoreHistogram, name: str, schema: pa.Schema) -> pa.Array:
    if name in LIMB_COLUMNS:
        amounts, limb = name.rsplit("_", 1)
        limbs = getattr(blocks, amounts)
        # empty blocks are the same with weights and without
        return pa.array(np.ascontiguousarray(limbs[:, int(limb)]) if limbs.ndim == 2 else np.zeros(len(limbs)))
    values = getattr(blocks, name)
    return pa.array(rounded(values) if pa.types.is_floating(schema.field(name).type) else values)


def blocks_of_table(rows: pa.Table) -> dict[Series, ScoreHistogram]:
    """The blocks of each series that ``rows`` in any order hold; a block has one row."""
    block, weighted = rows["block"].to_numpy(), ROWS in rows.column_names
    amounts = [_amounts(rows, name, weighted) for name in AMOUNTS]
    count = rows[ROWS].to_numpy() if weighted else None
    found = {}
    for (model, of, value, text), places in rows_by_key(rows, SERIES):
        ascending = places[np.argsort(block[places], kind="stable")]
        rule = BinRule.parse(text)
        pos, neg, offset = (part[ascending] for part in amounts)
        rows_of = None if count is None else count[ascending]
        found[Series(model, of, value, rule)] = ScoreHistogram(rule, block[ascending], pos, neg, offset, rows_of)
    return found


def _amounts(rows: pa.Table, name: str, weighted: bool) -> Amounts:
    if not weighted:
        whole: Amounts = rows[name].to_numpy()
        return whole
    return np.column_stack([rows[f"{name}_{limb}"].to_numpy() for limb in range(LIMBS)])
