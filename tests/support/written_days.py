"""Days written in one call, and what is left in their folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.tables.commit.days import DEFAULT_COMMIT, Commit, Table, day_run
from sparkrank.tables.commit.output_folder import DAY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_day(
    output: str,
    day: str,
    tables: Mapping[str, Table],
    spark: SparkSession | None = None,
    column: str = DAY,
    how: Commit = DEFAULT_COMMIT,
) -> None:
    """Replace ``day`` in every table under ``output`` by ``tables``."""
    with day_run(output, day, spark, column, how) as run:
        run.commit(tables)


def tables_of(value: int, names: Iterable[str]) -> dict[str, pa.Table]:
    return {name: pa.table({"name": [name], "value": [value]}) for name in names}


def paths_in(output: Path) -> set[str]:
    """What is in ``output``, runs by their day alone: the rest of their names is drawn."""
    paths = (Path(folder, name) for folder, folders, files in os.walk(output) for name in (*folders, *files))
    return {re.sub(r"[.-][0-9a-f]{12}\b", "", str(path.relative_to(output))) for path in paths}
