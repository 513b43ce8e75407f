"""Functions of columns over Spark Connect: the bits of ``sr.evaluate``."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import sparkrank as sr
from sparkrank import functions as srf
from tests.spark.logs import groups_with_ties

TWO = ("score", "label")
ROLES = {"group": "user_id", "score": "score", "label": "label"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[int, tuple[str, ...]], float]:
    """The path of a log, and of the local lane two metrics of each user as their exact texts, and one of all rows."""
    path = str(tmp_path_factory.mktemp("functions") / "log.parquet")
    pq.write_table(groups_with_ties(), path)
    table = sr.evaluate(path, ["ndcg@10", "ap"], **ROLES).groups.to_pylist()
    of_users = {row["user_id"]: (repr(row["ndcg@10"]), repr(row["ap"])) for row in table}
    return path, of_users, sr.evaluate(path, ["auc"], score="score", label="label")["auc"]


def found(rows: DataFrame) -> dict[int, tuple[str, ...]]:
    return {row[0]: tuple("nan" if value is None else repr(value) for value in row[1:]) for row in rows.collect()}


def test_rows_lists_and_windows(spark: SparkSession, asked) -> None:
    path, of_users, of_all = asked
    frame = spark.read.parquet(path)
    assert found(frame.groupBy("user_id").agg(srf.ndcg(*TWO, k=10).alias("n"), srf.ap(*TWO) * 1)) == of_users
    lists = frame.groupBy("user_id").agg(F.collect_list(F.struct(*TWO)).alias("r")).select("*", "r.score", "r.label")
    assert found(lists.select("user_id", srf.ndcg(*TWO, k=10, of="lists"), srf.ap("r"))) == of_users
    over = srf.metrics(["ndcg@10", "ap"], *TWO, over=Window.partitionBy("user_id")).alias("m")
    assert found(frame.select("user_id", over).select("user_id", "m.*")) == of_users
    assert frame.agg(srf.auc(*TWO), F.count("*")).first()[0] == of_all
    assert frame.groupBy(F.lit(1).alias("one")).agg(srf.auc(*TWO, of="batches")).first()[1] == of_all


def test_in_sql(spark: SparkSession, asked) -> None:
    path, of_users, _ = asked
    srf.register(spark, ["ndcg@10", "ap"])
    spark.read.parquet(path).createOrReplaceTempView("log")
    rows = "collect_list(struct(score, label))"
    query = f"SELECT user_id, ndcg_at_10({rows}), ap({rows}) FROM log GROUP BY user_id"  # noqa: S608 - our own text
    assert found(spark.sql(query)) == of_users
