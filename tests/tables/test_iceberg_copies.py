"""Copies of stored days in Iceberg tables of an SQLite catalog, as those in Delta tables."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import SparkrankError, SpecError, StoreError
from sparkrank.config import load_spec
from sparkrank.jobs.publish_job import publish_target, validate_publish
from sparkrank.jobs.target import Target
from sparkrank.schemas.tables import METRICS
from sparkrank.tables.copies import iceberg_copies
from sparkrank.tables.copies.publisher import CopiedRun, TableCopy
from tests.support.commands import exit_code
from tests.support.copied_days import DAY, OTHER, TABLES, store
from tests.support.killed import Killed, counting
from tests.support.silent_catalog import LIMIT, silent_catalog
from tests.support.written_days import conf_of
from tests.windows.week import DAYS, evaluate, impressions_of, merging, spec_of, write_log

pytest.importorskip("pyiceberg", reason="pyiceberg writes Iceberg tables: the dev extra has it")

PLACE = {"format": "iceberg", "catalog": "prod", "namespace": "eval"}


@pytest.fixture(autouse=True)
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    settings = {"TYPE": "sql", "URI": f"sqlite:///{tmp_path}/catalog.db", "WAREHOUSE": f"file://{tmp_path}/lake"}
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{name}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read when the module was imported
    loaded = load_catalog("prod")
    yield loaded
    loaded.close()


def conf(folder: Path) -> str:
    return conf_of(folder / "out", publish=[PLACE])


def publish(folder: Path, day: str = DAY) -> tuple[str, ...]:
    spec = load_spec(conf(folder))
    (done,) = publish_target(spec, Target.of_day(spec, day))
    return done.written


def rows(catalog: Any, name: str, day: str = DAY) -> list[dict[str, Any]]:
    found = catalog.load_table(("eval", name)).scan(row_filter=f"day == '{day}'").to_arrow().to_pylist()
    return [{key: value for key, value in row.items() if key != "day"} for row in found]


def stored(folder: Path, name: str, day: str = DAY) -> list[dict[str, Any]]:
    return list(pq.read_table(f"{folder}/out/{name}/day={day}", partitioning=None).to_pylist())


@pytest.mark.long
def test_copies_of_days_and_windows_have_the_rows_of_the_folder(tmp_path: Path, catalog: Any) -> None:
    compare = {"baseline": "production"}
    asked = spec_of(tmp_path, metrics=["ndcg@5", "auc"], compare=compare, output__publish=[PLACE])
    for day in DAYS[:2]:
        write_log(tmp_path, impressions_of(day, 200), day)
        evaluate(asked, day)
    assert exit_code(*merging(asked, last=DAYS[1])) == 0
    parts = [(".", "day", DAYS[0], ""), ("windows", "window", f"{DAYS[0]}..{DAYS[1]}", "windows_")]
    for below, column, value, prefix in parts:
        names = [path.parent.name for path in (tmp_path / "tables" / below).glob(f"*/{column}={value}")]
        assert {"metrics", "comparisons", "quality", "runs"} <= {*names}
        for name in names:
            ours = pq.read_table(tmp_path / f"tables/{below}/{name}/{column}={value}", partitioning=None).to_pylist()
            scan = catalog.load_table(("eval", f"{prefix}{name}")).scan(row_filter=f"{column} == '{value}'")
            own = scan.to_arrow().drop_columns([column]).to_pylist()
            assert sorted(map(repr, own)) == sorted(map(repr, ours)), name
    (run,) = pq.read_table(tmp_path / f"tables/runs/day={DAYS[1]}", partitioning=None).to_pylist()
    summary = catalog.load_table(("eval", "metrics")).current_snapshot().summary.additional_properties
    assert (summary["sparkrank.run_id"], summary["sparkrank.spec_hash"]) == (run["run_id"], run["spec_hash"])


def test_a_killed_writer_leaves_the_old_day_or_the_new_one_and_the_next_run_mends_it(
    tmp_path: Path, catalog: Any
) -> None:
    for steps in range(len(TABLES) + 1):
        old = {name: rows(catalog, name) if steps else [] for name in TABLES}
        store(tmp_path, steps, run=str(steps))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(iceberg_copies, "_commit", counting(steps)(iceberg_copies._commit))
            try:
                publish(tmp_path)
            except Killed:
                assert steps < len(TABLES)
        for place, name in enumerate(TABLES[: steps + 1]):
            assert rows(catalog, name) == (stored(tmp_path, name) if place < steps else old[name])
        assert publish(tmp_path) == TABLES[steps:]
        assert all(rows(catalog, name) == stored(tmp_path, name) for name in TABLES)


def test_the_same_run_writes_nothing_and_others_write_the_day_alone(tmp_path: Path, catalog: Any) -> None:
    for day in (OTHER, DAY):
        store(tmp_path, 0.5, day)
        assert publish(tmp_path, day) == TABLES
    assert publish(tmp_path) == publish(tmp_path, OTHER) == ()
    store(tmp_path, 0.75)  # the input has changed, and the run_id has not
    assert publish(tmp_path) == TABLES
    catalog.load_table(("eval", "metrics")).delete(f"day == '{DAY}'")
    assert publish(tmp_path) == ("metrics",)
    store(tmp_path, 0.75, without="gates")
    assert publish(tmp_path) == TABLES
    assert publish(tmp_path) == ()
    assert rows(catalog, "gates") == []
    assert [row["value"] for name in TABLES[:2] for row in rows(catalog, name, OTHER)] == [0.5, 0.5]


def test_of_two_writers_of_a_day_the_second_is_told_after_three_tries(
    tmp_path: Path, catalog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, 0.5, OTHER)
    publish(tmp_path, OTHER)
    store(tmp_path, 0.75)
    commit, others = iceberg_copies._commit, [0.1, 0.2, 0.3]

    def overtaken(opened: Any, copy: TableCopy) -> None:
        if copy.table == "metrics" and others:
            other = pa.table({"value": [others.pop(0)], "day": [dt.date.fromisoformat(DAY)]})
            catalog.load_table(("eval", "metrics")).append(other)
        commit(opened, copy)

    monkeypatch.setattr(iceberg_copies, "_commit", overtaken)
    with pytest.raises(SparkrankError, match=r"behind: metrics, gates, runs .*another writer of .* 3 times"):
        publish(tmp_path)
    assert sorted(row["value"] for row in rows(catalog, "metrics")) == [0.1, 0.2, 0.3]
    assert publish(tmp_path) == TABLES
    assert rows(catalog, "metrics") == stored(tmp_path, "metrics")


def test_columns_are_added_and_small_numbers_become_those_of_iceberg(catalog: Any) -> None:
    publisher = iceberg_copies.IcebergCopies("prod", "eval")
    old = pa.table({"model": ["old"], "small": pa.array([1], pa.int8()), "large": pa.array([2], pa.uint32())})
    empty = METRICS.schema.empty_table().select(["model", "noise_floor"])
    for attempt, given in enumerate((old, empty, old)):
        run = CopiedRun((OTHER, DAY)[attempt % 2], "day", "r", "5eed", str(attempt))
        copy = TableCopy(run, "groups", ds.dataset(given))
        publisher.replace(copy)
        assert publisher.is_current(copy)
    assert rows(catalog, "groups", OTHER) == [{"model": "old", "small": 1, "large": 2, "noise_floor": None}]
    assert rows(catalog, "groups") == []


def test_a_strange_table_is_refused_by_name_and_left_as_it_is(tmp_path: Path, catalog: Any) -> None:
    own, day = {"properties": {"sparkrank.table": "gates"}}, pa.field("day", pa.date32())
    catalog.create_namespace("eval")
    for reason, fields, how in (
        ("it has no column day", [], own),
        ("another program made it", [day], {}),
        ("it is not partitioned by day only", [day], own),
    ):
        schema = pa.schema([pa.field("value", pa.float64()), *fields])
        before = catalog.create_table(("eval", "gates"), schema=schema, **how).metadata
        with pytest.raises(SpecError, match=f"the Iceberg table prod.eval.gates is refused .*: {reason}"):
            validate_publish(load_spec(conf(tmp_path)))
        assert catalog.load_table(("eval", "gates")).metadata == before
        catalog.drop_table(("eval", "gates"))
    texts = pa.schema([pa.field("value", pa.string()), day])
    with catalog.create_table_transaction(("eval", "gates"), schema=texts, **own) as made, made.update_spec() as spec:
        spec.add_identity("day")
    store(tmp_path, 0.5)
    sentence = r"behind: metrics, gates, runs \(.*gates is refused .*: its column value is string, but .* is double"
    with pytest.raises(SparkrankError, match=sentence):
        publish(tmp_path)
    assert catalog.list_tables("eval") == [("eval", "gates")]


def test_a_catalog_that_fails_is_one_sentence_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> None:
        raise RuntimeError("cannot connect to postgresql://ann:tiger@db/eval")

    store(tmp_path, 0.5)
    monkeypatch.setattr("pyiceberg.catalog.load_catalog", fails)
    with pytest.raises(StoreError, match=r"behind: metrics, .*, runs \(the Iceberg table .* cannot connect") as error:
        publish(tmp_path)
    assert "tiger" not in str(error.value)


@pytest.mark.long
def test_a_catalog_that_is_silent_costs_the_time_limit_and_the_day_is_published_later(
    tmp_path: Path, catalog: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = spec_of(tmp_path, metrics=["rr"], output__publish=[PLACE])
    write_log(tmp_path, impressions_of(DAYS[0], 50), DAYS[0])
    command = ["--conf", asked, "--date", DAYS[0]]
    with silent_catalog("prod"):
        assert exit_code("evaluate", *command) == 1
        sentence = f"prod.eval.metrics cannot be read: the catalog prod has not answered within {LIMIT:g} s"
        told = capsys.readouterr().err
        assert f"{DAYS[0]} is stored, but these of its tables in prod.eval are behind: metrics, " in told
        assert sentence in told
        assert exit_code("publish", *command) == exit_code("validate", "--conf", asked) == 1
        assert capsys.readouterr().err.count(sentence) == 2
    assert exit_code("publish", *command) == 0
    stored_rows = pq.read_table(tmp_path / f"tables/metrics/day={DAYS[0]}", partitioning=None).to_pylist()
    assert rows(catalog, "metrics", DAYS[0]) == stored_rows


@pytest.mark.long
@pytest.mark.parametrize(
    ("silent", "lacking", "told"),
    [
        ("Transaction.commit_transaction", "", "metrics cannot be written"),
        ("DataScan.plan_files", "gates", "gates cannot be read"),  # whether there are rows of the day
    ],
)
def test_a_catalog_that_does_not_answer_to_a_commit_or_to_a_scan_leaves_tables_behind(
    tmp_path: Path, catalog: Any, monkeypatch: pytest.MonkeyPatch, silent: str, lacking: str, told: str
) -> None:
    store(tmp_path, 0.5)
    publish(tmp_path)
    store(tmp_path, 0.75, without=lacking)
    ended = threading.Event()
    monkeypatch.setattr("sparkrank.sources.iceberg_metadata.TIMEOUT", LIMIT)
    with monkeypatch.context() as patch:
        patch.setattr(f"pyiceberg.table.{silent}", lambda _: ended.wait(60))
        patch.setattr(type(catalog), "supports_server_side_planning", lambda _: lacking != "")
        with pytest.raises(StoreError, match=f"behind: .*{told}: the catalog prod has not answered"):
            publish(tmp_path)
    ended.set()
    assert [row["value"] for row in rows(catalog, "metrics")] == [0.5]
    assert publish(tmp_path) == TABLES
