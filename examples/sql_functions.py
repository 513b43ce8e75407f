"""Asks for metrics in SQL: of each user, and of the rows of each country together.

    python examples/sql_functions.py

Each user saw three items. ann clicked the first, bob the second, cat the third: rr is 1, 1/2 and 1/3, and hit@1 is 1, 0
and 0. The scores of the two clicked rows of de are 3 and 2, those of the four others 2, 1, 3 and 1: of eight pairs five
are in order and two are tied, so auc is (5 + 2/2) / 8 = 0.75. The clicked row of fr has the lowest score: 0.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from sparkrank import functions as srf

ROWS = [
    *[("de", "ann", 3.0, 1), ("de", "ann", 2.0, 0), ("de", "ann", 1.0, 0)],
    *[("de", "bob", 3.0, 0), ("de", "bob", 2.0, 1), ("de", "bob", 1.0, 0)],
    *[("fr", "cat", 3.0, 0), ("fr", "cat", 2.0, 0), ("fr", "cat", 1.0, 1)],
]
OF_USERS = """
    SELECT user, rr(collect_list(struct(score, label))) AS rr, hit_at_1(collect_list(struct(score, label))) AS hit_at_1
    FROM shown GROUP BY user ORDER BY user
"""
OF_COUNTRIES = "SELECT country, auc(score, label) AS auc FROM shown GROUP BY country ORDER BY country"


def main(spark: SparkSession) -> None:
    spark.createDataFrame(ROWS, "country string, user string, score double, label int").createOrReplaceTempView("shown")
    srf.register(spark, ["rr", "hit@1", "auc"])
    spark.sql(OF_USERS).show()
    spark.sql(OF_COUNTRIES).show()


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take the first python3 on the path
    main(SparkSession.builder.getOrCreate())
