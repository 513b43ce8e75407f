"""A day written in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

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
