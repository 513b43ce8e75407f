"""Programs that know nothing of links read the results: by the queries of docs/queries.md, and from copies.

Spark's are in tests/spark/test_queries.py.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from tests.support import queries
from tests.support.commands import exit_code
from tests.support.s3_server import s3_environment, s3_server, s3_with

OF_ALL = ("production", "rr", "all")
NAMES = ("trend", "worst", "fell", "paired")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an evaluation with `output.plain`, the second day of it evaluated twice."""
    folder = tmp_path_factory.mktemp("plain")
    conf = queries.evaluate(folder, plain=True)
    assert exit_code("evaluate", "--conf", conf, "--date", queries.AFTER) == 0
    return folder


def duckdb(_: str = "DuckDB") -> Mapping[str, Any]:
    module = pytest.importorskip("duckdb")
    found = [module.sql(code) for code in queries.blocks("DuckDB")]
    rows = [[dict(zip(each.columns, row, strict=True)) for row in each.fetchall()] for each in found]
    return dict(zip(NAMES, rows, strict=True))


def executed(reader: str) -> Mapping[str, Any]:
    names: dict[str, Any] = {}
    for code in queries.blocks(reader):
        exec(compile(code, f"docs/queries.md, {reader}", "exec"), names)  # noqa: S102 - our own page
    return names


def polars(reader: str) -> Mapping[str, Any]:
    pytest.importorskip("polars")
    return {name: rows.to_dicts() for name, rows in executed(reader).items() if name in NAMES}


def pandas(reader: str) -> Mapping[str, Any]:
    return {name: rows.to_dict("records") for name, rows in executed(reader).items() if name in NAMES}


def pyarrow(reader: str) -> Mapping[str, Any]:
    found = executed(reader)
    return {name: found[name].to_pylist() for name in NAMES[:-1]} | {"paired": [found["paired"]]}


READERS = {"DuckDB": duckdb, "Polars": polars, "pandas": pandas, "pyarrow": pyarrow}


@pytest.mark.parametrize("reader", READERS)
def test_the_queries_of_the_page_find_what_they_say(plain: Path, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    monkeypatch.chdir(plain)
    queries.check(READERS[reader](reader))


def test_an_export_is_read_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of days that links show."""
    conf = queries.evaluate(tmp_path / "linked")
    assert exit_code("export", "--conf", conf, str(tmp_path / "evaluation")) == 0
    monkeypatch.chdir(tmp_path)
    queries.check(duckdb())


def test_the_paired_difference_is_that_of_the_table_comparisons(plain: Path) -> None:
    rows = ds.dataset(plain / "evaluation/comparisons", partitioning="hive").to_table().to_pylist()
    (row,) = [row for row in rows if (row["day"], row["metric"], row["slice"]) == (queries.AFTER, "rr", "all")]
    ((difference, stderr, n),) = queries.EXPECTED["paired"]
    pairs = row["wins"] + row["ties"] + row["losses"]
    assert (row["difference"], row["stderr"], pairs) == pytest.approx((difference, stderr, n), rel=1e-12)


COPIES = {
    "all by tar": "mkdir {goal} && tar -C {source} -c . | tar -C {goal} -x",
    "each table by cp": "mkdir {goal} && cp -r {source}/metrics {source}/groups {goal}",
}


@pytest.mark.parametrize("how", COPIES)
def test_copies_are_read(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Somewhere else, when what they are copies of is out of reach."""
    source = plain / "evaluation"
    copy = COPIES[how].format(source=source, goal=tmp_path / "evaluation")
    subprocess.run(copy, shell=True, check=True)  # noqa: S602 - our own words
    monkeypatch.chdir(tmp_path)
    hidden = source.rename(plain / "hidden")
    try:
        queries.check(duckdb())
        queries.check(pandas("pandas"))
    finally:
        hidden.rename(source)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as address:
        yield address


def test_a_sync_to_an_object_store_has_each_file_once(
    plain: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where links are followed, too, once nothing is left of the day's run before."""
    for name, value in s3_environment(endpoint).items():
        monkeypatch.setenv(name, value)
    bucket = "lake"
    store, source = s3_with(endpoint, bucket), plain / "evaluation"
    conf = ("--conf", str(plain / "spec.yaml"))
    assert exit_code("clean", *conf) == 0
    for folder, _, files in os.walk(source, followlinks=True):
        for file in (Path(folder, name) for name in files):
            with store.open_output_stream(f"{bucket}/evaluation/{file.relative_to(source)}") as opened:
                opened.write(file.read_bytes())
    found = store.get_file_info(fs.FileSelector(bucket, recursive=True))
    synced = [info.path for info in found if info.path.endswith(".parquet")]
    places = [path for path in source.rglob("*=*") if path.is_dir() and not path.is_symlink()]
    assert {path.parent.name for path in places} >= {"metrics", "groups", "states", "runs"}
    assert len(synced) == len(places)  # of so few rows a table has one file
    there = ("--set", f"output.path=s3://{bucket}/evaluation", "--set", "output.plain=false")
    window = ("--from", queries.BEFORE, "--to", queries.AFTER)
    assert exit_code("merge", *conf, *there, *window) == 0  # sparkrank reads them, too
    merged = pq.read_table(f"{bucket}/evaluation/windows/metrics", filesystem=store, partitioning=None).to_pylist()
    (value,) = (row["value"] for row in merged if (row["model"], row["metric"], row["slice"]) == OF_ALL)
    assert value == pytest.approx((0.6875 * 4 + 0.5 * 4) / 8, rel=1e-12)


def test_sparkrank_reads_plain_days(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A merge, a backfill, which finds them there, a gate and an acceptance, whose tables are plain as well."""
    conf = ("--conf", str(plain / "spec.yaml"))
    window = ("--from", queries.BEFORE, "--to", queries.AFTER)
    assert exit_code("merge", *conf, *window) == 0
    (file,) = (plain / "evaluation/windows/metrics").glob("window=*/*.parquet")
    assert not file.parent.is_symlink()
    assert len(pd.read_parquet(file)) > 0
    capsys.readouterr()
    assert exit_code("evaluate", *conf, *window) == 0
    assert capsys.readouterr().out.count("there") >= 2
    gate = ("--set", 'gates=[{"metric": "rr", "model": "production", "max": -10}]')
    assert exit_code("gate", *conf, *gate, "--date", queries.AFTER) == 3
    for _ in range(2):
        assert exit_code("accept", *conf, *gate, "--date", queries.AFTER, "--reason", "known") == 0
        assert exit_code("gate", *conf, *gate, "--date", queries.AFTER) == 0
    folders = [plain / "evaluation" / name / f"day={queries.AFTER}" for name in ("gates", "runs", "metrics", "states")]
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1, 1, 1]
    assert not any(folder.is_symlink() for folder in folders)
