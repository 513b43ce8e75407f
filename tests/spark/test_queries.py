"""Spark reads days in real folders, and days that links show, by the queries of docs/queries.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import queries
from tests.support.commands import exit_code


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "links"])
def test_spark_finds_what_the_page_says(spark: SparkSession, tmp_path: Path, plain: bool) -> None:
    conf = queries.evaluate(tmp_path, plain=plain)
    assert exit_code("evaluate", "--conf", conf, "--date", queries.AFTER) == 0
    names: dict[str, Any] = {"spark": spark}
    (code,) = queries.blocks("Spark")  # its paths are relative to where the JVM was started
    exec(compile(code.replace('f"evaluation/', f'f"{tmp_path}/evaluation/'), "docs/queries.md", "exec"), names)  # noqa: S102
    try:
        queries.check({name: [row.asDict() for row in names[name].collect()] for name in queries.EXPECTED})
    finally:
        for name in ("metrics", "groups"):
            spark.catalog.dropTempView(name)
