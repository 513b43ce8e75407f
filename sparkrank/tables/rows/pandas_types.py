"""Conversion of integer columns to pandas' nullable ``Int64``, because floats cannot represent 2^53 + 1."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

# The part of pandas' metadata that Arrow reads.
_PANDAS = b"pandas"


def with_whole_numbers(table: pa.Table) -> pa.Table:
    """Return ``table``, changed so that ``to_pandas`` makes every integer column ``Int64``, with or without nulls.

    Only the schema metadata changes. Arrow uses this metadata in conversions to pandas; other readers ignore it.

    Examples
    --------
    >>> table = with_whole_numbers(pa.table({"n_groups": [2, None], "value": [0.5, 1.0]}))
    >>> [str(kind) for kind in table.to_pandas().dtypes]
    ['Int64', 'float64']
    """
    columns = [_column(field) for field in table.schema if pa.types.is_int64(field.type)]
    metadata = {"index_columns": [], "column_indexes": [], "columns": columns, "pandas_version": "2.2.0"}
    own = table.schema.metadata or {}
    return table.replace_schema_metadata({**own, _PANDAS: json.dumps(metadata).encode()})


def _column(field: pa.Field) -> dict[str, Any]:
    name = field.name
    return {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
