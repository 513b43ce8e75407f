"""Iceberg tables without Spark: which files count at a snapshot, and which rows they have."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from sparkrank.base.errors import InputError, NoInputError, SparkrankError, SpecError, StoreError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.day_request import kept_files_of, request_of
from sparkrank.run.stages import Stages
from sparkrank.sources import iceberg
from sparkrank.sources.library_rows import LibraryRows
from sparkrank.sources.parquet import ParquetInput
from tests.support.commands import local_spec
from tests.support.deletion_vectors import write_puffin
from tests.support.numbers import bits
from tests.support.silent_catalog import LIMIT, planning_catalog, silent_catalog

pytest.importorskip("pyiceberg", reason="pyiceberg reads Iceberg tables: the dev extra has it")

COLUMNS = {"group": "user", "score": "score", "label": "label"}
FIRST, SECOND = "2026-01-01", "2026-01-02"
NAME = ("sales", "impressions")


def rows_of(day: str | None, labels: list[int], user: str = "a") -> pa.Table:
    """A list of ``labels`` for one user, by falling scores."""
    count = len(labels)
    scores = [float(count - place) for place in range(count)]
    users, dates = pa.array([user] * count, pa.string()), pa.array([day] * count, pa.string())
    numbers = pa.array(scores, pa.float64()), pa.array(labels, pa.int64())
    return pa.table([users, *numbers, dates], ["user", "score", "label", "dt"])


@contextmanager
def catalog_in(folder: Path) -> Iterator[Any]:
    """A catalog in SQLite, which pyiceberg finds as prod, and as the default."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    settings = {"TYPE": "sql", "URI": f"sqlite:///{folder}/catalog.db", "WAREHOUSE": f"file://{folder}/lake"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(f"PYICEBERG_CATALOG__PROD__{name}", value)
        patch.setenv("PYICEBERG_DEFAULT_CATALOG", "prod")
        patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read when the module was imported
        loaded = load_catalog("prod")
        loaded.create_namespace("sales")
        yield loaded
        loaded.close()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Any]:
    with catalog_in(tmp_path) as loaded:
        yield loaded


def made(
    catalog: Any, *parts: pa.Table, by: tuple[str, Any] | None = ("dt", None), schema: Any = None, **how: Any
) -> Any:
    """A table with a commit for each of the ``parts``, partitioned ``by`` a column and a transform."""
    from pyiceberg.transforms import IdentityTransform

    with (
        catalog.create_table_transaction(NAME, schema=schema or parts[0].schema, **how) as transaction,
        transaction.update_spec() as spec,
    ):
        if by is not None:
            spec.add_field(by[0], by[1] or IdentityTransform())
    table = catalog.load_table(NAME)
    for part in parts:
        table.append(part)
    return table


@pytest.fixture
def table(catalog: Any) -> Any:
    """A table whose first version has the hit at 2, and whose second has it at 1."""
    table = made(catalog, rows_of(FIRST, [0, 1]))
    table.overwrite(rows_of(FIRST, [1, 0]))
    return table


def spec(folder: Path, **source: Any) -> Spec:
    more = {"engine": {"lane": source.pop("lane", "local")}}
    place = {} if "table" in source else {"path": f"{folder}/lake/sales/impressions"}
    return local_spec(folder, {"format": "iceberg", "columns": COLUMNS, **place, **source}, **more)


def evaluated(folder: Path, **source: Any) -> dict[str, Any]:
    """The value of ``rr`` on the first day, with what the table ``runs`` says of the input."""
    evaluate_day(spec(folder, **source), FIRST, None, Stages())
    (metrics,) = (
        row for row in pq.read_table(f"{folder}/out/metrics/day={FIRST}").to_pylist() if row["metric"] == "rr"
    )
    (run,) = pq.read_table(f"{folder}/out/runs/day={FIRST}").to_pylist()
    return {"rr": metrics["value"], "input": run["input"], "spec_hash": run["spec_hash"]}


def opened(folder: Path, **source: Any) -> Any:
    request = request_of(spec(folder, **source), FIRST, None).at_versions()
    (side,) = request.impressions
    return iceberg.open_iceberg(side, request.roles)


def versions(table: Any) -> list[int]:
    return [snapshot.snapshot_id for snapshot in table.snapshots()]


@pytest.mark.parametrize("place", [{}, {"table": "prod.sales.impressions"}, {"table": "sales.impressions"}])
def test_rows_that_a_later_version_removed_do_not_count(tmp_path: Path, table: Any, place: dict[str, str]) -> None:
    first, *_, newest = versions(table)
    now, before = evaluated(tmp_path, **place), evaluated(tmp_path, **place, version=first)
    assert (now["rr"], before["rr"], now["spec_hash"]) == (1.0, 0.5, before["spec_hash"])
    assert now["input"].endswith(f"impressions at version {newest} of table {table.metadata.table_uuid}")
    assert isinstance(opened(tmp_path, **place), ParquetInput)


def test_a_run_again_by_its_version_has_the_same_bits(tmp_path: Path, catalog: Any) -> None:
    """Of several users and with intervals, after rows of some were added and a file was replaced."""
    users = [rows_of(FIRST, [0] * (place % 4) + [1, 0], f"u{place}") for place in range(20)]
    table = made(catalog, pa.concat_tables(users))

    def metrics(**source: Any) -> pa.Table:
        asked = spec(tmp_path, **source).model_copy(update={"metrics": ["ndcg@3", "auc", "p90(ap)", "copc"]})
        evaluate_day(asked, FIRST, None, Stages())
        return pq.read_table(f"{tmp_path}/out/metrics/day={FIRST}", partitioning=None)

    before, (version,) = metrics(), versions(table)
    table.append(rows_of(FIRST, [0, 1, 1], "u3"))
    table.delete("user == 'u5'")
    changed, again = metrics(), metrics(version=version)
    assert bits(again) == bits(before)
    assert bits(changed) != bits(before)


def test_a_folder_of_sparks_hadoop_catalog_is_read_by_its_highest_number(tmp_path: Path, catalog: Any) -> None:
    """Numbers without zeros before them, each a version, and a hint, which may be behind (a writer was killed)."""
    table = made(catalog, rows_of(FIRST, [0, 0, 1]))
    folder = Path(table.location().removeprefix("file://")) / "metadata"
    before = max(folder.glob("*.metadata.json"))
    table.overwrite(rows_of(FIRST, [0, 1]))
    after = max(folder.glob("*.metadata.json"))
    after.rename(folder / "v10.metadata.json")
    before.rename(folder / "v9.metadata.json")
    for other in folder.glob("0*.metadata.json"):
        other.unlink()
    (folder / "version-hint.text").write_text("9")
    assert evaluated(tmp_path)["rr"] == 0.5
    assert evaluated(tmp_path, version=versions(table)[0])["rr"] == pytest.approx(1 / 3)
    assert evaluated(tmp_path, path=f"{folder}/v9.metadata.json")["rr"] == pytest.approx(1 / 3)


def test_a_metadata_file_is_the_table_as_it_was(tmp_path: Path, table: Any, catalog: Any) -> None:
    before = table.metadata_location.removeprefix("file://")
    catalog.load_table(NAME).overwrite(rows_of(FIRST, [0, 0, 0, 1]))
    assert (evaluated(tmp_path)["rr"], evaluated(tmp_path, path=before)["rr"]) == (0.25, 1.0)


def test_as_of_is_the_newest_version_up_to_a_time(tmp_path: Path, table: Any) -> None:
    first, *_, newest = (dt.datetime.fromtimestamp(one.timestamp_ms / 1000, dt.timezone.utc) for one in table.history())
    assert evaluated(tmp_path, as_of=first)["rr"] == 0.5
    assert evaluated(tmp_path, as_of=newest)["rr"] == 1.0
    with pytest.raises(
        InputError,
        match=r"has no version as of 2001-01-01T00:00:00\+00:00: its oldest is \d+ of 2.*, and its newest \d+ of 2",
    ):
        evaluated(tmp_path, as_of="2001-01-01T00:00:00Z")


def test_a_version_that_was_expired_is_refused_with_those_that_are_there(tmp_path: Path, table: Any) -> None:
    first, *_, newest = versions(table)
    table.maintenance.expire_snapshots().by_id(first).commit()
    with pytest.raises(InputError, match=rf"has no version {first}: its oldest is .*, and its newest {newest} of"):
        evaluated(tmp_path, version=first)


def test_files_of_other_days_are_not_opened_and_one_that_is_gone_is_named(tmp_path: Path, table: Any) -> None:
    table.append(rows_of(SECOND, [0, 0, 1]))
    shutil.rmtree(tmp_path / f"lake/sales/impressions/data/dt={SECOND}")
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 1.0
    with pytest.raises(InputError, match=r"\.parquet of .* at version \d+ of table .* is gone: the snapshots that had"):
        evaluated(tmp_path)


def test_a_file_with_other_rows_than_the_metadata_says_is_refused(tmp_path: Path, table: Any) -> None:
    (file,) = (task.file.file_path for task in table.scan().plan_files())
    pq.write_table(rows_of(FIRST, [1]), file.removeprefix("file://"))
    with pytest.raises(InputError, match=r"\.parquet has 1 rows, but 2 in the metadata of its table"):
        evaluated(tmp_path)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (f"dt = '{FIRST}'", 1), (f"dt IN ('{FIRST}', '{SECOND}')", 2), (f"dt > '{FIRST}'", 1), ("dt IS NULL", 1),
        ("dt IS NOT NULL", 2), (f"dt != '{FIRST}'", 2), ("score >= 3.0", 3), ("label = 7", 0), ("score < 2", 2),
        (f"dt = '{FIRST}' AND score < 2", 0), ("upper(dt) = 'X'", 3),
    ],
)  # fmt: skip
def test_conditions_leave_files_out_by_partitions_and_bounds(
    tmp_path: Path, catalog: Any, where: str, kept: int
) -> None:
    made(catalog, rows_of(FIRST, [0, 1]).slice(0, 1), rows_of(SECOND, [0, 0, 1]), rows_of(None, [0]))
    assert kept_files_of(spec(tmp_path, where=where), FIRST) == [f"input.files: {kept} of 3"]
    if "upper" not in where:
        assert len(opened(tmp_path, where=where).fragments) == kept


def test_a_partition_of_null_is_read_as_null(tmp_path: Path, catalog: Any) -> None:
    made(catalog, rows_of(FIRST, [0, 1]).set_column(3, "dt", pa.array([None, FIRST])))
    assert evaluated(tmp_path)["rr"] == 0.5
    assert evaluated(tmp_path, where="dt IS NOT NULL")["rr"] == 1.0
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 1.0


def test_a_column_that_was_added_is_null_in_older_files(tmp_path: Path, catalog: Any) -> None:
    table = made(catalog, rows_of(FIRST, [0, 1, 0]))
    with table.update_schema() as columns:
        columns.union_by_name(pa.schema([pa.field("price", pa.float64())]))
    table.append(rows_of(FIRST, [1]).append_column("price", pa.array([3.0])))
    assert isinstance(opened(tmp_path), ParquetInput)
    assert evaluated(tmp_path, where="price IS NULL")["rr"] == 0.5
    assert evaluated(tmp_path, where="price = 3.0")["rr"] == 1.0


def test_renamed_and_widened_columns_are_found_under_their_new_names(tmp_path: Path, catalog: Any) -> None:
    from pyiceberg.types import LongType

    table = made(catalog, rows_of(FIRST, [0, 1]).set_column(2, "clicked", pa.array([0, 1], pa.int32())))
    with table.update_schema() as columns:
        columns.rename_column("clicked", "label").update_column("clicked", LongType())
    assert isinstance(opened(tmp_path), LibraryRows)
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 0.5
    assert evaluated(tmp_path, where="label = 1")["rr"] == 1.0
    table.append(rows_of(FIRST, [1, 0], "b"))
    assert evaluated(tmp_path)["rr"] == 0.75


def test_a_column_that_was_dropped_and_added_anew_has_no_values_of_before(tmp_path: Path, catalog: Any) -> None:
    table = made(catalog, rows_of(FIRST, [1, 1]))
    with table.update_schema() as columns:
        columns.delete_column("label")
    with pytest.raises(InputError, match=r'the label column "label" is not in the input'):
        evaluated(tmp_path)
    with table.update_schema() as columns:
        columns.union_by_name(pa.schema([pa.field("label", pa.int64())]))
    table.append(rows_of(FIRST, [0, 1], "b"))
    assert evaluated(tmp_path, where="label IS NOT NULL")["rr"] == 0.5
    assert evaluated(tmp_path)["rr"] == 0.5  # the first user's labels are null, and so undefined


def test_files_that_lack_the_values_of_their_partition_are_read_with_them(tmp_path: Path, catalog: Any) -> None:
    table = made(catalog, rows_of(FIRST, []))
    ds.write_dataset(
        pa.concat_tables([rows_of(FIRST, [0, 1]), rows_of(SECOND, [1, 0])]), tmp_path / "hive", format="parquet",
        partitioning=ds.partitioning(pa.schema([("dt", pa.string())]), flavor="hive"),
    )  # fmt: skip
    schema = table.schema()
    files = [(str(tmp_path / f"hive/dt={day}/part-0.parquet"), day) for day in (FIRST, SECOND)]
    with table.transaction() as transaction:
        from pyiceberg.table.name_mapping import create_mapping_from_schema

        transaction.set_properties(
            {"schema.name-mapping.default": create_mapping_from_schema(schema).model_dump_json()}
        )
    committed(table, [entry_of(table, place, pq.read_metadata(place).num_rows, day) for place, day in files])
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 0.5
    assert evaluated(tmp_path, where=f"dt = '{SECOND}'")["rr"] == 1.0


def entry_of(table: Any, path: str, rows: int, day: str, *, version: int = 2, **more: Any) -> Any:
    """A file for the metadata of ``table``, in the partition ``day``, as a ``version`` of the format has it."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    size = Path(path).stat().st_size if Path(path).exists() else 1
    own = {"content": DataFileContent.DATA, "file_path": path, "file_format": FileFormat.PARQUET, **more}
    counts = {"record_count": rows, "file_size_in_bytes": size}
    nothing: Any = dict.fromkeys(("column_sizes", "value_counts", "null_value_counts", "nan_value_counts"))
    bounds: Any = {"lower_bounds": None, "upper_bounds": None}
    return DataFile.from_args(version, partition=Record(day), **own, **counts, **nothing, **bounds)


def committed(table: Any, files: list[Any], *, deletes: bool = False, version: int = 2) -> None:
    """Commit ``files``, of rows or of deletes, to the metadata in the folder of ``table``, as the format lays it out.

    pyiceberg writes no delete files and no table of version 3, so the class that writes manifests is told what it
    writes.
    """
    from pyiceberg.avro.file import AvroOutputFile
    from pyiceberg.manifest import (
        ManifestContent,
        ManifestEntry,
        ManifestEntryStatus,
        ManifestWriterV2,
        write_manifest_list,
    )

    class Written(ManifestWriterV2):
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES if deletes else ManifestContent.DATA

        @property
        def version(self) -> Any:
            return version

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes" if deletes else "data"}

        def new_writer(self) -> Any:
            schema = self._with_partition(self.version)
            return AvroOutputFile(self._output_file, schema, "manifest_entry", schema, self._meta)

    folder = Path(table.location().removeprefix("file://")) / "metadata"
    newest = max(folder.glob("*.metadata.json"))
    document = json.loads(newest.read_text())
    before, sequence = document.get("current-snapshot-id"), document["last-sequence-number"] + 1
    snapshot = 1000 + sequence
    with Written(
        table.spec(), table.schema(), table.io.new_output(f"{folder}/m{sequence}.avro"), snapshot, "null"
    ) as out:
        for file in files:
            out.add_entry(
                ManifestEntry.from_args(version, status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file)
            )
    manifests = [out.to_manifest_file()]
    if before not in (None, -1):
        manifests += table.snapshot_by_id(before).manifests(table.io)
    listed = table.io.new_output(f"{folder}/list{sequence}.avro")
    with write_manifest_list(2, listed, snapshot, before, sequence, "null") as out:
        out.add_manifests(manifests)
    time = 1 + max([document["last-updated-ms"], *(one["timestamp-ms"] for one in document["snapshots"])])
    document["snapshots"].append(
        {
            "snapshot-id": snapshot, "parent-snapshot-id": before, "sequence-number": sequence, "timestamp-ms": time,
            "manifest-list": f"{folder}/list{sequence}.avro", "summary": {"operation": "append"}, "schema-id": 0,
        }
    )  # fmt: skip
    document |= {"current-snapshot-id": snapshot, "last-sequence-number": sequence, "last-updated-ms": time}
    document |= {"format-version": version} | ({"next-row-id": 0} if version == 3 else {})
    document["snapshot-log"].append({"snapshot-id": snapshot, "timestamp-ms": time})
    document.get("refs", {}).setdefault("main", {"type": "branch"})["snapshot-id"] = snapshot
    number = int(newest.name.split("-")[0]) + 1
    (folder / f"{number:05}-{uuid.uuid4()}.metadata.json").write_text(json.dumps(document))


def without_rows(table: Any, places: list[int], path: str, user: str = "a") -> None:
    """Commit a file at ``path`` that deletes ``places`` of the file of the first day that may have the ``user``."""
    from pyiceberg.manifest import DataFileContent

    (task,) = table.scan(row_filter=f"dt == '{FIRST}' AND user == '{user}'").plan_files()
    ids = [{b"PARQUET:field_id": number} for number in (b"2147483546", b"2147483545")]
    fields = zip(("file_path", "pos"), (pa.string(), pa.int64()), ids, strict=True)
    schema = pa.schema([pa.field(name, kind, False, own) for name, kind, own in fields])
    pq.write_table(pa.table({"file_path": [task.file.file_path] * len(places), "pos": places}, schema), path)
    entry = entry_of(table, path, len(places), FIRST, content=DataFileContent.POSITION_DELETES)
    committed(table, [entry], deletes=True)


def test_rows_deleted_by_position_do_not_count(tmp_path: Path, catalog: Any) -> None:
    table = made(catalog, rows_of(FIRST, [0, 0, 1, 0]), rows_of(SECOND, [1]))
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == pytest.approx(1 / 3)
    without_rows(table, [0, 3], f"{tmp_path}/deletes.parquet")
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 0.5
    assert isinstance(opened(tmp_path, where="dt = '{date}'"), LibraryRows)
    assert isinstance(opened(tmp_path, where=f"dt = '{SECOND}'"), ParquetInput)


def test_rows_deleted_by_a_vector_of_version_3_do_not_count(tmp_path: Path, catalog: Any) -> None:
    """One Puffin file has the vectors of two files: of FIRST a row before the click, of SECOND the first click."""
    from pyiceberg.manifest import DataFileContent, FileFormat

    table = made(catalog, rows_of(FIRST, [0, 0, 1, 0]), rows_of(SECOND, [1, 0, 0, 1]))
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == pytest.approx(1 / 3)
    files = {task.file.partition[0]: task.file.file_path for task in table.scan().plan_files()}
    puffin = tmp_path / "deletes.puffin"
    places = write_puffin(puffin, {files[FIRST]: [0, 3], files[SECOND]: [0]})
    entries = [
        entry_of(
            table, str(puffin), rows, day, version=3, content=DataFileContent.POSITION_DELETES,
            file_format=FileFormat.PUFFIN, referenced_data_file=files[day], content_offset=places[files[day]][0],
            content_size_in_bytes=places[files[day]][1],
        )
        for day, rows in ((FIRST, 2), (SECOND, 1))
    ]  # fmt: skip
    committed(table, entries, deletes=True, version=3)
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 0.5
    assert evaluated(tmp_path, where=f"dt = '{SECOND}'")["rr"] == pytest.approx(1 / 3)
    assert isinstance(opened(tmp_path), LibraryRows)


def test_equality_deletes_are_refused_with_the_number_of_files(tmp_path: Path, catalog: Any) -> None:
    from pyiceberg.manifest import DataFileContent

    table = made(catalog, rows_of(FIRST, [0, 1]), rows_of(FIRST, [0]), rows_of(SECOND, [1]))
    pq.write_table(pa.table({"user": ["a"]}), tmp_path / "deletes.parquet")
    how = {"content": DataFileContent.EQUALITY_DELETES, "equality_ids": [1]}
    committed(table, [entry_of(table, f"{tmp_path}/deletes.parquet", 1, FIRST, **how)], deletes=True)
    sentence = (
        r"the input .*impressions at version \d+ has equality deletes in 2 of 3 files, which no reader here applies: "
        r"compact the table, or read it by Spark \(format: iceberg, with its package\)$"
    )
    for lane in ("local", "auto"):
        with pytest.raises(SparkrankError, match=sentence) as refused:
            evaluated(tmp_path, lane=lane)
        assert refused.value.exit_code == 4
    (line,) = kept_files_of(spec(tmp_path), FIRST)
    assert line.startswith("input.files: not counted (the input")
    assert "in 2 of 3 files" in line
    assert evaluated(tmp_path, where=f"dt = '{SECOND}'")["rr"] == 1.0  # the delete is of another partition


@pytest.mark.long
def test_of_ten_thousand_files_only_those_of_the_day_are_opened(tmp_path: Path, catalog: Any) -> None:
    table = made(catalog, rows_of(FIRST, []))
    days = [(dt.date(2026, 1, 1) + dt.timedelta(day)).isoformat() for day in range(417)]
    files = [entry_of(table, f"{tmp_path}/files/{day}-{hour}.parquet", 2, day) for day in days for hour in range(24)]
    (tmp_path / "files").mkdir()
    ids = table.schema().as_arrow()
    for hour in range(24):
        pq.write_table(rows_of(FIRST, [0, 1], f"u{hour}").cast(ids), tmp_path / f"files/{FIRST}-{hour}.parquet")
    committed(table, files)
    source = opened(tmp_path, where="dt = '{date}'")
    assert isinstance(source, ParquetInput)
    assert len(source.fragments) == 24  # all others are not there
    assert kept_files_of(spec(tmp_path, where="dt = '{date}'"), FIRST) == ["input.files: 24 of 10,008"]
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == 0.5


def test_a_table_by_buckets_of_users_is_evaluated_where_its_files_are_read(tmp_path: Path, catalog: Any) -> None:
    from pyiceberg.transforms import BucketTransform

    pytest.importorskip("pyiceberg_core", reason="pyiceberg writes buckets with it")
    users = [rows_of(FIRST, [0] * (place % 3) + [1], f"u{place}") for place in range(40)]
    made(catalog, pa.concat_tables(users), by=("user", BucketTransform(4)))
    plain = evaluated(tmp_path)["rr"]
    assert plain == pytest.approx(sum(1 / (place % 3 + 1) for place in range(40)) / 40)
    result = evaluate_day(spec(tmp_path, grouped="files"), FIRST, None, Stages())
    assert "grouped is files" in result.lane_reason
    assert evaluated(tmp_path, grouped="files")["rr"] == plain
    assert kept_files_of(spec(tmp_path, where="user = 'u7'"), FIRST) == ["input.files: 1 of 4"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of a few rows are worth an evaluation, and one of half of all rows leaves no core idle."""
    monkeypatch.setattr("sparkrank.sources.colocation.LEAST_PARTITION_ROWS", 1)
    monkeypatch.setattr("sparkrank.engines.local_lane.pa.cpu_count", lambda: 1)


def by_buckets(catalog: Any) -> Any:
    """A table of 40 users by their buckets. Each user's click, the row with the lowest score, came a commit later."""
    from pyiceberg.transforms import BucketTransform

    pytest.importorskip("pyiceberg_core", reason="pyiceberg writes buckets with it")
    users = pa.concat_tables([rows_of(FIRST, [0] * (place % 3) + [1], f"u{place}") for place in range(40)])
    clicked = pc.equal(users["label"], 1)
    parts = users.filter(pc.invert(clicked)), users.filter(clicked)
    return made(catalog, *parts, by=("user", BucketTransform(4)))


BY_BUCKETS = sum(1 / (place % 3 + 1) for place in range(40)) / 40


def reason_of(folder: Path, **source: Any) -> str:
    return str(evaluate_day(spec(folder, **source), FIRST, None, Stages()).lane_reason)


@pytest.mark.usefixtures("small")
def test_partitions_by_buckets_of_the_group_are_evaluated_whole_by_themselves(tmp_path: Path, catalog: Any) -> None:
    """A bucket has the files of both commits, which only together have the whole lists of its users."""
    table = by_buckets(catalog)
    assert len(list(table.scan().plan_files())) > 4
    assert reason_of(tmp_path).endswith(
        "; partitions by bucket[4](user) hold whole groups, so that no rows are shuffled"
    )
    assert evaluated(tmp_path)["rr"] == pytest.approx(BY_BUCKETS)
    assert evaluated(tmp_path, grouped="folders")["rr"] == evaluated(tmp_path, grouped="shuffle")["rr"]
    with pytest.raises(InputError, match=r"^user \w+ is in .*: grouped: files does not hold; leave it out$"):
        evaluated(tmp_path, grouped="files")
    assert "partitions" not in reason_of(tmp_path, columns={**COLUMNS, "group": "dt"})


@pytest.mark.usefixtures("small")
def test_a_column_that_is_part_of_the_group_divides_groups_and_a_day_does_not(tmp_path: Path, catalog: Any) -> None:
    made(catalog, *(rows_of(day, [0, 1]) for day in (FIRST, SECOND)), rows_of(FIRST, [0]))
    whole = "partitions by identity(dt) hold whole groups"
    assert whole in reason_of(tmp_path, columns={**COLUMNS, "group": ["dt", "user"]})
    assert whole not in reason_of(tmp_path)


@pytest.mark.usefixtures("small")
def test_a_partitioning_that_changed_does_not_say_where_groups_are(tmp_path: Path, catalog: Any) -> None:
    """One with a field more still does: both kinds of files have the bucket."""
    from pyiceberg.transforms import BucketTransform

    table = by_buckets(catalog)
    with table.update_spec() as change:
        change.add_field("dt", "identity")
    table.append(pa.concat_tables([rows_of(SECOND, [1], f"u{place}") for place in range(40)]))
    assert "by bucket[4](user) hold whole groups, so that no" in reason_of(tmp_path)
    with table.update_spec() as change:
        change.remove_field("user_bucket_4").add_field("user", BucketTransform(8))
    table.append(pa.concat_tables([rows_of(SECOND, [1], f"u{place}") for place in range(40)]))
    assert reason_of(tmp_path).endswith(
        "partitions by bucket[4](user), bucket[8](user) hold whole groups, but not all files are in such partitions"
    )
    assert "by bucket[4](user) hold whole groups, so that no" in reason_of(tmp_path, where="dt = '{date}'")
    assert evaluated(tmp_path, where="dt = '{date}'")["rr"] == pytest.approx(BY_BUCKETS)


@pytest.mark.usefixtures("small")
def test_a_truth_by_the_same_buckets_is_joined_bucket_by_bucket(tmp_path: Path, catalog: Any) -> None:
    """User u has the items 1 and 2 in this order, and 1 + u % 2 is true. Of each user's two rows one came later."""
    from pyiceberg.transforms import BucketTransform

    pytest.importorskip("pyiceberg_core", reason="pyiceberg writes buckets with it")
    users = list(range(30))
    columns = {"group": "u", "item": "i", "score": "s"}
    sides = {
        "lists": [pa.table({"u": users, "i": [item] * 30, "s": [1.0 / item] * 30}) for item in (1, 2)],
        "truth": [pa.table({"u": some, "i": [1 + user % 2 for user in some]}) for some in (users[:9], users[9:])],
    }
    for side, buckets in (("lists", 4), ("truth", 4), ("other", 8)):
        table = catalog.create_table(("sales", side), sides.get(side, sides["truth"])[0].schema)
        with table.update_spec() as change:
            change.add_field("u", BucketTransform(buckets))
        for part in sides.get(side, sides["truth"]):
            table.append(part)
    found = {}
    for truth in ("truth", "other"):
        asked = {
            "truth": {"table": f"prod.sales.{truth}", "format": "iceberg"},
            "output": {"path": f"{tmp_path}/{truth}"},
        }
        day = spec(tmp_path, table="prod.sales.lists", columns=columns).model_dump(mode="json", exclude_unset=True)
        result = evaluate_day(Spec.model_validate({**day, **asked}), FIRST, None, Stages())
        found[truth] = result.lane_reason.rpartition("; ")[2]
        (rr,) = (row for row in pq.read_table(result.folders["metrics"]).to_pylist() if row["metric"] == "rr")
        assert rr["value"] == (1 + 1 / 2) / 2
    assert found == {
        "truth": "partitions by bucket[4](u) hold whole groups, so that no rows are shuffled",
        "other": "partitions by bucket[4](u), bucket[8](u) hold whole groups, but not all files are in such partitions",
    }


@pytest.mark.usefixtures("small")
def test_a_file_in_the_bucket_of_others_is_refused_by_its_group(tmp_path: Path, catalog: Any) -> None:
    from pyiceberg.typedef import Record

    table = by_buckets(catalog)
    right = {task.file.partition[0] for task in table.scan(row_filter="user == 'u7'").plan_files()}
    wrong = min({0, 1, 2, 3} - right)
    before_both = rows_of(FIRST, [0, 0, 0], "u7")[:1]
    pq.write_table(before_both.cast(table.schema().as_arrow()), tmp_path / "wrong.parquet")
    entry = entry_of(table, f"{tmp_path}/wrong.parquet", 1, FIRST)
    entry._data[3] = Record(wrong)
    committed(table, [entry])
    sentence = (
        r"^user u7 is in .*: the partitions by bucket\[4\]\(user\) do not hold whole groups; write grouped: shuffle$"
    )
    with pytest.raises(InputError, match=sentence):
        evaluated(tmp_path)
    assert evaluated(tmp_path, grouped="shuffle")["rr"] == pytest.approx(BY_BUCKETS + (1 / 3 - 1 / 2) / 40)


def test_rows_that_the_library_reads_are_in_no_files_that_hold_groups(tmp_path: Path, table: Any) -> None:
    with table.update_schema() as columns:
        columns.rename_column("user", "person")
    with pytest.raises(SpecError, match=r"^grouped is files, but pyiceberg reads the input, as its files .*: leave it"):
        evaluated(tmp_path, grouped="files", columns={**COLUMNS, "group": "person"})


def test_times_and_decimals_are_as_in_parquet(tmp_path: Path, catalog: Any) -> None:
    stamp = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)
    rows = rows_of(FIRST, [0, 1]).append_column("zoned", pa.array([stamp] * 2, pa.timestamp("us", "UTC")))
    rows = rows.append_column("plain", pa.array([stamp.replace(tzinfo=None)] * 2, pa.timestamp("us")))
    rows = rows.append_column("price", pa.array(["1.50", "2.25"]).cast(pa.decimal128(9, 2)))
    pq.write_table(rows, tmp_path / "rows.parquet")
    made(catalog, rows)
    of_file = ParquetInput.at(f"{tmp_path}/rows.parquet").schema
    assert opened(tmp_path).schema.equals(of_file.remove_metadata())
    assert evaluated(tmp_path)["rr"] == 0.5
    # the second row has the higher price, and the click
    assert evaluated(tmp_path, columns={**COLUMNS, "score": "price"})["rr"] == 1.0


def test_a_table_of_no_rows_is_an_input_without_rows(tmp_path: Path, catalog: Any) -> None:
    from pyiceberg.schema import Schema

    schema: Schema = made(catalog, rows_of(FIRST, [])).schema()
    with pytest.raises(InputError, match="no rows"):
        evaluated(tmp_path)
    catalog.drop_table(NAME)
    shutil.rmtree(tmp_path / "lake")
    catalog.create_table(NAME, schema=schema)
    with pytest.raises(InputError, match="no rows"):
        evaluated(tmp_path)
    with pytest.raises(InputError, match="has no version 7: nothing was ever written into it"):
        evaluated(tmp_path, version=7)


def test_a_commit_while_a_run_reads_changes_nothing_of_it(tmp_path: Path, table: Any) -> None:
    request = request_of(spec(tmp_path), FIRST, None).at_versions()
    table.overwrite(rows_of(FIRST, [0, 0, 0, 1]))
    assert iceberg.open_iceberg(request.impressions[0], request.roles).rows((), {}) == 2


def test_a_day_needs_a_commit_of_its_own_that_is_new_enough(tmp_path: Path, catalog: Any) -> None:
    table = made(catalog, rows_of(FIRST, [0, 1]), rows_of(SECOND, [1]))
    of_day = {"where": "dt = '{date}'"}
    assert evaluated(tmp_path, **of_day, expect={"newer_than": "5m"})["rr"] == 0.5
    folder = Path(table.location().removeprefix("file://")) / "metadata"
    newest = max(folder.glob("*.metadata.json"))
    document = json.loads(newest.read_text())
    document["snapshots"][0]["timestamp-ms"] -= 7 * 3_600_000
    newest.write_text(json.dumps(document))
    sentence = (
        r"incomplete: the newest commit with rows of the day was made at 2.*, 7 h \d+ min ago, and input.expect.newer"
    )
    with pytest.raises(InputError, match=sentence):
        evaluated(tmp_path, **of_day, expect={"newer_than": "6h"})
    assert evaluated(tmp_path, **of_day, expect={"newer_than": "1d"})["rr"] == 0.5
    assert evaluated(tmp_path, expect={"newer_than": "6h"})  # of all days, the second is new
    with pytest.raises(InputError, match="no commit in the log added rows of the day"):
        evaluated(tmp_path, where="dt = '2027-01-01'", expect={"newer_than": "6h"})


@pytest.mark.parametrize(
    ("source", "error", "sentence"),
    [
        ({"version": 2}, InputError, r"has no version 2: its oldest is \d+ of 2\S+, and its newest \d+ of 2"),
        ({"version": 0, "as_of": FIRST}, ValidationError, "has a version and as_of: give one of the two"),
        ({"path": "{folder}/none"}, NoInputError, "there is no iceberg input at .*none"),
        ({"table": "prod.sales.none"}, NoInputError, "there is no iceberg input prod.sales.none"),
        ({"table": "other.sales.none"}, SpecError, "the configuration of pyiceberg has no catalog other: it has prod"),
        ({"table": "none"}, SpecError, "input.table is none: catalog.namespace.table or namespace.table is needed"),
        ({"where": "no = 1"}, SpecError, "no is not a column"),
        ({"format": "parquet"}, InputError, "is in a table of Iceberg .*: write format: iceberg with the path"),
        ({"expect": {"marker": "_SUCCESS"}}, ValidationError, "expect.marker, but format iceberg, which itself t"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, table: Any, source: Any, error: Any, sentence: str) -> None:
    asked = {name: text.format(folder=tmp_path) if name == "path" else text for name, text in source.items()}
    with pytest.raises(error, match=sentence):
        evaluated(tmp_path, **asked)


def test_metadata_that_cannot_be_read_or_is_there_twice_is_refused(tmp_path: Path, table: Any) -> None:
    newest = Path(table.metadata_location.removeprefix("file://"))
    twin = newest.with_name(f"{newest.name.split('-')[0]}-{uuid.uuid4()}.metadata.json")
    shutil.copy(newest, twin)
    with pytest.raises(InputError, match=r"has two newest metadata files, .*: name one of them as path, or the table"):
        evaluated(tmp_path)
    twin.unlink()
    whole = newest.read_text()
    newest.write_text(whole[:100])
    with pytest.raises(StoreError, match=rf"the input .*impressions cannot be read as iceberg: {newest}: Invalid JSON"):
        evaluated(tmp_path)
    newest.write_text(whole)
    listed = Path(table.current_snapshot().manifest_list.removeprefix("file://"))
    listed.write_bytes(listed.read_bytes()[:100])
    with pytest.raises(StoreError, match=rf"the input .* cannot be read as iceberg: (file://)?{listed}: "):
        evaluated(tmp_path)


def test_a_catalog_that_is_silent_is_one_sentence(tmp_path: Path, table: Any) -> None:
    named = "the catalog prod of the input prod.sales.impressions"
    with silent_catalog("prod"):
        with pytest.raises(StoreError, match=rf"^{named} has not answered within {LIMIT:g} s$") as refused:
            evaluated(tmp_path, table="prod.sales.impressions")
        assert refused.value.exit_code == 1
        assert kept_files_of(spec(tmp_path, table="prod.sales.impressions"), FIRST)[0].startswith(
            f"input.files: not counted ({named} has not"
        )


def test_a_catalog_that_plans_scans_by_itself_is_asked_and_silence_is_one_sentence(tmp_path: Path, table: Any) -> None:
    """Of the two files of a day it plans the one with the hit at 2."""
    table.append(rows_of(FIRST, [0, 1], "b"))
    (file,) = (task.file for task in table.scan(row_filter="user = 'b'").plan_files())
    planned = {"spec-id": 0, "content": "data", "file-path": file.file_path, "file-format": "PARQUET"}
    planned |= {"file-size-in-bytes": file.file_size_in_bytes, "record-count": file.record_count, "partition": [FIRST]}
    asked = {"table": "prod.sales.impressions", "where": "dt = '{date}'"}
    with planning_catalog("prod", table) as plans:
        plans += [{"status": "completed", "file-scan-tasks": [{"data-file": planned}]}]
        assert evaluated(tmp_path, **asked)["rr"] == 1 / 2
        named = "the catalog prod of the input prod.sales.impressions has not answered"
        with pytest.raises(StoreError, match=rf"^{named} within {LIMIT:g} s$") as refused:
            evaluated(tmp_path, **asked)
        assert refused.value.exit_code == 1
        assert kept_files_of(spec(tmp_path, **asked), FIRST)[0].startswith(f"input.files: not counted ({named}")


def test_what_pyiceberg_does_not_know_is_left_to_spark_by_its_name(tmp_path: Path, table: Any) -> None:
    newest = Path(table.metadata_location.removeprefix("file://"))
    newest.write_text(json.dumps({**json.loads(newest.read_text()), "format-version": 9}))
    sentence = r"^the input .* cannot be read by pyiceberg \(.*'9'.*format-version.*\): read it by Spark"
    for lane in ("local", "auto"):
        with pytest.raises(SparkrankError, match=sentence) as refused:
            evaluated(tmp_path, lane=lane)
        assert refused.value.exit_code == 4


def test_without_the_library_the_extra_is_named(tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    absent: Callable[[], bool] = lambda: False  # noqa: E731
    monkeypatch.setattr(iceberg, "reads_iceberg", absent)
    monkeypatch.setattr("sparkrank.sources.iceberg_metadata.reads_iceberg", absent)
    with pytest.raises(SpecError, match=r"format: iceberg needs pyiceberg \(pip install 'sparkrank\[iceberg\]'\)"):
        evaluated(tmp_path)
