"""Files that lack a column which others have, in the lanes of Spark: whatever the format, the options and the order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.unit.parquet_files import write
from tests.unit.test_missing_columns import LACKED, ROWS, spec_of, without

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = "2026-01-01"
LOSES = {"group": "u", "item": "i", "score": "s", "label": "y", "where": "surface"}
FORMATS: dict[str, dict[str, Any]] = {
    "orc": {"format": "orc"},
    "orc, merged": {"format": "orc", "options": {"mergeSchema": "true"}},
    "parquet, merged": {"options": {"mergeSchema": "true"}},
    "parquet, not merged": {"options": {"mergeSchema": "false"}},
    "parquet by names": {"options": {"pathGlobFilter": "[ab]"}},
    "orc, all below": {"format": "orc", "options": {"recursiveFileLookup": "true"}},
}


def document(folder: Path, **of: Any) -> dict[str, Any]:
    columns = {"group": "u", "item": "i", "score": "s", "label": "y"}
    given = {"path": f"{folder}/in", "columns": columns, "where": "surface = 'home'", **of}
    return {"input": given, "metrics": ["rr"], "output": {"path": f"{folder}/out"}, "engine": {"lane": "frame"}}


def evaluated(written: dict[str, Any], spark: SparkSession) -> dict[str, Any]:
    [found] = evaluate_day(Spec.model_validate(written), DAY, spark, Stages()).metrics.to_pylist()
    return found


@pytest.mark.parametrize("of", FORMATS.values(), ids=FORMATS)
def test_a_file_that_lacks_a_column_is_refused(spark: SparkSession, tmp_path: Path, of: dict[str, Any]) -> None:
    """Whichever file comes first; one without rows lacks nothing, and all have a column of another lane's type."""
    write_table = orc.write_table if of.get("format") == "orc" else pq.write_table
    (tmp_path / "in").mkdir()
    for role, column in LOSES.items():
        for first in (True, False):
            for name, rows in (("a", ROWS if first else without(column)), ("b", without(column) if first else ROWS)):
                write_table(pa.table(rows), tmp_path / "in" / name)
            told = (
                f"in/{'b' if first else 'a'} of the input lacks the {'input.where' if role == 'where' else role} column"
            )
            with pytest.raises(sr.InputError, match=f'{told} "{column}", which other files have'):
                evaluated(document(tmp_path, **of), spark)
    write_table(pa.table(without("surface")).slice(0, 0), tmp_path / "in/a")
    write_table(pa.table(ROWS), tmp_path / "in/b")
    if of.get("options", {}).get("mergeSchema") != "false" and "pathGlobFilter" not in str(of) and "all" not in str(of):
        found = evaluated(document(tmp_path, **of), spark)
        assert (found["n_rows"], found["value"]) == (1, 0.0) or found["n_undefined"] == 1


@pytest.mark.parametrize("side", ["input", "truth"])
@pytest.mark.parametrize("lane", ["frame", "scan", "auto"])
def test_a_file_lacks_what_a_condition_asks_for(spark: SparkSession, tmp_path: Path, lane: str, side: str) -> None:
    wheres = ["surface = 'home'"] if lane == "scan" else ["surface = 'home'", "lower(SURFACE) = 'home' or s > 9"]
    for each in wheres:
        where = each if side == "input" else each.replace("s > 9", "y > 9")
        with pytest.raises(sr.InputError, match=f"{side}/b.parquet of the {side} {LACKED.format(side)}"):
            evaluate_day(spec_of(tmp_path, where, side, lane), DAY, spark, Stages())
    told = spec_of(tmp_path, "u <> 'surface'" if lane == "scan" else "concat(u, 'surface') <> ''", side, lane)
    assert evaluate_day(told, DAY, spark, Stages()).metrics["n_groups"].to_pylist() == [1]


def test_a_truth_of_orc_lacks_nothing_either(spark: SparkSession, tmp_path: Path) -> None:
    for of, lacked in (("in", {}), ("truth", {"y"})):
        (tmp_path / of).mkdir()
        orc.write_table(pa.table(without("y")), tmp_path / of / "a")
        orc.write_table(pa.table(without("y") if lacked else ROWS), tmp_path / of / "b")
    orc.write_table(pa.table(ROWS), tmp_path / "truth/a")
    written = document(tmp_path, format="orc", columns={"group": "u", "item": "i", "score": "s"})
    written["truth"] = {"path": f"{tmp_path}/truth", "format": "orc", "columns": {"label": "y"}}
    with pytest.raises(sr.InputError, match='truth/b of the truth lacks the label column "y"'):
        evaluated(written, spark)


@pytest.mark.parametrize("options", [{"multiLine": "true"}, {"allowUnquotedFieldNames": "true"}, {"lineSep": "\n"}])
def test_records_of_json_that_spark_alone_reads(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    rows = '{"u": "a", "i": "x", "s": 1, "y": 1}\n'
    lines = "multiLine" not in options
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_text(rows if lines else f"[\n{rows}]")
    (tmp_path / "in/b.json").write_text(rows.replace(', "y": 1', "") if lines else '[{"u": "a",\n"i": "y",\n"s": 1}]')
    for schema in ({}, {"schema": "u STRING, i STRING, s DOUBLE, y INT"}):
        written = document(tmp_path, format="json", options=options, **schema)
        del written["input"]["where"]
        written["engine"] = {"lane": "frame"}
        with pytest.raises(sr.InputError, match=r'in/b.json of the input lacks the label column "y"'):
            evaluated(written, spark)


@pytest.mark.parametrize("lane", ["frame", "scan", "local"])
def test_folders_that_are_one_value_and_not_written_alike(spark: SparkSession, tmp_path: Path, lane: str) -> None:
    write(tmp_path / "in/u=007/a.parquet", i=["x"], s=[0.5])
    write(tmp_path / "truth/u=7/a.parquet", i=["x"], y=[1])
    session = None if lane == "local" else spark
    asked = {"group": "u", "item": "i", "score": "s", "label": "y", "truth": tmp_path / "truth", "spark": session}
    told = 'the input has the folder "u=007" and the truth the folder "u=7", which are one value of the group column'
    with pytest.raises(sr.InputError, match=told):
        sr.evaluate(tmp_path / "in", ["rr"], lane=lane, **asked)
    with pytest.raises(sr.InputError, match=r"no group in common: each of the 2 groups \(u\) is on one side alone"):
        sr.evaluate(tmp_path / "in", ["rr"], lane=lane, partition_types="text", **asked)
    written = document(tmp_path, columns={"group": "u", "item": "i", "score": "s"}, where="s > 0")
    written["truth"] = {"path": f"{tmp_path}/truth", "columns": {"label": "y"}}
    written["engine"]["lane"] = lane
    with pytest.raises(sr.InputError, match=told):
        evaluated(written, spark if lane != "local" else None)
