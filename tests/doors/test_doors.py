"""``sr.evaluate`` and the job walk one corridor: the same lane, bits, warnings and sentences, whoever asks."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest

import sparkrank as sr
from tests.support.doors import BAD, GOOD, LOG, OF_ROWS, Asked, Found, by_call, by_job, column
from tests.support.logged import OF_SMALL_LOGS

WITHOUT_SPARK = [
    Asked("what Spark alone reads, and no session", column("label", pa.array([0, 1, 0, 1, 0, 1], pa.uint8()))),
    Asked("scan without a session", engine={"lane": "scan"}),
    Asked("frame without a session", engine={"lane": "frame"}),
]


def by_both(asked: Asked, folder: Path, caplog: pytest.LogCaptureFixture) -> tuple[Found, Found]:
    with caplog.at_level(logging.WARNING, "sparkrank"):
        caplog.clear()
        return by_call(asked, folder, None), by_job(asked, folder, None)


@pytest.mark.parametrize("asked", GOOD, ids=[each.name for each in GOOD])
def test_both_doors_give_the_same(asked: Asked, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    called, ran = by_both(asked, tmp_path, caplog)
    assert (called.error, ran.error) == (None, None)
    assert called.lane == ran.lane == "local"
    assert called.tables.keys() == ran.tables.keys()
    for name, rows in called.tables.items():
        assert ran.tables[name] == rows, name
    assert called.tables["metrics"]
    assert tuple(caplog.messages) == ran.warnings
    about_input = [each for each in caplog.records if getattr(each, "code", None) not in OF_SMALL_LOGS]
    assert bool(about_input) == asked.name.endswith("a warning")


@pytest.mark.parametrize("asked", [*BAD, *WITHOUT_SPARK], ids=[each.name for each in [*BAD, *WITHOUT_SPARK]])
def test_both_doors_refuse_in_one_sentence(asked: Asked, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    called, ran = by_both(asked, tmp_path, caplog)
    assert called.error is not None
    assert called.error == ran.error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("lane", ["scan", "frame"])
def test_a_lane_of_spark_needs_a_session_and_no_table_in_memory(tmp_path: Path, lane: str) -> None:
    """Before anything is opened: there is no file."""
    for rows, why in ((str(tmp_path / "none"), "there is no Spark session"), (LOG, "the input is a table in memory")):
        with pytest.raises(sr.SpecError) as raised:
            sr.evaluate(rows, ["ap"], **OF_ROWS, lane=lane)
        assert str(raised.value) == f"lane is {lane}, but {why}: auto or local is allowed"
