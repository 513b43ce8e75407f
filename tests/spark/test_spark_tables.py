"""Tables of Spark's catalogs as input: of its own here, of a metastore of Hive in make test-places, and of Derby."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import InputError, NoInputError
from sparkrank.config import Spec
from sparkrank.config.sections import Input
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.spark.small import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY, OTHER = "2026-11-19", "2026-11-18"
COLUMNS: Any = {"group": ["u"], "item": "i", "score": "s", "label": "y"}
USING = "hive OPTIONS (fileFormat 'parquet')" if os.environ.get("SPARKRANK_TEST_HIVE") == "1" else "parquet"


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    """A schema with the impressions of two days, without statistics, of which only the files of DAY are Parquet."""
    for country, users, items in (("de", "aa", "xy"), ("fr", "bb", "xy")):
        folder = tmp_path / f"log/dt={DAY}/country={country}"
        folder.mkdir(parents=True)
        rows = {"u": [*users], "i": [*items], "s": [0.9, 0.8], "y": [1, 1]}
        pq.write_table(pa.table(rows), folder / "part-0.parquet")
    (tmp_path / f"log/dt={OTHER}/country=de").mkdir(parents=True)
    (tmp_path / f"log/dt={OTHER}/country=de/part-0.parquet").write_text("no Parquet")
    spark.sql("CREATE DATABASE shop")
    spark.sql(
        "CREATE TABLE shop.impressions (u STRING, i STRING, s DOUBLE, y BIGINT, dt STRING, country STRING) "
        f"USING {USING} PARTITIONED BY (dt, country) LOCATION '{tmp_path}/log'"
    )
    spark.sql("MSCK REPAIR TABLE shop.impressions")
    yield
    spark.sql("DROP DATABASE shop CASCADE")


def test_a_day_has_its_lists_its_catalog_and_its_past_in_tables(
    spark: SparkSession, shop: None, tmp_path: Path
) -> None:
    """The user a had x, so y (3) stands alone. The user b has x (1) before y (3). Nobody opens the files of OTHER."""
    spark.createDataFrame([("x", 1.0), ("y", 3.0)], "i string, price double").write.saveAsTable("shop.items")
    spark.sql("CREATE VIEW shop.past AS SELECT 'a' AS u, 'x' AS i")
    document = {
        "input": {"table": "spark_catalog.shop.impressions", "where": "dt = '{date}'", "columns": COLUMNS},
        "catalog": {"table": "shop.items"},
        "interactions": {"table": "shop.past"},
        "exclude": "interactions",
        "metrics": ["ndcg(gain=catalog.price)@10"],
        "slices": ["country"],
        "output": {"path": f"{tmp_path}/out"},
    }
    found = evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
    assert found.lane == "frame"
    of_b = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    values = {row["slice_value"]: row["value"] for row in found.metrics.to_pylist()}
    assert values == pytest.approx({"all": (1 + of_b) / 2, "de": 1, "fr": of_b})


def test_a_table_without_statistics_gives_the_partitions_of_the_condition(spark: SparkSession, shop: None) -> None:
    described = spark.sql("DESCRIBE EXTENDED shop.impressions").collect()
    assert "Statistics" not in {row["col_name"] for row in described}
    given = Input(table="shop.impressions", where="dt = '{date}' and country = 'fr'", columns=COLUMNS)
    assert [(row["u"], row["country"]) for row in frame_of(given, spark).collect()] == [("b", "fr"), ("b", "fr")]
    with pytest.raises(Exception, match="not a Parquet file"):
        frame_of(given.model_copy(update={"where": None}), spark).collect()


def test_a_name_that_is_not_there_gets_the_nearest_of_its_schema(another_session: SparkSession, shop: None) -> None:
    spark = another_session
    spark.conf.set("spark.sql.catalog.prod", "no.such.Class")  # which nobody has used yet
    spark.sql("CREATE VIEW shop.impressions_2 AS SELECT 1 AS one")
    spark.createDataFrame([(1,)], "one int").createOrReplaceTempView("impressions_3")
    for table, sentence in (
        ("shop.impresions", r"there is no input at table shop.impresions \(shop has impressions, impressions_2\)$"),
        ("spark_catalog.shop.`Impresion's`", r"\(spark_catalog.shop has impressions, impressions_2\)$"),
        ("shop.xyz", r"there is no input at table shop.xyz \(shop has impressions, impressions_2\)$"),
        ("shp.impressions", r'shp.impressions, as there is no schema shp, did you mean "shop"\?$'),
        ("spark_catalog.shp.t", r'as there is no schema spark_catalog.shp, did you mean "shop"\?$'),
        ("prd.shop.t", r'at table prd.shop.t, as there is no catalog prd, did you mean "prod"\?$'),
        ("spark_catlog.shop.t", r'as there is no catalog spark_catlog, did you mean "spark_catalog"\?$'),
        ("parquet.`/no/where`", r"there is no input at table parquet.`/no/where`$"),
        ("impresions", r"there is no input at table impresions \(the current schema has "),
    ):
        with pytest.raises(NoInputError, match=sentence):
            frame_of(Input(table=table, columns=COLUMNS), spark)


def test_of_names_that_differ_by_case_alone_none_is_taken(another_session: SparkSession) -> None:
    """In a catalog of Derby, which tells them apart."""
    spark = another_session
    derby = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
    spark.conf.set("spark.sql.catalog.derby", derby)
    spark.conf.set("spark.sql.catalog.derby.url", "jdbc:derby:memory:shop;create=true")
    spark.conf.set("spark.sql.catalog.derby.driver", "org.apache.derby.iapi.jdbc.AutoloadedDriver")
    spark.sql("CREATE NAMESPACE derby.cased")
    for name in ("Log", "log", "other"):
        spark.sql(f"CREATE TABLE derby.cased.{name} (u STRING, y BIGINT)")
    assert frame_of(Input(table="derby.cased.other", columns=COLUMNS), spark).columns == ["u", "y"]
    given = Input(table="derby.cased.log", columns=COLUMNS)
    with pytest.raises(InputError, match=r"input.table is derby.cased.log, but its schema has Log, log, which differ"):
        frame_of(given, spark)
    with pytest.raises(NoInputError, match=r"derby.cased.LOG \(derby.cased has Log, log\)"):
        frame_of(given.model_copy(update={"table": "derby.cased.LOG"}), spark)
    spark.conf.set("spark.sql.caseSensitive", "true")
    assert frame_of(given, spark).columns == ["u", "y"]
