"""Sums over the scored rows of a day that no binning may blur: what metrics at a threshold and of calibration need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.exact import exact_sums, whole_limbs
from sparkrank.kernels.judgments import Floats, is_relevant
from sparkrank.kernels.order import Flags
from sparkrank.kernels.remember import remembered
from sparkrank.kernels.segments import WHOLE, Segments


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


class ScoredRows:
    """The rows with a score: ``scores`` (no NaN), ``labels``, and ``weights`` where they do not all weigh 1."""

    def __init__(
        self, scores: NDArray[np.floating[Any]], labels: NDArray[np.generic], weights: Floats | None = None
    ) -> None:
        self.scores = scores
        self.labels = labels
        self.weights = weights

    def sums(self, quantity: RowSum, segments: Segments = WHOLE) -> Floats:
        """The limbs (count, 6) of ``quantity`` over each segment of the rows."""
        return _QUANTITIES[quantity.name](self, quantity, segments)

    @remembered
    def flags(self, rel: float | None) -> Flags:
        """Which rows are relevant."""
        return is_relevant(self.labels, rel)

    @remembered
    def taken(self, threshold: float) -> Flags:
        """Which rows have a score from ``threshold``, compared as float64 whatever the scores came as."""
        taken: Flags = self._wide() >= threshold
        return taken

    @remembered
    def outside(self) -> Flags:
        """Which scores are no probability."""
        return (self.scores < 0) | (self.scores > 1)

    @remembered
    def probabilities(self) -> Floats:
        """The scores as float64. Those outside [0, 1], which leave the metric undefined, are moved to its ends."""
        wide = self._wide()
        return np.clip(wide, 0.0, 1.0) if self.outside().any() else wide

    @remembered
    def _wide(self) -> Floats:
        return self.scores.astype(np.float64, copy=False)

    @remembered
    def log_losses(self, rel: float | None) -> Floats:
        """The log loss of each row.

        As in scikit-learn, the probability of the row's class is clipped to [eps, 1-eps] with the eps of the type in
        which the scores came: 2^-52 for float64, 2^-23 for float32.
        """
        eps = float(np.finfo(self.scores.dtype).eps)
        of_class = np.where(self.flags(rel), self.probabilities(), 1.0 - self.probabilities())
        losses: Floats = -np.log(np.clip(of_class, eps, 1.0 - eps))
        return losses

    @remembered
    def squared_errors(self, rel: float | None) -> Floats:
        """The squared distance of each row's score from its class."""
        return np.square(self.probabilities() - self.flags(rel))

    def counted(self, flags: Flags, segments: Segments) -> Floats:
        """The limbs (count, 6) of the weight of the rows where ``flags``."""
        if self.weights is None:
            return whole_limbs(segments.tally(flags))
        return exact_sums(self.weights[flags], segments.count, segments.of(flags).sum)

    def weighed(self, values: Floats, segments: Segments) -> Floats:
        """The limbs (count, 6) of the sum of ``values``, each times its row's weight."""
        weighed = values if self.weights is None else self.weights * values
        return exact_sums(weighed, segments.count, segments.sum)


def _rows(rows: ScoredRows, segments: Segments) -> Floats:
    return whole_limbs(segments.sizes(len(rows.scores)))


def _weight(rows: ScoredRows, segments: Segments) -> Floats:
    if rows.weights is None:
        return _rows(rows, segments)
    return exact_sums(rows.weights, segments.count, segments.sum)


_QUANTITIES: dict[str, Callable[[ScoredRows, RowSum, Segments], Floats]] = {
    "rows": lambda rows, of, by: _rows(rows, by),
    "weight": lambda rows, of, by: _weight(rows, by),
    "positives": lambda rows, of, by: rows.counted(rows.flags(of.rel), by),
    "predicted": lambda rows, of, by: rows.counted(rows.taken(_at(of)), by),
    "true_positives": lambda rows, of, by: rows.counted(rows.flags(of.rel) & rows.taken(_at(of)), by),
    "scores": lambda rows, of, by: rows.weighed(rows.probabilities(), by),
    "squared_error": lambda rows, of, by: rows.weighed(rows.squared_errors(of.rel), by),
    "log_loss": lambda rows, of, by: rows.weighed(rows.log_losses(of.rel), by),
    "outside": lambda rows, of, by: whole_limbs(by.tally(rows.outside())),
}


def _at(quantity: RowSum) -> float:
    if quantity.threshold is None:
        raise ValueError(f"{quantity.name} needs a threshold")
    return quantity.threshold
