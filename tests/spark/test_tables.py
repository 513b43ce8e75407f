"""Where no link can be the commit: days replaced by Spark's own writer; and what the progress line knows of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrameWriter

from sparkrank.base.errors import InputError, SparkrankError, SpecError
from sparkrank.config import Spec
from sparkrank.config.output_sections import Output
from sparkrank.config.sections import Columns, Input
from sparkrank.inputs.window import Window
from sparkrank.jobs import evaluate_day, merge_days
from sparkrank.jobs.gate_job import accept_stored, gate_stored
from sparkrank.jobs.target import Target
from sparkrank.run.stages import Stages
from sparkrank.tables.commit import days
from sparkrank.tables.stored import day_files
from tests.spark.small import frame_of
from tests.support.written_days import write_day

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_other_file_systems_replace_the_partition(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a table without rows, as of a day without a curve: Spark's overwrite knows the days that have rows.

    While a table is replaced, ``runs`` has no row of the day.
    """
    monkeypatch.setattr(days, "local_path", lambda output: None)
    written: list[tuple[str, int]] = []
    parquet = DataFrameWriter.parquet

    def seen(writer: DataFrameWriter, path: str) -> None:
        files = (tmp_path / "runs/day=2026-11-19").glob("*.parquet")
        written.append((str(Path(path).relative_to(tmp_path)), sum(pq.read_metadata(file).num_rows for file in files)))
        parquet(writer, path)

    monkeypatch.setattr(DataFrameWriter, "parquet", seen)
    for day, value in (("2026-11-18", 1), ("2026-11-19", 2), ("2026-11-19", 0)):
        tables = {"runs": pa.table({"value": [value]}), "curves": pa.table({"x": [0.0] * value})}
        write_day(str(tmp_path), day, {**tables, "groups": spark.range(value + 1).select("id")}, spark)
    in_order = [("curves", 0), ("groups", 0), ("runs", 0)]
    last = [("runs/day=2026-11-19", 1), ("curves/day=2026-11-19", 0), *in_order[1:]]
    assert written == [*in_order, *in_order, *last]
    runs = spark.read.parquet(str(tmp_path / "runs")).orderBy("day").collect()
    assert [(str(row["day"]), row["value"]) for row in runs] == [("2026-11-18", 1), ("2026-11-19", 0)]
    assert spark.read.parquet(str(tmp_path / "groups")).count() == 2 + 1
    assert [str(row["day"]) for row in spark.read.parquet(str(tmp_path / "curves")).collect()] == ["2026-11-18"]


def test_rows_that_executors_wrote_elsewhere_are_missed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the output is a folder of each machine's own: Spark says of its task that it has written."""
    parquet = DataFrameWriter.parquet

    def parquet_elsewhere(writer: DataFrameWriter, path: str) -> None:
        parquet(writer, path)
        max(Path(path.removeprefix("file://")).glob("*.parquet")).unlink()

    written = {"blocks": spark.range(0, 10, 1, 2)}
    write_day(str(tmp_path), "2026-11-18", written, spark)
    assert pq.read_table(tmp_path / "blocks/day=2026-11-18").num_rows == 10
    monkeypatch.setattr(DataFrameWriter, "parquet", parquet_elsewhere)
    with pytest.raises(SparkrankError, match="/blocks has 5 of the 10 rows of the table blocks: name an output"):
        write_day(str(tmp_path), "2026-11-19", written, spark)
    assert not (tmp_path / "blocks/day=2026-11-19").exists()


def _not_opened(path: str) -> None:
    raise OSError("no such library")


KEPT = ["gate", "metric", "verdict", "reason", "accepted", "accepted_reason"]


def test_days_windows_and_gates_where_no_link_commits(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark writes them and reads the states: the same tables as the local lane writes with a link.

    An acceptance replaces two tables, ``runs`` last.
    """
    log = {"u": [1, 1, 1, 2, 2, 2], "s": [0.3, 0.2, 0.1, 0.3, 0.2, 0.2], "l": [0, 1, 0, 1, 0, 0]}
    pq.write_table(pa.table(log), tmp_path / "log.parquet")
    window, found = Window.of("2026-11-18", "2026-11-19"), {}
    for place in ("linked", "unknown to Arrow"):
        session = None if place == "linked" else spark
        if place == "unknown to Arrow":
            for module in (days, day_files):
                monkeypatch.setattr(module, "local_path", lambda output: None)
            monkeypatch.setattr(day_files, "file_system", _not_opened)
        spec = Spec(
            input=Input(path=str(tmp_path / "log.parquet"), columns=COLUMNS),
            metrics=["ap", "auc(exact)"],
            output=Output(path=str(tmp_path / place)),
            gates=[{"metric": "ap", "min": 20}, {"metric": "ap", "not_worse_than": "history"}],
            history={"days": 2, "least_days": 2},
        )
        target, verdicts = Target.of_day(spec, "2026-11-19"), []
        for day in window.days:
            judgment = evaluate_day(spec, day, session, Stages()).judgment
            assert judgment is not None
            verdicts.append((judgment.exit_code, judgment.table.select(KEPT).to_pylist()))
        verdicts.append(accept_stored(spec, target, "known", session).table.select(KEPT).to_pylist())
        assert verdicts[0][0] == 3
        assert gate_stored(spec, target, session).exit_code == 0
        found[place] = (verdicts, merge_days(spec, window, session, Stages()).metrics)
        runs = spark.read.parquet(str(tmp_path / place / "windows/runs")).collect()
        assert [(row["window"], row["days"]) for row in runs] == [(str(window), list(window.days))]
    assert found["linked"] == found["unknown to Arrow"]
    with pytest.raises(InputError, match=r"there are no states of 2026-11-17 under"):
        merge_days(spec, Window.of("2026-11-17", "2026-11-19"), spark, Stages())
    with pytest.raises(InputError, match=r"the tables under .* cannot be opened: no such library"):
        merge_days(spec, window, None, Stages())
    for file in (tmp_path / place / f"states/day={window.days[0]}").glob("*.parquet"):
        file.write_bytes(b"no Parquet")
    with pytest.raises(InputError, match=r"the table states of 2026-11-18 .*day=2026-11-18 cannot be read: "):
        merge_days(spec, window, spark, Stages())
    # Of four pairs each, the click at 0.2 wins 0 + 1 + 1/2 + 1/2 and the one at 0.3 wins 1/2 + 1 + 1 + 1.
    assert found["linked"][1]["value"].to_pylist() == [(1 / 2 + 1) / 2, (2 + 3.5) / 8]


COLUMNS = Columns(group=["u"], score="s", label="l")


def test_a_day_is_read_by_path_table_and_condition(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).selectExpr("id", "if(id < 4, '2026-11-18', '2026-11-19') as dt").write.partitionBy("dt").parquet(
        str(tmp_path / "log")
    )
    by_path = Input(path=f"{tmp_path}/log/dt={{date}}", columns=COLUMNS)
    by_condition = Input(path=f"{tmp_path}/log", where="dt = '{date}' and id % 2 = 0", columns=COLUMNS)
    spark.read.parquet(f"{tmp_path}/log").createOrReplaceTempView("impressions")
    by_table = Input(table="impressions", where="dt = '{date}'", columns=COLUMNS)
    counts = [frame_of(source, spark, day="2026-11-18").count() for source in (by_path, by_condition, by_table)]
    assert counts == [4, 2, 4]


NO_SOURCES = [
    ({"path": "/nowhere/at/all"}, "there is no parquet input at /nowhere/at/all"),
    ({"table": "no_such_table"}, "there is no input at table no_such_table"),
    ({"path": "LOG", "where": "no_such_column = 1"}, "where no_such_column = 1 cannot be read: .*no_such_column"),
    ({"path": "LOG", "where": "(id named)"}, r"input\.where is .\(id named\).: \[PARSE_SYNTAX_ERROR\] Syntax error"),
    ({"path": "nofs://a/b"}, r'the input nofs://a/b cannot be read: .*No FileSystem for scheme "nofs"$'),
    ({"path": "LOG", "format": "no.such.Format"}, "input.format is no.such.Format"),
]


def test_a_source_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "log"))
    for source, sentence in NO_SOURCES:
        given = {key: value.replace("LOG", str(tmp_path / "log")) for key, value in source.items()}
        with pytest.raises((InputError, SpecError), match=sentence):
            frame_of(Input(columns=COLUMNS, **given), spark)
