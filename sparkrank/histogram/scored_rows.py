"""Sums over the scored rows of a day that no binning may blur: what metrics at a threshold and of calibration need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import exact_sums, exact_sums_of, limbs_in_turn, whole_limbs
from sparkrank.numeric.ordered_integers import Range
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.numeric.types import Flags, Floats, Ints
from sparkrank.ranking.judgments import is_relevant


@dataclass(frozen=True)
class RowSum:
    """A sum over rows. With w the weight, y the class (1 where the label is relevant at ``rel``) and s the score:

    ``rows`` Σ 1, ``weight`` Σ w, ``positives`` Σ w·y, ``predicted`` Σ w over s >= ``threshold``, ``true_positives``
    Σ w·y over the same, ``scores`` Σ w·s, ``squared_error`` Σ w·(s-y)², ``log_loss`` Σ w·(-log s of a positive,
    -log(1-s) of a negative), ``outside`` the rows with a score that is no probability.
    """

    name: str
    rel: float | None = None
    threshold: float | None = None

    def __str__(self) -> str:
        given = [f"{name}={value!r}" for name in ("threshold", "rel") if (value := getattr(self, name)) is not None]
        return f"{self.name}({','.join(given)})" if given else self.name


class Room(NamedTuple):
    """Memory for a block code and a step of each row, and for a limb of the latter.

    An array of this size is new memory from the operating system, which costs more than what is written there.
    """

    code: Ints
    steps: Floats
    limb: Floats

    @classmethod
    def of(cls, rows: int) -> Room:
        return cls(np.empty(rows, np.int64), np.empty(rows), np.empty(rows))  # what is not used takes no memory


class ScoredRows:
    """The rows with a score: ``scores`` (no NaN), ``labels``, and ``weights`` where they do not all weigh 1.

    ``relevant`` gives :meth:`flags` where somebody else remembers them.

    What several sums and block rules read of them is made once. What only one of them reads is made for some
    thousand rows at a time, so that it stays in the cache.
    """

    def __init__(
        self,
        scores: NDArray[np.floating[Any]],
        labels: NDArray[np.generic],
        weights: Floats | None = None,
        relevant: Callable[[float | None], Flags] | None = None,
    ) -> None:
        self.scores = scores
        self.labels = labels
        self.weights = weights
        self._relevant = relevant

    def sums(self, quantity: RowSum, segments: Segments = WHOLE) -> Floats:
        """The limbs (count, 6) of ``quantity`` over each segment of the rows."""
        return _QUANTITIES[quantity.name](self, quantity, segments)

    @cached
    def flags(self, rel: float | None) -> Flags:
        """Which rows are relevant."""
        return is_relevant(self.labels, rel) if self._relevant is None else self._relevant(rel)

    @cached
    def positives(self, rel: float | None) -> Ints:
        """The relevant rows."""
        return np.flatnonzero(self.flags(rel))

    @cached
    def taken(self, threshold: float) -> Flags:
        """Which rows have a score from ``threshold``, compared as float64 whatever the scores came as."""
        taken: Flags = self.wide() >= threshold
        return taken

    @cached
    def wide(self) -> Floats:
        """The scores as float64."""
        return np.ascontiguousarray(self.scores, np.float64)

    @cached
    def range(self) -> Range:
        """The lowest and the highest score, of at least one row."""
        return Range.of(self.wide())

    @cached
    def weight_limbs(self) -> list[tuple[int, Floats]]:
        """The limbs of each weight with their index, where rows have weights."""
        left, limbs = np.array(self.weights, np.float64), np.empty(len(self.scores))
        return [(index, limb.copy()) for index, limb in limbs_in_turn(left, limbs)]

    @cached
    def room(self) -> Room:
        """Memory that one block rule after the other uses."""
        return Room.of(len(self.scores))

    @cached
    def outside(self) -> Flags:
        """Which scores are no probability."""
        if self._are_probabilities():
            return np.zeros(len(self.scores), np.bool_)
        return (self.scores < 0) | (self.scores > 1)

    @cached
    def _are_probabilities(self) -> bool:
        return len(self.scores) == 0 or (self.range().lowest >= 0 and self.range().highest <= 1)

    def probabilities(self, part: slice) -> Floats:
        """The scores of ``part``. Those outside [0, 1], which leave the metric undefined, are moved to its ends."""
        wide = self.wide()[part]
        return wide if self._are_probabilities() else np.clip(wide, 0.0, 1.0)

    def log_losses(self, rel: float | None, part: slice) -> Floats:
        """The log loss of each row of ``part``.

        As in scikit-learn, the probability of the row's class is clipped to [eps, 1-eps] with the eps of the type in
        which the scores came: 2^-52 for float64, 2^-23 for float32.
        """
        eps = float(np.finfo(self.scores.dtype).eps)
        losses = self._classes(rel, part)
        losses -= 1.0
        losses += self.probabilities(part)
        np.abs(losses, out=losses)  # s of a positive, 1-s of a negative
        if not eps <= self.range().lowest <= self.range().highest <= 1.0 - eps:
            np.clip(losses, eps, 1.0 - eps, out=losses)
        np.log(losses, out=losses)
        return np.negative(losses, out=losses)

    def squared_errors(self, rel: float | None, part: slice) -> Floats:
        """The squared distance of each score of ``part`` from its row's class."""
        errors = self._classes(rel, part)
        np.subtract(self.probabilities(part), errors, out=errors)
        return np.square(errors, out=errors)

    def _classes(self, rel: float | None, part: slice) -> Floats:
        """1 for the positives of ``part``, 0 for its negatives."""
        return self.flags(rel)[part].astype(np.float64)

    def counted(self, flags: Flags, segments: Segments) -> Floats:
        """The limbs (count, 6) of the weight of the rows where ``flags``."""
        if self.weights is None:
            return whole_limbs(segments.tally(flags))
        rows = np.flatnonzero(flags)
        return exact_sums(self.weights[rows], segments.of(rows))

    def weighed(self, values: Callable[[slice], Floats], segments: Segments) -> Floats:
        """The limbs (count, 6) of the sum of what ``values`` gives for each part of the rows, times their weights."""
        weights = self.weights
        if weights is None:
            return exact_sums_of(values, len(self.scores), segments)
        return exact_sums_of(lambda part: weights[part] * values(part), len(self.scores), segments)


def _rows(rows: ScoredRows, segments: Segments) -> Floats:
    return whole_limbs(segments.sizes(len(rows.scores)))


def _weight(rows: ScoredRows, segments: Segments) -> Floats:
    return _rows(rows, segments) if rows.weights is None else exact_sums(rows.weights, segments)


_QUANTITIES: dict[str, Callable[[ScoredRows, RowSum, Segments], Floats]] = {
    "rows": lambda rows, of, by: _rows(rows, by),
    "weight": lambda rows, of, by: _weight(rows, by),
    "positives": lambda rows, of, by: rows.counted(rows.flags(of.rel), by),
    "predicted": lambda rows, of, by: rows.counted(rows.taken(_at(of)), by),
    "true_positives": lambda rows, of, by: rows.counted(rows.flags(of.rel) & rows.taken(_at(of)), by),
    "scores": lambda rows, of, by: rows.weighed(rows.probabilities, by),
    "squared_error": lambda rows, of, by: rows.weighed(lambda part: rows.squared_errors(of.rel, part), by),
    "log_loss": lambda rows, of, by: rows.weighed(lambda part: rows.log_losses(of.rel, part), by),
    "outside": lambda rows, of, by: whole_limbs(by.tally(rows.outside())),
}


def _at(quantity: RowSum) -> float:
    if quantity.threshold is None:
        raise ValueError(f"{quantity.name} needs a threshold")
    return quantity.threshold
