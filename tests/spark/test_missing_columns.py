"""Files that lack a column which others have, in the lanes of Spark: whatever the format, the options and the order."""

from __future__ import annotations

import itertools
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
FORMATS: list[tuple[dict[str, str], list[str]]] = [
    ({"mergeSchema": "false"}, list(LOSES)),
    ({"mergeSchema": "true"}, ["where"]),
    ({"pathGlobFilter": "[ab]"}, ["label"]),
]


def evaluated(folder: Path, spark: SparkSession, **of: Any) -> dict[str, Any]:
    columns = {"group": "u", "item": "i", "score": "s", "label": "y"}
    given = {"path": f"{folder}/in", "columns": columns, "where": "surface = 'home'", **of}
    written = {"input": given, "metrics": ["rr"], "output": {"path": f"{folder}/out"}, "engine": {"lane": "frame"}}
    (row,) = evaluate_day(Spec.model_validate(written), DAY, spark, Stages()).metrics.to_pylist()
    return row


def test_a_file_that_lacks_a_column_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Whichever file comes first; one without rows lacks nothing."""
    (tmp_path / "in").mkdir()
    for options, roles in FORMATS:
        for role, first in itertools.product(roles, "ab"):
            for name in "ab":
                pq.write_table(pa.table(ROWS if name == first else without(LOSES[role])), tmp_path / "in" / name)
            column = f'{"input.where" if role == "where" else role} column "{LOSES[role]}", which other files have'
            with pytest.raises(sr.InputError, match=f"in/[{'ab'.replace(first, '')}] of the input lacks the {column}"):
                evaluated(tmp_path, spark, options=options)
    pq.write_table(pa.table(without("surface")).slice(0, 0), tmp_path / "in/a")
    pq.write_table(pa.table(ROWS), tmp_path / "in/b")
    assert evaluated(tmp_path, spark, options={"mergeSchema": "true"})["n_rows"] == 1


@pytest.mark.parametrize("side", ["input", "truth"])
@pytest.mark.parametrize("lane", ["frame", "scan"])
def test_a_file_lacks_what_a_condition_asks_for(spark: SparkSession, tmp_path: Path, lane: str, side: str) -> None:
    wheres = ["surface = 'home'"] if lane == "scan" else ["surface = 'home'", "lower(SURFACE) = 'home' or s > 9"]
    for each in wheres:
        where = each if side == "input" else each.replace("s > 9", "y > 9")
        with pytest.raises(sr.InputError, match=f"{side}/b.parquet of the {side} {LACKED.format(side)}"):
            evaluate_day(spec_of(tmp_path, where, side, lane), DAY, spark, Stages())
    told = spec_of(tmp_path, "u <> 'surface'" if lane == "scan" else "concat(u, 'surface') <> ''", side, lane)
    assert evaluate_day(told, DAY, spark, Stages()).metrics["n_groups"].to_pylist() == [1]
