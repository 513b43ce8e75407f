"""The rows of a truth that give their labels to rows of lists, found by compiled loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.bucket.grouping import Groups, encode
from sparkrank.bucket.impressions import ITEM, LABEL, TRUTH, as_numpy, judged_rows, labels_of
from sparkrank.bucket.twins import Twins
from sparkrank.numeric.array_types import Codes, Flags, Ints
from sparkrank.numeric.text_arrays import is_text

BEATEN, LISTED, UNLISTED = 0, 1, 2  # fates of rows of the truth


@dataclass(frozen=True)
class Matches:
    """A bucket of ``lists`` rows of lists and, behind them, rows of a truth.

    ``items`` (n) are the items of all rows as whole numbers: themselves, or their places among the ``distinct`` items.
    ``labels`` (truth) are the labels of the truth, and ``judged`` (truth) flags the rows that have one. ``given``
    (lists) is the row of the truth whose label a row of a list has, or -1. ``fates`` (truth) tells whether a row of the
    truth gives its label to a row of a list (:data:`LISTED`), is judged and in no list (:data:`UNLISTED`), or neither:
    it has no label, or another row of its item has a higher one. ``overruled`` rows have a lower label than another row
    of their item. ``joined`` groups have rows of both sides. ``twins`` are the rows of lists that share their item with
    another of their group.
    """

    lists: int
    items: Ints
    distinct: pa.Array | None
    labels: NDArray[np.generic]
    judged: Flags
    given: Codes
    fates: NDArray[np.uint8]
    overruled: int
    joined: int
    twins: Twins

    @property
    def matched(self) -> Flags:
        """Which rows of lists have a label (lists)."""
        found: Flags = self.given >= 0
        return found

    def labels_of_lists(self) -> NDArray[np.generic]:
        """The label of each row of a list (lists), 0 where it has none."""
        return np.append(self.labels, self.labels.dtype.type(0))[self.given]


def matches_of(rows: pa.Table, groups: Groups) -> Matches | None:
    """The matches of ``rows`` of ``groups``; None where loops cannot find them."""
    lists = _lists_before_truth(rows)
    if not native.runs("join", lists is not None and not rows[ITEM].null_count) or lists is None:
        return None
    numbers = _whole_numbers(rows[ITEM])
    if numbers is None:
        return None
    items, distinct = numbers
    of_truth = rows[LABEL].slice(lists)
    labels, judged = labels_of(of_truth), judged_rows(of_truth)
    grades = labels.astype(np.float64)
    if judged is None:
        judged = np.ones(len(labels), np.bool_)
    grades[~judged] = np.nan
    given, fates = np.empty(lists, np.int32), np.empty(len(labels), np.uint8)
    codes = np.ascontiguousarray(groups.codes, np.int32)
    overruled, joined, twin_rows, twin_codes = native.matches.find(codes, items, grades, groups.count, given, fates)
    twins = Twins(*_ascending(twin_rows, twin_codes), int(twin_codes.max(initial=-1)) + 1)
    return Matches(lists, items, distinct, labels, judged, given, fates, overruled, joined, twins)


def _ascending(rows: Ints, codes: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(rows)
    return rows[order], codes[order]


def _lists_before_truth(rows: pa.Table) -> int | None:
    """The number of rows of lists where these stand before all rows of the truth and both sides have rows, or None."""
    of_truth = rows[TRUTH]
    lists = len(of_truth) - (pc.sum(of_truth).as_py() or 0)
    if not 0 < lists < len(of_truth) or pc.any(of_truth.slice(0, lists)).as_py():
        return None
    return lists


def _whole_numbers(items: pa.ChunkedArray) -> tuple[Ints, pa.Array | None] | None:
    """:class:`Matches` says what the two are. None where loops cannot tell equal ``items``."""
    if pa.types.is_signed_integer(items.type):
        return np.asarray(as_numpy(items.cast(pa.int64())), np.int64), None
    if is_text(items.type) or pa.types.is_dictionary(items.type):
        codes, distinct = encode(items)
        return codes.astype(np.int64), distinct
    return None
