"""The report of Spark's tables says what that of the same tables in memory says."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError
from sparkrank.jobs.report_job import report_of_files, report_stored
from sparkrank.tables.commit.days import run_folders
from sparkrank.tables.stored.day_files import SparkFolders
from sparkrank.tables.stored.stored_results import run_row
from tests.support.commands import exit_code
from tests.support.reports import METRICS, MODELS, conf_of, of_day, rows_of, spec_of, write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = "2026-01-31"
ASKED: dict[str, Any] = {
    "group": "user", "score": {model: model for model in MODELS}, "label": "click", "slices": ["country"],
    "compare": "old", "curve_points": 50,
}  # fmt: skip


def test_an_evaluation_of_a_dataframe_has_the_report_of_one_in_memory(spark: SparkSession) -> None:
    """All but where it was computed, which provenance and quality say."""
    rows, metrics = rows_of(0, 400), [*METRICS, "auc(exact)"]
    here = sr.evaluate(rows, metrics, **ASKED).report()
    with sr.evaluate(spark.createDataFrame(rows.to_pandas()), metrics, **ASKED) as ev:
        there = ev.report()
    own: dict[str, Any] = {"provenance": None, "quality": (), "paired": (), "missing": {}}
    assert replace(there, **own) == replace(here, **own)
    assert [shown.metric for shown in there.distributions] == ["ndcg@5", "rr", "dcg@5"]
    assert there.provenance is not None
    assert there.provenance.lane == "frame"
    assert (bool(here.paired), there.paired) == (True, ())
    assert "a stored day pairs its groups" in there.missing["paired"]


def test_a_day_that_spark_alone_reads_has_the_same_report(spark: SparkSession, tmp_path: Path) -> None:
    """But for the pairs of groups, which the tables of comparisons sum up."""
    write_log(tmp_path, DAY, rows_of(0, 400))
    assert exit_code("evaluate", "--quiet", "--conf", conf_of(tmp_path), "--date", DAY) == 0
    spec = spec_of(tmp_path)
    target = of_day(spec, DAY)
    names = ("metrics", "comparisons", "gates", "quality", "curves", "blocks", "groups", "distributions", "runs")
    names += ("disparities", "exposures", "positions")
    files = SparkFolders(DAY, spark, run_folders(target.folder, DAY, names))
    there = report_of_files(spec, target, files, run_row(target.folder, DAY), spark)
    here = report_stored(spec, target)
    assert replace(there, paired=(), missing={}) == replace(here, paired=(), missing={})
    assert set(there.missing) - set(here.missing) == {"paired"}


def test_what_spark_alone_reads_is_compared_with_the_list_of_the_run(spark: SparkSession, tmp_path: Path) -> None:
    """By names, bytes and rows: Spark's tasks read the bytes, and this process does not."""
    for day, count in ((DAY, 400), ("2026-01-30", 380)):
        write_log(tmp_path, day, rows_of(0, count))
        assert exit_code("evaluate", "--quiet", "--conf", conf_of(tmp_path), "--date", day) == 0
    output = of_day(spec_of(tmp_path), DAY).folder
    folders = run_folders(output, DAY, ("groups", "quality", "runs"))
    (own,), (other,) = (Path(run_folders(output, day, ["groups"])["groups"]).glob("*") for day in (DAY, "2026-01-30"))
    content, schema = own.read_bytes(), pa.schema([("model", pa.string())])

    def read() -> list[int]:
        files = SparkFolders(DAY, spark, folders)
        return [files.read("groups", schema).num_rows, files.rows("groups").count(), files.has("quality")]

    assert read() == [pq.read_metadata(own).num_rows] * 2 + [True]
    for damage, sentence in (
        (lambda: shutil.copy(other, own), f"has {other.stat().st_size} bytes in "),
        (lambda: shutil.copy(other, own.with_name("part-9-x.parquet")), "has a file that its run did not write ("),
        (lambda: own.rename(own.with_name("x.parquet")), "has a file that its run did not write ("),
    ):
        damage()
        with pytest.raises(InputError, match=re.escape(f"the table groups of {DAY} {sentence}")):
            read()
        for file in own.parent.glob("*"):
            file.unlink()
        own.write_bytes(content)
    assert read()
    shutil.rmtree(folders["quality"])
    with pytest.raises(InputError, match=f"the table quality of {DAY} has lost its file part-0-"):
        read()
