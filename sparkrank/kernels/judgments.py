"""The labels of a bucket: what was judged, whether or not a model retrieved it. Shared by all models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.order import Codes, Flags, Ints, place_in_group, stable_order
from sparkrank.kernels.remember import remembered

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gain:
    """How a label becomes a gain: itself (``linear``), ``2**label - 1`` (``exp2``), or 1 if relevant (``binary``).

    A label of 0 or below has gain 0. ``rel`` is the least relevant label of ``binary``; absent, any above 0.
    """

    kind: str = "linear"
    rel: float | None = None

    def of(self, labels: NDArray[np.generic]) -> Floats:
        if self.kind == "binary":
            return is_relevant(labels, self.rel).astype(np.float64)
        positive = np.maximum(labels, 0).astype(np.float64)
        gains: Floats = np.exp2(positive) - 1.0 if self.kind == "exp2" else positive
        return gains


@dataclass(frozen=True)
class Credit:
    """Rows that earn something: group by group, the position of each and the amount, in the order of position."""

    group: Codes
    position: NDArray[np.int32]
    amount: Floats


class Judgments:
    """Every row of a bucket with its group and label.

    ``codes`` (n) numbers the groups from 0 to ``groups - 1`` in any order; ``labels`` (n) is numeric, 0 where nothing
    was judged. ``counted`` are the rows that count in R and in the ideal list: one for each item of a group, where an
    item may stand on several rows; absent, all of them.
    """

    def __init__(self, codes: Codes, labels: NDArray[np.generic], groups: int, counted: Ints | None = None) -> None:
        self.codes = codes
        self.labels = labels
        self.groups = groups
        self.counted = counted

    @remembered
    def rows_of_group(self) -> Ints:
        """Rows of each group (groups)."""
        return np.bincount(self.codes, minlength=self.groups)

    @remembered
    def flags(self, rel: float | None) -> Flags:
        """Which rows are relevant (n)."""
        return is_relevant(self.labels, rel)

    @remembered
    def relevant(self, rel: float | None) -> Ints:
        """R, the relevant rows of each group (groups)."""
        flags = self.flags(rel)
        relevant = flags if self.counted is None else self.counted[flags[self.counted]]
        return np.bincount(self.codes[relevant], minlength=self.groups)

    @remembered
    def gains(self, gain: Gain) -> Floats:
        """The gain of each row (n)."""
        return gain.of(self.labels)

    @remembered
    def ideal(self, gain: Gain) -> Credit:
        """All gains of each group in their best order."""
        if self.counted is None:
            return best_order(self.codes, self.gains(gain), self.groups)
        return best_order(self.codes[self.counted], self.gains(gain)[self.counted], self.groups)

    @remembered
    def sums_need_order(self) -> bool:
        """Whether sums of labels depend on the order of adding: whole numbers add up exactly, fractions do not."""
        return self.labels.dtype.kind == "f" and bool(np.any(self.labels != np.rint(self.labels)))


def is_relevant(labels: NDArray[np.generic], rel: float | None) -> Flags:
    """``label > 0``, or ``label >= rel`` where a metric names ``rel``."""
    flags: Flags = np.greater(labels, 0) if rel is None else np.greater_equal(labels, rel)
    return flags


def best_order(codes: Codes, gains: Floats, groups: int) -> Credit:
    """The rows with a gain, each group's in descending order of gain."""
    rows = np.flatnonzero(gains)
    earned = gains[rows]
    if len(rows) and np.any(earned != earned[0]):
        rows = rows[np.argsort(-earned)]
    rows = stable_order(codes, rows)
    group = codes[rows]
    place, _ = place_in_group(group, groups)
    return Credit(group, place, gains[rows])
