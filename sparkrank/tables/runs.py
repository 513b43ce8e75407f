"""The files that a run has written, as its row in ``runs`` lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Null where the store does not tell what Spark has written. A file that is not among them is no part of the day.
FILES = pa.field("files", pa.list_(pa.struct([("table", pa.string()), ("name", pa.string()), ("rows", pa.int64())])))


def files_of(run: Path) -> list[dict[str, Any]]:
    """The files of each table in the folder of a ``run``, in order, with their rows."""
    return [
        {"table": file.parent.name, "name": file.name, "rows": pq.read_metadata(file).num_rows}
        for file in sorted(run.glob("*/[!._]*"))
    ]
