"""The files that a run has written, as its row in ``runs`` lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def files_of(run: Path) -> list[dict[str, Any]]:
    """The files of each table in the folder of a ``run``, in order, with their rows."""
    return [
        {"table": file.parent.name, "name": file.name, "rows": pq.read_metadata(file).num_rows}
        for file in sorted(run.glob("*/[!._]*"))
    ]
