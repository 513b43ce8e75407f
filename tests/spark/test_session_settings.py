"""What of a session decides numbers stands under their hash, and nothing else of it does."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import StateError
from sparkrank.config import Spec
from sparkrank.engines.spark.session_settings import INFERENCE, ZONE
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


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = {
        "u": ["a", "a", "a"],
        "s": [3.0, 2.0, 1.0],
        "y": [1, 0, 1],
        "ts": pa.array([LATE, NOON, NOON], pa.timestamp("us", "UTC")),
        "text": ["2025-12-31T23:30:00Z", "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"],
    }
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
        ("ts >= '2026-01-01'", {ZONE: "Europe/Berlin"}, True),
        ("hour(to_timestamp(text)) > 12 or true", {ZONE: "+01:00"}, True),
        ("u = 'a' or u = 'b'", {ZONE: "+01:00"}, False),  # SQL, but of no time
        ("lower(u) in ('a') and s + 1 > 0", {ZONE: "+01:00"}, False),
        ("u = 'a'", {ZONE: "+01:00", ANSI: "false", CASE: "true", POLICY: "LEGACY"}, False),  # Arrow's
        (None, {ZONE: "+01:00", ANSI: "false", CASE: "true", POLICY: "LEGACY"}, False),
        ("try_cast(u as int) is null or s > 0", {ANSI: "false"}, True),
        ("u = 'a' or u = 'b'", {CASE: "true"}, True),
        ("u = 'a' or u = 'b'", {POLICY: "LEGACY"}, True),
        ("u = 'a' or u = 'b'", {"spark.sql.legacy.castComplexTypesToString.enabled": "true"}, True),
        ("u = 'a' or u = 'b'", {"spark.sql.shuffle.partitions": "3"}, False),
    ],
)
def test_a_setting_is_in_the_hash_where_it_was_read(
    another_session: SparkSession, log: Path, where: str | None, changes: dict[str, str], differ: bool
) -> None:
    of = {lane: {"engine": {"lane": lane}} for lane in ("frame", "auto")}
    before = {lane: _run(another_session, log, where, **change) for lane, change in of.items()}
    after = {lane: _run(_with(another_session, changes), log, where, **change) for lane, change in of.items()}
    assert before["frame"].spec_hash == before["auto"].spec_hash  # whichever lane it takes
    for lane in of:
        assert (before[lane].spec_hash != after[lane].spec_hash) == differ
        assert (before[lane].run_id != after[lane].run_id) == differ
        assert (before[lane].session != after[lane].session) == differ
    for name, value in changes.items() if differ else ():
        assert after["frame"].session[name] == value


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


@pytest.mark.parametrize("lane", ["frame", "auto"])
def test_a_time_zone_of_the_spec_holds_whatever_the_session_says(
    another_session: SparkSession, log: Path, lane: str
) -> None:
    where = "date_format(to_timestamp(text), 'yyyy-MM-dd') = '2026-01-01'"
    found = []
    for of_session in ("UTC", "America/New_York"):
        for zone in ("UTC", "Europe/Berlin"):
            session = _with(another_session, {ZONE: of_session})
            found.append(_run(session, log, where, engine={"lane": lane}, input={"time_zone": zone}))
            assert session.conf.get(ZONE) == of_session  # as it was
    assert [run.value for run in found] == [1 / 2, 1, 1 / 2, 1]
    hashes = [run.spec_hash for run in found]
    assert hashes[:2] == hashes[2:]
    assert len(set(hashes)) == 2
    assert [run.spec.source() for run in found] == [f"{_source(where)}, time zone {zone}" for zone in _ZONES * 2]
    assert all(ZONE not in run.session for run in found)


_ZONES = ["UTC", "Europe/Berlin"]


def _source(where: str) -> str:
    return f"group=u, label=y, where {where}"


@pytest.mark.parametrize("lane", ["frame", "scan"])
def test_columns_of_folders_that_the_session_reads_as_texts(
    another_session: SparkSession, log: Path, lane: str
) -> None:
    """Without folders below the path the setting decides nothing."""
    plain = _run(another_session, log, None, engine={"lane": lane})
    texts = _run(_with(another_session, {INFERENCE: "false"}), log, None, engine={"lane": lane})
    assert (plain.session, texts.session) == ({}, {INFERENCE: "false"})
    assert plain.spec_hash != texts.spec_hash
    flat = {"path": f"{log}/in/dt={{date}}/c=1"}
    assert _run(another_session, log, None, engine={"lane": lane}, input=flat).session == {}
    assert _run(None, log, None, engine={"lane": "local"}).spec_hash == plain.spec_hash


def test_keys_that_are_instants_and_views_ask_for_the_zone(another_session: SparkSession, log: Path) -> None:
    spark = _with(another_session, {ZONE: "Asia/Tokyo"})
    assert _run(spark, log, None, columns={"group": "ts"}).session == {ZONE: "Asia/Tokyo"}
    spark.read.parquet(f"{log}/in/dt={DAY}").where("hour(ts) = 21").createOrReplaceTempView("evenings")
    viewed = {"path": None, "table": "evenings"}
    run = _run(spark, log, None, input=viewed)
    assert run.session[ZONE] == "Asia/Tokyo"
    assert ANSI in run.session
