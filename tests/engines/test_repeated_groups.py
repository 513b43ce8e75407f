"""Group keys that several splits share, where each split is evaluated by the task that reads it: found by hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank.base import checks
from sparkrank.base.errors import OutOfMemoryError
from sparkrank.bucket import BucketResult
from sparkrank.engines.repeated_groups import (
    BUCKETS_OF_RANGE,
    range_count,
    repeated_keys_of_all,
    with_repeated_keys,
)
from sparkrank.engines.spark import split_evaluation
from sparkrank.engines.spark.gather import gather_states
from sparkrank.engines.spark.tasks import solve_splits
from sparkrank.metrics import plan_of
from sparkrank.states import Partials
from sparkrank.states.repeated_keys import MOST_EXAMPLES, MOST_SPLITS, RepeatedKeys

ARRAYS = plan_of(["ap"], ["m"], ["user"], joins=True, arrays=True)
LAST = 2**64 - 1
# The hashes of three splits: the lowest and the highest of all, one twice in a split, one in two, one in all three.
SPLITS = {4: [0, 7, 7, 2**63], 5: [LAST, 2**63], 9: [1, 2**63, LAST]}
REPEATED = ((7, (4, 4)), (2**63, (4, 5, 9)), (LAST, (5, 9)))


def hashes(*values: int) -> np.ndarray:
    return np.array(values, np.uint64)


def repeated_of(splits: dict[int, list[int]], ranges: int) -> RepeatedKeys:
    total = sum(map(len, splits.values()))
    return repeated_keys_of_all([(split, hashes(*values)) for split, values in splits.items()], max(1, total // ranges))


@pytest.mark.parametrize("ranges", [1, 2, 3, 1000])
def test_a_key_of_several_lists_counts_once_in_any_ranges(ranges: int) -> None:
    assert repeated_of(SPLITS, ranges) == RepeatedKeys(3, REPEATED)
    assert repeated_of({1: [], 2: [5, 6], 3: [7]}, ranges) == RepeatedKeys()


@given(st.dictionaries(st.integers(0, 99), st.lists(st.integers(0, 50) | st.integers(0, LAST))), st.integers(1, 9))
def test_it_is_counted_as_if_all_hashes_were_in_one_place(splits: dict[int, list[int]], ranges: int) -> None:
    counts = Counter(value for values in splits.values() for value in values)
    several = sorted(value for value, count in counts.items() if count > 1)
    holders = {
        value: sorted(split for split, values in splits.items() for own in values if own == value) for value in several
    }
    expected = tuple((value, tuple(holders[value][:MOST_SPLITS])) for value in several)
    assert repeated_of(splits, ranges) == RepeatedKeys(len(several), expected)


def test_examples_are_few() -> None:
    many = 2 * MOST_EXAMPLES
    found = repeated_of({0: list(range(many)), 1: list(range(many))}, 1)
    assert found == RepeatedKeys(many, tuple((value, (0, 1)) for value in range(MOST_EXAMPLES)))


def test_a_range_has_the_groups_of_a_few_buckets() -> None:
    assert [range_count(buckets) for buckets in (1, BUCKETS_OF_RANGE, BUCKETS_OF_RANGE + 1)] == [1, 1, 2]
    assert range_count(10_000) == 500  # 5 * sqrt(10,000): each split has a row for each range


def solved(*splits: dict[int, list[int]]) -> Partials:
    """The states of a day whose tasks evaluate ``splits``, from what they send to what the driver merges."""

    def results(of_task: dict[int, list[int]]) -> Iterator[tuple[int, BucketResult]]:
        for split, values in of_task.items():
            yield split, BucketResult(Partials(counts={(checks.GROUPS, ""): len(values)}), None, hashes(*values))

    sent = [row for of_task in splits for row in solve_splits(results(of_task), None, ranges=2)]
    batches = [pa.RecordBatch.from_pylist([row], split_evaluation._HASHED_SCHEMA) for row in sent]
    rows = [row for batch in split_evaluation._checked(iter(batches)) for row in batch.to_pylist()]
    partials = gather_states([(pa.py_buffer(row["states"]), row["groups"]) for row in rows], None).partials
    return with_repeated_keys(partials, ARRAYS)


def test_what_tasks_send_of_their_keys_becomes_a_count_of_the_day() -> None:
    first, *others = ({split: values} for split, values in SPLITS.items())
    together = solved(first | others[0], others[1])
    assert together.repeated == RepeatedKeys(3, REPEATED)
    assert together.counts == {(checks.GROUPS, ""): 9, (checks.SEVERAL_LISTS, ""): 3}
    assert solved({1: [3]}).counts == {(checks.GROUPS, ""): 1, (checks.SEVERAL_LISTS, ""): 0}
    assert with_repeated_keys(together, replace(ARRAYS, arrays=False)) is together


def test_a_split_that_memory_does_not_hold_fails_the_day_and_not_the_task() -> None:
    def failing() -> Iterator[tuple[int, BucketResult]]:
        yield 0, BucketResult(Partials(), None, hashes(1))
        raise OutOfMemoryError("too large")

    (row,) = solve_splits(failing(), None, ranges=1)
    with pytest.raises(OutOfMemoryError, match="too large"):
        gather_states([(pa.py_buffer(row["states"]), None)], None)
