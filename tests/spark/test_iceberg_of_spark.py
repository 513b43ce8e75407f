"""Iceberg tables by a session that has the format: here a data source of Python with its name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from sparkrank.engines.input_frames import spark_frame
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources import iceberg_metadata
from sparkrank.sources.side_rows import SideRows
from tests.support.commands import local_spec

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

datasource = pytest.importorskip("pyspark.sql.datasource", reason="Spark has data sources of Python since 4.0")

AT = dt.datetime(2026, 11, 20, 5, tzinfo=dt.timezone(dt.timedelta(hours=1)))
# The place of the click in the list of the one user, by where the table is and what the reader is asked for.
PLACES = {
    ("/lake/log", None, None): 1,
    ("/lake/log", "7", None): 2,
    ("/lake/log", None, f"{int(AT.timestamp())}000"): 3,
    ("prod.sales.log", "7", None): 4,
}


class IcebergOfPython(datasource.DataSource):  # type: ignore[misc, name-defined]
    """Rows that depend on the options, by their names in Iceberg's documentation."""

    @classmethod
    def name(cls) -> str:
        return "iceberg"

    def schema(self) -> str:
        return "user string, score double, label int"

    def reader(self, schema: Any) -> Any:
        asked = tuple(self.options.get(name) for name in ("path", "snapshot-id", "as-of-timestamp"))
        return ClickAt(PLACES[asked])  # type: ignore[index]


class ClickAt(datasource.DataSourceReader):  # type: ignore[misc, name-defined]
    def __init__(self, place: int) -> None:
        self.place = place

    def read(self, partition: Any) -> Iterator[tuple[str, float, int]]:
        yield from (("ann", float(-place), int(place == self.place)) for place in range(1, 5))


@pytest.mark.long  # tests/engines/test_input_frames.py has the options
def test_the_session_gets_the_version_and_the_time(
    another_session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_metadata, "reads_iceberg", lambda: False)  # which would look for the table's metadata
    another_session.dataSource.register(IcebergOfPython)
    columns = {"group": "user", "score": "score", "label": "label"}
    asked: list[dict[str, Any]] = [{}, {"version": 7}, {"as_of": AT}]
    sides = [SideRows("input", path="/lake/log", format="iceberg", **own) for own in asked]
    sides.append(SideRows("input", table="prod.sales.log", format="iceberg", version=7))
    for place, side in enumerate(sides, 1):
        assert [row.label for row in spark_frame(side, another_session).collect()].index(1) == place - 1, side
    source = {"path": "/lake/log", "format": "iceberg", "version": 7, "columns": columns}
    spec = local_spec(tmp_path, source, engine={"lane": "frame"})
    assert evaluate_day(spec, "2026-11-19", another_session, Stages()).metrics["value"].to_pylist() == [1 / 2]
