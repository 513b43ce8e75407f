"""The judgments of a bucket, shared by all models: the label of each row, with or without a score of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.elementary import exp2
from sparkrank.numeric.segments import count_both, count_by, order_by_code, place_in_group, run_starts, stable_order
from sparkrank.ranking.value_columns import ValueColumn

LABEL = "label"  # the name of the reference order by label, highest first
# Whole labels within a range of fewer grades than this serve as ranks, because four more bits cost less than a sort.
FEW_GRADES = 16


@dataclass(frozen=True)
class Gain:
    """The gain of a label: the label (``linear``), ``2**label - 1`` (``exp2``), or 1 if relevant (``binary``).

    ``rel`` is the lowest relevant label for ``binary`` (None: any above 0). If ``listed`` is given, it contains the
    gains of the labels 0, 1, 2 and so on. If ``column`` is given, the gain of a relevant row is the value of this
    column. If ``clip`` is given, the gain is divided by max(propensity of the row, ``clip``).
    """

    kind: str = "linear"
    rel: float | None = None
    listed: tuple[float, ...] = ()
    column: ValueColumn | None = None
    clip: float | None = None

    @property
    def grows_with_label(self) -> bool:
        return not self.listed and self.column is None and self.clip is None

    def of(self, labels: NDArray[np.generic]) -> Floats:
        """Return the gains of ``labels``. For gains from a column, call :meth:`Judgments.gain_of` instead."""
        if self.kind == "binary":
            return is_relevant(labels, self.rel).astype(np.float64)
        positive = np.maximum(labels, 0).astype(np.float64)
        if self.listed:
            of_labels: Floats = np.array(self.listed)[positive.astype(np.int64)]
            return of_labels
        gains: Floats = exp2(positive) - 1.0 if self.kind == "exp2" else positive
        return gains


@dataclass(frozen=True)
class Credit:
    """The ``group``, ``position`` and gain (``amount``) of each row with a gain, sorted by group and position."""

    group: Codes
    position: NDArray[np.int32]
    amount: Floats

    @cached
    def within(self, k: int) -> Credit:
        rows = np.flatnonzero(self.position <= k)
        return Credit(self.group[rows], self.position[rows], self.amount[rows])


@dataclass(eq=False)
class Judgments:
    """All rows of a bucket with their groups and labels.

    ``codes`` contains the group index of each of the n rows, and ``groups`` is the number of groups. ``judged`` flags
    the rows with a label (None: all rows); ``labels`` are 0 for other rows. ``item_row`` contains, for each row, the
    index of the row that counts for its item in R (the number of relevant rows) and in the ideal list (None: each row
    counts). ``references`` maps the name of an order to n values, lowest first, with NaN for rows outside the order.
    ``repeats`` flags list rows that repeat an item without credit: such rows are not relevant, not judged and in no
    reference, and rank last in their tie block. ``gains`` maps a column of gains to n values, none below 0.
    ``propensities``, None if no metric reads any, contains the propensity of each relevant row, and NaN or a number for
    others.
    """

    codes: Codes
    labels: NDArray[np.generic]
    groups: int
    judged: Flags | None = None
    references: Mapping[str, Floats] = field(default_factory=dict)
    item_row: Ints | None = None
    repeats: Flags | None = None
    gains: Mapping[ValueColumn, Floats] = field(default_factory=dict)
    propensities: Floats | None = None

    def gain_of(self, gain: Gain, rows: Ints | None = None) -> Floats:
        """Return the gain of each of ``rows`` (None: of all rows): 0 for a row that is not relevant."""
        chosen = slice(None) if rows is None else rows
        if gain.clip is not None and self.propensities is not None:
            gains = self.gain_of(replace(gain, clip=None), rows)
            return np.where(gains > 0, gains / np.maximum(self.propensities[chosen], gain.clip), 0.0)
        if gain.column is None:
            return gain.of(self.labels[chosen])
        return np.where(self.flags(None)[chosen], self.gains[gain.column][chosen], 0.0)

    def rows_of_group(self) -> Ints:
        return self._rows_and_relevant(None)[0]

    @cached
    def _rows_and_relevant(self, rel: float | None) -> tuple[Ints, Ints]:
        return count_both(self.codes, self.groups, self.flags(rel))

    @cached
    def flags(self, rel: float | None) -> Flags:
        return is_relevant(self.labels, rel)

    @cached
    def pooled(self) -> Flags:
        """Return flags of the rows with a label (the pool), even a label below 0 (as in trec_eval: not judged)."""
        return np.ones(len(self.labels), np.bool_) if self.judged is None else self.judged

    @cached
    def non_relevant(self, rel: float | None) -> Flags:
        """Return flags of the rows that are judged, with a label of at least 0, but not relevant at ``rel``."""
        at_least_0: Flags = np.greater_equal(self.labels, 0)
        return self.pooled() & at_least_0 & ~self.flags(rel)

    @cached
    def counted(self) -> Ints | None:
        """Return the rows that count in R and in the ideal list, one per item and group (None: all rows)."""
        return None if self.item_row is None else np.flatnonzero(self.item_row == np.arange(len(self.item_row)))

    @cached
    def relevant(self, rel: float | None) -> Ints:
        return self._rows_and_relevant(rel)[1] if self.item_row is None else self.count(self.flags(rel))

    def count(self, flags: Flags) -> Ints:
        """Return, for each group, how many of its rows in :meth:`counted` have a true flag in ``flags``."""
        if self.item_row is None:
            return count_by(self.codes, self.groups, flags)
        return np.bincount(self.codes[self.counted_rows(flags)], minlength=self.groups)

    def once(self, flags: Flags, values: Codes | Floats) -> Flags:
        """Return ``flags`` reduced to one row for each (item, value) pair, or unchanged if each row counts."""
        if self.item_row is None:
            return flags
        rows = np.flatnonzero(flags)
        first = np.unique(np.stack([self.item_row[rows], values[rows]]), axis=1, return_index=True)[1]
        some = np.zeros(len(flags), np.bool_)
        some[rows[first]] = True
        return some

    def counted_rows(self, flags: Flags) -> Ints:
        counted = self.counted()
        return np.flatnonzero(flags) if counted is None else counted[flags[counted]]

    @cached
    def ideal(self, gain: Gain) -> Credit:
        """Return the ideal list of each group: the gains of all its relevant rows, highest first."""
        rows = self.counted_rows(self.flags(None))  # only labels above 0 have a gain
        return best_order(self.codes[rows], self.gain_of(gain, rows), self.groups)

    @cached
    def equal_gain(self, gain: Gain) -> float | None:
        """Return the gain of every relevant row if all are equal, or None if gains differ or no row is relevant."""
        if not gain.grows_with_label:
            gains = self.gain_of(gain, np.flatnonzero(self.flags(gain.rel)))
            return float(gains[0]) if len(gains) and bool(np.all(gains == gains[0])) else None
        labels, counted = self.labels, self.counted()
        flags = self.flags(gain.rel)
        if counted is not None:
            labels, flags = labels[counted], flags[counted]
        highest = labels.max(initial=0)  # a gain increases with the label
        if not flags.any():
            return None
        alike = gain.kind == "binary" or (labels.dtype.kind in "iu" and highest == 1)  # clicks need no further check
        if not alike and np.count_nonzero(labels == highest) != np.count_nonzero(flags):
            return None
        return float(gain.of(np.array([highest]))[0])

    @cached
    def sums_need_order(self) -> bool:
        """Return whether sums of labels may depend on the order of addition, because some labels are fractions."""
        return self.labels.dtype.kind == "f" and bool(np.any(self.labels != np.rint(self.labels)))

    @cached
    def places(self, reference: str | None) -> Ints:
        """Return whole numbers from 0 that sort the rows of a group by ``reference``; -1 for rows outside the order.

        Tied rows share a number. :data:`LABEL` ranks judged rows by label, highest first. None ranks all rows by label,
        with the label 0 for rows that are not judged.
        """
        if reference in (None, LABEL):
            value = -self.labels.astype(np.float64)
            present = self.pooled() if reference == LABEL else np.ones(len(value), np.bool_)
        else:
            value = self.references[str(reference)]
            present = ~np.isnan(value)
        return places_in_group(self.codes, value, present)


def is_relevant(labels: NDArray[np.generic], rel: float | None) -> Flags:
    """Return flags of the rows with a label above 0 or, if a metric sets ``rel``, of at least ``rel`` (as float64)."""
    if rel is None:
        flags: Flags = np.greater(labels, 0)
    else:  # in doubles, as numpy 1 would not compare narrower labels with one number
        flags = np.greater_equal(labels, rel, signature="dd->?")
    return flags


def best_order(codes: Codes, gains: Floats, groups: int) -> Credit:
    differ = bool(np.any(gains != gains[:1]))
    if differ and native.runs("ideal lists", codes.dtype == np.int32):
        order = order_by_code(codes, groups)
        group, amounts = codes[order], gains[order]
        place, sizes = place_in_group(group, groups)
        native.hits.sort_gains(np.cumsum(sizes), amounts)
        return Credit(group, place, amounts)
    rows = np.argsort(-gains) if differ else np.arange(len(gains))
    rows = stable_order(codes, rows)
    group = codes[rows]
    place, _ = place_in_group(group, groups)
    return Credit(group, place, gains[rows])


def places_in_group(codes: Codes, value: Floats, present: Flags) -> Ints:
    """Return whole numbers from 0 in the order of ``value`` in each group, and -1 for rows without ``present``."""
    place = np.full(len(value), -1, np.int64)
    rows = np.flatnonzero(present)
    value = value[rows]
    if len(rows) == 0:
        return place
    lowest = value.min()
    if value.max() < lowest + FEW_GRADES and np.array_equal(value, np.rint(value)):
        place[rows] = (value - lowest).astype(np.int64)
        return place
    order = np.argsort(value)
    order = order[stable_order(codes[rows][order], np.arange(len(rows)))]
    group, value = codes[rows][order], value[order]
    differs = np.zeros(len(order), np.int64)
    differs[1:] = (value[1:] != value[:-1]) | (group[1:] != group[:-1])
    through = np.cumsum(differs)
    first = run_starts(group)
    place[rows[order]] = through - np.repeat(through[first], np.diff(first, append=len(group)))
    return place
