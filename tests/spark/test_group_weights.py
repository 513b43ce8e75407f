"""Groups that weigh by a column, and rules for ties of single metrics: the same bits in every lane."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from tests.spark.logs import ROLES, write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

METRICS = ["ndcg(weight=w)@3", "ap(weight=w,ties=item)", "err(ties=worst,weight=whole)@3", "rr(weight=relevant)"]
METRICS += ["gauc(weight=narrow)", "fitness(weight=rows)", "spearman(weight=w,ref=b)", "gini(ties=block)@2", "auc"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log with weights of users: fractions of both widths and whole numbers; some users have a bad one."""
    folder = tmp_path_factory.mktemp("log")
    log = pa.concat_tables([pq.read_table(write_log(folder) / name) for name in ("2.parquet", "3.parquet")])
    user = log["user_id"].to_numpy()
    of_user = np.random.default_rng(5).uniform(0, 3, 200)
    of_user[[3, 4]] = -1.0, np.nan
    w = of_user[user]
    w[np.flatnonzero(user == 7)[0]] += 1.0
    log = log.append_column("w", pa.array(w, mask=user == 9))
    log = log.append_column("whole", pa.array((user % 5).astype(np.int16)))
    log = log.append_column("narrow", pa.array((user / 7).astype(np.float32)))
    log = log.append_column("odd", pa.array(user % 2 == 1))
    log = log.append_column("near", pa.array(np.arange(len(user)) % 3 == 0))
    pq.write_table(log, path := folder / "weighed.parquet", row_group_size=500)
    return path


def test_every_lane_refuses_alike(spark: SparkSession, file: Path) -> None:
    told = set()
    for rows, session in ((spark.read.parquet(str(file)), None), (str(file), spark), (str(file), None)):
        with pytest.raises(sr.InputError) as refused:
            sr.evaluate(rows, ["rr(weight=w)"], spark=session, **{**ROLES, "group": "user_id"})
        told.add(str(refused.value))
    assert len(told) == 1
    assert "group weight that is null, NaN, negative" in told.pop()
    for rows, session in ((spark.read.parquet(str(file)), None), (str(file), spark), (str(file), None)):
        for column, sentence in (("weigth", "is not in the input"), ("name", "a number is needed")):
            with pytest.raises(sr.InputError, match=f'the group weight column "{column}" .*{sentence}'):
                sr.evaluate(rows, [f"rr(weight={column})"], spark=session, **{**ROLES, "group": "user_id"})


def test_a_truth_and_arrays_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    lists = pa.table({"u": ["a", "a", "b"], "i": ["x", "y", "x"], "s": [2.0, 1.0, 1.0], "w": [3.0, 3.0, 1.0]})
    truth = pa.table({"u": ["a", "b", "b"], "i": ["y", "x", "z"]})
    arrays = pa.table(
        {"u": ["a", "b", "c"], "got": [["x", "y"], ["x"], []], "want": [["y"], ["x"], ["x"]], "w": [3, 1, 4]}
    )
    for name, table in (("lists", lists), ("truth", truth), ("arrays", arrays)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    path = {name: str(tmp_path / f"{name}.parquet") for name in ("lists", "truth", "arrays")}
    joined = {"group": "u", "item": "i", "score": "s"}
    grouped = {"group": "u", "items": "got", "true_items": "want"}
    metric = "rr(weight=w)"
    for session in (spark, None):
        beside = sr.evaluate(path["lists"], [metric], truth=path["truth"], spark=session, **joined)
        assert beside[metric] == (3 * 1 / 2 + 1 * 1) / 4
        assert sr.evaluate(path["arrays"], [metric], spark=session, **grouped)[metric] == (3 * 1 / 2 + 1 + 4 * 0) / 8
    frames = {name: spark.read.parquet(of) for name, of in path.items()}
    assert sr.evaluate(frames["lists"], [metric], truth=frames["truth"], **joined)[metric] == 2.5 / 4
    assert sr.evaluate(frames["arrays"], [metric], **grouped)[metric] == 2.5 / 8
