"""Write an archive of Spark's classes, as a JVM holds them once it has read and checked them.

    JAVA_HOME=... .venv/bin/python scripts/spark_classes.py .venv/spark.jsa

A JVM that is given the archive (tests/conftest.py does) starts Spark in about half of the processor time. Another
JVM than the one that wrote it, or one with other jars, ignores it and starts as always.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What the tests do most often, so that the classes for it are loaded: files are read and written, rows go to Python in
# each of the ways, and are shuffled. The plugin brings the classes of a server of Spark Connect.
USE = """
import sys
from pyspark.sql import SparkSession

settings = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.warehouse.dir": sys.argv[1],
    "spark.local.dir": sys.argv[1],
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
rows = spark.range(100).selectExpr("id", "id % 7 as k", "cast(id as string) as t", "array(id) as a", "id / 2 as x")
for form in ("parquet", "csv", "json", "orc"):
    rows.drop("a").write.format(form).save(f"{sys.argv[1]}/{form}")
    spark.read.format(form).load(f"{sys.argv[1]}/{form}").count()
read = spark.read.parquet(f"{sys.argv[1]}/parquet")
read.where("x > 1").mapInArrow(lambda parts: parts, read.schema).toPandas()
read.mapInPandas(lambda parts: parts, read.schema).collect()
read.groupBy("k").applyInPandas(lambda rows: rows, read.schema).toArrow()
read.repartition(2, "k").sortWithinPartitions("x").cache().count()
read.join(rows.select("id", "a"), "id").createOrReplaceTempView("joined")
spark.sql("select k, count(distinct t), avg(x), max(explode) from (select *, explode(a) as explode from joined) "
          "group by k order by k").collect()
spark.createDataFrame([(1, "a")], "one int, two string").rdd.map(tuple).collect()
spark.stop()
"""


def main(goal: Path) -> None:
    with tempfile.TemporaryDirectory(dir=goal.parent) as scratch:
        made = Path(scratch) / goal.name
        options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable -XX:ArchiveClassesAtExit={made}"
        environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_SUBMIT_OPTS": options,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        program = Path(scratch) / "use.py"
        program.write_text(USE, encoding="utf-8")
        # Not from Python: the archive is written when the JVM ends, and nobody would wait for that.
        command = [Path(sys.executable).with_name("spark-submit"), program, f"{scratch}/tables"]
        told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if told.returncode or not made.is_file():
            sys.exit(f"{told.stdout}{told.stderr}There is no archive of Spark's classes: the tests take longer")
        made.replace(goal)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
