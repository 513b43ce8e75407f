"""A bit of a file flips after it was written: a sentence that names the file, or the same numbers; never others."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import sparkrank as sr
from sparkrank.inputs.roles import Roles
from sparkrank.sources.formats import SOURCES
from sparkrank.sources.protocol import Split
from sparkrank.sources.selection import Selection
from sparkrank.sources.side_rows import SideRows
from tests.support.commands import exit_code
from tests.support.rotten import flip, log, pages_of
from tests.windows.week import DAYS, evaluate, impressions_of, merging, spec_of, write_log

TRUTH = pa.table({"user": log()["user"], "item": log()["item"], "label": log()["label"]}).filter(
    pa.array(np.arange(1000) % 3 == 0)
)
READ: dict[str, tuple[str, Callable[[Path], sr.Evaluation]]] = {
    "input": ("log", lambda file: of_log(str(file))),
    "truth": ("truth", lambda file: of_lists(str(file))),
    "nested": ("nested", lambda file: of_log(str(file), score="of.score")),
    "dataset": ("log", lambda file: of_log(ds.dataset(str(file)))),
}


def of_log(rows: Any, score: str = "score") -> sr.Evaluation:
    return sr.evaluate(rows, ["ndcg@10", "auc"], group="user", score=score, label="label", uncertainty=False)


def of_lists(truth: str) -> sr.Evaluation:
    lists = log().select(["user", "item", "score"])
    columns = {"group": "user", "item": "item", "score": "score", "label": "label"}
    return sr.evaluate(lists, ["ndcg@10", "r@5"], truth=truth, duplicates="keep", uncertainty=False, **columns)


def write_all(folder: Path) -> None:
    nested = log().append_column("of", pa.StructArray.from_arrays([log()["score"].combine_chunks()], ["score"]))
    for name, table in {"log": log(), "truth": TRUTH, "nested": nested.drop_columns(["score"])}.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="none", write_page_checksum=True)


@pytest.mark.parametrize("what", READ)
def test_a_flipped_bit_of_what_is_read(tmp_path: Path, what: str) -> None:
    """In every column, at its begin (where pages say what they are), in the middle and at the end."""
    write_all(tmp_path)
    name, read = READ[what]
    file = tmp_path / f"{name}.parquet"
    true, whole = read(file).metrics, file.read_bytes()
    refused = 0
    for first, end in pages_of(file).values():
        for place in (*range(first, first + 40, 3), (first + end) // 2, end - 2):
            flip(file, place, bit=place % 8)
            try:
                assert read(file).metrics == true, place
            except sr.InputError as error:
                refused += 1
                assert what == "dataset" or file.name in str(error), place  # noqa: PT017 - or it is read as it was
            file.write_bytes(whole)
    assert refused >= 2 * 3  # of each column that counts
    if what == "input":  # pages without checksums are read, as other writers leave them
        pq.write_table(log(), file, write_page_checksum=False)
        assert read(file).metrics == true


def split_of(kind: str, path: Path) -> Split:
    """The only split of a file."""
    roles = Roles((), {}, {"a": "a"})
    rows = SideRows("input", path=str(path), format=kind, options={"header": "true"} if kind == "csv" else {})
    [split] = Selection(SOURCES[kind](rows, roles)).splits(["a"], 10_000)
    return split


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day with all of its tables, those that tasks write included."""
    folder = tmp_path_factory.mktemp("stored")
    write_log(folder, impressions_of(DAYS[2], 200), DAYS[2])
    evaluate(spec_of(folder, slices=["country"], output__curves=20), DAYS[2])
    return folder


def test_every_table_of_ours_has_checksums(stored: Path) -> None:
    """Whatever column of it: the last byte of each lies in a page."""
    files = sorted(each for each in (stored / "tables").rglob("*.parquet") if not each.parent.is_symlink())
    assert len({each.parent.name for each in files}) > 5
    for file in files:
        for _, end in pages_of(file).values():
            spoilt = bytearray(file.read_bytes())
            spoilt[end - 1] ^= 1
            with pytest.raises(OSError, match="CRC"):
                pq.ParquetFile(pa.BufferReader(bytes(spoilt)), page_checksum_verification=True).read()


def test_a_flipped_bit_of_the_table_of_the_run(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which has the checksums of the others: those are looked at in tests/tables/test_one_door.py."""
    folder = tmp_path / "day"
    shutil.copytree(stored, folder, symlinks=True)
    conf = spec_of(folder, slices=["country"])
    [file] = {each.resolve() for each in (folder / f"tables/runs/day={DAYS[2]}").glob("*.parquet")}
    words = merging(conf, first=DAYS[2], last=DAYS[2])
    for _, end in pages_of(file).values():
        flip(file, end - 1)
        capsys.readouterr()
        assert exit_code(*words) in (0, 4)  # of a column that nobody reads, nothing is lost
        flip(file, end - 1)
    first = next(iter(pages_of(file).values()))
    flip(file, first[1] - 1)
    assert exit_code(*words) == 4
    assert file.name in capsys.readouterr().err


def test_a_flipped_bit_of_a_group_table(tmp_path: Path) -> None:
    ev = [tmp_path / "a", tmp_path / "b"]
    for folder in ev:
        sr.evaluate(log(), ["ndcg@10"], group="user", score="score", label="label", group_table=folder)
    [file] = ev[0].glob("*.parquet")
    (_, end) = next(place for name, place in pages_of(file).items() if name.startswith("ndcg"))
    flip(file, end - 1)
    with pytest.raises(sr.InputError, match="CRC"):
        sr.compare_runs(str(ev[0]), str(ev[1]), metrics=["ndcg@10"])


@pytest.mark.parametrize(("kind", "write"), [("parquet", pq.write_table), ("csv", csv.write_csv)])
@pytest.mark.parametrize("change", ["same size", "longer", "half", "gone"])
def test_a_file_that_changes_after_the_plan_is_refused(
    tmp_path: Path, kind: str, write: Callable[[pa.Table, Path], None], change: str
) -> None:
    """Also where the new file has the size and the layout of the old one; the split travels as to a task."""
    path = tmp_path / f"log.{kind}"
    write(pa.table({"a": [1, 2, 3]}), path)
    split = copy.deepcopy(split_of(kind, path))
    assert sum(table.num_rows for table in split.read()) == 3
    split, whole = copy.deepcopy(split_of(kind, path)), path.read_bytes()
    path.unlink()
    if change == "half":
        path.write_bytes(whole[: len(whole) // 2])
    elif change != "gone":
        write(pa.table({"a": [4, 5, 6] if change == "same size" else [4] * 2000}), path)
        assert (path.stat().st_size == len(whole)) == (change == "same size")
    with pytest.raises(sr.InputError, match=rf"log\.{kind} was (written anew|deleted) while the job ran"):
        list(split.read())
