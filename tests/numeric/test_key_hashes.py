"""Hashes of group keys: equal keys have equal ones, wherever and in whatever type they stand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.engines.shuffle import packing
from sparkrank.numeric.key_hashes import buckets_of, hash_keys
from tests.support.numbers import STEP, mixed

KEYS = {
    "int64": pa.array([5, -1, 5, None, 2**62, 0], pa.int64()),
    "int32": pa.array([5, -1, 5, None, 7, 0], pa.int32()),
    "uint64": pa.array([5, 2**64 - 1, 5, None, 2**63, 0], pa.uint64()),
    "string": pa.array(["b", "", "b", None, "bb", "ü"]),
    "dictionary": pa.array(["b", "", "b", None, "bb", "ü"]).dictionary_encode(),
    "bool": pa.array([True, False, True, None, False, False]),
    "date": pa.array([5, -1, 5, None, 7, 0], pa.int32()).cast(pa.date32()),
    "binary": pa.array([b"b", b"", b"b", None, b"\xff", b"\x00"]),
    "large string": pa.array(["b", "", "b", None, "bb", "ü"], pa.large_string()),
    "large binary": pa.array([b"b", b"", b"b", None, b"\xff", b"\x00"], pa.large_binary()),
    "double": pa.array([0.5, -1.0, 0.5, None, float("inf"), 0.0]),
    "float": pa.array([0.5, -1.0, 0.5, None, float("inf"), 0.0], pa.float32()),
    "decimal": pa.array([1, -1, 1, None, 7, 0], pa.int32()).cast(pa.decimal128(20, 2)),
    "timestamp": pa.array([5, -1, 5, None, 7, 0]).cast(pa.timestamp("us", "Europe/Vienna")),
    "duration": pa.array([5, -1, 5, None, 7, 0]).cast(pa.duration("us")),
}
# words end at 8 bytes, and those behind the eighth are read another way
LENGTHS = [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 71, 72, 73, 200]
TEXT_KINDS = [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()]


def texts_of_any_length() -> st.SearchStrategy[list[bytes]]:
    """Some of the same length that differ in one byte, or in zeros at their end."""
    text = st.builds(
        lambda length, place, byte: bytes(byte if at == place else 97 for at in range(length)),
        st.sampled_from(LENGTHS),
        st.integers(0, 80),
        st.sampled_from([0, 1, 97, 127]),
    )
    return st.lists(text, min_size=1, max_size=30)


_NULL = 0xD6E8FEB86659FD93


def _number_of(text: bytes) -> int:
    """The number that a text is defined to be."""
    words = [(int.from_bytes(text[place : place + 8], "little"), place) for place in range(0, len(text), 8)]
    sums = sum(mixed((word + place * STEP) % 2**64) for word, place in words)
    return mixed((sums + len(text) * STEP) % 2**64)


def _by_hand(first: int, *others: int) -> int:
    """What the hash of a key is defined to be, of the numbers of its columns."""
    total = mixed((first + STEP) % 2**64)
    for number in others:
        total = mixed((total * (2**40 + 0x1B3) + number + STEP) % 2**64)  # FNV's prime
    return total


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_equal_keys_and_no_others_share_a_hash(key: pa.Array) -> None:
    hashes = hash_keys([key])
    values = key.to_pylist()
    for i, one in enumerate(values):
        for j, other in enumerate(values):
            assert (hashes[i] == hashes[j]) == (one == other)


@given(texts_of_any_length())
def test_the_hash_of_a_text_is_that_of_its_words(texts: list[bytes]) -> None:
    hashes = hash_keys([pa.array(texts)])
    assert hashes.tolist() == [_by_hand(_number_of(text)) for text in texts]
    assert len(set(hashes.tolist())) == len(set(texts))


def test_the_hash_of_a_key_is_that_of_its_columns_in_their_order() -> None:
    """Texts by their words, all else by its bits: 0.5 is 2^-1 with no bit of the mantissa, 1970-01-03 is day 2."""
    keys = [
        (pa.array(["ann", None]), [_number_of(b"ann"), _NULL]),
        (pa.array([-1, 7], pa.int16()), [2**64 - 1, 7]),
        (pa.array([True, None]), [1, _NULL]),
        (pa.array([None, 0.5]), [_NULL, (1023 - 1) << 52]),
        (pa.array([2, 0], pa.int32()).cast(pa.date32()), [2, 0]),
        (pa.array([None, "ann"]).dictionary_encode(), [_NULL, _number_of(b"ann")]),
        (pa.array([7, None]).dictionary_encode(), [7, _NULL]),
    ]
    expected = [_by_hand(*(numbers[row] for _, numbers in keys)) for row in range(2)]
    assert hash_keys([key for key, _ in keys]).tolist() == expected


@given(texts_of_any_length(), st.integers(0, 5), st.integers(0, 5))
def test_the_hash_of_a_text_does_not_depend_on_what_is_around_it(texts: list[bytes], before: int, behind: int) -> None:
    expected = hash_keys([pa.array(texts)]).tolist()
    around = pa.array([b"\xff" * 9] * before + texts + [b"\xff" * 9] * behind)
    assert hash_keys([around.slice(before, len(texts))]).tolist() == expected
    assert hash_keys([around.slice(before, len(texts)).dictionary_encode()]).tolist() == expected
    for kind in TEXT_KINDS:
        assert hash_keys([pa.array(texts).cast(kind)]).tolist() == expected


def test_a_missing_text_may_stand_on_any_bytes() -> None:
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32))
    texts = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x01"), offsets, pa.py_buffer(b"ab")])
    assert texts.to_pylist() == ["a", None]
    assert hash_keys([texts]).tolist() == hash_keys([pa.array(["a", None])]).tolist()


@pytest.mark.parametrize("kind", [*TEXT_KINDS, pa.int64(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_no_keys_have_no_hashes(kind: pa.DataType) -> None:
    assert len(hash_keys([pa.array([], kind)])) == 0
    assert hash_keys([pa.nulls(2, kind)]).tolist() == hash_keys([pa.nulls(2, pa.int64())]).tolist()


def test_a_bucket_is_the_upper_half_of_the_hash_scaled() -> None:
    """Of 2^32 upper halves those of 0, 2^32 - 1, 2^63 and 2^64 - 1: 0, 0, half of all and the last."""
    hashes = np.array([0, 2**32 - 1, 2**63, 2**64 - 1], np.uint64)
    for count, found, width in ((1, [0, 0, 0, 0], 1), (256, [0, 0, 128, 255], 1), (257, [0, 0, 128, 256], 2)):
        buckets = buckets_of(hashes, count)
        assert buckets.tolist() == found
        assert buckets.itemsize == width  # bytes


def test_groups_that_share_a_hash_are_still_two(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    users = pa.array([f"user-{number}" for number in rng.integers(0, 90, 600)])
    log = pa.table({"user": users, "score": rng.random(600), "label": rng.integers(0, 2, 600)})
    asked = {"metrics": ["dcg@5", "p@3"], "group": "user", "score": "score", "label": "label", "buckets": 4}
    expected = sr.evaluate(log, **asked)
    monkeypatch.setattr(packing, "hash_keys", lambda keys: np.zeros(len(keys[0]), np.uint64))
    found = sr.evaluate(log, **asked)
    assert found.metrics.equals(expected.metrics)
    assert found.groups.sort_by("user").equals(expected.groups.sort_by("user"))
    assert found.groups.num_rows == len(users.unique())
