"""Pieces between reading and solving: the same rows from memory and from disk, and a bound on what is held."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import SparkrankError
from sparkrank.config import load_spec
from sparkrank.engines.shuffle.packing import narrowed, pieces_by_bucket
from sparkrank.engines.shuffle.spill import PieceStore
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.support.commands import local_conf

BUCKETS = 5
SCHEMA = pa.schema({"key_0": pa.int64(), "name": pa.string(), "label": pa.int16(), "score_0": pa.float32()})


def splits(count: int, rows: int) -> list[pa.Table]:
    """Splits whose whole numbers need another width each, with nulls and empty texts."""
    rng = np.random.default_rng(4)
    return [
        pa.table(
            [
                pa.array(rng.integers(0, 10 ** (split % 10 + 1), rows)),
                pa.array(rng.choice(["", "a", "long " * 9], rows), mask=rng.random(rows) < 0.2),
                pa.array(rng.integers(0, 200, rows), pa.int16(), mask=rng.random(rows) < 0.2),
                pa.array(rng.random(rows), pa.float32()),
            ],
            schema=SCHEMA,
        )
        for split in range(count)
    ]


@pytest.fixture
def file() -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile(buffering=0) as opened:
        yield opened


def cut(rows: pa.Table) -> list[tuple[int, pa.RecordBatch]]:
    return list(pieces_by_bucket(narrowed(rows), BUCKETS))


def taken(pieces: PieceStore) -> list[pa.Table]:
    return [pieces.take(bucket) for bucket in range(BUCKETS)]


@pytest.mark.parametrize("row_memory", [0, 3000, 1 << 30], ids=["disk", "both", "memory"])
def test_every_row_comes_out_as_it_went_in(file: BinaryIO, row_memory: int) -> None:
    given, pieces = splits(12, 100), PieceStore(SCHEMA, file, row_memory)
    for split in given:
        pieces.add(cut(split))
    assert pieces.on_disk == bool(os.fstat(file.fileno()).st_size) == (row_memory < 1 << 30)
    out = taken(pieces)
    assert all(part.schema == SCHEMA for part in out)
    order = [(name, "ascending") for name in SCHEMA.names]
    assert pa.concat_tables(out).sort_by(order).equals(pa.concat_tables(given).sort_by(order).combine_chunks())
    assert taken(pieces) == [None] * BUCKETS


def test_what_has_gone_to_disk_counts_no_more_as_held(file: BinaryIO) -> None:
    """With room for two splits, each further one sends one to disk: the two after it stay in memory."""
    (split,) = splits(1, 100)
    size = sum(piece.nbytes for _, piece in cut(split))
    pieces, ends = PieceStore(SCHEMA, file, 2 * size), []
    for _ in range(9):
        pieces.add(cut(split))
        ends.append(os.fstat(file.fileno()).st_size)
    written = np.diff([0, *ends])
    assert (written[:2] == 0).all()
    assert (written[2:] == written[2]).all()
    assert written[2] > 0


def test_one_split_beyond_the_limit_goes_to_disk_with_all_before_it(file: BinaryIO) -> None:
    (split,) = splits(1, 100)
    pieces = PieceStore(SCHEMA, file, 90_000)
    pieces.add(cut(split))
    assert not pieces.on_disk
    pieces.add([part for _ in range(100) for part in cut(split)])
    assert pieces.on_disk
    assert sum(map(pieces.bytes_in_memory, range(BUCKETS))) == 0
    assert sum(map(len, taken(pieces))) == 101 * 100


@pytest.mark.parametrize("row_memory", [0, 30_000, 1 << 30], ids=["disk", "both", "memory"])
def test_text_keys_meet_in_a_bucket_however_their_splits_hold_them(file: BinaryIO, row_memory: int) -> None:
    """Few texts are codes in memory, many are texts; on disk those that repeat are codes."""
    schema = pa.schema({"key_0": pa.string(), "row": pa.int64()})
    pieces, given = PieceStore(schema, file, row_memory), []
    for split, users in enumerate([3, 10_000, 3, 10_000, 10_000, 3]):
        keys = [f"user {number}" for number in np.random.default_rng(split).integers(0, users, 1000)]
        given.append(pa.table([keys, np.arange(1000) + 1000 * split], schema=schema))
        pieces.add(list(pieces_by_bucket(given[-1], BUCKETS, code_texts=False)))
    out = taken(pieces)
    together = pa.concat_tables(part.cast(schema) for part in out)
    assert together.sort_by("row").to_pylist() == pa.concat_tables(given).to_pylist()
    users = [set(part["key_0"].to_pylist()) for part in out]
    assert sum(map(len, users)) == len(set.union(*users))


def test_texts_that_repeat_are_on_disk_once(file: BinaryIO) -> None:
    rows = pa.table({"key_0": [f"a rather long name of user {number}" for number in range(5000)] * 4})
    pieces = PieceStore(rows.schema, file, 0)
    pieces.add(list(pieces_by_bucket(rows, 1, code_texts=False)))
    assert os.fstat(file.fileno()).st_size < 5000 * 40 + 20_000 * 3  # and two bytes for each row's code


def test_what_is_held_stays_below_four_thirds_of_the_limit(file: BinaryIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow disk too, where all threads run into the limit while one of them writes."""
    limit, threads = 90_000, 8
    given = [cut(split) for split in splits(240, 50)]
    sizes = [sum(piece.nbytes for _, piece in split) for split in given]
    pieces, spill = PieceStore(SCHEMA, file, limit), PieceStore._spill
    begun: list[int] = []
    written: list[int] = []
    held_bytes: list[int] = []

    def slowly(self: PieceStore, held: dict[int, list[pa.RecordBatch]]) -> None:
        size = sum(piece.nbytes for each in held.values() for piece in each)
        time.sleep(0.05)
        held_bytes.append(sum(begun) - sum(written))
        spill(self, held)
        written.append(size)

    def add(split: int) -> None:
        begun.append(sizes[split])
        pieces.add(given[split])

    monkeypatch.setattr(PieceStore, "_spill", slowly)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(add, range(len(given))))
    assert limit < max(held_bytes) <= limit * 4 / 3 + (threads + 2) * max(sizes) < 2 * limit
    assert sum(map(len, taken(pieces))) == 12_000


ROLES = {"group": "user", "score": "score", "label": "label"}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, list[Path]]]:
    """Whether rows are on disk when a bucket is taken, and what is in the folder of temporary files."""
    take, seen = PieceStore.take, []

    def looked(self: PieceStore, bucket: int) -> pa.Table | None:
        seen.append((self.on_disk, list(Path(tempfile.gettempdir()).iterdir())))
        return take(self, bucket)

    monkeypatch.setattr(PieceStore, "take", looked)
    return seen


@pytest.mark.parametrize("rows", [600, 60_000])
def test_rows_that_cannot_be_written_are_told_with_their_folder(small_files: None, rows: int) -> None:
    log = pa.table({"user": np.arange(rows), "score": np.random.default_rng(2).random(rows), "label": [1] * rows})
    with pytest.raises(SparkrankError, match=rf"in {tempfile.gettempdir()}, cannot be written: File too large$"):
        sr.evaluate(log, ["rr"], **ROLES, row_memory=0)


def test_a_killed_process_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list) -> None:
    """While rows are on disk, no name in the folder of temporary files leads to them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    log = pa.table({"user": [1, 1, 2], "score": [0.5, 0.25, 0.75], "label": [0, 1, 1]})
    assert sr.evaluate(log, ["rr"], **ROLES, row_memory=0)["rr"] == 0.75  # (1/2 + 1) / 2
    assert looks == [(True, [])]


@pytest.mark.parametrize(("row_memory", "on_disk"), [(0, True), ("16124B", True), ("16125B", False), (None, False)])
def test_a_job_holds_as_many_bytes_of_rows_as_it_is_told(
    tmp_path: Path, looks: list, caplog: pytest.LogCaptureFixture, row_memory: object, on_disk: bool
) -> None:
    """A thousand rows of a key and a score of 8 bytes and a label of one bit: 16,125 bytes."""
    rng = np.random.default_rng(8)
    users, labels = rng.integers(0, 2**62, 1000), pa.array(rng.integers(0, 2, 1000), pa.int8())
    pq.write_table(pa.table({"user": users, "score": rng.random(1000), "label": labels}), tmp_path / "log.parquet")
    engine = {"lane": "local", "buckets": 1, "row_memory": row_memory}
    spec = load_spec(local_conf(tmp_path, f"{tmp_path}/log.parquet", ROLES, ["rr"], engine=engine))
    with caplog.at_level("INFO", "sparkrank"):
        evaluate_day(spec, "2026-11-19", None, Stages())
    assert [is_on_disk for is_on_disk, _ in looks] == [on_disk]
    assert caplog.messages[0] == "lane local: there is no Spark session"
    assert [message.endswith("and went to disk") for message in caplog.messages[1:]] == [True] * on_disk
