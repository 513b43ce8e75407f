"""The table ``blocks``: the score bins of all pooled metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.engines.result import PassResult
from sparkrank.metrics import Plan
from sparkrank.states.histogram_table import blocks_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def all_blocks(solved: PassResult, plan: Plan) -> pa.Table | DataFrame:
    """Return the table ``blocks``: an Arrow table, or a Spark DataFrame if the exact bins are too many for memory."""
    table = blocks_table(solved.partials.blocks, weighted=plan.weighted, unsummed=plan.unsummed_rules)
    if solved.exact is None:
        return table
    exact = solved.exact.table
    return exact.union(exact.sparkSession.createDataFrame(table.combine_chunks())) if table.num_rows else exact
