"""Stored tables are read through one door, which compares their files with what their run wrote."""

from __future__ import annotations

import ast
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError
from tests.support.commands import exit_code
from tests.support.stored_files import one_file
from tests.windows.week import DAYS, spec_of, write_logs

PACKAGE = Path(sr.__file__).parent
DOOR = "tables/stored/day_files.py"
OPENING = {"ParquetFile", "read_table", "read_metadata", "read_schema", "read_parquet", "dataset", "parquet"}
OPENING |= {"ParquetDataset", "open_input_file", "open_input_stream", "run_folders", "table_folders", "shown_run"}
OPENING |= {"files_of_run"}
# Every module above the sources that opens files or asks where those of a day are; another one must use the door.
AROUND = {
    DOOR: OPENING,
    "tables/commit/days.py": {"table_folders", "shown_run", "parquet"},  # the places, and Spark's writer
    "tables/commit/links.py": {"read_metadata", "parquet"},  # files that the run itself has just written
    "tables/commit/store_run.py": {"read_metadata", "parquet"},
    "tables/commit/manifests.py": {"open_input_file"},  # manifests, which are no tables
    "comparison/group_tables.py": {"dataset", "parquet"},  # a caller's own files, which no run lists
    "jobs/backfill.py": {"shown_run"},  # whether readers find the links to the tables
    "jobs/evaluate_job.py": {"table_folders"},  # printed
    "jobs/merge_job.py": {"table_folders"},
    "doors/write_api.py": {"table_folders"},
    "jobs/report_index.py": {"open_input_file"},  # the index, which is no table
    "jobs/output_job.py": {"shown_run", "run_folders"},
    "jobs/report_job.py": {"files_of_run"},  # of this run, before it is committed
}
DAY = DAYS[2]


def test_no_other_module_opens_the_files_of_stored_tables() -> None:
    opening = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                if name in OPENING:
                    opening[file.relative_to(PACKAGE).as_posix()].add(name)
    opening = {name: calls for name, calls in opening.items() if name.split("/")[0] not in ("sources", "engines")}
    assert {name: calls - AROUND.get(name, set()) for name, calls in opening.items() if name not in AROUND} == {}
    assert {name for name, calls in opening.items() if calls - AROUND[name]} == set()
    assert set(opening) == set(AROUND)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days, each with every table, on which a gate fails."""
    folder = tmp_path_factory.mktemp("door")
    write_logs(folder, *DAYS[:3])
    gates = [{"metric": "ndcg@5", "model": "production", "min": 2}]
    for day in DAYS[:3]:
        asked = {"metrics": ["ndcg@5", "auc", "median(ap)"], "compare": {"baseline": "production"}, "gates": gates}
        assert exit_code("evaluate", "--conf", spec_of(folder, slices=["country"], **asked), "--date", day) == 3
    return folder


@pytest.fixture
def folder(evaluated: Path, tmp_path: Path) -> Path:
    shutil.copytree(evaluated / "tables", tmp_path / "tables", symlinks=True)
    spec = (evaluated / "spec.yaml").read_text().replace(f"{evaluated}/tables", f"{tmp_path}/tables")
    (tmp_path / "spec.yaml").write_text(spec)
    return tmp_path


def comparing(command: str, *more: str) -> Callable[[Path], int]:
    def ran(folder: Path) -> int:
        sides = ("--left", f"{folder}/tables", "--right", f"{folder}/tables", "--left-date", DAYS[0])
        model = ("--left-model", "candidate", "--right-model", "candidate")
        return exit_code(command, *sides, "--right-date", DAY, *model, *more)

    return ran


def of_spec(command: str, *more: str, first: str | None = None) -> Callable[[Path], int]:
    def ran(folder: Path) -> int:
        days = ("--date", DAY) if first is None else ("--from", first, "--to", DAY)
        words = (word.replace("FOLDER", str(folder)) for word in more)
        return exit_code(command, "--conf", str(folder / "spec.yaml"), *days, *words)

    return ran


def in_python(
    function: Callable[..., object], *asked: str, of_files: bool = False, **more: str
) -> Callable[[Path], int]:
    def ran(folder: Path) -> int:
        sides = ((folder / f"tables/groups/day={day}") for day in (DAYS[0], DAY))
        sides = (one_file(side) for side in sides) if of_files else sides
        function(*sides, *asked, left_model="candidate", right_model="candidate", **more)
        return 0

    return ran


EVERYTHING = ("metrics", "states", "blocks", "groups", "curves", "quality", "comparisons", "distributions")
# Each reader of stored days, the code that it ends with, and the tables that it reads.
READERS: dict[str, tuple[Callable[[Path], int], int, tuple[str, ...]]] = {
    "compare": (comparing("compare"), 0, ("states", "blocks", "distributions")),
    "compare pairs": (comparing("compare", "--groups", "common"), 0, ("groups", "metrics")),
    "compare by": (comparing("compare", "--decompose", "country"), 0, ("metrics",)),
    "movers": (comparing("movers", "--metric", "ndcg@5"), 0, ("groups", "metrics")),
    "explain": (of_spec("explain", "--worst", "1", "--metric", "ndcg@5", "--model", "production"), 0, ("groups",)),
    "report": (
        of_spec("report", "--out", "FOLDER/report.json"),
        0,
        ("metrics", "gates", "quality", "curves", "blocks", "groups", "comparisons"),
    ),
    "gate": (of_spec("gate"), 3, ("metrics", "comparisons", "gates", "quality")),
    "merge": (of_spec("merge", first=DAY), 3, ("states", "blocks", "distributions")),
    "export": (of_spec("export", "FOLDER/goal"), 0, EVERYTHING),
    "sr.compare_runs": (in_python(sr.compare_runs, groups="common"), 0, ("groups",)),
    "sr.movers of a file": (in_python(sr.movers, "ndcg@5", of_files=True), 0, ("groups",)),
    "sr.movers": (in_python(sr.movers, "ndcg@5"), 0, ("groups",)),
    "accept": (of_spec("accept", "--reason", "known"), 0, EVERYTHING),  # the last, which changes the day
}


def part(folder: Path, table: str, day: str = DAY) -> Path:
    return one_file(folder / f"tables/{table}/day={day}").resolve()


def flipped(own: Path, folder: Path, table: str) -> None:
    content = own.read_bytes()
    own.write_bytes(bytes([*content[:100], content[100] ^ 1, *content[101:]]))


DAMAGES: dict[str, tuple[Callable[[Path, Path, str], object], str]] = {
    "another day's": (lambda own, folder, table: shutil.copy(part(folder, table, DAYS[0]), own), " in "),
    "a bit": (flipped, "has other bytes in"),
    "empty": (lambda own, *_: own.write_bytes(b""), "has 0 bytes in"),
    "more": (lambda own, *_: shutil.copy(own, own.with_name("part-9-x.parquet")), "that its run did not write"),
    "lost": (lambda own, *_: own.unlink(), "has lost its file"),
}


def error_of(run: Callable[[Path], int], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    try:
        assert run(folder) == 4
    except InputError as error:
        return str(error)
    return capsys.readouterr().err.removeprefix("sparkrank: ")


def test_every_reader_refuses_a_table_that_is_not_the_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    passed = []
    for reader, (run, code, tables) in READERS.items():
        for table in tables:
            for damage in DAMAGES if reader in ("movers", "report") and table == "groups" else ("a bit",):
                kept = part(folder, table)
                content = kept.read_bytes()
                DAMAGES[damage][0](kept, folder, table)
                error = error_of(run, folder, capsys)
                if not (error.startswith(f"the table {table} of {DAY} ") and DAMAGES[damage][1] in error):
                    passed.append((reader, table, damage, error))
                kept.with_name("part-9-x.parquet").unlink(missing_ok=True)
                kept.write_bytes(content)
        assert run(folder) == code, reader
    assert passed == []


def test_an_acceptance_carries_the_list_of_the_run_and_certifies_nothing_anew(folder: Path) -> None:
    def listed() -> list[dict]:
        (run,) = pq.read_table(part(folder, "runs"), partitioning=None).to_pylist()
        return [file for file in run["files"] if file["table"] != "gates"]

    before = listed()
    (part(folder, "metrics").parent.parent / "strange").mkdir()
    shutil.copy(part(folder, "quality"), part(folder, "metrics").parent.parent / "strange")
    accept, export = READERS["accept"][0], READERS["export"][0]
    assert accept(folder) == export(folder) == 4
    shutil.rmtree(part(folder, "metrics").parent.parent / "strange")
    assert accept(folder) == 0
    assert listed() == before


def test_a_damaged_day_is_marked_in_the_trend_of_a_later_report(folder: Path) -> None:
    flipped(part(folder, "metrics", DAYS[1]), folder, "metrics")
    assert READERS["report"][0](folder) == 0
    assert "has other bytes in" in (folder / "report.json").read_text()
