"""Compiled loops that number keys, count and sort rows by them, and put rows by bucket."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import LABEL, key_column
from sparkrank.engines.shuffle.packing import pieces_by_bucket
from sparkrank.engines.shuffle.partition import partition_rows
from sparkrank.numeric.segments import count_both, count_by
from sparkrank.ranking.ranking import rank_rows
from tests.native.with_and_without import BACK, HASH, calls
from tests.support.numbers import bits, mixed

# keys: groups numbered, and their rows counted.


def numbered(pieces: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The code of each key of a column in ``pieces``, and the distinct keys."""
    with calls() as called:
        found = groups_of([pa.chunked_array([pa.array(piece, pa.int64()) for piece in pieces], pa.int64())])
    assert called == {"keys.number": 1}
    assert found.values is not None
    return found.codes.tolist(), found.values.to_pylist()


def by_definition(keys: Sequence[int]) -> tuple[list[int], list[int]]:
    place = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    return [place[key] for key in keys], list(place)


# The first table has 256 places, and becomes larger when more than half of them are taken.
MANY = {
    "few": [7, -3, 7, 0, -3, 2**63 - 1, -(2**63)],
    "none": [],
    "half a table": [key * 1000 for key in range(128)],
    "more than half": [key * 1000 for key in range(129)] * 2,
    "two larger tables": [-key for key in range(700)],
    "more rows than the first table is for": [key % 900 for key in range(5000)],
    "one place": [(key * BACK + 2**63) % 2**64 - 2**63 for key in range(300)],
    "the last place": [((2**64 - 1 - key) * BACK + 2**63) % 2**64 - 2**63 for key in range(300)],
}


@pytest.mark.parametrize("kind", MANY)
def test_keys_are_numbered_in_order_of_first_occurrence(kind: str) -> None:
    keys = MANY[kind] + MANY[kind][::-1]
    assert numbered([keys]) == by_definition(keys)


@pytest.mark.parametrize("lengths", [(0, 5000), (5000, 0), (1, 4999), (127, 1, 128, 4744), (2500, 0, 0, 2500)])
def test_keys_that_come_in_pieces_are_numbered_as_in_one(lengths: tuple[int, ...]) -> None:
    """The table becomes larger in the first piece or in a later one."""
    keys = np.random.default_rng(5).integers(-900, 900, 5000)
    assert numbered(np.split(keys, np.cumsum(lengths)[:-1])) == by_definition(keys.tolist())


def pairs_numbered(*columns: Sequence[int], types: Sequence[pa.DataType] = (pa.int64(), pa.int64())) -> list[int]:
    """The code of each row of key ``columns``."""
    found = groups_of([pa.chunked_array([pa.array(*each)]) for each in zip(columns, types, strict=True)])
    assert found.count == len(set(found.codes.tolist()))
    return found.codes.tolist()


LIMITED = """
import numpy as np
from sparkrank import native
from tests.support.hanging import limit

keys, codes, distinct = np.zeros(1 << 24, np.int64), np.empty(1 << 24, np.int32), np.empty(1 << 24, np.int64)
limit(8)
for number, *columns in ((native.keys.number, [keys], codes, distinct), (native.keys.number_pairs, keys, keys, codes)):
    try:
        number(*columns)
    except MemoryError:
        print("no memory")
"""


def test_room_for_keys_that_does_not_fit_is_an_error() -> None:
    """Two million keys are expected, of 16 MiB, and as many pairs, where 8 are left."""
    found = subprocess.run([sys.executable, "-c", LIMITED], check=True, capture_output=True, text=True)
    assert found.stdout.splitlines() == ["no memory"] * 2


def test_pairs_of_keys_are_numbered_in_order_of_first_occurrence() -> None:
    """Pairs that a sum or an exclusive or would take for each other, too."""
    with calls() as called:
        found = pairs_numbered([1, 2, 1, 0, 2**63 - 1, 1, -1], [2, 1, 2, 3, -(2**63), -2, 2])
    assert called == {"keys.number_pairs": 1}
    assert found == [0, 1, 0, 2, 3, 4, 5]
    assert pairs_numbered([], []) == []


@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025, 9000])
@pytest.mark.parametrize("kinds", [(pa.int64(), pa.int64()), (pa.int8(), pa.int32())], ids=["long", "short"])
def test_as_many_pairs_as_there_are_rows(rows: int, kinds: Sequence[pa.DataType]) -> None:
    """The table becomes larger on the way; each pair comes twice."""
    one, other = [row % 100 for row in range(rows)], [row // 100 - 7 for row in range(rows)]
    with calls() as called:
        assert pairs_numbered(one + one, other + other, types=kinds) == [*range(rows), *range(rows)]
    assert called["keys.number_pairs"] == 1


@pytest.mark.parametrize(("before", "times"), [(0, 1), (127, 1), (0, 10)])
@pytest.mark.parametrize("count", [2**16 - 128, 2**16 - 127, 2**16, 2**16 + 1, 150_000])
def test_numbers_that_no_longer_fit_16_bits(count: int, before: int, times: int) -> None:
    """In a table that grows meanwhile, and in one that many rows make large enough from the start."""
    keys = np.arange(count) * 12_345_678_901 - 2**40
    each = np.random.default_rng(count).permutation(np.repeat(np.arange(count), times))
    order = np.concatenate([each[:1].repeat(before), each])
    codes, first, of_each = np.unique(order, return_index=True, return_inverse=True)
    number = np.empty(count, np.int64)  # of each key, by its first occurrence
    number[np.argsort(first)] = np.arange(count)
    found = groups_of([pa.chunked_array([keys[order]])])
    assert found.values is not None
    np.testing.assert_array_equal(found.codes, number[of_each])
    np.testing.assert_array_equal(found.values.to_numpy(), keys[codes[np.argsort(first)]])


def test_rows_and_those_with_flags_are_counted_by_group_in_one_walk() -> None:
    groups, flags = np.array([2, 0, 2, 2, 3], np.int32), np.array([True, True, False, True, False])
    with calls() as called:
        rows, flagged = count_both(groups, 5, flags)
    assert called == {"keys.count_rows_and_flagged": 1}
    assert (rows.tolist(), flagged.tolist()) == ([1, 0, 3, 1, 0], [1, 0, 2, 0, 0])
    assert [each.tolist() for each in count_both(groups[:0], 2, flags[:0])] == [[0, 0], [0, 0]]


@pytest.mark.parametrize("run", [1, 2, 20])
def test_rows_that_stand_together_by_group_are_counted_as_others_are(run: int) -> None:
    """Each of 50 groups comes twice, in runs, and every other row has a flag."""
    groups = np.tile(np.repeat(np.arange(50, dtype=np.int32), run), 2)
    flags = np.arange(len(groups)) % 2 == 0
    of_groups = [2, 0] * 25 if run == 1 else [run] * 50
    for rows, flagged in (count_both(groups, 51, flags), (count_by(groups, 51), count_by(groups, 51, flags))):
        assert (rows.tolist(), flagged.tolist()) == ([2 * run] * 50 + [0], [*of_groups, 0])


# buckets: rows to their buckets.


def hashed(key: int) -> int:
    """The hash of a whole number: SplitMix64."""
    return mixed((key + HASH) % 2**64)


@pytest.mark.parametrize("count", [1, 2, 7, 255, 256, 257, 1000, 65_535, 65_536])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_a_row_goes_to_the_bucket_of_the_upper_half_of_its_hash(width: int, count: int) -> None:
    least = -(2 ** (width - 1))
    keys = [least, least + 1, -1, 0, 1, 77, -least - 1, *np.random.default_rng(1).integers(least, -least, 200).tolist()]
    rows = pa.table({key_column(0): pa.array(keys, f"int{width}"), LABEL: pa.array(range(len(keys)), pa.int32())})
    with calls() as called:
        pieces = list(pieces_by_bucket(rows, count))
    assert called["buckets.buckets_of"] == 1
    expected: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        expected.setdefault((hashed(key) >> 32) * count >> 32, []).append(row)
    assert {bucket: piece[LABEL].to_pylist() for bucket, piece in pieces} == expected
    assert [bucket for bucket, _ in pieces] == sorted(expected)


def chunked(array: pa.Array) -> pa.ChunkedArray:
    """``array`` in chunks that begin inside their memory, one of them without rows."""
    padded = pa.concat_arrays([array[-3:], array])
    return pa.chunked_array([padded[3:40], padded[40:40], padded[40:41], padded[41:]])


NUMBERS = [f"{kind}{width}" for kind in ("int", "uint") for width in (8, 16, 32, 64)] + ["float", "double", "halffloat"]


@pytest.mark.parametrize("count", [1, 5, 300, 65_536])
@pytest.mark.parametrize("in_chunks", [False, True], ids=["whole", "in chunks"])
def test_columns_of_any_width_are_cut_by_bucket(in_chunks: bool, count: int) -> None:
    """Numbers, and columns that are none, each with the rows of a bucket in their order; many buckets have no rows."""
    rng = np.random.default_rng(2)
    columns = {kind: pa.array(rng.integers(0, 120, 200).astype(np.float16)).cast(kind) for kind in NUMBERS[:-1]}
    columns["halffloat"] = pa.array(rng.normal(size=200).astype(np.float16))
    columns["double"] = pa.array(rng.choice([-0.0, 0.0, math.inf, 5e-324, 0.1], 200))
    columns["wide"] = pa.array(rng.integers(-(2**63), 2**63 - 1, 200))
    columns["text"] = pa.array(rng.choice(["", "a", "long and long"], 200))
    columns["missing"] = pa.array(rng.integers(0, 9, 200), mask=rng.random(200) < 0.5)
    columns["flag"] = pa.array(rng.random(200) < 0.5)
    columns["day"] = pa.array(rng.integers(0, 9, 200).astype("datetime64[D]"))
    columns["coded"] = columns["text"].dictionary_encode()
    whole = pa.table(columns)
    rows = pa.table({name: chunked(column) for name, column in columns.items()}) if in_chunks else whole
    buckets_of_rows = rng.choice(rng.integers(0, count, 9), 200)
    with calls() as called:
        found = dict(partition_rows(rows, buckets_of_rows.astype(np.uint16), count))
    assert called["buckets.scatter"] >= len(NUMBERS)
    assert list(found) == sorted(set(buckets_of_rows.tolist()))
    for bucket, piece in found.items():
        expected = whole.take(np.flatnonzero(buckets_of_rows == bucket))
        assert bits(pa.table(piece)) == bits(expected)


# lists: scores ranked within their groups.


@pytest.mark.parametrize("longest", [1, 16, 17, 5000])
def test_lists_of_any_length_are_in_the_order_of_group_and_score(longest: int) -> None:
    """Short lists are sorted otherwise than long ones, and half of the groups have no row."""
    rng = np.random.default_rng(longest)
    codes = rng.permutation(np.repeat(np.arange(0, 24, 2, dtype=np.int32), rng.integers(1, longest + 1, 12)))
    scores = rng.integers(0, 50, len(codes)) / 8
    with calls() as called:
        ranked = rank_rows(codes, scores, np.bincount(codes, minlength=24))
    assert called["keys.sort_lists"] == 1
    stands = sorted(zip(codes.tolist(), (-scores).tolist(), strict=True))
    assert list(zip(codes[ranked.row].tolist(), (-scores[ranked.row]).tolist(), strict=True)) == stands
    assert sorted(ranked.row.tolist()) == list(range(len(codes)))
    assert ranked.lists.group.tolist() == [group for group, _ in stands]
