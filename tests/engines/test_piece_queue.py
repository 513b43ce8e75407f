"""Pieces that arrive at a task: what its buckets get does not depend on how their parts are cut, alone or together."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.base.errors import OutOfMemoryError
from sparkrank.engines.bucket_evaluation import add_pieces
from sparkrank.engines.shuffle import packing, piece_queue
from sparkrank.engines.shuffle.packing import pieces_by_task, unpack_piece
from sparkrank.engines.shuffle.spill import LazyFile, PieceStore
from sparkrank.engines.shuffle.texts import decoded
from sparkrank.metrics import plan_of
from sparkrank.numeric.key_hashes import buckets_of_keys
from sparkrank.states.pickling import stream_of
from tests.extent import examples
from tests.support.strategies import PATIENT

PLAN = plan_of(["rr"], ["score"], ["user"])


def split_of(draw: np.random.Generator, rows: int, kind: str) -> pa.Table:
    """The rows of a split, as lanes cut them; ``number`` tells each from all others."""
    columns = {"key_0": pa.array(draw.integers(0, 60, rows)), "label": pa.array(draw.integers(0, 2, rows), pa.int8())}
    columns["score_0"] = pa.array(draw.random(rows), mask=draw.random(rows) < 0.1)
    columns["number"] = pa.array(draw.integers(0, 1 << 40, rows))
    if kind == "texts":
        columns["item"] = pa.array([f"i{each}" for each in draw.integers(0, 1 << 30, rows)], pa.string())
    if kind == "keys":
        columns["key_0"] = pa.array(draw.integers(0, 60, rows), mask=draw.random(rows) < 0.1)
    if kind == "dictionaries":
        columns["key_0"] = columns["key_0"].cast(pa.string()).dictionary_encode()
    if kind in ("lists", "truth"):  # a side has nothing in the column of the other
        columns["truth"] = pa.repeat(kind == "truth", rows)
        missing = "score_0" if kind == "truth" else "label"
        columns[missing] = pa.nulls(rows, columns[missing].type)
    return pa.table(columns)


@given(
    seed=st.integers(0, 1 << 30),
    kinds=st.sampled_from([["numbers"], ["texts"], ["keys"], ["dictionaries"], ["lists", "truth"]]),
    buckets=st.sampled_from([1, 7, 40]),
    tasks=st.sampled_from([1, 3]),
    few=st.sampled_from([0, 3, 512]),
    waiting=st.sampled_from([1, 500, 16 << 20]),
    memory=st.sampled_from([0, 2_000, 1 << 30]),
)
@settings(PATIENT, max_examples=examples(100))
def test_a_bucket_has_the_rows_of_its_keys(
    seed: int, kinds: list[str], buckets: int, tasks: int, few: int, waiting: int, memory: int
) -> None:
    """By the hash of each row; on both sides of the limits, with pieces that wait and that spill."""
    draw = np.random.default_rng(seed)
    splits = [split_of(draw, int(draw.integers(0, 200)), kind) for _ in range(3) for kind in kinds]
    expected: dict[int, Counter[Any]] = defaultdict(Counter)
    has_nulls = any(split["key_0"].null_count for split in splits)  # these rows may be in any bucket
    for split in map(decoded, splits):
        keys = split["key_0"].combine_chunks()
        of_rows = buckets_of_keys([keys.fill_null(0) if has_nulls else keys], buckets) if len(split) else []
        for bucket, row in zip(of_rows, split.to_pylist(), strict=True):
            expected[0 if has_nulls else int(bucket)][repr(row)] += 1
    found: dict[int, Counter[Any]] = defaultdict(Counter)
    of_tasks: dict[int, list[Any]] = defaultdict(list)
    for first, piece in itertools.chain.from_iterable(pieces_by_task(split, buckets, tasks) for split in splits):
        of_tasks[first * tasks // buckets].append((first, unpack_piece(stream_of(piece))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piece_queue, "FEW_ROWS", few)
        patch.setattr(piece_queue, "WAITING_BYTES", waiting)
        for pieces in of_tasks.values():
            with closing(LazyFile()) as file:
                store = PieceStore(decoded(splits[0]).schema, file, memory)
                for bucket in add_pieces(store, pieces, PLAN):
                    for part in store.pieces(bucket, keep=True) if "truth" in kinds else ():
                        assert len(part["truth"].unique()) == 1  # sides stay apart
                    found[0 if has_nulls else bucket].update(map(repr, store.take(bucket).to_pylist()))
    assert found == expected


def test_small_parts_of_many_pieces_become_one_part_of_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 30 pieces with 20 buckets of some ten rows each; texts and large parts are only sliced."""
    draw = np.random.default_rng(5)
    for kind, few, expected in (("numbers", 512, 1), ("numbers", 2, 30), ("texts", 512, 30)):
        monkeypatch.setattr(piece_queue, "FEW_ROWS", few)
        splits = [split_of(draw, 400, kind) for _ in range(30)]
        store = PieceStore(splits[0].schema, LazyFile(), 1 << 30)
        buckets = add_pieces(store, (piece for split in splits for piece in pieces_by_task(split, 20, 1)), PLAN)
        assert len(buckets) > 15  # of 60 keys
        parts = [len(list(store.pieces(bucket))) for bucket in range(20)]
        assert max(parts) == expected
        assert sum(parts) > expected * 15


def test_pieces_wait_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_queue, "WAITING_BYTES", 20_000)
    draw, cut, together = np.random.default_rng(5), [], packing.buckets_of_pieces

    def counted(first: int, pieces: list[pa.RecordBatch], schema: pa.Schema) -> Any:
        cut.append(len(pieces))
        return together(first, pieces, schema)

    monkeypatch.setattr(piece_queue, "buckets_of_pieces", counted)
    splits = [split_of(draw, 100, "numbers") for _ in range(30)]
    pieces = [piece for split in splits for piece in pieces_by_task(split, 20, 1)]
    store = PieceStore(splits[0].schema, LazyFile(), 1 << 30)
    add_pieces(store, pieces, PLAN)
    most = -(-20_000 // pieces[0][1].nbytes)
    assert cut == [most] * (30 // most) + [30 % most] * bool(30 % most)
    assert sum(store.rows(bucket) for bucket in range(20)) == 3_000


def test_where_memory_ends_the_largest_bucket_of_the_last_piece_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one that is cut with others; nothing is known where it ends before the first piece."""
    rows = pa.table({"key_0": [1] * 600 + [2], "label": pa.array([0] * 601, pa.int8()), "score_0": [0.5] * 601})
    (piece,) = pieces_by_task(rows, 20, 1)

    def ended(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(piece_queue, "buckets_of_pieces", ended)
    with pytest.raises(OutOfMemoryError, match=r"has (about )?600 rows"):
        add_pieces(PieceStore(rows.schema, LazyFile(), 0), [piece], PLAN)
    with pytest.raises(OutOfMemoryError, match="take more memory than this process may use"):
        add_pieces(PieceStore(rows.schema, LazyFile(), 0), (ended() for _ in range(1)), PLAN)
