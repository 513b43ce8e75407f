"""Streams of Arrow, as databases hand them out: they are read once, and of many rows only some are in memory."""

from __future__ import annotations

import errno
import os
import re
import weakref
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import temporary_files
from sparkrank.sources import stream_file
from sparkrank.sources.stream_file import StreamFile, kept

N = 4_000
BATCH = 100
ROWS = pa.table(
    {
        "user": [n % 40 for n in range(N)], "item": [f"item {n // 40}" for n in range(N)],
        "score": [(n * 7919 % 1009) / 1009 for n in range(N)], "label": [n * 31 % 7 < 2 for n in range(N)],
        "model": ["new" if n // 40 % 2 else "old" for n in range(N)], "unread": [b"x" * 50] * N,
    }
)  # fmt: skip
TRUTH = ROWS.filter(ROWS["label"]).select(["user", "item"])
LISTS = pa.table({"user": [1, 2] * 400, "items": [["a", "b"], ["b", "c", "a"]] * 400, "true": [["b"], ["a"]] * 400})


@pytest.fixture(autouse=True)
def _little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_file, "MOST_BYTES", 5_000)


def _stream(rows: pa.Table, batch: int = BATCH) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(rows.schema, iter(rows.to_batches(batch)))


ROLES = {"group": "user", "item": "item", "score": "score"}
ASKED: dict[str, dict[str, Any]] = {
    "rows": {"impressions": ROWS, "metrics": ["ndcg@10", "auc"], **ROLES, "label": "label", "slices": ["model"]},
    "a long table": {"impressions": ROWS, "metrics": ["rr"], **ROLES, "label": "label", "model": "model"},
    "a truth": {"impressions": ROWS, "metrics": ["ap@5"], **ROLES, "truth": TRUTH},
    "a history": {"impressions": ROWS, "metrics": ["new@9"], **ROLES, "truth": TRUTH, "interactions": TRUTH},
    "popularity": {"impressions": ROWS, "metrics": ["shown(of=tier,is=tail)@9"], **ROLES, "interactions": TRUTH},
    "arrays": {"impressions": LISTS, "metrics": ["rr"], "group": "user", "items": "items", "true_items": "true"},
}  # fmt: skip


@pytest.mark.parametrize("what", ASKED)
def test_a_stream_gives_the_bits_of_its_table(what: str) -> None:
    asked = ASKED[what]
    streams = {name: _stream(value, 7) if isinstance(value, pa.Table) else value for name, value in asked.items()}
    assert isinstance(kept(_stream(asked["impressions"], 7), asked["impressions"].schema), StreamFile)
    assert repr(sr.evaluate(**streams).table.to_pylist()) == repr(sr.evaluate(**asked).table.to_pylist())


def test_batches_are_read_once_and_not_held() -> None:
    alive: list[weakref.ref[pa.RecordBatch]] = []
    most = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for start in range(0, N, BATCH):
            batch = pa.RecordBatch.from_pydict(ROWS.slice(start, BATCH).to_pydict(), ROWS.schema)
            alive.append(weakref.ref(batch))
            yield batch
            del batch
            most = max(most, sum(each() is not None for each in alive))

    file = kept(batches(), ROWS.schema)
    assert isinstance(file, StreamFile)
    assert len(alive) == N // BATCH
    assert most <= 4  # a batch has more than 5,000 bytes: the first two are read before a file is made
    assert pa.concat_tables(map(file.read, file.parts)).equals(ROWS)


def test_few_rows_stay_in_memory_and_batches_may_have_dictionaries_of_their_own() -> None:
    few = ROWS.slice(0, 20)
    assert kept(_stream(few), few.schema).equals(few)
    batches = [pa.record_batch({"c": pa.array([f"{n}", f"{n}" * 400] * 20).dictionary_encode()}) for n in range(20)]
    file = kept(batches, batches[0].schema)
    assert isinstance(file, StreamFile)
    assert len(file.parts) > 1
    assert pa.concat_tables(map(file.read, file.parts)).equals(pa.Table.from_batches(batches))
    nothing = kept([], ROWS.schema)
    assert (nothing.num_rows, nothing.schema) == (0, ROWS.schema)


def test_a_stream_that_fails_after_rows_went_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[BinaryIO] = []
    monkeypatch.setattr(stream_file, "unnamed_file", lambda: made.append(temporary_files.unnamed_file()) or made[0])

    def batches() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches(BATCH)
        raise RuntimeError("the warehouse is suspended\nat line 1")

    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    with pytest.raises(sr.InputError) as refused:
        sr.evaluate(reader, ["rr"], **ROLES, label="label")
    assert re.fullmatch(
        "the impressions are a RecordBatchReader that cannot be read: (.*: )?the warehouse is suspended",
        str(refused.value),
    )
    assert [file.closed for file in made] == [True]


def test_a_full_disk_is_a_sentence_and_the_file_ends_with_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(_stream(ROWS), ROWS.schema)
    assert isinstance(file, StreamFile)
    descriptor = file.file.fileno()
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "x")

    monkeypatch.setattr(stream_file, "_written", full)
    told = r"^rows of a stream, in .*, cannot be written: No space left on device$"
    with pytest.raises(sr.SparkrankError, match=told):
        sr.evaluate(_stream(ROWS), ["rr"], **ROLES, label="label")


def test_an_interrupt_while_batches_are_made_is_one() -> None:
    schema = pa.schema({"u": pa.int64(), "s": pa.float64(), "y": pa.int64()})

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([[1], [0.5], [1]], schema=schema)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sr.evaluate(pa.RecordBatchReader.from_batches(schema, batches()), ["rr"], group="u", score="s", label="y")
