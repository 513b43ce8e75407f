"""Evaluates two models on a Spark DataFrame and compares them user by user.

    python examples/spark_dataframe.py

Each of the four users clicked one of three items. `old` ranks it 1st, 2nd, 2nd and 3rd: rr is 1, 1/2, 1/2 and 1/3, and
their mean 7/12 = 0.583333. `new` ranks it 1st, 1st, 2nd and 2nd: (1 + 1 + 1/2 + 1/2) / 4 = 0.75. The difference is 1/6,
with two wins and two ties.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import SparkSession

import sparkrank as sr

# user, item, score of old, score of new, clicked
ROWS = [
    *[("ann", "x", 3.0, 3.0, 1), ("ann", "y", 2.0, 2.0, 0), ("ann", "z", 1.0, 1.0, 0)],
    *[("bob", "x", 3.0, 2.0, 0), ("bob", "y", 2.0, 3.0, 1), ("bob", "z", 1.0, 1.0, 0)],
    *[("cat", "x", 3.0, 3.0, 0), ("cat", "y", 2.0, 2.0, 1), ("cat", "z", 1.0, 1.0, 0)],
    *[("dan", "x", 3.0, 3.0, 0), ("dan", "y", 2.0, 1.0, 0), ("dan", "z", 1.0, 2.0, 1)],
]


def main(spark: SparkSession) -> None:
    impressions = spark.createDataFrame(ROWS, "user string, item string, old double, new double, clicked int")
    with sr.evaluate(
        impressions,
        ["rr", "hit@1"],
        group="user",
        score={"old": "old", "new": "new"},
        label="clicked",
        compare="old",
    ) as evaluation:
        metrics: Any = evaluation.metrics  # Spark DataFrames, both
        users: Any = evaluation.groups
        metrics.select("model", "metric", "value", "n_groups").show()
        users.select("model", "user", "rr").orderBy("user", "model").show()
        [rr, _] = evaluation.compare("old").to_pylist()
        print(f"rr: {rr['difference']:+.6f}, wins {rr['wins']}, ties {rr['ties']}, losses {rr['losses']}")


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take the first python3 on the path
    main(SparkSession.builder.getOrCreate())
