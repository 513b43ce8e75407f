"""The order of rows by their values alone, so that results do not depend on the order of the input."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.impressions import LIST
from sparkrank.numeric.array_types import Ints


def row_order(rows: pa.Table, first: Sequence[tuple[str, str]]) -> Ints:
    """Return the indices that sort ``rows`` by the columns ``first`` (name, direction), then by all other columns."""
    names = sorted(name for name in rows.column_names if name != LIST and not pa.types.is_null(rows[name].type))
    keys = pa.table({name: _sortable(rows[name]) for name in names})
    by = {name: direction for name, direction in first if name in names}
    by |= {name: "ascending" for name in names if name not in by}
    order: Ints = pc.sort_indices(keys, list(by.items())).to_numpy()
    return order


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
