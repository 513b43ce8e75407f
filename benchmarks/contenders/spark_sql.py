"""Spark SQL, two ways: windows, and arrays with higher-order functions.

Both shuffle and sort the rows of the groups once and write the group table straight from it; the means are read back
from the table, which is far cheaper than holding the rows or computing them twice. The score blocks are a query of
their own over two columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, SCORE, Value, Work
from benchmarks.contenders.day import block_of, day_values, needs_blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEW = "impressions"

# Windows over the same partitions and order share one sort. The frame is spelled out, because the default one reaches
# to the last tied row, for which Spark must look ahead.
WINDOWS = """
WITH ranked AS (
    SELECT {group}, gain, row_number() OVER (PARTITION BY {group} ORDER BY {score} DESC) AS i,
        sum(rel) OVER (PARTITION BY {group} ORDER BY {score} DESC ROWS UNBOUNDED PRECEDING) AS hits{ideal_position}
    FROM {view}
), placed AS (
    SELECT {group}, gain, CASE WHEN gain > 0 THEN i END AS i, CASE WHEN gain > 0 THEN hits END AS hits{j}
    FROM ranked
), sums AS (
    SELECT {group}, count(*) AS n_rows, count(i) AS n_relevant, {aggregates} FROM placed GROUP BY {group}
)
SELECT {group}, n_rows, n_rows AS n_retrieved, n_relevant, {values} FROM sums
"""
IDEAL_POSITION = ", row_number() OVER (PARTITION BY {group} ORDER BY gain DESC) AS j"

ARRAYS = """
WITH lists AS (
    SELECT {group}, sort_array(collect_list(struct(-{score} AS low, gain))) AS list FROM {view} GROUP BY {group}
), placed AS (
    SELECT {group}, size(list) AS n_rows,
        filter(transform(list, (row, i) -> struct(i + 1 AS i, row.gain AS gain)), row -> row.gain > 0) AS hits
    FROM lists
), sums AS (
    SELECT {group}, n_rows, size(hits) AS n_relevant, {aggregates} FROM placed
)
SELECT {group}, n_rows, n_rows AS n_retrieved, n_relevant, {values} FROM sums
"""
_ADD = "(total, amount) -> total + amount)"
ARRAY_AGGREGATES = {
    "first_hit": "try_element_at(hits, 1).i",
    "rank_sum": "aggregate(hits, 0L, (total, hit) -> total + hit.i)",
    "precision": f"aggregate(transform(hits, (hit, before) -> (before + 1) / hit.i), 0D, {_ADD}",
    "hits_{k}": "size(filter(hits, hit -> hit.i <= {k}))",
    "precision_{k}": (
        "aggregate(transform(filter(hits, hit -> hit.i <= {k}), (hit, before) -> (before + 1) / hit.i), 0D, " + _ADD
    ),
    "dcg_{k}": "aggregate(filter(hits, hit -> hit.i <= {k}), 0D, (total, hit) -> total + hit.gain / log2(hit.i + 1))",
    "ideal_{k}": (
        "aggregate(transform(slice(sort_array(transform(hits, hit -> hit.gain), false), 1, {k}), "
        "(gain, before) -> gain / log2(before + 2)), 0D, " + _ADD
    ),
}


class SparkSQL:
    """The group table by ``query``, whose aggregates are written as ``expressions`` says."""

    def __init__(self, name: str, query: str, expressions: Mapping[str, str], work: Work, spark: SparkSession) -> None:
        self.name = name
        self.table = work.output / name
        self._query, self._expressions = query, expressions
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        work = self._work
        log = self._spark.read.parquet(str(work.log))
        log.selectExpr(
            GROUP, SCORE, f"{work.label} AS gain", f"CAST({work.label} > 0 AS INT) AS rel"
        ).createOrReplaceTempView(VIEW)
        self._groups = self._query.format(
            group=GROUP,
            score=SCORE,
            view=VIEW,
            aggregates=sql.aggregates(work.metrics, work.graded, self._expressions),
            values=sql.values(work.metrics),
            ideal_position=IDEAL_POSITION.format(group=GROUP) if work.graded else "",
            j=", j" if work.graded else "",
        )

    def run(self) -> None:
        self._spark.sql(self._groups).write.mode("overwrite").parquet(str(self.table))
        means = means_of(self._spark, self.table, self._work.metrics)
        self._values = {**means, **day_of(self._spark, self._work)}

    def values(self) -> Mapping[str, Value]:
        return self._values


def means_of(spark: SparkSession, table: Path, metrics: Sequence[str]) -> Mapping[str, Value]:
    """The means over a group table, read back."""
    row = spark.read.parquet(str(table)).selectExpr(*sql.means(metrics)).collect()[0]
    return {metric: Value(row[sql.column(metric)]) for metric in sql.of_groups(metrics)}


def day_of(spark: SparkSession, work: Work) -> Mapping[str, Value]:
    """The metrics of the day, from score blocks counted by Spark. There are few, so numpy on the driver walks them."""
    if not needs_blocks(work.metrics):
        return {}
    log = spark.read.parquet(str(work.log)).selectExpr(
        f"{block_of(SCORE, 'rint')} AS block", f"CAST({work.label} > 0 AS INT) AS rel"
    )
    counted = log.groupBy("block").agg({"rel": "sum", "*": "count"}).toDF("block", "pos", "n").toPandas()
    return day_values(work.metrics, counted["block"], counted["pos"], counted["n"])


def windows(work: Work, spark: SparkSession) -> SparkSQL:
    return SparkSQL("spark-windows", WINDOWS, sql.AGGREGATES, work, spark)


def arrays(work: Work, spark: SparkSession) -> SparkSQL:
    return SparkSQL("spark-arrays", ARRAYS, ARRAY_AGGREGATES, work, spark)
