"""Delta tables without Spark: which files count at a version, and which rows they have."""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import uuid
import zlib
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

import sparkrank as sr
from sparkrank.base.errors import InputError, NoInputError, SparkrankError, SpecError, StoreError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.day_request import kept_files_of, request_of
from sparkrank.run.stages import Stages
from sparkrank.sources import delta, delta_log
from sparkrank.sources.conditions import pushed_down
from sparkrank.sources.library_rows import LibraryRows
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.selection import Selection
from sparkrank.sources.types import plain
from tests.support.commands import exit_code, local_spec, write_spec
from tests.support.deletion_vectors import bitmap_of
from tests.support.numbers import bits

deltalake = pytest.importorskip("deltalake")

COLUMNS = {"group": "user", "score": "score", "label": "label"}
OF_DAY = {"where": "dt = '{date}'"}
FIRST, SECOND = "2026-01-01", "2026-01-02"


def rows_of(day: str, labels: list[int]) -> pa.Table:
    """A list of ``labels`` for one user, by falling scores."""
    count = len(labels)
    scores = [float(count - place) for place in range(count)]
    return pa.table({"user": ["a"] * count, "score": scores, "label": labels, "dt": [day] * count})


def reciprocal_rank(table: Any, **asked: Any) -> float:
    return float(sr.evaluate(table, ["rr"], **COLUMNS, lane="local", **asked).to_pandas()["value"].item())


def spec(folder: Path, *, lane: str = "local", **source: Any) -> Spec:
    given = {"path": f"{folder}/table", "format": "delta", "columns": COLUMNS, **source}
    return local_spec(folder, given, engine={"lane": lane})


def evaluated(folder: Path, **source: Any) -> dict[str, Any]:
    """The value of ``rr`` on the first day, with what the table ``runs`` says of the input."""
    evaluate_day(spec(folder, **source), FIRST, None, Stages())
    (metrics,) = (
        row for row in pq.read_table(f"{folder}/out/metrics/day={FIRST}").to_pylist() if row["metric"] == "rr"
    )
    (run,) = pq.read_table(f"{folder}/out/runs/day={FIRST}").to_pylist()
    return {"rr": metrics["value"], "input": run["input"], "spec_hash": run["spec_hash"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table whose first version has the hit at 2, and whose second has it at 1."""
    deltalake.write_deltalake(tmp_path / "table", rows_of(FIRST, [0, 1]), partition_by=["dt"])
    deltalake.write_deltalake(tmp_path / "table", rows_of(FIRST, [1, 0]), mode="overwrite")
    return tmp_path


def test_rows_that_a_later_version_removed_do_not_count(folder: Path) -> None:
    assert evaluated(folder)["rr"] == 1.0
    assert evaluated(folder, version=0)["rr"] == 0.5


def test_a_run_again_by_its_version_has_the_same_bits(folder: Path) -> None:
    """By files, of several users and with intervals, after rows of all of them have changed."""
    users = [rows_of(FIRST, [0] * (place % 4) + [1, 0]) for place in range(20)]
    users = [rows.set_column(0, "user", pa.array([f"u{place}"] * len(rows))) for place, rows in enumerate(users)]
    deltalake.write_deltalake(folder / "table", pa.concat_tables(users), mode="overwrite")

    def metrics(**source: Any) -> pa.Table:
        asked = spec(folder, **source).model_copy(update={"metrics": ["ndcg@3", "auc", "p90(ap)", "copc"]})
        evaluate_day(asked, FIRST, None, Stages())
        return pq.read_table(f"{folder}/out/metrics/day={FIRST}", partitioning=None)

    before = metrics()
    deltalake.write_deltalake(folder / "table", rows_of(FIRST, [0, 1, 1]), mode="append")
    changed, again = metrics(), metrics(version=2)
    assert bits(again) == bits(before)
    assert bits(changed) != bits(before)


def test_a_run_names_the_version_and_the_table(folder: Path) -> None:
    table = deltalake.DeltaTable(folder / "table")
    assert evaluated(folder)["input"] == f"{folder}/table at version 1 of table {table.metadata().id}"


def test_an_evaluation_names_the_version_and_the_table_as_its_run_does(folder: Path) -> None:
    table = deltalake.DeltaTable(folder / "table", version=0)
    evaluation = sr.evaluate(table, ["rr"], **COLUMNS, lane="local")
    assert evaluation.source == f"{table.table_uri} at version 0 of table {table.metadata().id}"
    evaluation.write(folder / "out", day=FIRST)
    assert pq.read_table(f"{folder}/out/runs/day={FIRST}")["input"].to_pylist() == [evaluation.source]


def test_every_table_of_rows_may_be_one_of_a_lake_and_a_run_names_their_versions(tmp_path: Path) -> None:
    """What a did is second and what b did is first, as it had x before. The items that are shown first cost 1 and 3."""
    tables = {
        "lists": {"user": ["a", "a", "b", "b"], "item": ["x", "y", "x", "y"], "score": [0.9, 0.8, 0.7, 0.6]},
        "truth": {"user": ["a", "b"], "item": ["y", "y"]},
        "interactions": {"user": ["b"], "item": ["x"]},
        "catalog": {"item": ["x", "y"], "price": [1.0, 3.0]},
    }
    for name, columns in tables.items():
        deltalake.write_deltalake(tmp_path / name, pa.table(columns))
    places: dict[str, Any] = {name: {"path": f"{tmp_path}/{name}", "format": "delta"} for name in tables}
    lists = {**places.pop("lists"), "columns": {"group": "user", "item": "item", "score": "score"}}
    metrics = ["rr", "shown(of=catalog.price)@1"]
    found = evaluate_day(
        local_spec(tmp_path, lists, **places, metrics=metrics, exclude="interactions"), FIRST, None, Stages()
    )
    assert found.metrics["value"].to_pylist() == [0.75, 2.0]
    (run,) = pq.read_table(f"{tmp_path}/out/runs/day={FIRST}").to_pylist()
    for name in tables:
        assert f"{tmp_path}/{name} at version 0 of table " in run["input"]


def test_days_of_several_versions_are_of_one_spec(folder: Path) -> None:
    assert evaluated(folder, version=0)["spec_hash"] == evaluated(folder)["spec_hash"]


def test_as_of_is_the_newest_version_up_to_a_time(folder: Path) -> None:
    first, second = (commit["timestamp"] for commit in reversed(deltalake.DeltaTable(folder / "table").history()))
    assert evaluated(folder, as_of=datetime.fromtimestamp(first / 1000, timezone.utc))["rr"] == 0.5
    assert evaluated(folder, as_of=datetime.fromtimestamp(second / 1000, timezone.utc))["rr"] == 1.0
    with pytest.raises(
        InputError,
        match=r"has no version as of 2001-01-01T00:00:00\+00:00: its oldest is 0 of 2\S+, and its newest 1 of 2",
    ):
        evaluated(folder, as_of="2001-01-01T00:00:00Z")


def test_an_opened_table_is_read_at_its_version(folder: Path) -> None:
    assert reciprocal_rank(deltalake.DeltaTable(folder / "table", version=0)) == 0.5
    assert reciprocal_rank(deltalake.DeltaTable(folder / "table")) == 1.0


def test_files_of_other_days_are_not_opened(folder: Path) -> None:
    deltalake.write_deltalake(folder / "table", rows_of(SECOND, [0, 0, 1]), mode="append")
    shutil.rmtree(folder / "table" / f"dt={SECOND}")
    assert evaluated(folder, where="dt = '{date}'")["rr"] == 1.0
    with pytest.raises(
        InputError, match=r"\.parquet of .* at version 2 of table .* is gone: that version was vacuumed"
    ):
        evaluated(folder)


def test_of_ten_thousand_files_only_those_of_the_day_are_opened(tmp_path: Path) -> None:
    """Every hour of FIRST has the list of one user; no other file is there."""
    deltalake.write_deltalake(tmp_path / "table", rows_of(FIRST, [0, 1]), partition_by=["dt"])
    log = tmp_path / f"table/_delta_log/{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (added,) = (action["add"] for action in actions if "add" in action)
    days = [(date(2026, 1, 1) + timedelta(day)).isoformat() for day in range(417)]
    for hour in range(24):
        users = pa.array([f"u{hour}"] * 2)
        rows = rows_of(FIRST, [0, 1]).drop_columns("dt").set_column(0, "user", users)
        pq.write_table(rows, tmp_path / f"table/dt={FIRST}/{hour}.parquet")
    files = [
        {"add": {**added, "path": f"dt={day}/{hour}.parquet", "partitionValues": {"dt": day}}}
        for day in days
        for hour in range(24)
    ]
    log.write_text("\n".join(map(json.dumps, [*(action for action in actions if "add" not in action), *files])))
    assert kept_files_of(spec(tmp_path, where="dt = '{date}'"), FIRST) == ["input.files: 24 of 10,008"]
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 0.5
    (groups,) = pq.read_table(f"{tmp_path}/out/metrics/day={FIRST}")["n_groups"].to_pylist()
    assert groups == 24


def test_a_commit_while_a_run_reads_changes_nothing_of_it(folder: Path) -> None:
    request = request_of(spec(folder), FIRST, None).at_versions()
    deltalake.write_deltalake(folder / "table", rows_of(FIRST, [0, 0, 0, 1]), mode="overwrite")
    (side,) = request.impressions
    assert delta.open_delta(side, request.roles).rows((), {}) == 2


def test_validate_counts_the_files_of_the_day(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deltalake.write_deltalake(folder / "table", rows_of(SECOND, [0, 0, 1]), mode="append")
    for where, kept in (("dt = '{date}'", 1), ("upper(dt) = 'X'", 2)):
        assert kept_files_of(spec(folder, where=where), FIRST) == [f"input.files: {kept} of 2"]
    conf = write_spec(folder, spec(folder, where="dt = '{date}'").resolved())
    assert exit_code("validate", "--conf", conf, "--date", SECOND) == 0
    assert "# input.files: 1 of 2\n" in capsys.readouterr().out
    (line,) = kept_files_of(spec(folder, version=9), FIRST)
    assert line.startswith("input.files: not counted (the input")
    assert "has no version 9" in line


def test_an_instant_of_a_partition_is_one_of_utc(tmp_path: Path) -> None:
    """The log has it without a zone."""
    at = pa.array([datetime(2026, 1, 1, 4, tzinfo=timezone.utc)] * 2, pa.timestamp("us", "UTC"))
    deltalake.write_deltalake(tmp_path / "table", rows_of(FIRST, [0, 1]).append_column("at", at), partition_by=["at"])
    assert evaluated(tmp_path, where="at IS NOT NULL", expect={"newer_than": "5m"})["rr"] == 0.5


def test_a_day_needs_a_commit_of_its_own_that_is_new_enough(folder: Path) -> None:
    """The commits of the first day are moved back by seven hours; a later one removes rows of it, and adds none."""
    deltalake.write_deltalake(folder / "table", rows_of(SECOND, [1]), mode="append")
    of_day = {"where": "dt = '{date}'"}
    assert evaluated(folder, **of_day, expect={"newer_than": "5m"})["rr"] == 1.0
    for version in (0, 1):
        log = folder / f"table/_delta_log/{version:020}.json"
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        for action in actions:
            if "commitInfo" in action:
                action["commitInfo"]["timestamp"] -= 7 * 3_600_000
        log.write_text("\n".join(map(json.dumps, actions)))
    sentence = (
        r"incomplete: the newest commit with rows of the day was made at 2.*, 7 h \d+ min ago, and input.expect.newer"
    )
    with pytest.raises(InputError, match=sentence):
        evaluated(folder, **of_day, expect={"newer_than": "6h"})
    assert evaluated(folder, **of_day, expect={"newer_than": "1d"})["rr"] == 1.0
    assert evaluated(folder, expect={"newer_than": "6h"})  # of all days, the second is new
    with pytest.raises(InputError, match="no commit in the log added rows of the day"):
        evaluated(folder, where="dt = '2027-01-01'", expect={"newer_than": "6h"})


def test_rows_from_before_a_column_was_added_have_nulls_in_it(folder: Path) -> None:
    later = rows_of(SECOND, [1]).append_column("price", pa.array([3.0]))
    deltalake.write_deltalake(folder / "table", later, mode="append", schema_mode="merge")
    shown = sr.evaluate(deltalake.DeltaTable(folder / "table"), ["shown(of=price)@3"], **COLUMNS, lane="local")
    assert shown.to_pandas()["value"].item() == 3.0  # of the three rows of the group, one has a price


def test_a_partition_of_null_is_read_as_null(tmp_path: Path) -> None:
    rows = rows_of(FIRST, [0, 1]).set_column(3, "dt", pa.array([None, FIRST]))
    deltalake.write_deltalake(tmp_path / "table", rows, partition_by=["dt"])
    assert evaluated(tmp_path)["rr"] == 0.5
    assert evaluated(tmp_path, where="dt IS NOT NULL")["rr"] == 1.0
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 1.0


def test_folders_with_signs_in_their_names_are_found(tmp_path: Path) -> None:
    rows = rows_of("a b%/=c", [0, 1])
    deltalake.write_deltalake(tmp_path / "table", rows, partition_by=["dt"])
    assert evaluated(tmp_path, where="dt = 'a b%/=c'")["rr"] == 0.5


def test_columns_under_other_names_in_files_are_read_by_deltalake(tmp_path: Path) -> None:
    mapped = {"delta.columnMapping.mode": "name"}
    deltalake.write_deltalake(tmp_path / "table", rows_of(FIRST, [0, 1]), partition_by=["dt"], configuration=mapped)
    assert "score" not in pq.read_schema(next((tmp_path / "table").rglob("*.parquet"))).names
    deltalake.write_deltalake(tmp_path / "table", rows_of(SECOND, [0, 0, 1]), mode="append")
    assert evaluated(tmp_path, **OF_DAY, expect={"newer_than": "5m"})["rr"] == 0.5
    with pytest.raises(InputError, match="no commit in the log added rows of the day"):
        evaluated(tmp_path, where="dt = '2027-01-01'", expect={"newer_than": "6h"})
    (tmp_path / "table" / added_to(tmp_path / "table", SECOND)["path"]).unlink()
    assert kept_files_of(spec(tmp_path, **OF_DAY), FIRST) == ["input.files: 1 of 2"]
    assert evaluated(tmp_path, where="dt = '{date}' AND score < 9")["rr"] == 0.5
    assert evaluated(tmp_path, where="dt = '{date}' AND score < 2.0")["rr"] == 1.0


def added_to(table: Path, day: str = "") -> dict[str, Any]:
    """The last action of the log that adds a file, of a ``day`` if it is given."""
    logs = sorted((table / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    files: list[dict[str, Any]] = [action["add"] for action in actions if "add" in action]
    return [file for file in files if not day or day in file["partitionValues"].values()][-1]


def without_rows(table: Path, rows: list[int], day: str = "", *, in_file: bool = False) -> None:
    """Commit a deletion vector for ``rows`` of the last file of ``table``, in the log or in a file, as Spark does."""
    added, version = added_to(table, day), deltalake.DeltaTable(table).version() + 1
    bitmap = bitmap_of(rows)
    vector: dict[str, Any] = {"sizeInBytes": len(bitmap), "cardinality": len(rows)}
    if in_file:
        name = uuid.uuid4()
        content = struct.pack(">BI", 1, len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))
        (table / f"deletion_vector_{name}.bin").write_bytes(content)
        vector |= {"storageType": "u", "pathOrInlineDv": z85(name.bytes), "offset": 1}
    else:
        vector |= {"storageType": "i", "pathOrInlineDv": z85(bitmap + bytes(-len(bitmap) % 4))}
    names = sorted({*(deltalake.DeltaTable(table).protocol().reader_features or ()), "deletionVectors"})
    features = {"readerFeatures": names, "writerFeatures": names}
    commit = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": added["path"], "dataChange": True, "deletionTimestamp": 1}},
        {"add": {**added, "deletionVector": vector}},
    ]
    (table / "_delta_log" / f"{version:020}.json").write_text("\n".join(map(json.dumps, commit)))


def z85(data: bytes) -> str:
    """Encode by ZeroMQ's alphabet, which stands in another order than that of base64.b85encode."""
    python = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    zeromq = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    return base64.b85encode(data).translate(bytes.maketrans(python, zeromq)).decode()


@pytest.mark.parametrize("in_file", [False, True])
def test_deleted_rows_do_not_count(tmp_path: Path, in_file: bool) -> None:
    table = tmp_path / "table"
    deltalake.write_deltalake(table, rows_of(FIRST, [0, 0, 1, 0]))
    assert evaluated(tmp_path)["rr"] == pytest.approx(1 / 3)
    without_rows(table, [0, 3], in_file=in_file)
    assert evaluated(tmp_path)["rr"] == 0.5
    reason = evaluate_day(spec(tmp_path), FIRST, None, Stages()).lane_reason
    assert reason.endswith("deltalake reads the input, as its files alone do not say what its rows are")


def two_days(folder: Path, **how: Any) -> Path:
    """A table whose first day has the hit at 2, and whose second has it at 3."""
    table = folder / "table"
    deltalake.write_deltalake(table, rows_of(FIRST, [0, 1]), partition_by=["dt"], **how)
    deltalake.write_deltalake(table, rows_of(SECOND, [0, 0, 1]), mode="append")
    return table


def opened(folder: Path, **source: Any) -> Any:
    request = request_of(spec(folder, **source), FIRST, None).at_versions()
    (side,) = request.impressions
    return delta.open_delta(side, request.roles)


def test_rows_deleted_of_another_day_leave_the_files_of_the_day_as_they_are(tmp_path: Path) -> None:
    table = two_days(tmp_path)
    without_rows(table, [0], SECOND)
    (table / added_to(table, SECOND)["path"]).unlink()
    assert isinstance(opened(tmp_path, **OF_DAY), ParquetInput)
    assert evaluated(tmp_path, **OF_DAY)["rr"] == 0.5
    assert kept_files_of(spec(tmp_path, **OF_DAY), FIRST) == ["input.files: 1 of 2"]


def test_files_of_other_days_are_not_opened_where_rows_of_the_day_are_deleted(tmp_path: Path) -> None:
    """Neither what the second day has, nor which of its rows are deleted, is there; then the file of the first day."""
    table = two_days(tmp_path)
    without_rows(table, [0], SECOND, in_file=True)
    without_rows(table, [0], FIRST)
    (table / added_to(table, SECOND)["path"]).unlink()
    assert isinstance(source := opened(tmp_path, **OF_DAY), LibraryRows)
    assert source.stored_rows == 2
    assert evaluated(tmp_path, **OF_DAY)["rr"] == 1.0
    next(table.glob("deletion_vector_*")).unlink()
    assert evaluated(tmp_path, **OF_DAY)["rr"] == 1.0
    with pytest.raises(InputError, match=rf"/{SECOND}|deletion_vector_.*\.bin of .*table .* is gone: that version was"):
        evaluated(tmp_path)
    (table / added_to(table, FIRST)["path"]).unlink()
    with pytest.raises(InputError, match=rf"dt={FIRST}/part-\S+\.parquet of .*table at version 3 of .* is gone: th"):
        evaluated(tmp_path, **OF_DAY)


def test_rows_that_deltalake_cannot_read_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = two_days(tmp_path)
    without_rows(table, [0], FIRST)
    file = table / added_to(table, FIRST)["path"]
    file.write_bytes(b"PAR1" + bytes(file.stat().st_size - 4))
    with pytest.raises(InputError, match=r"at version 2 of table .* cannot be read by deltalake: .*Parquet"):
        evaluated(tmp_path, **OF_DAY)

    def refuse(*_: Any) -> None:
        raise OSError("Generic S3 error\n  \x1b[31m↳\x1b[0m Connection refused, password=tiger")

    monkeypatch.setattr(delta, "table_at", refuse)
    with pytest.raises(StoreError, match=r"by deltalake: Generic S3 error: Connection refused, password=\*\*\*$"):
        evaluated(tmp_path, **OF_DAY)


@pytest.mark.parametrize(
    ("where", "days"),
    [
        (f"dt = '{FIRST}'", 1), (f"dt == '{FIRST}' AND score < 9.0", 1), (f"dt IN ('{FIRST}', '{SECOND}')", 2),
        ("`it's \"so\"` = 'o''x'", 2), ("n <> 8", 1), ("n IS NOT NULL", 2), ("day < '2026-01-02'", 1), ("x = 0.0", 1),
    ],
)  # fmt: skip
def test_conditions_leave_files_out_also_under_other_names(tmp_path: Path, where: str, days: int) -> None:
    """By texts, a name with signs, a number, a date, and a fraction, whose negative zero deltalake has apart."""
    mapped = {"delta.columnMapping.mode": "name"}
    for day, number, fraction in ((FIRST, 7, -0.0), (SECOND, 8, 2.0)):
        parts = {'it\'s "so"': "o'x", "n": number, "day": date.fromisoformat(day), "x": fraction}
        rows = rows_of(day, [0, 1])
        for name, value in parts.items():
            rows = rows.append_column(name, pa.array([value] * 2))
        how: Any = {"partition_by": ["dt", *parts], "configuration": mapped, "mode": "append"}
        deltalake.write_deltalake(tmp_path / "table", rows, **how)
    assert kept_files_of(spec(tmp_path, where=where), FIRST) == [f"input.files: {days} of 2"]
    source = opened(tmp_path, where=where)
    assert source.stored_rows == 2 * days
    if days == 1 and "x" not in where:
        (tmp_path / "table" / added_to(tmp_path / "table", SECOND)["path"]).unlink()
    condition = pushed_down(where, source.schema)
    found = plain(pa.Table.from_batches(source.batches(sorted(condition.columns), condition)))
    assert found.filter(condition.row_group_filter).num_rows == 2 * days


def alter(table: Path, change: Callable[[dict[str, Any], list[dict[str, Any]]], None]) -> None:
    """Commit a ``change`` of the table's metadata and of its columns, as ``ALTER TABLE`` of Spark does."""
    log = table / f"_delta_log/{0:020}.json"
    (action,) = (each for each in map(json.loads, log.read_text().splitlines()) if "metaData" in each)
    about, schema = action["metaData"], json.loads(action["metaData"]["schemaString"])
    change(about, schema["fields"])
    about["schemaString"] = json.dumps(schema)
    version = deltalake.DeltaTable(table).version() + 1
    commit = [{"commitInfo": {"timestamp": int(time.time() * 1000), "operation": "CHANGE COLUMN"}}, action]
    (table / f"_delta_log/{version:020}.json").write_text("\n".join(map(json.dumps, commit)))


def test_renamed_columns_have_their_values_under_the_new_names_also_of_partitions(tmp_path: Path) -> None:
    def rename(about: dict[str, Any], fields: list[dict[str, Any]]) -> None:
        about["partitionColumns"] = ["date_of"]
        for column in fields:
            column["name"] = {"label": "clicked", "dt": "date_of"}.get(column["name"], column["name"])

    table = two_days(tmp_path, configuration={"delta.columnMapping.mode": "name"})
    alter(table, rename)
    (table / added_to(table, SECOND)["path"]).unlink()
    renamed = {"columns": {**COLUMNS, "label": "clicked"}, "where": "date_of = '{date}'"}
    assert evaluated(tmp_path, **renamed, expect={"newer_than": "5m"})["rr"] == 0.5
    assert kept_files_of(spec(tmp_path, **renamed), FIRST) == ["input.files: 1 of 2"]
    assert evaluated(tmp_path, version=0)["rr"] == 0.5  # by the names of that version
    with pytest.raises(InputError, match='the label column "label" is not in the input'):
        evaluated(tmp_path, where="date_of = '{date}'")


def test_a_column_that_was_dropped_and_added_anew_has_no_values_of_before(tmp_path: Path) -> None:
    def drop(about: dict[str, Any], fields: list[dict[str, Any]]) -> None:
        about["configuration"]["delta.columnMapping.maxColumnId"] = "5"
        fields[:] = [column for column in fields if column["name"] != "label"]

    def add(about: dict[str, Any], fields: list[dict[str, Any]]) -> None:
        drop(about, fields)
        own = {"delta.columnMapping.id": 5, "delta.columnMapping.physicalName": "col-anew"}
        fields.append({"name": "label", "type": "long", "nullable": True, "metadata": own})

    table = two_days(tmp_path, configuration={"delta.columnMapping.mode": "name"})
    alter(table, drop)
    with pytest.raises(InputError, match='the label column "label" is not in the input'):
        evaluated(tmp_path)
    alter(table, add)
    deltalake.write_deltalake(table, rows_of(FIRST, [0, 0, 0, 1]), mode="append")
    assert evaluated(tmp_path, where="dt = '{date}' AND label IS NOT NULL")["rr"] == 0.25
    with pytest.raises(InputError, match="the input has no rows"):  # none of the second day has a label
        evaluated(tmp_path, where=f"dt = '{SECOND}' AND label IS NOT NULL")


def test_times_with_and_without_a_zone_are_as_in_parquet(tmp_path: Path) -> None:
    """By the files, and where deltalake reads them; the offset of the zone is two hours."""
    stamp = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    rows = rows_of(FIRST, [0, 1]).append_column("zoned", pa.array([stamp] * 2, pa.timestamp("us", "UTC")))
    rows = rows.append_column("plain", pa.array([stamp.replace(tzinfo=None)] * 2, pa.timestamp("us")))
    pq.write_table(rows, tmp_path / "rows.parquet")
    deltalake.write_deltalake(tmp_path / "table", rows)
    expected = {"zoned": datetime(2026, 7, 1, 10, tzinfo=timezone.utc), "plain": datetime(2026, 7, 1, 12)}  # noqa: DTZ001
    for is_plain in (True, False):
        source = opened(tmp_path)
        assert isinstance(source, ParquetInput) == is_plain
        assert source.schema.equals(ParquetInput.at(f"{tmp_path}/rows.parquet").schema.remove_metadata())
        assert Selection(source).read(list(expected)).to_pylist() == [expected] * (2 if is_plain else 1)
        assert evaluated(tmp_path)["rr"] == (0.5 if is_plain else 1.0)
        if is_plain:
            without_rows(tmp_path / "table", [0])


def test_files_of_another_folder_are_read_as_of_a_shallow_clone(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "cloned", rows_of(FIRST, [0, 1]))
    (log,) = (tmp_path / "cloned/_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["path"] = f"file://{tmp_path}/cloned/{action['add']['path']}"
    (tmp_path / "table/_delta_log").mkdir(parents=True)
    (tmp_path / f"table/_delta_log/{log.name}").write_text("\n".join(map(json.dumps, actions)))
    assert evaluated(tmp_path)["rr"] == 0.5


def test_a_file_with_other_rows_than_the_log_says_is_refused(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "table", rows_of(FIRST, [0, 1]))
    (file,) = (tmp_path / "table").glob("*.parquet")
    pq.write_table(rows_of(FIRST, [1]), file)
    with pytest.raises(InputError, match=r"\.parquet has 1 rows, but 2 in the log of its table"):
        evaluated(tmp_path)


@pytest.mark.parametrize(
    ("source", "error", "sentence"),
    [
        ({"version": 2}, InputError, r"has no version 2: its oldest is 0 of 2\S+, and its newest 1 of 2"),
        ({"version": 0, "as_of": FIRST}, ValidationError, "has a version and as_of: give one of the two"),
        ({"version": 0, "format": "parquet"}, ValidationError, "has version, but reads format parquet"),
        ({"path": "{folder}/none"}, NoInputError, "there is no delta input at .*none"),
        ({"where": "no = 1"}, SpecError, "no is not a column"),
        ({"expect": {"newer_than": "6"}}, ValidationError, "'6' is not an age: minutes, hours or days are needed"),
        (
            {"expect": {"newer_than": "6h"}, "format": "parquet"},
            ValidationError,
            "has expect.newer_than, but format parquet, which has no log of commits: delta and iceberg have one",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(folder: Path, source: Any, error: type[Exception], sentence: str) -> None:
    asked = {name: text.format(folder=folder) if name == "path" else text for name, text in source.items()}
    with pytest.raises(error, match=sentence):
        evaluated(folder, **asked)


def test_what_deltalake_does_not_know_is_left_to_spark_by_its_name(folder: Path) -> None:
    features = {"readerFeatures": ["fancyRows"], "writerFeatures": ["fancyRows"]}
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    (folder / f"table/_delta_log/{2:020}.json").write_text(json.dumps({"protocol": protocol}))
    sentence = r"^the input .*/table cannot be read by deltalake \(.*fancyRows.*\): read it by Spark \(format: delta, "
    for lane in ("local", "auto"):
        with pytest.raises(SparkrankError, match=sentence) as refused:
            evaluate_day(spec(folder, lane=lane), FIRST, None, Stages())
        assert refused.value.exit_code == 4
    assert kept_files_of(spec(folder), FIRST)[0].startswith("input.files: not counted (the input")


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="root gives its rights up by setpriv")
def test_a_log_that_may_not_be_read_is_refused_with_its_file(folder: Path) -> None:
    file = folder / f"table/_delta_log/{1:020}.json"
    file.chmod(0)
    conf = write_spec(folder, spec(folder).resolved())
    rights = "-dac_override,-dac_read_search"
    shell = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", sys.executable, "-m", "sparkrank"]
    done = subprocess.run(
        [*shell, "evaluate", "--conf", conf, "--date", FIRST], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "/table cannot be read as delta: " in done.stderr
    assert f"{file}: Permission denied" in done.stderr


@pytest.mark.parametrize("is_checkpoint", [False, True])
def test_a_log_that_is_cut_off_is_refused_with_its_file(folder: Path, is_checkpoint: bool) -> None:
    if is_checkpoint:
        deltalake.DeltaTable(folder / "table").create_checkpoint()
    file = folder / f"table/_delta_log/{1:020}.{'checkpoint.parquet' if is_checkpoint else 'json'}"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(StoreError, match=rf"the input .*/table cannot be read as delta: {file}: "):
        evaluated(folder)


def test_a_store_that_does_not_answer_is_one_line_with_its_cause(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("Generic S3 error\n  \x1b[31m↳\x1b[0m Connection refused, password=tiger")

    monkeypatch.setattr(delta_log, "table_at", refuse)
    with pytest.raises(StoreError, match=r"as delta: Generic S3 error: Connection refused, password=\*\*\*$"):
        evaluated(folder)


def test_a_version_whose_log_is_gone_is_refused_with_those_that_are_there(folder: Path) -> None:
    table = deltalake.DeltaTable(folder / "table")
    table.create_checkpoint()
    (folder / "table" / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(InputError, match=r"/table has no version 0: its oldest is 1 of 2\S+, and its newest 1 of 2"):
        evaluated(folder, version=0)


def test_a_table_of_no_rows_is_an_input_without_rows(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "table", rows_of(FIRST, [0]).slice(1))
    with pytest.raises(InputError, match="no rows"):
        evaluated(tmp_path)


def test_an_optional_table_may_be_there_or_not(folder: Path) -> None:
    """The user a had the item x, which is first, so that the click on y is."""
    lists = pa.table({"user": ["a", "a"], "item": ["x", "y"], "score": [2.0, 1.0], "label": [0, 1]})
    had = pa.table({"user": ["a"], "item": ["x"]})
    deltalake.write_deltalake(folder / "lists", lists)
    for name, rows in (("had", had), ("nothing", had.slice(1))):
        deltalake.write_deltalake(folder / name, rows)
    for name, value in (("had", 1.0), ("nothing", 0.5), ("none", 0.5)):
        past = {"path": f"{folder}/{name}", "format": "delta", "optional": True}
        given = {"path": f"{folder}/lists", "format": "delta", "columns": {**COLUMNS, "item": "item"}}
        found = evaluate_day(local_spec(folder, given, exclude=past), FIRST, None, Stages())
        assert found.metrics["value"].to_pylist() == [value], name


def test_without_the_library_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent: Callable[[], bool] = lambda: False  # noqa: E731
    monkeypatch.setattr(delta, "reads_delta", absent)
    monkeypatch.setattr("sparkrank.sources.delta_log.reads_delta", absent)
    with pytest.raises(SpecError, match=r"format: delta needs deltalake \(pip install 'sparkrank\[delta\]'\)"):
        evaluated(folder)


def test_a_commit_that_says_nothing_of_itself_has_the_time_of_its_file(folder: Path) -> None:
    """Spark leaves ``commitInfo`` out where ``spark.databricks.delta.commitInfo.enabled`` is false."""
    log = folder / "table/_delta_log"
    for version in (0, 1):
        file = log / f"{version:020}.json"
        lines = [line for line in file.read_text().splitlines() if "commitInfo" not in json.loads(line)]
        file.write_text("\n".join(lines) + "\n")
        os.utime(file, (1_767_225_600 + version * 3600,) * 2)
    assert evaluated(folder, as_of="2026-01-01T00:59:59Z")["rr"] == 0.5
    assert evaluated(folder, as_of="2026-01-01T01:00:00Z")["rr"] == 1.0
    with pytest.raises(InputError, match=r"its oldest is 0 of 2026-01-01T00:00:00\+00:00, and its newest 1 of"):
        evaluated(folder, as_of="2025-12-31T00:00:00Z")
