"""Rows cut into pieces as Spark reads them: none lost, none twice, whatever the batches."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.engine import frame_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema({"key_0": pa.string(), "label": pa.int64(), "score_0": pa.float64()})


def _batches(sizes: list[int]) -> list[pa.RecordBatch]:
    """Batches of so many rows, of which each is told by its label; every fifth has no key."""
    ends = np.cumsum([0, *sizes])
    rows = [range(start, end) for start, end in itertools.pairwise(ends.tolist())]
    return [
        pa.record_batch([[f"u{row % 50}" if row % 5 else None for row in each], list(each), [0.5] * len(each)], SCHEMA)
        for each in rows
    ]


def _held(batches: list[pa.RecordBatch]) -> list[list[int]]:
    """The labels of the rows that are cut together, a list for each time that rows are cut."""
    return [rows["label"].to_pylist() for rows in frame_batches.held_rows(batches, SCHEMA)]


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(1, 60), st.booleans())
def test_every_row_is_cut_once(sizes: list[int], held: int, by_size: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_batches, "HELD_BYTES" if by_size else "HELD_ROWS", held)
        cut = _held(_batches(sizes))
    assert sorted(itertools.chain.from_iterable(cut)) == list(range(sum(sizes)))


def test_rows_are_cut_as_soon_as_so_many_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_batches, "HELD_ROWS", 25)
    # the third batch makes it 30, and so does the sixth; ten rows are left
    assert _held(_batches([10] * 7)) == [list(range(30)), list(range(30, 60)), list(range(60, 70))]


def test_held_bytes_have_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = _batches([10] * 6)
    monkeypatch.setattr(frame_batches, "HELD_BYTES", batches[0].nbytes + batches[1].nbytes)
    assert list(map(len, _held(batches))) == [20, 20, 20]


def test_partitions_without_rows(spark: SparkSession) -> None:
    rows = spark.range(0, 60, 1, 6).selectExpr("id div 3 as user", "id / 60 as score", "id % 3 = 1 as label")
    settings = {"group": "user", "score": "score", "label": "label", "buckets": 3}
    with sr.evaluate(rows.where("id >= 54"), ["rr"], **settings) as evaluation:  # in the last of six partitions
        # users 18 and 19: the hit stands second of three
        assert evaluation.to_pandas().loc[0, ["value", "n_groups"]].tolist() == [1 / 2, 2]
    with pytest.raises(sr.InputError, match="the input has no rows"):
        sr.evaluate(rows.where("id < 0"), ["rr"], **settings)


@pytest.mark.parametrize("group_table", [True, False])
def test_the_session_may_say_how_wide_and_where(spark: SparkSession, group_table: bool) -> None:
    """Large Arrow types, a time zone and small batches are the session's affair: keys come back as they were."""
    session = spark.newSession()
    session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    session.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    texts, instants, raw = "concat('ü', id % 5)", "cast(id % 4 as timestamp)", "unhex(concat('ff0', id % 3))"
    rows = session.range(120).selectExpr(
        f"{texts} text", f"{instants} at", f"{raw} raw", "id item", "id / 120 score", "id % 2 label"
    )
    keys = ["text", "at", "raw"]
    with sr.evaluate(
        rows, ["p@1"], group=keys, score="score", label="label", item="item", ties="item", group_table=group_table
    ) as evaluation:
        # 120 rows of 60 keys, two each, 60 apart: even ids have label 0, odd 1, and p@1 is that of the key
        assert evaluation.to_pandas().loc[0, ["value", "n_groups"]].tolist() == [1 / 2, 60]
        if group_table:
            found = evaluation.groups.select(*keys).collect()
            assert sorted(map(repr, found)) == sorted(map(repr, rows.select(*keys).distinct().collect()))


def test_a_variant_is_no_key(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("parse_json(cast(id as string)) key", "0.5D score", "id % 2 label")
    with pytest.raises(sr.InputError, match=r'"key" is of type variant: a plain value is needed'):
        sr.evaluate(rows, ["ap"], group="key", score="score", label="label")
