"""Compiled loops over texts: which bucket, which distinct one, and all texts bucket after bucket."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank.engines.shuffle.partition import partition_rows
from sparkrank.numeric.key_hashes import buckets_of_keys, hash_keys
from sparkrank.numeric.text_arrays import coded
from tests.native.with_and_without import HASH, both, calls, unmixed
from tests.support.numbers import mixed

KINDS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
TEXTS = st.lists(st.text("ab\0", max_size=3) | st.sampled_from(["a" * 7, "a" * 8, "a" * 9, "b" * 16, "b" * 17, "ü"]))


def tight(texts: list[bytes]) -> pa.Array:
    """``texts`` whose memory ends with the last."""
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])


@given(texts=TEXTS, kind=st.sampled_from(KINDS), before=st.integers(0, 2), behind=st.integers(0, 2))
def test_texts_are_numbered_as_they_first_come(texts: list[str], kind: pa.DataType, before: int, behind: int) -> None:
    around = pa.array(["b" * 9] * before + texts + ["a"] * behind).cast(kind).slice(before, len(texts))
    with calls() as called:
        found = coded(around)
    assert called["texts.number"] == 1
    found.validate(full=True)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    assert found.indices.to_pylist() == [numbers[text] for text in texts]
    assert found.dictionary.cast(pa.binary()).to_pylist() == [text.encode() for text in numbers]
    assert found.type == pa.dictionary(pa.int32(), kind)


@pytest.mark.parametrize("distinct", [1, 127, 128, 129, 130, 513, 5000])
def test_the_table_of_texts_grows(distinct: int) -> None:
    """From 256 places, half of them filled, and with more rows from more; the numbers of those before stay."""
    texts = [f"user {number}" for number in range(distinct)]
    found = coded(pa.array(texts + texts[::-1]))
    assert found.dictionary.to_pylist() == texts
    assert found.indices.to_pylist() == [*range(distinct), *reversed(range(distinct))]


def with_the_sum_of(one: bytes, first: bytes, length: int) -> bytes:
    """A text of 16 bytes that begins with ``first`` and shares the hash of ``one``, as if that had ``length`` bytes."""
    words = [int.from_bytes(one[place : place + 8], "little") + place * HASH for place in range(0, len(one), 8)]
    total = sum(mixed(word % 2**64) for word in words) + (length - 16) * HASH
    second = unmixed((total - mixed(int.from_bytes(first, "little"))) % 2**64) - 8 * HASH
    return first + (second % 2**64).to_bytes(8, "little")


RIDE = b"ann and ben ride"
SHARING = {
    "of one length": [RIDE, with_the_sum_of(RIDE, b"instead ", 16)],
    "short and long": [b"ann", with_the_sum_of(b"ann", b"instead ", 3)],
    "long and short": [RIDE + b" far", with_the_sum_of(RIDE + b" far", b"instead ", 20)],
    "one begins with the other": [with_the_sum_of(b"ann", b"anna and", 3), b"ann"],
    "both end alike": [RIDE + b" far far", with_the_sum_of(RIDE, b"instead ", 16) + b" far far"],
}


@pytest.mark.parametrize("kind", SHARING)
def test_texts_that_share_a_hash_are_told_apart(kind: str) -> None:
    texts = SHARING[kind]
    assert len(set(hash_keys([pa.array(texts)]).tolist())) == 1
    assert coded(pa.array([*texts, *texts])).indices.to_pylist() == [0, 1, 0, 1]


def test_the_place_behind_the_last_is_the_first() -> None:
    """As many texts as a table of 256 places takes, of hashes that begin with eight ones: all belong to the last.

    Reading on behind the table would give the same numbers; it takes a build with address sanitizer to see that.
    """
    hashes = [0xFF << 56 | number for number in range(128)]
    words = [unmixed((unmixed(hash_) - 8 * HASH) % 2**64) for hash_ in hashes]
    texts = [word.to_bytes(8, "little") for word in words]
    assert [mixed((mixed(word) + 8 * HASH) % 2**64) for word in words] == hashes
    assert coded(pa.array([*texts, *texts], pa.binary())).indices.to_pylist() == [*range(128), *range(128)]


def test_short_texts_that_share_what_the_table_keeps_of_a_hash_are_told_apart() -> None:
    """Their hashes agree in the upper 8 bits, the place among 256, and in the lower 32: 0x3B...A0638D13."""
    texts = [b"2795534", b"0977357"]
    assert coded(pa.array([*texts, *texts])).indices.to_pylist() == [0, 1, 0, 1]


def test_texts_with_nulls_and_other_values_are_left_to_arrow() -> None:
    with calls() as called:
        assert coded(pa.array(["b", None, "b"])).to_pylist() == ["b", None, "b"]
        assert coded(pa.array(["b", None]), null_encoding="encode").indices.to_pylist() == [0, 1]
        assert coded(pa.array([7, 5, 7])).indices.to_pylist() == [0, 1, 0]
    assert not called


@given(texts=st.lists(st.binary(max_size=40)), count=st.sampled_from([1, 3, 1000, 1 << 16]))
def test_the_bucket_of_a_text_is_that_of_its_hash(texts: list[bytes], count: int) -> None:
    """Also where the memory ends with the last text."""
    for array in (pa.array(texts, pa.binary()), pa.array(texts, pa.large_binary()), tight(texts)):
        with calls() as called:
            found = buckets_of_keys([array], count)
        assert called["texts.buckets_of"] == 1
        hashes = both(lambda array=array: hash_keys([array]))[1]
        assert found.tolist() == [(hashed >> 32) * count >> 32 for hashed in hashes.tolist()]
        assert found.dtype == np.uint16


@given(texts=TEXTS.filter(len), kind=st.sampled_from(KINDS), before=st.integers(0, 2), data=st.data())
def test_texts_are_put_by_bucket(texts: list[str], kind: pa.DataType, before: int, data: st.DataObject) -> None:
    buckets = data.draw(st.lists(st.sampled_from([0, 2, 3, 6]), min_size=len(texts), max_size=len(texts)))
    column = pa.array(["b" * 9] * before + texts).cast(kind).slice(before)
    with calls() as called:
        found = dict(partition_rows(pa.table({"text": column}), np.array(buckets, np.uint8), 7))
    assert (called["texts.scatter"], called["buckets.scatter"]) == (1, 0)
    assert list(found) == sorted(set(buckets))
    for bucket, piece in found.items():
        piece.validate(full=True)
        expected = [text for text, of in zip(texts, buckets, strict=True) if of == bucket]
        assert piece["text"].cast(pa.binary()).to_pylist() == [text.encode() for text in expected]
        assert piece.schema.types == [kind]
