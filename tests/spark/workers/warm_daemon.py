"""The daemon from which the shared session forks its Python workers, with all that each would import anew.

That is a second of a processor for every task that a test has fail, whose worker ends with it. Workers of a daemon as
it is are those of the jobs (tests/jobs) and of the sessions over Spark Connect.
"""

from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("pandas", "pyarrow.compute", "pyarrow.parquet", "pyspark.worker", "sparkrank.engines.spark.scan"):
        import_module(name)
    manager()
