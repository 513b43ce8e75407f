"""The conversion of histograms to the table ``blocks`` and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.state import AMOUNTS, ScoreHistogram, ScoreSeries
from sparkrank.numeric.exact_sums import LIMBS, Amounts, rounded
from sparkrank.numeric.free_memory import ensure_free
from sparkrank.schemas.tables import BLOCKS as TABLE
from sparkrank.states.keys import in_order, rows_by_key

BLOCK_SCHEMA = TABLE.schema
SERIES_COLUMNS = ("model", "slice", "slice_value", "rule")
ROWS_COLUMN = "rows"
LIMB_COLUMNS = [f"{name}_{limb}" for name in AMOUNTS for limb in range(LIMBS)]
SUMS_OF_SCORES = ("score_sum", "offset", *(f"offset_{limb}" for limb in range(LIMBS)))
# If rows have weights, the amounts are sums of weights.
WEIGHTED_BLOCK_SCHEMA = pa.schema(
    [field.with_type(pa.float64()) if field.name in AMOUNTS else field for field in TABLE.whole_schema]
)


def blocks_table(
    by_series: Mapping[ScoreSeries, ScoreHistogram], *, weighted: bool, unsummed: Collection[BinRule] = ()
) -> pa.Table:
    """Return one row per model, slice value, rule and bin, in ascending order of score.

    The state is in ``block`` (the bin number), ``pos``, ``neg`` and ``offset``. If rows are ``weighted``, the state is
    in ``block``, ``rows`` and the limbs (floats that make up an exact sum) of the other three columns. The remaining
    columns are for people to read. Sums of scores are null for the rules in ``unsummed``.
    """
    schema = WEIGHTED_BLOCK_SCHEMA if weighted else BLOCK_SCHEMA
    tables = [schema.empty_table()]
    for series, histogram in sorted(by_series.items(), key=lambda item: in_order((*item[0][:3], str(item[0].rule)))):
        texts = (series.model, series.slice, series.slice_value, str(series.rule))
        ensure_free(len(histogram.bins) * 8 * len(schema), "the table of exact bins")
        columns = [pa.repeat(pa.scalar(text, pa.string()), len(histogram.bins)) for text in texts]
        missing = SUMS_OF_SCORES if series.rule in unsummed else ()
        columns += [
            pa.nulls(len(histogram.bins), schema.field(name).type)
            if name in missing
            else _column(histogram, name, schema)
            for name in schema.names[len(SERIES_COLUMNS) :]
        ]
        tables.append(pa.Table.from_arrays(columns, schema=schema))
    return pa.concat_tables(tables)


def _column(histogram: ScoreHistogram, name: str, schema: pa.Schema) -> pa.Array:
    if name in LIMB_COLUMNS:
        amounts, limb = name.rsplit("_", 1)
        limbs = getattr(histogram, amounts)
        # a histogram without bins looks the same with and without weights
        return pa.array(np.ascontiguousarray(limbs[:, int(limb)]) if limbs.ndim == 2 else np.zeros(len(limbs)))
    values = histogram.bins if name == "block" else getattr(histogram, name)
    return pa.array(rounded(values) if pa.types.is_floating(schema.field(name).type) else values)


def blocks_of_table(rows: pa.Table) -> dict[ScoreSeries, ScoreHistogram]:
    bins, weighted = rows["block"].to_numpy(), ROWS_COLUMN in rows.column_names
    amounts = [amounts_of(rows, name, weighted) for name in AMOUNTS]
    count = rows[ROWS_COLUMN].to_numpy() if weighted else None
    by_series = {}
    for (model, slice_, value, text), places in rows_by_key(rows, SERIES_COLUMNS):
        ascending = places[np.argsort(bins[places], kind="stable")]
        rule = BinRule.parse(text)
        pos, neg, offset = (part[ascending] for part in amounts)
        rows_of = None if count is None else count[ascending]
        by_series[ScoreSeries(model, slice_, value, rule)] = ScoreHistogram(
            rule, bins[ascending], pos, neg, offset, rows_of
        )
    return by_series


def amounts_of(rows: pa.Table, name: str, weighted: bool) -> Amounts:
    """Return the column ``name`` of n ``rows``: whole numbers (n,) or, if ``weighted``, six floats a sum (n, 6)."""
    if not weighted:
        whole: Amounts = rows[name].to_numpy()
        return whole
    return np.column_stack([rows[f"{name}_{limb}"].to_numpy() for limb in range(LIMBS)])
