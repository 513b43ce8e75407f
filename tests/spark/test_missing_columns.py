"""Files that lack a column which others have, in the lanes of Spark: whatever the format, the options and the order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.sources.test_missing_columns import LACKED, ROWS, spec_of, without

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = "2026-01-01"
LOSES = {"group": "u", "item": "i", "score": "s", "label": "y", "where": "surface"}
FORMATS: dict[str, dict[str, Any]] = {
    "parquet, merged": {"options": {"mergeSchema": "true"}},
    "parquet, not merged": {"options": {"mergeSchema": "false"}},
    "parquet by names": {"options": {"pathGlobFilter": "[ab]"}},
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
    (tmp_path / "in").mkdir()
    for role, column in LOSES.items():
        for first in (True, False):
            for name, rows in (("a", ROWS if first else without(column)), ("b", without(column) if first else ROWS)):
                pq.write_table(pa.table(rows), tmp_path / "in" / name)
            told = (
                f"in/{'b' if first else 'a'} of the input lacks the {'input.where' if role == 'where' else role} column"
            )
            with pytest.raises(sr.InputError, match=f'{told} "{column}", which other files have'):
                evaluated(document(tmp_path, **of), spark)
    pq.write_table(pa.table(without("surface")).slice(0, 0), tmp_path / "in/a")
    pq.write_table(pa.table(ROWS), tmp_path / "in/b")
    if of.get("options", {}).get("mergeSchema") == "true":
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
