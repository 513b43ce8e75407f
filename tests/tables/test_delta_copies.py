"""Copies of stored days in Delta tables: the rows of the folder, whatever stops the writer and whoever else writes."""

from __future__ import annotations

import datetime as dt
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import SparkrankError, SpecError
from sparkrank.config import load_spec
from sparkrank.jobs.publish_job import publish_stored, publish_target, validate_publish
from sparkrank.jobs.target import Target
from sparkrank.schemas.tables import METRICS
from sparkrank.tables.copies import delta_copies
from sparkrank.tables.copies.publisher import CopiedRun, TableCopy
from tests.support.commands import exit_code
from tests.support.copied_days import DAY, OTHER, TABLES, store
from tests.support.killed import Killed, counting
from tests.support.written_days import conf_of
from tests.windows.week import DAYS, evaluate, impressions_of, merging, spec_of, write_log

deltalake = pytest.importorskip("deltalake")


def conf(folder: Path, **more: Any) -> str:
    return conf_of(folder / "out", publish=[{"format": "delta", "path": f"{folder}/lake", **more}])


def publish(folder: Path, day: str = DAY) -> tuple[str, ...]:
    """Publish ``day``, and return the tables that were written."""
    spec = load_spec(conf(folder))
    (done,) = publish_target(spec, Target.of_day(spec, day))
    return done.written


def table(folder: Path, name: str) -> Any:
    return deltalake.DeltaTable(f"{folder}/lake/{name}")


def rows(folder: Path, name: str, day: str = DAY) -> list[dict[str, Any]]:
    found = [row for row in table(folder, name).to_pyarrow_table().to_pylist() if row["day"].isoformat() == day]
    return [{key: value for key, value in row.items() if key != "day"} for row in found]


def stored(folder: Path, name: str, day: str = DAY) -> list[dict[str, Any]]:
    return list(pq.read_table(f"{folder}/out/{name}/day={day}", partitioning=None).to_pylist())


def test_copies_of_days_and_windows_have_the_rows_of_the_folder_and_their_types(tmp_path: Path) -> None:
    gates = [{"metric": "auc", "model": "candidate", "min": 0.1}]
    asked = spec_of(
        tmp_path,
        metrics=["ndcg@5", "auc"],
        gates=gates,
        compare={"baseline": "production"},
        output__publish=[{"format": "delta", "path": f"{tmp_path}/lake"}],
    )
    for day in DAYS[:2]:
        write_log(tmp_path, impressions_of(day, 200), day)
        evaluate(asked, day)
    assert exit_code(*merging(asked, last=DAYS[1])) == 0
    parts = [(".", f"day={DAYS[0]}", dt.date.fromisoformat(DAYS[0]))]
    parts.append(("windows", f"window={DAYS[0]}..{DAYS[1]}", f"{DAYS[0]}..{DAYS[1]}"))
    for below, partition, value in parts:
        names = [folder.parent.name for folder in (tmp_path / "tables" / below).glob(f"*/{partition}")]
        assert {"metrics", "comparisons", "quality", "gates", "blocks", "runs"} <= {*names}
        assert {*names} == {folder.name for folder in (tmp_path / "lake" / below).iterdir()} - {"windows"}
        column = partition.partition("=")[0]
        for name in names:
            ours = pq.read_table(tmp_path / "tables" / below / name / partition, partitioning=None)
            copy = deltalake.DeltaTable(tmp_path / "lake" / below / name).to_pyarrow_table()
            own = copy.filter(ds.field(column) == value).drop_columns([column])
            assert (own.schema.names, own.schema.types) == (ours.schema.names, ours.schema.types), name
            assert sorted(map(repr, own.to_pylist())) == sorted(map(repr, ours.to_pylist())), name
    (run,) = pq.read_table(tmp_path / f"tables/runs/day={DAYS[1]}", partitioning=None).to_pylist()
    for name in ("metrics", "runs"):
        commit, *_ = deltalake.DeltaTable(tmp_path / "lake" / name).history(1)
        assert (commit["sparkrank.run_id"], commit["sparkrank.spec_hash"]) == (run["run_id"], run["spec_hash"])


def test_polars_and_duckdb_see_the_day_as_a_date(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    store(tmp_path, 0.5)
    publish(tmp_path)
    expected = [(dt.date.fromisoformat(DAY), 0.5)]
    assert pl.read_delta(f"{tmp_path}/lake/metrics").select("day", "value").rows() == expected
    with duckdb.connect() as connection:
        connection.register("metrics", table(tmp_path, "metrics").to_pyarrow_dataset())
        assert connection.sql("select day, value from metrics").fetchall() == expected


def test_a_writer_killed_at_any_step_leaves_the_old_day_or_the_new_one_and_the_next_run_mends_it(
    tmp_path: Path,
) -> None:
    for steps in range(2 * len(TABLES) + 1):  # each table is made, and then gets the day
        folder = tmp_path / str(steps)
        store(folder, 0.5)
        stopped = killed_after(steps, lambda folder=folder: publish(folder))
        assert stopped == (steps < 2 * len(TABLES))
        done = steps // 2
        assert [name for name in TABLES[:done] if rows(folder, name) == stored(folder, name)] == [*TABLES[:done]]
        assert publish(folder) == TABLES[done:]
        for name in TABLES:
            assert rows(folder, name) == stored(folder, name)
    for steps in range(len(TABLES)):  # the day is replaced
        old = {name: rows(folder, name) for name in TABLES}
        store(folder, steps, run=str(steps))
        assert killed_after(steps, lambda: publish(folder))
        for place, name in enumerate(TABLES):
            assert rows(folder, name) == (stored(folder, name) if place < steps else old[name])
        assert publish(folder) == TABLES[steps:]


def killed_after(steps: int, write: Callable[[], object]) -> bool:
    """Whether ``write`` is killed because it makes or writes more tables than ``steps``."""
    counted = counting(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_copies, "_commit", counted(delta_copies._commit))
        patch.setattr(deltalake.DeltaTable, "create", counted(deltalake.DeltaTable.create))
        try:
            write()
        except Killed:
            return True
    return False


def test_the_same_run_writes_nothing_and_another_run_of_the_same_question_does(tmp_path: Path) -> None:
    for day in (OTHER, DAY):
        store(tmp_path, 0.5, day)
        assert publish(tmp_path, day) == TABLES
    versions = [table(tmp_path, name).version() for name in TABLES]
    assert publish(tmp_path) == publish(tmp_path, OTHER) == ()
    table(tmp_path, "metrics").optimize.compact()  # of another program, which changes no row
    assert publish(tmp_path) == ()
    assert [table(tmp_path, name).version() for name in TABLES] == versions
    store(tmp_path, 0.75)  # the input has changed, and the run_id has not
    assert publish(tmp_path) == TABLES
    assert [row["value"] for row in rows(tmp_path, "metrics")] == [0.75]
    table(tmp_path, "metrics").delete(f"day = '{DAY}'")
    assert publish(tmp_path) == ("metrics",)
    assert [row["value"] for row in rows(tmp_path, "metrics")] == [0.75]
    assert [row["value"] for row in rows(tmp_path, "metrics", OTHER)] == [0.5]


def test_a_table_that_a_run_lacks_loses_the_day_alone(tmp_path: Path) -> None:
    for day in (OTHER, DAY):
        store(tmp_path, 0.5, day)
        publish(tmp_path, day)
    store(tmp_path, 0.5, run="b", without="gates")
    assert publish(tmp_path) == TABLES
    assert rows(tmp_path, "gates") == []
    assert len(rows(tmp_path, "gates", OTHER)) == 1
    assert publish(tmp_path) == ()


def test_of_two_writers_of_a_day_the_second_tries_again_and_is_told_after_three_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, 0.5)
    publish(tmp_path)
    store(tmp_path, 0.75, run="b")
    write, others = delta_copies._commit, [0.1, 0.2, 0.3]

    def overtaken(opened: Any, copy: TableCopy) -> None:
        if copy.table == "metrics" and others:
            other = pa.table({"value": [others.pop(0)], "day": [dt.date.fromisoformat(DAY)]})
            how: Any = {"mode": "overwrite", "predicate": f"day = '{DAY}'", "schema_mode": "merge"}
            deltalake.write_deltalake(f"{tmp_path}/lake/metrics", other, **how)
        write(opened, copy)

    monkeypatch.setattr(delta_copies, "_commit", overtaken)
    sentence = rf"behind: metrics, gates, runs .*metrics was changed by another writer of {DAY} .* 3 times"
    with pytest.raises(SparkrankError, match=sentence) as error:
        publish(tmp_path)
    assert error.value.exit_code == 1
    assert [row["value"] for row in rows(tmp_path, "metrics")] == [0.3]
    others[:] = [0.4, 0.5]
    assert publish(tmp_path) == TABLES
    assert rows(tmp_path, "metrics") == stored(tmp_path, "metrics")


def test_a_writer_that_is_overtaken_by_one_of_the_same_run_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, 0.5)
    create = deltalake.DeltaTable.create

    def overtaken(*arguments: Any, **options: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(deltalake.DeltaTable, "create", create)
            publish(tmp_path)
        return create(*arguments, **options)

    monkeypatch.setattr(deltalake.DeltaTable, "create", overtaken)
    publish(tmp_path)
    for name in TABLES:
        assert table(tmp_path, name).version() == 1  # made, and one commit of the day
        assert rows(tmp_path, name) == stored(tmp_path, name)


def test_columns_of_a_new_release_are_added_and_those_of_an_old_one_are_null(tmp_path: Path) -> None:
    old = pa.schema([field for field in METRICS.schema if field.name != "noise_floor"])
    run = CopiedRun(OTHER, "day", "r", "5eed", "a")
    publisher = delta_copies.DeltaCopies(f"{tmp_path}/lake")
    before = pa.Table.from_pylist([{"model": "old", "value": 0.1}], schema=old)
    publisher.replace(TableCopy(run, "metrics", ds.dataset(before)))
    store(tmp_path, 0.5)
    publish(tmp_path)
    assert [field.name for field in table(tmp_path, "metrics").schema().fields][-1] == "noise_floor"
    assert [(row["model"], row["noise_floor"]) for row in rows(tmp_path, "metrics", OTHER)] == [("old", None)]
    newer = CopiedRun(OTHER, "day", "r", "5eed", "b")
    publisher.replace(TableCopy(newer, "metrics", ds.dataset(before)))
    assert [(row["model"], row["noise_floor"]) for row in rows(tmp_path, "metrics", OTHER)] == [("old", None)]


def test_types_that_lakes_lack_become_the_next_wider_ones(tmp_path: Path) -> None:
    """2^63 - 1, and a time of Berlin in UTC; a time of day is refused by name."""
    zone = pa.timestamp("ns", "Europe/Berlin")
    groups = pa.table({"user": pa.array([2**63 - 1], pa.uint64()), "at": pa.array([3_000], zone)})
    publisher = delta_copies.DeltaCopies(f"{tmp_path}/lake")
    run = CopiedRun(DAY, "day", "r", "5eed", "a")
    publisher.replace(TableCopy(run, "groups", ds.dataset(groups)))
    assert rows(tmp_path, "groups") == [
        {"user": 2**63 - 1, "at": dt.datetime(1970, 1, 1, microsecond=3, tzinfo=dt.timezone.utc)}
    ]
    hours = pa.table({"hour": pa.array([1], pa.time64("us"))})
    with pytest.raises(
        SpecError, match=r"groups is refused .*: the column hour is time64\[us\], which Delta does not have"
    ):
        publisher.is_current(TableCopy(run, "groups", ds.dataset(hours)))


def _made(path: Path, data: pa.Table, **how: Any) -> None:
    deltalake.DeltaTable.create(
        str(path), deltalake.Schema.from_arrow(data.schema), raise_if_key_not_exists=False, **how
    )
    deltalake.write_deltalake(str(path), data, mode="append")


def test_a_strange_table_is_refused_by_name_before_a_day_is_read_and_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"sparkrank.table": "gates"}
    day, value = pa.array([dt.date(2026, 1, 1)]), pa.array(["high"])
    days = {"partition_by": ["day"], "configuration": own}
    cases: dict[str, tuple[pa.Table, dict[str, Any]]] = {
        "it has no column day": (pa.table({"value": value}), {"configuration": own}),
        "another program made it": (pa.table({"value": value, "day": day}), {"partition_by": ["day"]}),
        "it is not partitioned by day only": (pa.table({"value": value, "day": day}), {"configuration": own}),
        "its column value is string, but in the run it is double": (pa.table({"value": value, "day": day}), days),
    }
    for number, (reason, (data, how)) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        store(folder, 0.5)
        _made(folder / "lake/gates", data, **how)
        before = sorted(folder.rglob("lake/**/*"))
        refused = rf"the Delta table {folder}/lake/gates is refused and left as it is: {reason}"
        for words in (
            ("validate",),
            ("evaluate", "--date", DAY, "--set", "engine.lane=local"),
            ("publish", "--date", DAY),
        ):
            assert exit_code(words[0], "--conf", conf(folder), *words[1:]) == 2
            assert refused in capsys.readouterr().err
        with pytest.raises(SparkrankError, match=rf"behind: metrics, gates, runs \({refused}") as error:
            publish(folder)  # where it could not be seen before
        assert error.value.exit_code == 1
        assert sorted(folder.rglob("lake/**/*")) == before
    folder = tmp_path / "parquet"
    store(folder, 0.5)
    (folder / "lake/gates").mkdir(parents=True)
    (folder / "lake/gates/part-0.parquet").touch()
    with pytest.raises(
        SpecError, match=r"gates is refused .*: its folder has part-0.parquet, but it is not a Delta table"
    ):
        validate_publish(load_spec(conf(folder)))


def test_a_place_that_does_not_answer_is_told_after_the_folder_is_whole_and_published_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{tmp_path}/lake"
    asked = spec_of(tmp_path, metrics=["rr"], output__publish=[{"format": "delta", "path": place}])
    for day in DAYS[:2]:
        write_log(tmp_path, impressions_of(day, 40), day)
    with monkeypatch.context() as patch:
        patch.setattr(delta_copies, "table_at", _hangs_up)
        assert exit_code("evaluate", "--conf", asked, "--date", DAYS[0]) == 1
        error = capsys.readouterr().err
        assert f"{DAYS[0]} is stored, but these of its tables in {place} are behind: metrics, " in error
        assert "cannot be read: Generic S3 error: Connection refused" in error
        assert "tiger" not in error
        assert exit_code("validate", "--conf", asked) == 1
    assert pq.read_table(f"{tmp_path}/tables/metrics/day={DAYS[0]}", partitioning=None).num_rows == 2
    unpublished = spec_of(tmp_path, "unpublished", metrics=["rr"])
    assert exit_code("evaluate", "--conf", unpublished, "--date", DAYS[1]) == 0
    capsys.readouterr()
    assert exit_code("evaluate", "--conf", asked, "--from", DAYS[0], "--to", DAYS[1]) == 0
    assert "There already: 2 days" in capsys.readouterr().out  # and published now
    assert deltalake.DeltaTable(f"{place}/runs").count() == 2
    assert exit_code("publish", "--conf", asked, "--from", DAYS[0], "--to", DAYS[2]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{DAYS[0]}  {place}: there already",
        f"{DAYS[1]}  {place}: there already",
        f"{DAYS[2]}  not stored",
        f"{DAYS[0]}..{DAYS[2]}  not stored",
    ]


def _hangs_up(path: str, version: int | None = None) -> None:
    raise OSError("Generic S3 error\n  ↳ Connection refused, password=tiger")


def test_an_acceptance_is_published(tmp_path: Path) -> None:
    gates = [{"metric": "rr", "model": "candidate", "min": 2.0}]
    place = {"format": "delta", "path": f"{tmp_path}/lake", "tables": ["gates"]}
    asked = spec_of(tmp_path, metrics=["rr"], gates=gates, least_groups=1, output__publish=[place])
    write_log(tmp_path, impressions_of(DAYS[0], 40), DAYS[0])
    assert exit_code("evaluate", "--conf", asked, "--date", DAYS[0]) == 3
    assert [row["accepted"] for row in rows(tmp_path, "gates", DAYS[0])] == [False]
    assert exit_code("accept", "--conf", asked, "--date", DAYS[0], "--reason", "a holiday") == 0
    assert [row["accepted"] for row in rows(tmp_path, "gates", DAYS[0])] == [True]
    assert [row["accepted_reason"] for row in rows(tmp_path, "runs", DAYS[0])] == ["a holiday"]


def test_the_library_is_asked_for_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path, 0.5)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    spec = load_spec(conf(tmp_path))
    with pytest.raises(SpecError, match=r"format: delta needs deltalake: pip install 'sparkrank\[delta\]'"):
        publish_stored(spec, Target.of_day(spec, DAY))


def test_what_a_spec_cannot_ask_for(tmp_path: Path) -> None:
    for more, sentence in (
        ({"format": "dleta"}, r"format is 'dleta', did you mean \"delta\"\? \(allowed: delta, iceberg, catalog\)"),
        ({"namespace": "eval"}, "has format delta, which needs path, but names path, namespace"),
        ({"format": "iceberg"}, "has format iceberg, which needs catalog, namespace, but names path"),
        ({"format": "catalog"}, "has format catalog, which needs schema, but names path"),
        ({"format": "catalog", "path": None, "schema": "eval.{date}"}, r"has schema eval.\{date\}: a name is needed"),
        ({"tables": ["metric"]}, r'has no table "metric" to publish, did you mean "metrics"\?'),
        ({"path": f"{tmp_path}/lake/{{date}}"}, "has a placeholder for a day in path"),
        ({"path": "s3://key:tiger@lake/eval"}, "has a path with a password"),
        ({"path": "s3://lake/eval?session_token=tiger"}, "has a path with a password"),
        ({"path": f"{tmp_path}/out/lake"}, "within output.path: choose a folder outside of it"),
        ({"path": str(tmp_path)}, "has output.path within output.publish.path"),
        ({"path": f"{tmp_path}/l%20k"}, "has % in path"),
        ({"path": f"{tmp_path}/l#k"}, "has # in path"),
        (
            {"path": "s3://lake/eval?endpoint_overide=x"},
            'has the setting endpoint_overide in path, did you mean "endpoint_override"',
        ),
        ({"path": "/log"}, "within input.path /log: copies would be read as rows"),
    ):
        with pytest.raises(SpecError, match=sentence) as error:
            load_spec(conf(tmp_path, **more))
        assert "tiger" not in str(error.value)


def test_named_tables_alone_are_copied_and_runs_always(tmp_path: Path) -> None:
    store(tmp_path, 0.5)
    spec = load_spec(conf(tmp_path, tables=["gates"]))
    assert [done.written for done in publish_target(spec, Target.of_day(spec, DAY))] == [("gates", "runs")]
    assert {folder.name for folder in (tmp_path / "lake").iterdir()} == {"gates", "runs"}
