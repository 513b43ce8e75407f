"""A flipped bit of a file in the lanes of Spark, whether Arrow reads it in the tasks or Spark itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from tests.support.rotten import flip, log, pages_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(("lane", "side"), [("scan", "truth"), ("frame", "input")])
def test_a_flipped_bit_is_an_error_that_names_the_file(
    spark: SparkSession, tmp_path: Path, lane: str, side: str
) -> None:
    rows = {"input": log().select(["user", "item", "score"]), "truth": log().select(["user", "item", "label"])}
    for name, table in rows.items():
        pq.write_table(table, tmp_path / f"{name}.parquet", compression="none", write_page_checksum=True)
    pages = pages_of(tmp_path / f"{side}.parquet")
    flip(tmp_path / f"{side}.parquet", pages["score 0" if side == "input" else "label 0"][1] - 2)
    with pytest.raises(sr.InputError, match=rf"{side}\.parquet cannot be read.*(CRC|[Cc]hecksum)"):
        sr.evaluate(
            str(tmp_path / "input.parquet"),
            ["ndcg@10"],
            truth=str(tmp_path / "truth.parquet"),
            group="user",
            item="item",
            score="score",
            label="label",
            duplicates="keep",
            spark=spark,
            lane=lane,
        )
