"""What Spark's readers are given, and say, shows no secret: in the table runs, in sentences and in tracebacks."""

from __future__ import annotations

import json
import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import without_secrets
from sparkrank.config import Spec
from sparkrank.config.sections import Engine
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.comparison.tables import groups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY, WORD = "2026-01-01", "S3CRET"


def spec_of(folder: Path, **source: Any) -> Spec:
    columns = {"group": "u", "score": "s", "label": "y"}
    return Spec.model_validate(
        {"input": {"columns": columns, **source}, "metrics": ["rr"], "output": {"path": f"{folder}/out"}}
    )


def test_a_run_by_spark_shows_options_by_the_allow_list(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "sparkrank")
    (tmp_path / "rows.csv").write_text("u;s;y\n1;2.0;0\n1;1.0;1\n")
    options = {"header": "true", "delimiter": ";", "fs.s3a.secret.key": WORD, "x": f"a{WORD}"}
    spec = spec_of(
        tmp_path, path=str(tmp_path / "rows.csv"), format="csv", schema="u INT, s DOUBLE, y INT", options=options
    )
    result = evaluate_day(spec.model_copy(update={"engine": Engine(lane="frame")}), DAY, spark, Stages())
    assert result.lane == "frame"
    (run,) = pq.read_table(tmp_path / f"out/runs/day={DAY}", partitioning=None).to_pylist()
    shown = {"header": "true", "delimiter": ";", "fs.s3a.secret.key": "***", "x": "***"}
    assert json.loads(run["spec"])["input"]["options"] == shown
    assert run["input"] == str(tmp_path / "rows.csv")
    assert WORD not in "".join([str(run), caplog.text, repr(result.lane_reason), repr(spec)])


def test_an_error_of_spark_shows_none(spark: SparkSession, tmp_path: Path) -> None:
    """No such driver, no such host, and no such file, each with a password on the way."""
    url = f"jdbc:nosuch://ann:{WORD}@127.0.0.1:1/db?password={WORD}"
    options = {"url": url, "dbtable": "t", "password": WORD}
    for source in (
        {"path": "t", "format": "jdbc", "options": options},
        {"path": f"{tmp_path}/none/password={WORD}", "format": "orc"},
        {"path": str(tmp_path), "format": "text", "options": {"lineSep": "", "token": WORD}},
    ):
        with pytest.raises(Exception, match=r"(?s).") as told, without_secrets():
            evaluate_day(spec_of(tmp_path, **source), DAY, spark, Stages())
        assert WORD not in "".join(traceback.format_exception(told.value))


def test_a_failing_condition_shows_none(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 1.0, 1)], "u int, s double, y int").selectExpr(
        "u", f"raise_error('login failed: password={WORD}') as s", "y"
    )
    with pytest.raises(sr.InputError) as told:
        sr.evaluate(frame, ["rr"], group="u", score="s", label="y")
    assert WORD not in "".join(traceback.format_exception(told.value))
    assert "login failed" in str(told.value)


def test_odd_group_tables_are_refused_by_spark_too(spark: SparkSession) -> None:
    good = groups(1, range(20))
    bad = good.set_column(good.schema.get_field_index("rr"), "rr", pa.array([float("inf")] * 20))
    frames = [spark.createDataFrame(rows.to_pandas()) for rows in (good, bad)]
    with pytest.raises(sr.InputError, match='"rr" that is not finite'):
        sr.compare_runs(*frames, metrics=["rr", "gauc"])
    frames[0] = spark.createDataFrame(groups(2, range(20)).to_pandas())
    frames[1] = spark.createDataFrame(good.set_column(4, "n_relevant", pa.array([-1] * 20)).to_pandas())
    with pytest.raises(sr.InputError, match="n_relevant that is null or below 0"):
        sr.movers(*frames, "rr")
