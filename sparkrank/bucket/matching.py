"""Matches by group and item: rows of a truth that give their labels to rows of lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.impressions import ITEM, LABEL
from sparkrank.bucket.twins import Twins
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.segments import highest_of_each

BEATEN, LISTED, UNLISTED = 0, 1, 2  # fates of rows of the truth
Finder: TypeAlias = Callable[[Codes, Ints, Floats, int, Codes, NDArray[np.uint8]], tuple[int, int, Ints, Ints]]


@dataclass(frozen=True)
class Matches:
    """Rows of lists and, behind them, rows of a truth, whose ``items`` (n) may be places among the ``distinct`` ones.

    ``row`` (lists) is the truth row whose label a list's row gets, or -1. A :data:`BEATEN` row of the truth has no
    label, or a lower one than another of its item (``overruled`` counts these). ``joined`` groups have both sides.
    """

    items: Ints
    distinct: pa.Array | None
    labels: NDArray[np.generic]
    judged: Flags
    row: Codes
    fates: NDArray[np.uint8]
    overruled: int
    joined: int
    twins: Twins

    @property
    def matched(self) -> Flags:
        matched: Flags = self.row >= 0
        return matched

    @property
    def labels_of_lists(self) -> NDArray[np.generic]:
        """The label of each row of a list (lists), 0 where it has none."""
        return np.append(self.labels, self.labels.dtype.type(0))[self.row]


def matches_of(rows: BucketRows, codes: Codes, groups: int, lists: int) -> Matches:
    """The matches of ``rows`` by their ``codes`` of ``groups``. First come those of ``lists``. All have an item."""
    items, distinct = _whole_numbers(rows)
    truth = BucketRows(rows.table.slice(lists))
    labels, judged = truth.labels(), truth.valid(LABEL)
    if judged is None:
        judged = np.ones(len(labels), np.bool_)
    grades = labels.astype(np.float64)
    grades[~judged] = np.nan
    row, fates = np.empty(lists, np.int32), np.empty(len(labels), np.uint8)
    compiled = native.runs("join", 0 < lists < len(items))
    find: Finder = native.matches.find if compiled else find_by_numpy
    overruled, joined, twin_rows, twin_codes = find(
        np.ascontiguousarray(codes, np.int32), items, grades, groups, row, fates
    )
    order = np.argsort(twin_rows)
    twins = Twins(twin_rows[order], twin_codes[order], int(twin_codes.max(initial=-1)) + 1)
    return Matches(items, distinct, labels, judged, row, fates, overruled, joined, twins)


def find_by_numpy(
    codes: Codes, items: Ints, grades: Floats, groups: int, row: Codes, fates: NDArray[np.uint8]
) -> tuple[int, int, Ints, Ints]:
    """The same results as :func:`sparkrank.native.matches.find`. Of equal labels of an item the last counts."""
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
    sides = np.zeros((2, groups), np.bool_)
    sides[0][codes[:lists]] = sides[1][codes[lists:]] = True
    twins = Twins.of_pairs(listed)
    return overruled, int(np.count_nonzero(sides.all(axis=0))), twins.rows, twins.code.astype(np.int64)


def _whole_numbers(rows: BucketRows) -> tuple[Ints, pa.Array | None]:
    if pa.types.is_signed_integer(rows.table[ITEM].type):
        return rows.values(ITEM).astype(np.int64, copy=False), None
    codes, distinct = rows.items()
    return codes.astype(np.int64), distinct
