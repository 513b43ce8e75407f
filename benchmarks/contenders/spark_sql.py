"""Spark SQL, two ways: windows, and arrays with higher-order functions.

Both shuffle the rows of the groups once, sort them once for each model, and write the group table straight from it; the
means are read back from the table, which is far cheaper than holding the rows or computing them twice. The score
blocks are a query of their own over two columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, Value, Values, Work
from benchmarks.contenders.day import block_of, day_values, needs_blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Windows over the same partitions and order share one sort. The frame is spelled out, because the default one reaches
# to the last tied row, for which Spark must look ahead. The models' positions stand side by side, so that rows are not
# multiplied; their aggregates become rows when there is one of each group.
WINDOWS = """
WITH ranked AS (
    SELECT {group}, gain, {positions}{ideal_position} FROM {view}
), placed AS (
    SELECT {group}, gain, {placed}{j} FROM ranked
), sums AS (
    SELECT {group}, count(*) AS n_rows, sum(CAST(gain > 0 AS INT)) AS n_relevant, {aggregates}
    FROM placed GROUP BY {group}
)
SELECT model, {group}, n_rows, n_rows AS n_retrieved, n_relevant, {values}
FROM (SELECT {group}, n_rows, n_relevant, model, sums_of_model.* FROM {models})
"""
POSITION = """row_number() OVER (PARTITION BY {group} ORDER BY {score} DESC) AS i_{score},
    sum(rel) OVER (PARTITION BY {group} ORDER BY {score} DESC ROWS UNBOUNDED PRECEDING) AS hits_{score}"""
PLACED = "CASE WHEN gain > 0 THEN i_{score} END AS i_{score}, CASE WHEN gain > 0 THEN hits_{score} END AS hits_{score}"
IDEAL_POSITION = ", row_number() OVER (PARTITION BY {group} ORDER BY gain DESC) AS j"

ARRAYS = """
WITH collected AS (
    SELECT {group}, collect_list(struct({low}, gain)) AS rows FROM {view} GROUP BY {group}
), lists AS (
    SELECT {group}, model, list FROM {models}
), placed AS (
    SELECT model, {group}, size(list) AS n_rows,
        filter(transform(list, (row, i) -> struct(i + 1 AS i, row.gain AS gain)), row -> row.gain > 0) AS hits
    FROM lists
), sums AS (
    SELECT model, {group}, n_rows, size(hits) AS n_relevant, {aggregates} FROM placed
)
SELECT model, {group}, n_rows, n_rows AS n_retrieved, n_relevant, {values} FROM sums
"""
LIST = "sort_array(transform(rows, row -> struct(row.{score} AS low, row.gain AS gain)))"
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
    """The group table by ``query``, everything else from it and from counts of score blocks."""

    def __init__(self, name: str, query: str, work: Work, spark: SparkSession) -> None:
        self.name = name
        self.table = work.output / name
        self._query, self._work, self._spark = query, work, spark

    def prepare(self) -> None:
        work = self._work
        log = self._spark.read.parquet(str(work.log))
        log.selectExpr(
            GROUP, *work.scores, f"{work.label} AS gain", f"CAST({work.label} > 0 AS INT) AS rel"
        ).createOrReplaceTempView(work.view)

    def run(self) -> None:
        self._spark.sql(self._query).write.mode("overwrite").parquet(str(self.table))
        self._values = values_of(self._spark, self.table, self._work)

    def values(self) -> Values:
        return self._values


def windows(work: Work, spark: SparkSession) -> SparkSQL:
    aggregates = {
        score: f"struct({sql.aggregates(work.metrics, work.graded, suffix=f'_{score}')})" for score in work.scores
    }
    query = WINDOWS.format(
        group=GROUP,
        view=work.view,
        positions=", ".join(POSITION.format(group=GROUP, score=score) for score in work.scores),
        placed=", ".join(PLACED.format(score=score) for score in work.scores),
        aggregates=", ".join(f"{sums} AS sums_{score}" for score, sums in aggregates.items()),
        models=_by_model("sums", {score: f"sums_{score}" for score in work.scores}, "sums_of_model"),
        values=sql.values(work.metrics),
        ideal_position=IDEAL_POSITION.format(group=GROUP) if work.graded else "",
        j=", j" if work.graded else "",
    )
    return SparkSQL("spark-windows", query, work, spark)


def arrays(work: Work, spark: SparkSession) -> SparkSQL:
    query = ARRAYS.format(
        group=GROUP,
        view=work.view,
        low=", ".join(f"-{score} AS {score}" for score in work.scores),
        models=_by_model("collected", _lists(work.scores), "list"),
        aggregates=sql.aggregates(work.metrics, work.graded, ARRAY_AGGREGATES),
        values=sql.values(work.metrics),
    )
    return SparkSQL("spark-arrays", query, work, spark)


def _lists(scores: Sequence[str]) -> dict[str, str]:
    """Each model's list; the rows of a single one are its list as they are, but for the order."""
    return {scores[0]: "sort_array(rows)"} if len(scores) == 1 else {s: LIST.format(score=s) for s in scores}


def _by_model(table: str, columns: dict[str, str], name: str) -> str:
    """``table`` with the columns ``model`` and ``name``: for each model, its expression as a row."""
    if len(columns) == 1:  # stack would cost a copy of each row
        [(score, column)] = columns.items()
        return f"(SELECT *, '{score}' AS model, {column} AS {name} FROM {table})"  # noqa: S608 - of names in this file
    pairs = ", ".join(f"'{score}', {column}" for score, column in columns.items())
    return f"{table} LATERAL VIEW stack({len(columns)}, {pairs}) AS model, {name}"


def values_of(spark: SparkSession, table: Path, work: Work) -> Values:
    """The means over a group table, read back, and the metrics of the day."""
    from pyspark.sql import functions as F

    means = [F.expr(mean) for mean in sql.means(work.metrics)]
    found = spark.read.parquet(str(table)).groupBy("model").agg(*means).collect()
    return {
        row["model"]: {
            **{metric: Value(row[sql.column(metric)]) for metric in sql.of_groups(work.metrics)},
            **_day_of(spark, work, row["model"]),
        }
        for row in found
    }


def _day_of(spark: SparkSession, work: Work, score: str) -> dict[str, Value]:
    """The metrics of the day, from score blocks counted by Spark. There are few, so numpy on the driver walks them."""
    if not needs_blocks(work.metrics):
        return {}
    log = spark.read.parquet(str(work.log)).selectExpr(
        f"{block_of(score, 'rint')} AS block", f"CAST({work.label} > 0 AS INT) AS rel"
    )
    counted = log.groupBy("block").agg({"rel": "sum", "*": "count"}).toDF("block", "pos", "n").toPandas()
    return dict(day_values(work.metrics, counted["block"], counted["pos"], counted["n"]))
