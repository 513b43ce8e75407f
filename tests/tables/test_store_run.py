"""A day in an object store is replaced whole: killed at any step, a reader finds the old run or the new one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from sparkrank.base.errors import InputError, SparkrankError, StoreError
from sparkrank.schemas.tables import RUNS
from sparkrank.sources.files import folders_in
from sparkrank.tables.commit import days, manifests
from sparkrank.tables.commit.links import Commit
from sparkrank.tables.commit.manifests import StoreFolder
from sparkrank.tables.stored.day_files import day_files, whole_day
from tests.support.commands import exit_code
from tests.support.gcs_server import GcsServer, gcs_environment, gcs_server, gcs_with
from tests.support.killed import Killed, counting
from tests.support.s3_server import s3_environment, s3_server, s3_with
from tests.support.written_days import tables_of, write_day

obstore = pytest.importorskip("obstore", reason="a write on a condition needs obstore (the extra stores)")

BUCKET, DAY = "lake", "2026-11-19"
NAMES = ("metrics", "groups", "runs")
SCHEMA = pa.schema([("value", pa.int64())])


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with s3_server() as found:
        yield found


@pytest.fixture(scope="module")
def gcs() -> Iterator[GcsServer]:
    with gcs_server() as found:
        yield found


class Store(NamedTuple):
    """A server as Arrow opens it, and the beginning of its URLs."""

    files: fs.FileSystem
    url: str


@pytest.fixture(params=["s3", "gcs"])
def either(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A server that tells objects by their tags, or by their generations, and what a job has in its environment."""
    if request.param == "s3":
        return Store(request.getfixturevalue("store"), f"s3://{BUCKET}")
    server = request.getfixturevalue("gcs")
    for name, value in gcs_environment(server, tmp_path).items():
        monkeypatch.setenv(name, value)
    return Store(gcs_with(server, BUCKET), f"gs://anonymous@{BUCKET}")


@pytest.fixture
def store(s3: str, monkeypatch: pytest.MonkeyPatch) -> fs.FileSystem:
    for name, value in s3_environment(s3).items():
        monkeypatch.setenv(name, value)
    opened = s3_with(s3, BUCKET)
    opened.delete_dir_contents(BUCKET)
    return opened


def shown(output: str, names: tuple[str, ...] = NAMES) -> dict[str, int | None]:
    """The value of each table of the day, as the readers of sparkrank find it; None where the day lacks it."""
    files = day_files(output, DAY, names, None)
    return {name: files.read(name, SCHEMA)["value"][0].as_py() if files.has(name) else None for name in names}


def copies(store: fs.FileSystem, folder: str) -> dict[str, int | None]:
    """The value in the copy of each table, and None where there is none; never two files."""
    values: dict[str, int | None] = {}
    for name in NAMES:
        selector = fs.FileSelector(f"{BUCKET}/{folder}/{name}/day={DAY}", allow_not_found=True)
        files = [info.path for info in store.get_file_info(selector) if info.size]
        assert len(files) < 2
        values[name] = pq.read_table(files[0], filesystem=store)["value"][0].as_py() if files else None
    return values


def test_a_day_comes_and_is_replaced(either: Store) -> None:
    output = f"{either.url}/replaced"
    for value in range(4):
        write_day(output, DAY, tables_of(value, NAMES))
        assert shown(output) == copies(either.files, "replaced") == dict.fromkeys(NAMES, value)
    runs = folders_in(either.files, f"{BUCKET}/replaced/_runs")
    tables = (pq.read_table(f"{BUCKET}/replaced/_runs/{run}/metrics", filesystem=either.files) for run in runs)
    assert sorted(table["value"][0].as_py() for table in tables) == [2, 3]  # the one before stays for its readers
    write_day(output, DAY, tables_of(4, ("metrics", "runs")))
    expected = {"metrics": 4, "groups": None, "runs": 4}
    assert shown(output) == copies(either.files, "replaced") == expected
    assert days.stored_names(output) == {DAY}
    assert days.stored_names(f"{output}/nothing") == set()


@pytest.mark.parametrize("either", ["gcs", pytest.param("s3", marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize("is_rerun", [False, True], ids=["first run", "rerun"])
def test_killed_at_any_step(either: Store, monkeypatch: pytest.MonkeyPatch, is_rerun: bool) -> None:
    """Every call that changes the store is in turn the last one that the run makes.

    Of reruns, each finds the day that the one after the last killed one has mended.
    """
    if is_rerun:
        write_day(f"{either.url}/killed-rerun", DAY, tables_of(-1, NAMES))
    for step in itertools.count():
        output, counted = f"{either.url}/killed-{'rerun' if is_rerun else step}", counting(step)
        old, new, mended = 2 * step - 1 if is_rerun else None, 2 * step, 2 * step + 1
        survived = False
        with monkeypatch.context() as patch, suppress(Killed):
            opened_as(
                patch, output, dict.fromkeys(("open_output_stream", "copy_file", "delete_dir", "delete_file"), counted)
            )
            patch.setattr(obstore, "put", counted(obstore.put))
            write_day(output, DAY, tables_of(new, NAMES))
            survived = True
        assert shown(output) in (dict.fromkeys(NAMES, old), dict.fromkeys(NAMES, new)), step
        write_day(output, DAY, tables_of(mended, NAMES))
        assert shown(output) == copies(either.files, output.rpartition("/")[2]) == dict.fromkeys(NAMES, mended)
        if survived:
            assert step > 6
            return


@pytest.mark.parametrize("either", ["gcs", pytest.param("s3", marks=pytest.mark.long)], indirect=True)
def test_files_that_come_and_go_one_by_one_are_never_found_in_part(
    either: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the copies, nor in a run that is removed; and while a day is in ``runs``, its copies are of that run.

    What a reader finds is looked at before each change of the store.
    """
    output, folder = f"{either.url}/several", f"{BUCKET}/several"
    counts: dict[str, set[int | None]] = {"copies": set(), "run": set()}

    def write(value: int) -> str:
        with days.day_run(output, DAY) as run:
            own = f"{folder}/_runs/{DAY}.{run.attempt}/groups"
            for part in range(3):
                pq.write_table(
                    tables_of(value, ("groups",))["groups"],
                    f"{own}/part-{part}-{run.attempt}.parquet",
                    filesystem=either.files,
                )
            run.commit(tables_of(value, ("metrics", "runs")), ("groups",))
        return own

    def values(place: str) -> list[int] | None:
        try:
            rows = ds.dataset(place, filesystem=either.files, format="parquet").to_table()
        except (pa.ArrowException, OSError):
            return None
        return rows["value"].to_pylist()

    def looking(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            groups, metrics, runs = (values(f"{folder}/{name}/day={DAY}") for name in ("groups", "metrics", "runs"))
            assert runs is None or (metrics, groups) == (runs, runs * 3)
            counts["copies"].add(groups and len(groups))
            run = values(first)
            counts["run"].add(run and len(run))
            return method(*arguments)

        return call

    first, read_metadata = write(1), pq.read_metadata
    methods = ("open_output_stream", "copy_file", "delete_dir", "delete_file")
    with monkeypatch.context() as patch:
        opened_as(patch, output, dict.fromkeys(methods, looking))
        patch.setattr(pq, "read_metadata", lambda path, **_: read_metadata(path, filesystem=either.files))
        for value in (2, 3):
            write(value)
    assert counts == {"copies": {3, None}, "run": {3, None}}
    assert values(f"{folder}/groups/day={DAY}") == [3, 3, 3]
    assert values(first) is None


def opened_as(patch: pytest.MonkeyPatch, output: str, changed: Mapping[str, Callable[[Any], Any]]) -> None:
    """Let ``output`` be opened as Arrow's file system whose methods are ``changed`` as by decorators."""
    place = StoreFolder.at(output)
    assert place is not None

    class Opened:
        def __getattr__(self, name: str) -> Any:
            method = getattr(place.store, name)
            return changed[name](method) if name in changed else method

    patch.setattr(manifests, "file_system", lambda _: (Opened(), place.root))


def test_of_two_runs_of_a_day_one_wins(either: Store) -> None:
    """The second to commit is told, and neither its tables nor half of them are shown: for a new day and an old one."""
    output = f"{either.url}/two"

    def write_while(first: days.DayRun, value: int) -> None:
        with days.day_run(output, DAY) as second:
            first.commit(tables_of(value, NAMES))
            second.commit(tables_of(value + 1, NAMES))

    for value in (1, 3):
        with days.day_run(output, DAY) as first:
            with pytest.raises(SparkrankError, match=f"another run has replaced {DAY} under .*/two meanwhile"):
                write_while(first, value)
            assert shown(output) == copies(either.files, "two") == dict.fromkeys(NAMES, value)


def test_without_conditions_the_last_run_wins_whole(store: fs.FileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoreFolder, "_objects", lambda _: None)
    output = f"s3://{BUCKET}/unconditional"
    with days.day_run(output, DAY) as first:
        write_day(output, DAY, tables_of(1, NAMES))
        first.commit(tables_of(2, NAMES))
    assert shown(output) == dict.fromkeys(NAMES, 2)


def test_a_run_that_fails_leaves_what_was_there(store: fs.FileSystem) -> None:
    output = f"s3://{BUCKET}/fails"
    write_day(output, DAY, tables_of(1, NAMES))
    everything = fs.FileSelector(f"{BUCKET}/fails", recursive=True)
    before = {info.path for info in store.get_file_info(everything)}

    def fails() -> None:
        raise SparkrankError("the process is ending")

    with pytest.raises(SparkrankError, match="is ending"):
        write_day(output, DAY, tables_of(2, NAMES), how=Commit(before=fails))
    assert {info.path for info in store.get_file_info(everything)} == before
    assert shown(output) == dict.fromkeys(NAMES, 1)


FORGED: list[dict[str, object]] = [
    {"run": "../../home", "tables": ["metrics"], "replaced": []},
    {"run": "2026-11-18.0123456789ab", "tables": ["metrics"], "replaced": []},
    {"run": f"{DAY}.0123456789ab", "tables": ["../x"], "replaced": []},
    {"run": f"{DAY}.0123456789ab", "tables": [], "replaced": ["_days"]},
]


def test_a_manifest_that_is_none_is_told_and_replaced(store: fs.FileSystem) -> None:
    """Whoever may write there makes nobody read, or remove, anything else."""
    output = f"s3://{BUCKET}/forged"
    for content in (b"", b"{}", b"[]", b"\xff", *(json.dumps(document).encode() for document in FORGED)):
        with store.open_output_stream(f"{BUCKET}/forged/_days/{DAY}.json") as file:
            file.write(content)
        with pytest.raises(InputError, match=f"forged/_days/{DAY}.json (is not a manifest|names no)"):
            shown(output)
        write_day(output, DAY, tables_of(1, NAMES))
        assert shown(output) == dict.fromkeys(NAMES, 1)


def test_the_command_without_spark_writes_and_reads_there(
    store: fs.FileSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Evaluate twice, merge, accept, and find the run: the local lane, on a day whose input is on this machine."""
    rows = {"u": [1, 1, 2, 2], "s": [2.0, 1.0, 2.0, 1.0], "y": [1, 0, 0, 1]}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    conf = tmp_path / "spec.yaml"
    conf.write_text(
        f"input: {{path: {tmp_path}/rows.parquet, columns: {{group: u, score: s, label: y}}}}\nmetrics: [rr, auc]\n"
        f"output: {{path: s3://{BUCKET}/job}}\nengine: {{lane: local}}\ngates: [{{metric: rr, max: -10}}]\n"
    )
    words = ("--conf", str(conf), "--date", DAY)
    assert [exit_code("evaluate", *words) for _ in range(2)] == [3, 3]
    capsys.readouterr()
    assert [exit_code("path", *words, *more) for more in ((), ("--table", "metrics"))] == [0, 0]
    run, metrics_of_run = capsys.readouterr().out.splitlines()
    assert run.startswith(f"s3://{BUCKET}/job/_runs/{DAY}.")
    assert metrics_of_run == f"{run}/metrics"
    (file,) = store.get_file_info(fs.FileSelector(f"{run.removeprefix('s3://')}/metrics"))
    metrics = pq.read_table(file.path, filesystem=store).to_pylist()
    assert {row["metric"]: row["value"] for row in metrics} == {"rr": 0.75, "auc": 0.5}
    assert exit_code("merge", "--conf", str(conf), "--from", DAY, "--to", DAY) == 3
    assert exit_code("gate", *words) == 3
    assert exit_code("accept", *words, "--reason", "known") == 0
    assert exit_code("gate", *words) == 0
    capsys.readouterr()
    assert exit_code("evaluate", "--conf", str(conf), "--from", DAY, "--to", DAY) == 0
    assert "there" in capsys.readouterr().out


def test_a_file_that_is_not_the_runs_is_refused_there(store: fs.FileSystem) -> None:
    """What is carried into another run stays listed as it was written."""
    output = f"s3://{BUCKET}/checked"

    def runs(files: list[dict], attempt_id: str) -> pa.Table:
        row = {"run_id": f"{DAY}-0", "status": "done", "attempt_id": attempt_id, "files": files}
        return pa.Table.from_pylist([row], schema=RUNS.schema)

    with days.day_run(output, DAY) as run:
        run.commit({**tables_of(1, ("metrics", "groups")), "runs": runs})
    listed = whole_day(output, DAY)
    with days.day_run(output, DAY) as run:
        run.commit({"runs": runs}, run.keep_others(("runs",), listed))
    assert whole_day(output, DAY) == sorted(listed, key=lambda file: file["table"])
    folder = f"{BUCKET}/checked/_runs/{DAY}.{run.attempt}/metrics"
    (own,) = store.get_file_info(fs.FileSelector(folder))
    with store.open_input_file(own.path) as opened:
        content = bytearray(opened.read())
    content[100] ^= 1
    with store.open_output_stream(own.path) as opened:
        opened.write(bytes(content))
    for sentence in ("has other bytes in", "has a file that its run did not write"):
        with pytest.raises(InputError, match=f"the table metrics of {DAY} {sentence}"):
            day_files(output, DAY, NAMES, None).read("metrics", SCHEMA)
        store.copy_file(own.path, f"{folder}/other.parquet")


def test_a_lost_answer_is_no_failure(store: fs.FileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has done what was asked, and whoever asked is told of an error, or of a second request by itself."""
    put, errors = obstore.put, obstore.exceptions
    output = f"s3://{BUCKET}/lost"
    for value, error in enumerate((errors.GenericError, errors.PreconditionError)):

        def lost(*arguments, error=error, **options):
            put(*arguments, **options)
            raise error("no answer")

        monkeypatch.setattr(obstore, "put", lost)
        write_day(output, DAY, tables_of(value, NAMES))
        assert shown(output) == copies(store, "lost") == dict.fromkeys(NAMES, value)


@pytest.mark.parametrize("is_rerun", [False, True], ids=["first run", "rerun"])
def test_copies_that_fail_take_nothing_from_the_day(
    store: fs.FileSystem, monkeypatch: pytest.MonkeyPatch, is_rerun: bool
) -> None:
    """The manifest shows the run, whose files stay, and the same run again mends the copies."""
    output = f"s3://{BUCKET}/copies-{is_rerun}"
    if is_rerun:
        write_day(output, DAY, tables_of(1, NAMES))

    def fails(*_: str) -> None:
        raise OSError("slow down")

    with monkeypatch.context() as patch:
        opened_as(patch, output, {"copy_file": lambda _: fails})
        with pytest.raises(StoreError, match=rf"^{DAY} is shown by its manifest, but not all copies .*slow down"):
            write_day(output, DAY, tables_of(2, NAMES))
    assert shown(output) == dict.fromkeys(NAMES, 2)
    write_day(output, DAY, tables_of(3, NAMES))
    assert shown(output) == copies(store, f"copies-{is_rerun}") == dict.fromkeys(NAMES, 3)


def test_a_day_of_a_release_without_manifests_keeps_its_tables(store: fs.FileSystem) -> None:
    """Where two of its tables are replaced, as an acceptance does, the others come along."""
    output = f"s3://{BUCKET}/older"
    for name, table in tables_of(1, NAMES).items():
        pq.write_table(table, f"{BUCKET}/older/{name}/day={DAY}/part-0.parquet", filesystem=store)
    assert shown(output) == dict.fromkeys(NAMES, 1)
    with days.day_run(output, DAY) as run:
        run.commit(tables_of(2, ("runs",)), run.keep_others(("runs",), ()))
    assert shown(output) == copies(store, "older") == {"metrics": 1, "groups": 1, "runs": 2}
