"""Cutting rows by bucket: whole groups, no row lost, and pieces that come back as they went."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.engine.packing import buckets_of, cut, hash_keys, pieces_by_bucket, unpack_pieces

KEYS = {
    "int64": pa.array([5, -1, 5, None, 2**62, 0], pa.int64()),
    "int32": pa.array([5, -1, 5, None, 7, 0], pa.int32()),
    "string": pa.array(["b", "", "b", None, "bb", "ü"]),
    "dictionary": pa.array(["b", "", "b", None, "bb", "ü"]).dictionary_encode(),
    "bool": pa.array([True, False, True, None, False, False]),
    "date": pa.array([5, -1, 5, None, 7, 0], pa.int32()).cast(pa.date32()),
    "binary": pa.array([b"b", b"", b"b", None, b"\xff", b"\x00"]),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_equal_keys_and_no_others_share_a_hash(key: pa.Array) -> None:
    hashes = hash_keys([key])
    values = key.to_pylist()
    for i, one in enumerate(values):
        for j, other in enumerate(values):
            assert (hashes[i] == hashes[j]) == (one == other)


def test_the_hash_of_a_key_does_not_depend_on_where_it_stands() -> None:
    texts = [f"user-{number}" for number in range(1000)]
    whole = hash_keys([pa.array(texts)])
    sliced = hash_keys([pa.array(["before", *texts, "behind"]).slice(1, 1000)])
    assert whole.tolist() == sliced.tolist()
    assert len(set(whole.tolist())) == 1000


def test_the_order_of_key_columns_matters() -> None:
    one, two = pa.array([1, 2]), pa.array([2, 1])
    first, second = hash_keys([one, two])
    assert first != second


def test_buckets_are_even() -> None:
    for keys in (pa.array(np.arange(100_000)), pa.array([str(n) for n in range(100_000)])):
        sizes = np.bincount(buckets_of(hash_keys([keys]), 50), minlength=50)
        assert len(sizes) == 50
        assert abs(sizes - 2000).max() < 6 * np.sqrt(2000)  # six standard deviations of a fair die


@pytest.mark.parametrize("buckets", [1, 7, 70_000])
def test_every_row_goes_to_the_bucket_of_its_group(buckets: int) -> None:
    rng = np.random.default_rng(3)
    rows = pa.table({"key_0": rng.integers(0, 300, 5000), "key_1": rng.choice(["a", "b"], 5000), "row": range(5000)})
    seen: dict[tuple, int] = {}
    found = []
    for bucket, piece in pieces_by_bucket(rows, buckets):
        for row in unpack_pieces([piece.serialize()], piece.schema).to_pylist():
            assert seen.setdefault((row["key_0"], row["key_1"]), bucket) == bucket
            found.append(row["row"])
    assert sorted(found) == list(range(5000))


def test_rows_keep_their_order_inside_a_piece() -> None:
    rows = pa.table({"row": range(1000)})
    for _, piece in cut(rows, np.arange(1000, dtype=np.uint32) % 3, 3):
        assert piece["row"].to_pylist() == sorted(piece["row"].to_pylist())


def test_nothing_comes_of_nothing() -> None:
    assert list(pieces_by_bucket(pa.table({"key_0": pa.array([], pa.int64())}), 4)) == []


def test_rows_without_a_key_spread() -> None:
    rows = pa.table({"key_0": pa.array([None] * 300 + [1] * 300, pa.int64()), "row": range(600)})
    sizes = {bucket: piece["row"].to_pylist() for bucket, piece in pieces_by_bucket(rows, 6)}
    assert all(any(row < 300 for row in found) for found in sizes.values())
    assert len(sizes) == 6
    assert sum(any(row >= 300 for row in found) for found in sizes.values()) == 1  # while a group stays whole
    assert sorted(row for found in sizes.values() for row in found) == list(range(600))
