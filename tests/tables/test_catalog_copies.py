"""Copies of stored days in tables of Spark's catalogs: of its own here, of a metastore of Hive in make test-places."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import SparkrankError, SpecError, StoreError
from sparkrank.config import load_spec
from sparkrank.jobs.publish_job import publish_stored, publish_target, validate_publish
from sparkrank.jobs.target import Target
from sparkrank.tables.copies import catalog_copies
from sparkrank.tables.copies.catalog_copies import CatalogCopies
from sparkrank.tables.copies.publisher import CopiedRun, TableCopy
from tests.support.copied_days import DAY, OTHER, TABLES, store
from tests.support.killed import Killed, counting
from tests.support.written_days import conf_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALSO = "2026-11-17"


@pytest.fixture(autouse=True)
def schema(spark: SparkSession) -> Iterator[None]:
    spark.sql("CREATE DATABASE eval")
    yield
    spark.sql("DROP DATABASE eval CASCADE")


def conf(folder: Path, **more: Any) -> str:
    return conf_of(folder / "out", publish=[{"format": "catalog", "schema": "spark_catalog.eval", **more}])


def publish(folder: Path, spark: SparkSession, day: str = DAY, **more: Any) -> tuple[str, ...]:
    spec = load_spec(conf(folder, **more))
    (done,) = publish_target(spec, Target.of_day(spec, day), spark)
    return done.written


def rows(spark: SparkSession, name: str, day: str = DAY) -> list[dict[str, Any]]:
    return list(spark.table(f"eval.{name}").where(f"day = DATE '{day}'").drop("day").toArrow().to_pylist())


def stored(folder: Path, name: str, day: str = DAY) -> list[dict[str, Any]]:
    return list(pq.read_table(f"{folder}/out/{name}/day={day}", partitioning=None).to_pylist())


@pytest.mark.long
def test_a_day_is_written_once_and_replaced_alone(spark: SparkSession, tmp_path: Path) -> None:
    both: Any = {"tables": ["gates"]}
    for day in (OTHER, DAY):
        store(tmp_path, 0.5, day)
        assert publish(tmp_path, spark, day, **both) == ("gates", "runs")
    assert all(rows(spark, name) == stored(tmp_path, name) for name in ("gates", "runs"))
    assert [own.name for own in spark.catalog.listColumns("eval.gates") if own.isPartition] == ["day"]
    properties = dict(spark.sql("SHOW TBLPROPERTIES eval.gates").collect())
    assert f'"sparkrank.run_id": "{DAY}-a", "sparkrank.spec_hash": "5eed"' in properties[f"sparkrank.day.{DAY}"]
    assert publish(tmp_path, spark, **both) == publish(tmp_path, spark, OTHER, **both) == ()
    store(tmp_path, 0.75)  # the input has changed, and the run_id has not
    assert publish(tmp_path, spark, **both) == ("gates", "runs")
    assert [row["value"] for row in rows(spark, "gates")] == [0.75]
    assert [row["value"] for row in rows(spark, "gates", OTHER)] == [0.5]
    store(tmp_path, 0.75, without="gates")
    assert publish(tmp_path, spark, **both) == ("gates", "runs")
    assert publish(tmp_path, spark, **both) == ()
    assert [len(rows(spark, "gates", day)) for day in (OTHER, DAY)] == [1, 0]


@pytest.mark.long
def test_a_writer_that_fails_leaves_the_old_day_or_the_new_one_and_the_next_one_mends_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as F

    store(tmp_path, 0.5)
    publish(tmp_path, spark)
    store(tmp_path, 0.75, run="b")
    with monkeypatch.context() as patch:
        patch.setattr(CatalogCopies, "_replace_rows", counting(1)(CatalogCopies._replace_rows))
        with pytest.raises(Killed):
            publish(tmp_path, spark)
    assert [row["value"] for name in TABLES[:2] for row in rows(spark, name)] == [0.75, 0.5]
    with monkeypatch.context() as patch:  # tasks fail, before their rows are shown
        rows_of = catalog_copies._frame_of_files
        broken = F.raise_error(F.lit("a disk is full"))
        patch.setattr(catalog_copies, "_frame_of_files", lambda *how: rows_of(*how).withColumn("value", broken))
        with pytest.raises(
            StoreError, match=r"behind: gates, runs \(the table spark_catalog.eval.gates cannot be written.*disk"
        ):
            publish(tmp_path, spark)
    assert [row["value"] for name in TABLES[:2] for row in rows(spark, name)] == [0.75, 0.5]
    assert publish(tmp_path, spark) == TABLES[1:]
    assert all(rows(spark, name) == stored(tmp_path, name) for name in TABLES)


@pytest.mark.parametrize("steps", [(3,), pytest.param(range(40), marks=pytest.mark.long)], ids=["one", "all"])
def test_a_copy_whose_writer_is_killed_between_its_statements_is_written_again(
    spark: SparkSession, tmp_path: Path, steps: Any
) -> None:
    """At each of Spark's statements: the rows of the day are the old ones or the new ones."""
    publisher = CatalogCopies("eval", spark)
    for step in steps:
        publisher.replace(copy_of(tmp_path, pa.table({"user": ["old"]})))
        new = copy_of(tmp_path, pa.table({"user": ["a", "b"], f"added_{step}": [1, 2]}))
        is_done = killed_after(step, spark, lambda new=new: publisher.replace(new))
        assert [row["user"] for row in rows(spark, "groups")] in (["old"], ["a", "b"])
        publisher.replace(new)
        assert sorted((row["user"], row[f"added_{step}"]) for row in rows(spark, "groups")) == [("a", 1), ("b", 2)]
        if is_done:
            break
    assert step == 3 or is_done


def killed_after(steps: int, spark: SparkSession, write: Callable[[], object]) -> bool:
    """Whether ``write`` ends before Spark has got more statements than ``steps``."""
    counted = counting(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(spark), "sql", counted(type(spark).sql))
        writer = type(spark.range(1).write)
        patch.setattr(writer, "insertInto", counted(writer.insertInto))
        try:
            write()
        except Killed:
            return False
    return True


def copy_of(folder: Path, table: pa.Table, day: str = DAY, column: str = "day") -> TableCopy:
    """A copy of the table groups, of a run that is another one for another number of rows."""
    pq.write_table(table, folder / "rows.parquet")
    run = CopiedRun(day, column, "r", "5eed", str(table.num_rows))
    return TableCopy(run, "groups", ds.dataset(folder / "rows.parquet"))


def test_types_columns_that_are_added_and_days_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    """2^63 - 1, and a time of Berlin in UTC; the columns of a later release are null for earlier ones."""
    publisher = CatalogCopies("eval", spark)
    first = pa.table({"user": pa.array([2**63 - 1], pa.uint64()), "model": pa.array(["a"]).dictionary_encode()})
    later = first.append_column("at", pa.array([3], pa.timestamp("us", "Europe/Berlin")))
    later = later.append_column("files", pa.array([[{"table": "runs"}]]))
    for day, table in ((OTHER, first), (DAY, later), (ALSO, first)):
        copy = copy_of(tmp_path, table, day)
        publisher.replace(copy)
        assert publisher.is_current(copy)
    none = {"user": 2**63 - 1, "model": "a", "at": None, "files": None}
    at = dt.datetime(1970, 1, 1, microsecond=3, tzinfo=dt.timezone.utc)
    assert rows(spark, "groups", OTHER) == rows(spark, "groups", ALSO) == [none]
    assert rows(spark, "groups") == [{**none, "at": at, "files": [{"table": "runs"}]}]
    publisher.replace(copy_of(tmp_path, first[:0]))
    assert [len(rows(spark, "groups", day)) for day in (ALSO, OTHER, DAY)] == [1, 1, 0]
    publisher.replace(copy_of(tmp_path, first, f"{OTHER}..{DAY}", "window"))
    assert spark.table("eval.windows_groups").toArrow()["window"].to_pylist() == [f"{OTHER}..{DAY}"]
    with pytest.raises(SpecError, match=r"the column user is time32\[ms\], which is not a type of Spark"):
        publisher.replace(copy_of(tmp_path, pa.table({"user": pa.array([1], pa.time32("ms"))})))


def test_tables_of_others_are_refused_and_left_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    store(tmp_path, 0.5)
    spec, ours = load_spec(conf(tmp_path)), "TBLPROPERTIES ('sparkrank.table' = 'metrics')"
    for made, sentence in (
        ("TABLE eval.metrics (value DOUBLE)", "it has no column day"),
        ("VIEW eval.metrics AS SELECT DATE '2026-01-01' AS day", "another program made it"),
        (f"TABLE eval.metrics (value DOUBLE, day DATE) USING parquet {ours}", "it is not partitioned by day only"),
        (
            f"TABLE eval.metrics (value STRING, day DATE) USING parquet PARTITIONED BY (day) {ours}",
            "its column value is string, but in the run it is double",
        ),
        (
            f"TABLE eval.metrics (VALUE DOUBLE, day DATE) USING parquet PARTITIONED BY (day) {ours}",
            "its column VALUE differs from value of the run only by case",
        ),
    ):
        spark.sql(f"CREATE {made}")
        what = rf"the table spark_catalog\.eval\.metrics is refused and left as it is: {sentence}"
        with pytest.raises(SpecError, match=what):
            validate_publish(spec, spark)
        with pytest.raises(SparkrankError, match=rf"behind: metrics, gates, runs \({what}"):
            publish_target(spec, Target.of_day(spec, DAY), spark)
        assert spark.sql("SHOW TABLES IN eval").where("NOT isTemporary").count() == 1
        spark.sql(f"DROP {made.partition(' ')[0]} eval.metrics")


def test_nothing_is_written_where_the_overwrite_may_be_static(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher, table = CatalogCopies("eval", spark), pa.table({"user": ["a"]})
    publisher.replace(copy_of(tmp_path, table, OTHER))
    monkeypatch.setattr(catalog_copies, "setting_as", lambda *_: nullcontext("no rights"))
    with pytest.raises(
        StoreError, match=r"does not let spark\.sql\.sources\.partitionOverwriteMode be set \(no rights\)"
    ):
        publisher.replace(copy_of(tmp_path, table))
    assert rows(spark, "groups", OTHER) == [{"user": "a"}]


def test_what_the_session_lacks(spark: SparkSession, tmp_path: Path) -> None:
    store(tmp_path, 0.5)
    for place in ("evl", "nocat.eval"):
        spec = load_spec(conf(tmp_path, schema=place))
        with pytest.raises(SpecError, match=rf"output\.publish\.schema is {place}, which the session's catalogs lack"):
            validate_publish(spec, spark)
    with pytest.raises(SpecError, match="format: catalog is written by Spark, and there is no session"):
        publish_stored(spec, Target.of_day(spec, DAY))
    with pytest.raises(SpecError, match=r"has output\.publish of format catalog, which Spark writes, but lane local"):
        load_spec(conf(tmp_path), ["engine.lane=local"])


def test_a_column_that_comes_later_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    publisher = CatalogCopies("eval", spark)
    publisher.replace(copy_of(tmp_path, pa.table({"user": ["a"]}), OTHER))
    publisher.replace(copy_of(tmp_path, pa.table({"user": ["b"], "c`d": [1]})))
    assert [rows(spark, "groups", day) for day in (OTHER, DAY)] == [
        [{"user": "a", "c`d": None}],
        [{"user": "b", "c`d": 1}],
    ]
