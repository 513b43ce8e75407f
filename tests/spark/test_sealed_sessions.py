"""Sessions that refuse to cache, RDDs and settings: the same bits, and a word about what is slower."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.engines.spark import gather as gathering
from sparkrank.engines.spark.session_settings import HIDDEN, ZONE, shown_setting
from sparkrank.jobs import DayResult, evaluate_day
from sparkrank.run.stages import Stages
from tests.spark.logs import rows_of
from tests.spark.sealed import NO_CACHE, NO_RDDS, NO_SETTING, seal
from tests.support.rotten import log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROLES = {"group": "user", "score": "score", "label": "label"}
PLAIN, EXACT = ["ndcg@10", "auc"], ["ndcg@10", "auc(exact)", "pr_auc(exact)"]
DAY = "2026-01-01"
PAGE = Path(__file__).resolve().parents[2] / "docs/sessions.md"


@pytest.fixture
def path(tmp_path: Path) -> str:
    folder = tmp_path / f"log/dt={DAY}"
    folder.mkdir(parents=True)
    pq.write_table(log(), folder / "1.parquet")
    return str(folder)


def _bits(evaluation: sr.Evaluation) -> list[Any]:
    with evaluation:
        return [rows_of(table) for table in (evaluation.table, evaluation.groups, evaluation.blocks)]


@pytest.mark.parametrize(
    ("lane", "metrics", "most", "passes", "context"),
    [
        ("scan", PLAIN, None, "", True),
        ("frame", PLAIN, None, "", False),
        pytest.param(  # test_how_often_the_input_is_evaluated counts these passes
            "scan", EXACT, None, "the input was evaluated 2 times, and ", False, marks=pytest.mark.long
        ),
        ("frame", EXACT, 0, "the input was evaluated 4 times, and ", True),
    ],
)
def test_the_same_bits_and_what_is_slower(
    another_session: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    lane: str, metrics: list[str], most: int | None, passes: str, context: bool,
) -> None:  # fmt: skip
    if most is not None:
        monkeypatch.setattr(gathering, "MAX_DRIVER_ROWS", most)
    asked = {**ROLES, "spark": another_session, "lane": lane, "buckets": 3}
    expected = _bits(sr.evaluate(path, metrics, **asked))
    seal(monkeypatch, another_session, context=context)
    with caplog.at_level(logging.WARNING, "sparkrank"):
        assert _bits(sr.evaluate(path, metrics, **asked)) == expected
    again = f"reading groups{' or blocks' if most == 0 else ''} evaluates the input again"
    warned = {f"the session refuses cached rows ({NO_CACHE}): {passes}{again}"}
    if metrics is PLAIN:  # the others ask for no RDD
        instead = "rows cross Spark in batches of a DataFrame, which takes about a fifth longer"
        warned.add(f"the session refuses RDDs ({NO_RDDS}): {instead}")
    (of_batches,) = {message for message in caplog.messages if "Arrow batches" in message}
    assert set(caplog.messages) == {*warned, of_batches}


def _run(path: str, folder: Path, spark: SparkSession, **changes: Any) -> tuple[DayResult, dict[str, Any]]:
    """The result of the job, and what it writes down of its session."""
    document = {
        "input": {"path": f"{path[: -len(DAY)]}{{date}}", "columns": ROLES, **changes.pop("input", {})},
        "metrics": PLAIN,
        "output": {"path": str(folder / "tables")},
        **changes,
    }
    result = evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
    return result, json.loads(pq.read_table(folder / f"tables/runs/day={DAY}")["versions"][0].as_py())


def test_the_page_of_sessions_starts_one_with_this_python(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    first = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(first, PAGE.name, "exec"), names)  # noqa: S102 - our own page
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert names["spark"].sparkContext is spark.sparkContext


def test_how_often_the_input_is_evaluated(
    another_session: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once more where the groups are read, as the log says."""

    def mark(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import uuid

        (tmp_path / f"{uuid.uuid4().hex}.seen").touch()
        yield from batches

    rows = another_session.read.parquet(path).coalesce(1)
    rows = rows.mapInArrow(mark, rows.schema)
    seal(monkeypatch, another_session)
    before = 0
    for metrics, times in ((PLAIN, 1), (EXACT, 2)):
        evaluation = sr.evaluate(rows, metrics, buckets=3, **ROLES)
        assert len(list(tmp_path.glob("*.seen"))) == before + times
        assert evaluation.groups.count() == evaluation.table["n_groups"][0].as_py()
        before += times + 1
        assert len(list(tmp_path.glob("*.seen"))) == before


def test_the_job_writes_down_what_was_refused(
    another_session: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for refusals in ([], ["RDDs", "a size of Arrow batches"]):  # its tasks write the groups: nothing is cached
        if refusals:
            seal(monkeypatch, another_session)
        result, versions = _run(path, tmp_path, another_session, engine={"lane": "scan"})
        refused = versions.get("refused by the session", {})
        assert sorted(refused) == refusals
        assert [warning for warning in result.warnings if "refuses" in warning] == [
            f"the session refuses {what} ({why.replace(': ', '): ', 1)}" for what, why in refused.items()
        ]
    assert refused["RDDs"].startswith(f"{NO_RDDS}: rows cross Spark in batches of a DataFrame")


def test_settings_that_nobody_is_told(
    another_session: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another_session.conf.set(ZONE, "Asia/Tokyo")
    seal(monkeypatch, another_session)
    assert shown_setting(another_session, ZONE) == "Asia/Tokyo"  # SQL tells it
    assert shown_setting(another_session, "spark.sql.ansi.enabled") == HIDDEN
    _, versions = _run(path, tmp_path, another_session, input={"where": "user > 3 or hour(now()) >= 0"})
    assert versions["session"][ZONE] == "Asia/Tokyo"
    assert versions["session"]["spark.sql.ansi.enabled"] == HIDDEN
    _run(path, tmp_path, another_session, input={"time_zone": "Asia/Tokyo"})
    with pytest.raises(sr.SpecError) as refused:
        _run(path, tmp_path, another_session, input={"time_zone": "Europe/Berlin"})
    assert str(refused.value) == (
        f"input.time_zone is 'Europe/Berlin', but the time zone of the session is Asia/Tokyo and cannot be set "
        f"({NO_SETTING})"
    )
