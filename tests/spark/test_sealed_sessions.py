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
from sparkrank.engines.spark.session_settings import UNTOLD, ZONE, told
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
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
    blocks = evaluation.blocks
    found = [
        evaluation.table,
        evaluation.groups.toArrow().sort_by("user"),
        blocks if isinstance(blocks, pa.Table) else blocks.toArrow(),
    ]
    evaluation.release()
    return [sorted(map(repr, each.to_pylist())) for each in found]


@pytest.mark.parametrize(
    ("lane", "metrics", "most", "passes", "context"),
    [
        ("scan", PLAIN, None, None, True),
        ("frame", PLAIN, None, None, False),
        ("scan", EXACT, None, "the input was evaluated 2 times", False),
        ("frame", EXACT, 0, "the input was evaluated 4 times", True),
    ],
)
def test_the_same_bits_and_what_is_slower(
    another_session: SparkSession,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lane: str,
    metrics: list[str],
    most: int | None,
    passes: str | None,
    context: bool,
) -> None:
    if most is not None:
        monkeypatch.setattr(gathering, "MAX_DRIVER_ROWS", most)
    asked = {**ROLES, "spark": another_session, "lane": lane, "buckets": 3}
    expected = _bits(sr.evaluate(path, metrics, **asked))
    seal(monkeypatch, another_session, context=context)
    with caplog.at_level(logging.WARNING, "sparkrank"):
        assert _bits(sr.evaluate(path, metrics, **asked)) == expected
    again = f"reading groups{' or blocks' if most == 0 else ''} evaluates the input again"
    told_of = {f"the session refuses cached rows ({NO_CACHE}): {'' if passes is None else f'{passes}, and '}{again}"}
    if metrics is PLAIN:  # the others ask for no RDD
        instead = "rows cross Spark in batches of a DataFrame, which takes about a fifth longer"
        told_of.add(f"the session refuses RDDs ({NO_RDDS}): {instead}")
    batches = {each for each in caplog.messages if "Arrow batches" in each}
    assert len(batches) == 1
    assert set(caplog.messages) == told_of | batches


def test_the_page_of_sessions_starts_one_with_this_python(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    first = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(first, PAGE.name, "exec"), names)  # noqa: S102 - our own page
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert names["spark"].sparkContext is spark.sparkContext


@pytest.mark.parametrize(("metrics", "times"), [(PLAIN, 1), (EXACT, 2)])
def test_how_often_the_input_is_evaluated(
    another_session: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metrics: list, times: int
) -> None:
    """And once more where the groups are read, as the log says."""
    seen = tmp_path / "seen"
    seen.mkdir()

    def mark(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import uuid

        (seen / uuid.uuid4().hex).touch()
        yield from batches

    rows = another_session.read.parquet(path).coalesce(1)
    rows = rows.mapInArrow(mark, rows.schema)
    seal(monkeypatch, another_session)
    evaluation = sr.evaluate(rows, metrics, buckets=3, **ROLES)
    assert len(list(seen.iterdir())) == times
    assert evaluation.groups.count() == evaluation.table["n_groups"][0].as_py()
    assert len(list(seen.iterdir())) == times + 1


def _spec(path: str, tmp_path: Path, **changes: Any) -> Spec:
    return Spec.model_validate(
        {
            "input": {"path": f"{path[: -len(DAY)]}{{date}}", "columns": ROLES, **changes.pop("input", {})},
            "metrics": PLAIN,
            "output": {"path": str(tmp_path / "tables")},
            **changes,
        }
    )


def test_the_job_writes_down_what_was_refused(
    another_session: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal(monkeypatch, another_session)
    result = evaluate_day(_spec(path, tmp_path, engine={"lane": "scan"}), DAY, another_session, Stages())
    runs = pq.read_table(tmp_path / f"tables/runs/day={DAY}").to_pylist()[0]
    refused = json.loads(runs["versions"])["refused by the session"]
    assert refused["RDDs"].startswith(f"{NO_RDDS}: rows cross Spark in batches of a DataFrame")
    assert set(refused) == {"RDDs", "a size of Arrow batches"}  # its tasks write the groups: nothing is cached
    assert [each for each in result.warnings if "refuses" in each] == [
        f"the session refuses {what} ({each.replace(': ', '): ', 1)}" for what, each in refused.items()
    ]


def test_a_session_that_permits_everything_refuses_nothing(spark: SparkSession, path: str, tmp_path: Path) -> None:
    result = evaluate_day(_spec(path, tmp_path), DAY, spark, Stages())
    runs = pq.read_table(tmp_path / f"tables/runs/day={DAY}").to_pylist()[0]
    assert "refused" not in runs["versions"]
    assert not [each for each in result.warnings if "refuses" in each]


def test_settings_that_nobody_is_told(
    another_session: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another_session.conf.set(ZONE, "Asia/Tokyo")
    seal(monkeypatch, another_session)
    assert told(another_session, ZONE) == "Asia/Tokyo"  # SQL tells it
    assert told(another_session, "spark.sql.ansi.enabled") == UNTOLD
    spec = _spec(path, tmp_path, input={"where": "user > 3 or hour(now()) >= 0"})
    evaluate_day(spec, DAY, another_session, Stages())
    runs = pq.read_table(tmp_path / f"tables/runs/day={DAY}").to_pylist()[0]
    session = json.loads(runs["versions"])["session"]
    assert session[ZONE] == "Asia/Tokyo"
    assert session["spark.sql.ansi.enabled"] == UNTOLD
    evaluate_day(_spec(path, tmp_path, input={"time_zone": "Asia/Tokyo"}), DAY, another_session, Stages())
    with pytest.raises(sr.SpecError) as refused:
        evaluate_day(_spec(path, tmp_path, input={"time_zone": "Europe/Berlin"}), DAY, another_session, Stages())
    assert str(refused.value) == (
        f"input.time_zone is 'Europe/Berlin', but the time zone of the session is Asia/Tokyo and cannot be set "
        f"({NO_SETTING})"
    )
