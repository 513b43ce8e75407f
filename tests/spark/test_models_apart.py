"""The lists of models in tables of their own, or in a long one, give the bits of their outer join in every lane."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from tests.spark.logs import rows_of
from tests.support.apart import joined, lists_of_models, long, truth_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

METRICS = ["ndcg@5", "ap", "r@5", "p90(rr)", "auc(exact)", "kendall_tau(ref=best)", "gini@3"]
ASKED: dict[str, Any] = {"group": ["user", "shop"], "item": "item", "slices": ["country"], "buckets": 3, "ties": "item"}


def bits(rows: Any, truth: Any, **asked: Any) -> dict[str, list[dict[str, str]]]:
    with sr.evaluate(rows, METRICS, truth=truth, **ASKED, **asked) as found:
        tables = {"metrics": found.metrics, "groups": found.groups, "comparison": found.compare("best")}
        rows = {name: rows_of(table) for name, table in tables.items()}
        return {"lane": [{"lane": found.lane}]} | {name: list(map(without_origin, rows[name])) for name in rows}


def without_origin(row: dict[str, str]) -> dict[str, str]:
    """A row of a table without the hash of what was asked, in which the forms differ."""
    return {name: value for name, value in row.items() if name != "spec_hash"}


@pytest.mark.parametrize(
    "item", [pytest.param(pa.int64(), marks=pytest.mark.long), pa.string()], ids=["numbers", "texts"]
)
def test_every_lane_and_form_gives_the_same_bits(spark: SparkSession, tmp_path: Path, item: pa.DataType) -> None:
    models = lists_of_models(item)
    forms = {"joined": joined(models), "long": long(models), **models, "truth": truth_of(models)}
    for name, rows in forms.items():
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=70)
    scores = {"score": {name: name for name in models}}
    expected = bits(forms["joined"], forms["truth"], **scores)
    files = {name: str(tmp_path / f"{name}.parquet") for name in forms}
    frames = {name: spark.read.parquet(path).coalesce(2) for name, path in files.items()}
    inputs: list[tuple[str, Mapping[str, Any], SparkSession | None]] = [("local", forms, None), ("local", files, None)]
    inputs += [("scan", files, spark), ("frame", frames, None)]
    for lane, given, session in inputs:
        apart = bits({name: given[name] for name in models}, given["truth"], score="score", spark=session)
        of_long = bits(given["long"], given["truth"], score="score", model="model", spark=session)
        for found in (apart, of_long):
            assert found.pop("lane") == [{"lane": lane}]
            assert [name for name in found if found[name] != expected[name]] == []
