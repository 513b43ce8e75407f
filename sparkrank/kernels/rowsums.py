"""Sums over the scored rows of a day that no binning may blur: what metrics at a threshold and of calibration need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.exact import exact_sum
from sparkrank.kernels.judgments import Floats, is_relevant
from sparkrank.kernels.order import Flags
from sparkrank.kernels.remember import remembered


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

    def sum(self, quantity: RowSum) -> Floats:
        """The limbs (6) of ``quantity``."""
        return _QUANTITIES[quantity.name](self, quantity)

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
    def outside(self) -> int:
        """How many scores are no probability."""
        return int(np.count_nonzero((self.scores < 0) | (self.scores > 1)))

    @remembered
    def probabilities(self) -> Floats:
        """The scores as float64. Those outside [0, 1], which leave the metric undefined, are moved to its ends."""
        wide = self._wide()
        return np.clip(wide, 0.0, 1.0) if self.outside() else wide

    @remembered
    def _wide(self) -> Floats:
        return self.scores.astype(np.float64, copy=False)

    def log_losses(self, rel: float | None) -> Floats:
        """The log loss of each row.

        As in scikit-learn, the probability of the row's class is clipped to [eps, 1-eps] with the eps of the type in
        which the scores came: 2^-52 for float64, 2^-23 for float32.
        """
        eps = float(np.finfo(self.scores.dtype).eps)
        of_class = np.where(self.flags(rel), self.probabilities(), 1.0 - self.probabilities())
        losses: Floats = -np.log(np.clip(of_class, eps, 1.0 - eps))
        return losses

    def squared_errors(self, rel: float | None) -> Floats:
        """The squared distance of each row's score from its class."""
        return np.square(self.probabilities() - self.flags(rel))

    def counted(self, flags: Flags) -> Floats:
        """The limbs of the weight of the rows where ``flags``."""
        if self.weights is None:
            return _of_one(int(np.count_nonzero(flags)))
        return exact_sum(self.weights[flags])

    def weighed(self, values: Floats) -> Floats:
        """The limbs of the sum of ``values``, each times its row's weight."""
        return exact_sum(values if self.weights is None else self.weights * values)


def _of_one(count: int) -> Floats:
    return exact_sum(np.array([float(count)]))


def _weight(rows: ScoredRows) -> Floats:
    return _of_one(len(rows.scores)) if rows.weights is None else exact_sum(rows.weights)


_QUANTITIES: dict[str, Callable[[ScoredRows, RowSum], Floats]] = {
    "rows": lambda rows, of: _of_one(len(rows.scores)),
    "weight": lambda rows, of: _weight(rows),
    "positives": lambda rows, of: rows.counted(rows.flags(of.rel)),
    "predicted": lambda rows, of: rows.counted(rows.taken(_at(of))),
    "true_positives": lambda rows, of: rows.counted(rows.flags(of.rel) & rows.taken(_at(of))),
    "scores": lambda rows, of: rows.weighed(rows.probabilities()),
    "squared_error": lambda rows, of: rows.weighed(rows.squared_errors(of.rel)),
    "log_loss": lambda rows, of: rows.weighed(rows.log_losses(of.rel)),
    "outside": lambda rows, of: _of_one(rows.outside()),
}


def _at(quantity: RowSum) -> float:
    if quantity.threshold is None:
        raise ValueError(f"{quantity.name} needs a threshold")
    return quantity.threshold
