"""Score blocks as rows of the table ``blocks``."""

from __future__ import annotations

import pyarrow as pa

from sparkrank.states.blocks import ScoreBlocks, Series

BLOCKS = pa.schema(
    [
        ("model", pa.string()),
        ("slice", pa.string()),
        ("slice_value", pa.string()),
        ("rule", pa.string()),
        ("block", pa.int64()),
        ("score", pa.float64()),
        ("pos", pa.int64()),
        ("neg", pa.int64()),
        ("score_sum", pa.float64()),
    ]
)
# Where rows have weights: pos and neg are sums of them, and the rows stand beside.
WEIGHTED_BLOCKS = pa.schema(
    [field if field.name not in ("pos", "neg") else field.with_type(pa.float64()) for field in BLOCKS]
    + [pa.field("rows", pa.int64())]
)


def schema_of(weighted: bool) -> pa.Schema:
    """The schema of the table, where rows have weights and where not."""
    return WEIGHTED_BLOCKS if weighted else BLOCKS


def block_rows(series: Series, blocks: ScoreBlocks, weighted: bool) -> pa.Table:
    """One row per block, ascending by score."""
    texts = (series.model, series.slice, series.slice_value, str(series.rule))
    columns = [pa.repeat(pa.scalar(text, pa.string()), len(blocks.block)) for text in texts]
    classes = (blocks.positives, blocks.negatives) if weighted else (blocks.pos, blocks.neg)
    numbers = (blocks.block, blocks.score, *classes, blocks.score_sum, *([blocks.rows] if weighted else []))
    columns += [pa.array(each) for each in numbers]
    return pa.Table.from_arrays(columns, schema=schema_of(weighted))
