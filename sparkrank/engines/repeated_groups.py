"""The group keys that occur in several splits, for an evaluation of each split by itself, without a shuffle.

In such an evaluation, no group may span splits. The evaluation of a split returns the 64-bit hashes of its group keys.
The hashes of the day are divided into ranges. Equal hashes are in one range, and a range fits in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sparkrank.base import checks
from sparkrank.inputs.buckets import task_count
from sparkrank.metrics import Plan
from sparkrank.numeric.key_hashes import Hashes, buckets_of
from sparkrank.states import Partials
from sparkrank.states.repeated_keys import MOST_EXAMPLES, MOST_SPLITS, RepeatedKeys

# A bucket has at most a million groups. The hashes of a range take at most 128 MB, and the copy that is sorted as much.
BUCKETS_OF_RANGE = 16
RANGE_HASHES = BUCKETS_OF_RANGE << 20


def range_count(buckets: int) -> int:
    """Return the number of ranges for the hashes of all groups in ``buckets`` buckets."""
    # every split sends hashes of every range, so ranges, like the tasks of a shuffle, grow with the root of the rows
    return min(math.ceil(buckets / BUCKETS_OF_RANGE), task_count(buckets))


def by_range(hashes: Sequence[Hashes], ranges: int) -> Iterator[tuple[int, Hashes]]:
    """Divide the ``hashes`` of a split by range. Yield the number of each range that has hashes, and its hashes."""
    joined = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
    if ranges == 1 and len(joined):
        yield 0, joined
        return
    joined.sort()
    ends = np.searchsorted(buckets_of(joined, ranges), np.arange(ranges + 1)).tolist()
    for number in range(ranges):
        if ends[number] < ends[number + 1]:
            yield number, joined[ends[number] : ends[number + 1]]


def repeated_keys(hashes: Sequence[tuple[int, Hashes]]) -> RepeatedKeys:
    """Return the hashes that occur more than once. ``hashes`` contains all of a range, each with its split's number."""
    ordered = np.sort(np.concatenate([own for _, own in hashes])) if hashes else np.empty(0, np.uint64)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(repeated):
        return RepeatedKeys()
    splits: dict[int, list[int]] = {hash_: [] for hash_ in repeated[:MOST_EXAMPLES].tolist()}
    for split, own in hashes:
        for hash_ in own[np.isin(own, repeated[:MOST_EXAMPLES])].tolist():
            splits[hash_].append(split)
    examples = ((hash_, tuple(sorted(own)[:MOST_SPLITS])) for hash_, own in splits.items())
    return RepeatedKeys(len(repeated), tuple(examples))


def repeated_keys_of_all(hashes: Sequence[tuple[int, Hashes]], most: int = RANGE_HASHES) -> RepeatedKeys:
    """Return the hashes that occur more than once. ``hashes`` contains those of a day, with the number of their split.

    Hashes are compared in ranges of about ``most`` hashes.
    """
    ranges = max(1, math.ceil(sum(len(own) for _, own in hashes) / most))
    of_range: list[list[tuple[int, Hashes]]] = [[] for _ in range(ranges)]
    for split, own in hashes:
        for number, part in by_range([own], ranges):
            of_range[number].append((split, part))
    return RepeatedKeys.merged(map(repeated_keys, of_range))


def with_repeated_keys(partials: Partials, plan: Plan) -> Partials:
    """Return ``partials`` with the number of repeated group keys for the table ``quality``.

    Keys are counted only if each row of the input is a list (``plan.arrays``).
    """
    if not plan.arrays:
        return partials
    return replace(partials, counts={**partials.counts, (checks.SEVERAL_LISTS, ""): partials.repeated.count})
