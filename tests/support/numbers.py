"""What a table says of the rows alone."""

from __future__ import annotations

import pyarrow as pa


def without_hash(table: pa.Table) -> pa.Table:
    """``table`` but for the hash of what was asked, which the names of columns change, and no number depends on."""
    return table.drop_columns([name for name in table.column_names if name == "spec_hash"])
