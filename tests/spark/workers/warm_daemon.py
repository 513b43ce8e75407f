"""The daemon from which the shared session forks its Python workers, with all that each would import anew.

That is a second of a processor for every task that a test has fail, whose worker ends with it. Workers of a daemon as
it is are those of the jobs (tests/jobs) and of the sessions over Spark Connect.
"""

import pyarrow.compute
import pyarrow.parquet
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import sparkrank.engines.spark.scan
import sparkrank.engines.spark.tasks  # noqa: F401

if __name__ == "__main__":
    manager()
