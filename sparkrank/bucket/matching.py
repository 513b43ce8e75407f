"""Matching of list rows with truth rows by group and item. A list row gets the label of the matching truth row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.bucket.bucket_rows import BucketRows, as_numpy
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.impressions import ITEM, LABEL
from sparkrank.bucket.twins import Twins
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.segments import highest_of_each

BEATEN, LISTED, UNLISTED = 0, 1, 2  # fates of rows of the truth
Finder: TypeAlias = Callable[
    [Codes, Ints, Floats, Codes, NDArray[np.uint8], NDArray[np.uint8]], tuple[int, int, int, int, Ints, Ints]
]


@dataclass(frozen=True)
class Matches:
    """The result of matching list rows with truth rows.

    ``items`` contains the items of list rows, then of truth rows: integers, or indices into ``distinct`` if it is not
    None. ``labels`` contains the label of each truth row, and ``with_label`` flags the truth rows with one. ``row``
    contains the truth row that gives each list row its label, or -1. ``fates`` contains the fate of each truth row:
    :data:`BEATEN` if it lacks a label or if another truth row of its item has precedence, and else :data:`LISTED` or
    :data:`UNLISTED`. ``overruled`` counts truth rows that lose to a higher label, and ``joined`` the groups with both
    list and truth rows. ``with_truth`` flags the groups with a judged item (one with a label in the truth). ``pairs``
    counts the pairs of a list row and a judged item of its group, and ``places`` the judged items that would fit into
    the lists of their groups. ``twins`` are the list rows with the same group and item as another list row.
    """

    items: Ints
    distinct: pa.Array | None
    labels: NDArray[np.generic]
    with_label: Flags
    row: Codes
    fates: NDArray[np.uint8]
    with_truth: Flags
    overruled: int
    joined: int
    pairs: int
    places: int
    twins: Twins

    @cached_property
    def matched(self) -> Flags:
        matched: Flags = self.row >= 0
        return matched

    @property
    def labels_of_lists(self) -> NDArray[np.generic]:
        """The label of each list row, or 0 if the row has no matching truth row."""
        labels, rows = np.zeros(len(self.row), self.labels.dtype), np.flatnonzero(self.matched)
        labels[rows] = self.labels[self.row[rows]]
        return labels


def matches_of(rows: BucketRows, codes: Codes, groups: int, lists: int) -> Matches:
    """Match list rows (the first ``lists`` of ``rows``) with truth rows (all others). Every row must have an item."""
    items, distinct = _whole_numbers(rows)
    truth = BucketRows(rows.table.slice(lists))
    labels, judged = truth.labels(), truth.valid(LABEL)
    if judged is None:
        judged = np.ones(len(labels), np.bool_)
    grades = labels.astype(np.float64)
    grades[~judged] = np.nan
    row, fates, with_truth = np.empty(lists, np.int32), np.empty(len(labels), np.uint8), np.empty(groups, np.uint8)
    overruled, joined, pairs, places, of_twins, codes_of_twins = _find(codes, items, grades, row, fates, with_truth)
    order = np.argsort(of_twins)
    return Matches(
        items=items,
        distinct=distinct,
        labels=labels,
        with_label=judged,
        row=row,
        fates=fates,
        with_truth=with_truth.view(np.bool_),
        overruled=overruled,
        joined=joined,
        pairs=pairs,
        places=places,
        twins=Twins(of_twins[order], codes_of_twins[order], int(codes_of_twins.max(initial=-1)) + 1),
    )


def has_match(
    codes: Codes, items: pa.ChunkedArray, codes_of_pairs: Codes, items_of_pairs: pa.ChunkedArray, groups: int
) -> Flags:
    """Return flags of the rows whose (group, item) pair is one of the given pairs. A row without an item is not.

    Every given pair has an item. ``groups`` is the number of groups.
    """
    flags = np.zeros(len(codes), np.bool_)
    if not len(codes) or not len(codes_of_pairs):
        return flags
    if pa.types.is_signed_integer(items.type):
        own, others = (as_numpy(column.fill_null(0).cast(pa.int64())) for column in (items, items_of_pairs))
    else:
        numbers = encode(pa.chunked_array([*items.chunks, *items_of_pairs.chunks]))[0].astype(np.int64)
        own, others = np.split(numbers, [len(codes)])
    if native.runs("members"):
        sides = (np.ascontiguousarray(side, np.int32) for side in (codes, codes_of_pairs))
        rows, pairs = zip(sides, (own, others), strict=True)
        native.matches.flag_members(*rows, *pairs, groups, flags.view(np.uint8))
    else:
        flags = members_by_numpy(codes, own, codes_of_pairs, others)
    return flags & items.is_valid().to_numpy() if items.null_count else flags


def members_by_numpy(codes: Codes, items: Ints, codes_of_pairs: Codes, items_of_pairs: Ints) -> Flags:
    """Return the same as :func:`sparkrank.native.matches.flag_members`, computed with numpy."""
    numbers = encode(pa.chunked_array([items, items_of_pairs]))[0]
    pair = paired(np.concatenate([codes, codes_of_pairs]), numbers)
    is_member = np.zeros(int(pair.max(initial=-1)) + 1, np.bool_)
    is_member[pair[len(codes) :]] = True
    return is_member[pair[: len(codes)]]


def _find(
    codes: Codes, items: Ints, grades: Floats, row: Codes, fates: NDArray[np.uint8], with_truth: NDArray[np.uint8]
) -> tuple[int, int, int, int, Ints, Ints]:
    find: Finder = native.matches.find if native.runs("join", 0 < len(row) < len(items)) else find_by_numpy
    return find(np.ascontiguousarray(codes, np.int32), items, grades, row, fates, with_truth)


def find_by_numpy(
    codes: Codes, items: Ints, grades: Floats, row: Codes, fates: NDArray[np.uint8], with_truth: NDArray[np.uint8]
) -> tuple[int, int, int, int, Ints, Ints]:
    """Return the same as :func:`sparkrank.native.matches.find`, computed with numpy.

    If several truth rows of an item have the highest label, the last of these rows gives the label.
    """
    pair = paired(codes, encode(pa.chunked_array([items]))[0])
    lists, pairs = len(row), int(pair.max(initial=-1)) + 1
    listed, true = pair[:lists], pair[lists:]
    judged = np.flatnonzero(~np.isnan(grades))
    best = np.append(judged, -1)[highest_of_each(true[judged], pairs, grades[judged])]  # -1 stays
    is_listed = np.zeros(pairs, np.bool_)
    is_listed[listed] = True
    row[:] = best[listed]
    fates[:] = BEATEN
    fates[best[best >= 0]] = np.where(is_listed[best >= 0], LISTED, UNLISTED)
    overruled = int(np.count_nonzero(grades[judged] < grades[best[true[judged]]]))
    rows, true_rows, items_judged = (
        np.bincount(own, minlength=len(with_truth)) for own in (codes[:lists], codes[lists:], codes[lists:][fates > 0])
    )
    with_truth[:] = items_judged > 0
    joined = int(np.count_nonzero((rows > 0) & (true_rows > 0)))
    places = int(np.minimum(rows, items_judged).sum())
    twins = Twins.of_pairs(listed)
    return overruled, joined, int(np.dot(rows, items_judged)), places, twins.rows, twins.code.astype(np.int64)


def _whole_numbers(rows: BucketRows) -> tuple[Ints, pa.Array | None]:
    if pa.types.is_signed_integer(rows.table[ITEM].type):
        return rows.values(ITEM).astype(np.int64, copy=False), None
    codes, distinct = rows.items()
    return codes.astype(np.int64), distinct
