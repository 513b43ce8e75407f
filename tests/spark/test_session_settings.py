"""What of a session decides numbers stands under their hash, and nothing else of it does."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import StateError
from sparkrank.config import Spec
from sparkrank.engines.spark import unix_sockets
from sparkrank.engines.spark.session_settings import INFERENCE, ZONE, settings_read
from sparkrank.inputs.roles import Roles
from sparkrank.inputs.window import Window
from sparkrank.jobs import evaluate_day, merge_days
from sparkrank.run.stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSI, CASE, POLICY = "spark.sql.ansi.enabled", "spark.sql.caseSensitive", "spark.sql.legacy.timeParserPolicy"
DAY, NEXT = "2026-01-01", "2026-01-02"
# The click of a is at half past midnight of Berlin, but still in December of Greenwich.
LATE = dt.datetime(2025, 12, 31, 23, 30, tzinfo=dt.timezone.utc)
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)


class Run(NamedTuple):
    lane: str
    value: float
    spec_hash: str
    run_id: str
    session: dict[str, str]
    spec: Spec


def test_a_session_is_told_once_that_its_workers_use_tcp(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where its tasks are many, of which two are enough here."""
    monkeypatch.setattr(unix_sockets, "MANY_TASKS", 2)
    monkeypatch.setattr(unix_sockets, "_contexts_with_advice", set())
    monkeypatch.setattr(unix_sockets, "_FIRST_VERSION", (4, 0))
    monkeypatch.delenv("PYSPARK_UDS_MODE", raising=False)
    pq.write_table(pa.table({"u": ["a", "a"], "s": [2.0, 1.0], "y": [0, 1]}), tmp_path / "rows.parquet")

    def told() -> list[str]:
        asked = {"group": "u", "score": "s", "label": "y", "buckets": 1, "spark": spark}
        caplog.clear()
        sr.evaluate(str(tmp_path / "rows.parquet"), ["rr"], **asked)
        return [record.getMessage() for record in caplog.records if "TCP" in record.getMessage()]

    (sentence,) = told()
    assert "set spark.python.unix.domain.socket.enabled=true before the session starts" in sentence
    assert not told()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    texts = ["2025-12-31T23:30:00Z", "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"]
    rows = {"u": ["a"] * 3, "s": [3.0, 2.0, 1.0], "y": [1, 0, 1], "text": texts}
    rows["ts"] = pa.array([LATE, NOON, NOON], pa.timestamp("us", "UTC"))
    for day in (DAY, NEXT):
        (tmp_path / f"in/dt={day}/c=1").mkdir(parents=True)
        pq.write_table(pa.table(rows), tmp_path / f"in/dt={day}/c=1/p.parquet")
    return tmp_path


def _run(spark: SparkSession | None, log: Path, where: str | None, day: str = DAY, **changes: Any) -> Run:
    columns = {"group": "u", "score": "s", "label": "y", **changes.pop("columns", {})}
    document = {
        "input": {"path": f"{log}/in/dt={{date}}", "columns": columns, "where": where, **changes.pop("input", {})},
        "metrics": ["rr"],
        "output": {"path": f"{log}/out"},
        **changes,
    }
    spec = Spec.model_validate(document)
    result = evaluate_day(spec, day, spark, Stages())
    tables = {name: pq.read_table(f"{log}/out/{name}/day={day}").to_pylist()[0] for name in ("metrics", "runs")}
    session = json.loads(tables["runs"]["versions"]).get("session", {})
    metrics = tables["metrics"]
    assert metrics["spec_hash"] == tables["runs"]["spec_hash"]
    return Run(result.lane, metrics["value"], metrics["spec_hash"], metrics["run_id"], session, spec)


def _with(session: SparkSession, settings: dict[str, str]) -> SparkSession:
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


@pytest.mark.parametrize(
    ("where", "changes", "differ"),
    [
        ("to_date(ts) = '2026-01-01'", {ZONE: "Europe/Berlin"}, True),
        ("u = 'a' or u = 'b'", {ZONE: "+01:00"}, True),  # it is not told which SQL is of no time
        ("u = 'a'", {ZONE: "+01:00", ANSI: "false", CASE: "true", POLICY: "LEGACY"}, False),  # Arrow's
        (None, {ZONE: "+01:00", ANSI: "false", CASE: "true", POLICY: "LEGACY"}, False),
        ("try_cast(u as int) is null or s > 0", {ANSI: "false"}, True),
        ("u = 'a' or u = 'b'", {CASE: "true"}, True),
        ("u = 'a' or u = 'b'", {POLICY: "LEGACY"}, True),
        ("u = 'a' or u = 'b'", {"spark.sql.legacy.castComplexTypesToString.enabled": "true"}, True),
        ("u = 'a' or u = 'b'", {"spark.sql.shuffle.partitions": "3"}, False),
    ],
)
def test_a_setting_counts_where_a_condition_reads_it(
    another_session: SparkSession, log: Path, where: str | None, changes: dict[str, str], differ: bool
) -> None:
    frame, roles = another_session.read.parquet(f"{log}/in/dt={DAY}"), Roles.of("u", "y", "s")
    before = settings_read(frame, roles, where, is_view=False, is_text=False, own_zone=False)
    _with(another_session, changes)
    after = settings_read(frame, roles, where, is_view=False, is_text=False, own_zone=False)
    assert (before != after) == differ
    for name, value in changes.items() if differ else ():
        assert after[name] == value


def test_a_setting_that_was_read_is_in_the_hash(another_session: SparkSession, log: Path) -> None:
    for where, differ in (("to_date(ts) = '2026-01-01'", True), ("u = 'a'", False)):
        runs = []
        for zone in ("UTC", "Europe/Berlin"):
            session = _with(another_session, {ZONE: zone})
            by_lane = [_run(session, log, where, engine={"lane": lane}) for lane in ("frame", "auto")]
            assert by_lane[0].spec_hash == by_lane[1].spec_hash  # whichever lane it takes
            runs.append(by_lane[0])
        for name in ("spec_hash", "run_id", "session"):
            assert (getattr(runs[0], name) != getattr(runs[1], name)) == differ


def test_days_of_two_sessions_are_not_merged(another_session: SparkSession, log: Path) -> None:
    """In Greenwich the click of December is not of the day, and the other stands second of two: 1/2. In Berlin: 1."""
    where = "to_date(ts) = '2026-01-01'"
    assert _run(_with(another_session, {ZONE: "UTC"}), log, where).value == 1 / 2
    berlin = _run(_with(another_session, {ZONE: "Europe/Berlin"}), log, where, NEXT)
    assert berlin.value == 1
    told = f"{DAY} was read with {ZONE} UTC, and {NEXT} with Europe/Berlin: evaluate one of them again"
    with pytest.raises(StateError, match=told.replace("+", r"\+")):
        merge_days(berlin.spec, Window.of(DAY, NEXT), None, Stages())
    _run(another_session, log, where)
    merged = merge_days(berlin.spec, Window.of(DAY, NEXT), None, Stages())
    assert merged.metrics["value"].to_pylist() == [1]
    runs = pq.read_table(f"{log}/out/windows/runs/window={DAY}..{NEXT}").to_pylist()[0]
    assert runs["spec_hash"] == berlin.spec_hash
    assert '"Europe/Berlin"' in runs["versions"]


def test_a_time_zone_of_the_spec_holds_whatever_the_session_says(another_session: SparkSession, log: Path) -> None:
    where, runs = "date_format(to_timestamp(text), 'yyyy-MM-dd') = '2026-01-01'", []
    berlin, york = "Europe/Berlin", "America/New_York"
    for of_session, zone, value in (("UTC", berlin, 1), (york, "UTC", 1 / 2), (york, berlin, 1)):
        session = _with(another_session, {ZONE: of_session})
        runs.append(_run(session, log, where, input={"time_zone": zone}))
        assert session.conf.get(ZONE) == of_session  # as it was
        assert runs[-1].spec.source() == f"group=u, label=y, where {where}, time zone {zone}"
        assert ZONE not in runs[-1].session
        assert runs[-1].value == value
    assert runs[0].spec_hash == runs[2].spec_hash != runs[1].spec_hash


def test_columns_of_folders_that_the_session_reads_as_texts(another_session: SparkSession, log: Path) -> None:
    """The frame lane alone asks the session."""
    plain = _run(another_session, log, None, engine={"lane": "frame"})
    texts = _with(another_session, {INFERENCE: "false"})
    assert _run(texts, log, None, engine={"lane": "frame"}).session == {INFERENCE: "false"}
    scanned = _run(texts, log, None, engine={"lane": "scan"})
    assert (plain.session, scanned.session, scanned.spec_hash) == ({}, {}, plain.spec_hash)


def test_keys_that_are_instants_and_views_ask_for_the_zone(another_session: SparkSession, log: Path) -> None:
    spark = _with(another_session, {ZONE: "Asia/Tokyo"})
    assert _run(spark, log, None, columns={"group": "ts"}).session == {ZONE: "Asia/Tokyo"}
    spark.read.parquet(f"{log}/in/dt={DAY}").where("hour(ts) = 21").createOrReplaceTempView("evenings")
    viewed = {"path": None, "table": "evenings"}
    run = _run(spark, log, None, input=viewed)
    assert run.session[ZONE] == "Asia/Tokyo"
    assert ANSI in run.session
