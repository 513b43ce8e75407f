"""The least that a job on Spark does: it reads columns of a log, and hands them to one function of Python.

    spark-submit benchmarks/bare_job.py LOG SCORE LABEL

Prints the rows, and the sum of the scores whose label is above 0.
"""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def relevant(score: pa.Array, label: pa.Array) -> pa.Array:
    """The score where the label is above 0, else 0."""
    return pc.if_else(pc.greater(label, 0), score, 0.0)


def main() -> None:
    log, score, label = sys.argv[1:]
    spark = SparkSession.builder.appName("bare").getOrCreate()
    of_rows = F.arrow_udf(relevant, "double")
    scores = spark.read.parquet(log).select(of_rows(score, label).alias("score"))
    found = scores.agg(F.count("*"), F.sum("score")).first()
    spark.stop()
    if found is not None:
        print(json.dumps({"rows": found[0], "sum": found[1]}))


if __name__ == "__main__":
    main()
