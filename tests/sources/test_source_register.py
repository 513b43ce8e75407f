"""A format is its own module and one line in the register, in every lane that reads without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from sparkrank.base.errors import SpecError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources.formats import SOURCES
from tests.support.commands import local_spec
from tests.support.feather_input import FeatherInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = "2026-01-01"
# Of a the second of two is clicked, of b the first; c is left out by a condition.
FIRST = {"u": ["a", "a"], "i": ["x", "y"], "s": [2.0, 1.0], "y": [0, 1]}
SECOND = {"u": ["b", "b", "c"], "i": ["x", "y", "x"], "s": [2.0, 1.0, 9.0], "y": [1, 0, 1]}
GROUPS = {"a": 1 / 2, "b": 1.0}


@pytest.fixture
def registered() -> Iterator[None]:
    SOURCES["feather"] = FeatherInput.open
    yield
    del SOURCES["feather"]


def spec(folder: Path, lane: str, where: str) -> Spec:
    """The spec of two files, which this writes."""
    (folder / "in").mkdir(exist_ok=True)
    for name, rows in (("1", FIRST), ("2", SECOND)):
        feather.write_feather(pa.table(rows), folder / "in" / name)
    columns = {"group": "u", "item": "i", "score": "s", "label": "y"}
    source = {"path": f"{folder}/in", "format": "feather", "where": where, "columns": columns}
    return local_spec(folder, source, engine={"lane": lane, "buckets": 2})


def evaluated(folder: Path, lane: str, spark: SparkSession | None = None) -> dict[str, float]:
    """The value of each group."""
    result = evaluate_day(spec(folder, lane, "s < 5.0"), DAY, spark, Stages())
    assert result.lane == lane
    assert "feathers are read whole" in result.warnings
    groups = pq.read_table(f"{folder}/out/groups/day={DAY}").to_pylist()
    return {row["u"]: row["rr"] for row in groups}


@pytest.mark.usefixtures("registered")
def test_a_format_is_evaluated_in_the_local_lane(tmp_path: Path) -> None:
    assert evaluated(tmp_path, "local") == GROUPS


@pytest.mark.usefixtures("registered")
def test_a_condition_that_only_spark_decides_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="lane: frame reads the input with Spark"):
        evaluate_day(spec(tmp_path, "local", "upper(u) = 'A'"), DAY, None, Stages())


def test_a_format_that_is_not_registered_is_left_to_spark_if_spark_may_know_it(tmp_path: Path) -> None:
    orc = local_spec(
        tmp_path, {"path": f"{tmp_path}/in", "format": "orc", "columns": {"group": "u", "score": "s", "label": "y"}}
    )
    with pytest.raises(SpecError, match="lane is local, but the input is not plain Parquet named by path"):
        evaluate_day(orc, DAY, None, Stages())
    with pytest.raises(ValueError, match="no such format is known"):
        spec(tmp_path, "local", "s < 5.0")
