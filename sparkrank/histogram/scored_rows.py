"""Scored rows, and the exact sums over them for metrics at a threshold and for calibration metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Codes, Flags, Floats
from sparkrank.numeric.cached import cached
from sparkrank.numeric.elementary import log
from sparkrank.numeric.exact_sums import exact_sums, exact_sums_of, whole_limbs
from sparkrank.numeric.ordered_integers import Range
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.ranking.judgments import is_relevant

FARTHEST = 2.0**32  # a billion squares of numbers up to a thousandth of this still add up exactly


@dataclass(frozen=True)
class RowSum:
    """A sum over rows: one of the sums below, by ``name``.

    A row has the weight w and the score s. y is 1 if the label is relevant at the threshold ``rel``, else 0. The sums
    are ``rows`` = Σ 1, ``weight`` = Σ w, ``positives`` = Σ w·y, ``negatives`` = Σ w·(1-y), ``predicted`` = Σ w over
    rows with s >= ``threshold``, ``true_positives`` = Σ w·y over the same rows, ``scores`` = Σ w·s, ``squared_error`` =
    Σ w·(s-y)², and ``log_loss`` = Σ w·l, where l is -log s if y is 1, else -log(1-s). ``outside`` is the number of rows
    whose score is outside [0, 1].

    The sums over the rows with a label z, a number, are ``judged`` = Σ w, ``residuals`` = Σ w·(s-z),
    ``absolute_residuals`` = ``Σ w·|s-z|``, ``squared_residuals`` = Σ w·(s-z)², ``labels`` = Σ w·z, and
    ``squared_labels`` = Σ w·z². ``beyond`` is the number of these rows with a score or label beyond ±:data:`FARTHEST`;
    other sums omit them. ``judging`` names the label, if there are several, and the included rows, in the syntax of
    metrics.

    For logged actions, let v = s / propensity, at most ``clip``, let the label z be the reward, and let q and p be the
    estimated rewards of the action and of the policy. The sums are ``weights`` = Σ w·v, ``squared_weights`` = Σ w·v²,
    ``rewards`` = Σ w·v·z, and ``corrected`` = Σ w·(p + v·(z - q)). ``clipped`` is the number of rows with s /
    propensity above ``clip``, and ``slates`` the number of groups with any logged action.

    Examples
    --------
    >>> from sparkrank.metrics import RowSum
    >>> str(RowSum("predicted", threshold=0.5))
    'predicted(threshold=0.5)'
    """

    name: str
    rel: float | None = None
    threshold: float | None = None
    clip: float | None = None
    judging: str = ""

    def __str__(self) -> str:
        given = [
            f"{name}={value!r}" for name in ("threshold", "rel", "clip") if (value := getattr(self, name)) is not None
        ]
        given += [self.judging] if self.judging else []
        return f"{self.name}({','.join(given)})" if given else self.name


@dataclass(frozen=True, eq=False)
class LoggedActions:
    """Logged actions, with the ``propensity`` and the ``group`` of each action.

    ``estimate`` is the expected reward of the action, and ``policy_estimate`` that of the evaluated policy. Both are
    None if the input has no columns of estimates.
    """

    propensity: Floats
    group: Codes
    estimate: Floats | None = None
    policy_estimate: Floats | None = None


@dataclass(eq=False)
class ScoredRows:
    """Rows with scores that are not NaN. Arrays for a single sum are computed a few thousand rows at a time.

    ``relevant`` is a function from the lowest relevant label to flags of relevant rows. ``judged`` flags rows with a
    label (None: all rows). If ``weights`` is None, each weight is 1.
    """

    scores: NDArray[np.floating[Any]]
    labels: NDArray[np.generic]
    weights: Floats | None = None
    relevant: Callable[[float | None], Flags] | None = None  # computes flags if the caller caches them
    judged: Flags | None = None  # the rows with a label; None if all rows have one
    logged: LoggedActions | None = None

    def sums(self, quantity: RowSum, segments: Segments = WHOLE) -> Floats:
        """Return the exact sum of ``quantity`` over each segment, split into floats. Shape: (segments, 6)."""
        return _QUANTITIES[quantity.name](self, quantity, segments)

    @cached
    def flags(self, rel: float | None) -> Flags:
        return is_relevant(self.labels, rel) if self.relevant is None else self.relevant(rel)

    @cached
    def taken(self, threshold: float) -> Flags:
        """Return flags of the rows with a score, as float64, of at least ``threshold``."""
        taken: Flags = self.wide() >= threshold
        return taken

    @cached
    def wide(self) -> Floats:
        return np.ascontiguousarray(self.scores, np.float64)

    @cached
    def range(self) -> Range:
        return Range.of(self.wide())

    @cached
    def outside(self) -> Flags:
        if self._are_probabilities():
            return np.zeros(len(self.scores), np.bool_)
        return (self.scores < 0) | (self.scores > 1)

    @cached
    def _are_probabilities(self) -> bool:
        return len(self.scores) == 0 or (self.range().lowest >= 0 and self.range().highest <= 1)

    def probabilities(self, part: slice) -> Floats:
        """Return the scores in ``part``, clipped to [0, 1]. If any score is outside [0, 1], the metric is undefined."""
        wide = self.wide()[part]
        return wide if self._are_probabilities() else np.clip(wide, 0.0, 1.0)

    def log_losses(self, rel: float | None, part: slice) -> Floats:
        """Return the log loss of each row in ``part``. Like scikit-learn, clip scores to [eps, 1-eps] of their type."""
        eps = float(np.finfo(self.scores.dtype).eps)
        losses = self._classes(rel, part)
        losses -= 1.0
        losses += self.probabilities(part)
        np.abs(losses, out=losses)  # s of a positive, 1-s of a negative
        if not eps <= self.range().lowest <= self.range().highest <= 1.0 - eps:
            np.clip(losses, eps, 1.0 - eps, out=losses)
        losses = log(losses)
        return np.negative(losses, out=losses)

    def squared_errors(self, rel: float | None, part: slice) -> Floats:
        errors = self._classes(rel, part)
        np.subtract(self.probabilities(part), errors, out=errors)
        return np.square(errors, out=errors)

    def _classes(self, rel: float | None, part: slice) -> Floats:
        return self.flags(rel)[part].astype(np.float64)

    @cached
    def beyond(self) -> Flags:
        """Return flags of the labelled rows that sums omit: their score or label is beyond ±:data:`FARTHEST`."""
        far: Flags = (np.abs(self.wide()) > FARTHEST) | (np.abs(self.labels.astype(np.float64)) > FARTHEST)
        return far if self.judged is None else far & self.judged

    def compared(self, part: slice) -> tuple[Floats, Floats]:
        """Return the scores and labels in ``part``, both 0 for rows without a label and for those of :meth:`beyond`."""
        left_out = self.beyond()[part]
        if self.judged is not None:
            left_out = left_out | ~self.judged[part]
        scores, labels = self.wide()[part], self.labels[part].astype(np.float64)
        return np.where(left_out, 0.0, scores), np.where(left_out, 0.0, labels)

    def residuals(self, part: slice) -> Floats:
        scores, labels = self.compared(part)
        return np.subtract(scores, labels, out=scores)

    @property
    def actions(self) -> LoggedActions:
        if self.logged is None:
            raise ValueError("rows without propensities are not logged actions")
        return self.logged

    @cached
    def known(self) -> Flags:
        """Return flags of the logged actions with a reward from -:data:`FARTHEST` to :data:`FARTHEST`."""
        within = ~self.beyond()
        return within if self.judged is None else within & self.judged

    def ratios(self, part: slice, clip: float | None) -> Floats:
        """Return score / propensity of each row in ``part``, at most ``clip``; 0 without a known reward."""
        return self._ratios(clip)[part]

    @cached
    def _ratios(self, clip: float | None) -> Floats:
        if clip is not None:
            clipped: Floats = np.minimum(self._ratios(None), clip)
            return clipped
        scores = self.probabilities(slice(None))
        ratios = np.zeros(len(scores))
        np.divide(scores, self.actions.propensity, out=ratios, where=self.known())
        return ratios

    def corrected(self, part: slice, clip: float | None) -> Floats:
        """Return the estimated reward of the policy for each row in ``part``, corrected by the observed reward.

        The correction is :meth:`ratios` · (reward - estimate for the action). The result is 0 without a known reward.
        """
        actions = self.actions
        assert actions.estimate is not None  # noqa: S101 - the metric reads both estimates
        assert actions.policy_estimate is not None  # noqa: S101
        beyond_estimate = self.compared(part)[1] - actions.estimate[part]
        corrected = actions.policy_estimate[part] + self.ratios(part, clip) * beyond_estimate
        return np.where(self.known()[part], corrected, 0.0)

    def clipped(self, clip: float | None) -> Flags:
        flags: Flags = self.ratios(slice(None), None) > (np.inf if clip is None else clip)
        return flags

    @cached
    def opens_slate(self) -> Flags:
        """Return flags of one logged action of each group."""
        flags = np.zeros(len(self.scores), np.bool_)
        rows = np.flatnonzero(self.known())
        flags[rows[np.unique(self.actions.group[rows], return_index=True)[1]]] = True
        return flags

    def weight_where(self, flags: Flags, segments: Segments) -> Floats:
        """Return the total weight of flagged rows by segment, as six floats that add up to it. Shape: (segments, 6)."""
        if self.weights is None:
            return whole_limbs(segments.count_flagged(flags))
        rows = np.flatnonzero(flags)
        return exact_sums(self.weights[rows], segments.of(rows))

    def weighted_sum(self, values: Callable[[slice], Floats], segments: Segments) -> Floats:
        """Return Σ weight · ``values(slice)`` over each segment, as six floats that add up to it.

        Shape: (segments, 6).
        """
        weights = self.weights
        if weights is None:
            return exact_sums_of(values, len(self.scores), segments)
        return exact_sums_of(lambda part: weights[part] * values(part), len(self.scores), segments)


def _rows(rows: ScoredRows, segments: Segments) -> Floats:
    return whole_limbs(segments.sizes(len(rows.scores)))


def _weight(rows: ScoredRows, segments: Segments) -> Floats:
    return _rows(rows, segments) if rows.weights is None else exact_sums(rows.weights, segments)


_QUANTITIES: dict[str, Callable[[ScoredRows, RowSum, Segments], Floats]] = {
    "rows": lambda rows, quantity, by: _rows(rows, by),
    "weight": lambda rows, quantity, by: _weight(rows, by),
    "positives": lambda rows, quantity, by: rows.weight_where(rows.flags(quantity.rel), by),
    "negatives": lambda rows, quantity, by: rows.weight_where(~rows.flags(quantity.rel), by),
    "predicted": lambda rows, quantity, by: rows.weight_where(rows.taken(_at(quantity)), by),
    "true_positives": lambda rows, quantity, by: rows.weight_where(
        rows.flags(quantity.rel) & rows.taken(_at(quantity)), by
    ),
    "scores": lambda rows, quantity, by: rows.weighted_sum(rows.probabilities, by),
    "squared_error": lambda rows, quantity, by: rows.weighted_sum(
        lambda part: rows.squared_errors(quantity.rel, part), by
    ),
    "log_loss": lambda rows, quantity, by: rows.weighted_sum(lambda part: rows.log_losses(quantity.rel, part), by),
    "judged": lambda rows, quantity, by: (
        _weight(rows, by) if rows.judged is None else rows.weight_where(rows.judged, by)
    ),
    "beyond": lambda rows, quantity, by: whole_limbs(by.count_flagged(rows.beyond())),
    "residuals": lambda rows, quantity, by: rows.weighted_sum(rows.residuals, by),
    "absolute_residuals": lambda rows, quantity, by: rows.weighted_sum(lambda part: np.abs(rows.residuals(part)), by),
    "squared_residuals": lambda rows, quantity, by: rows.weighted_sum(lambda part: np.square(rows.residuals(part)), by),
    "labels": lambda rows, quantity, by: rows.weighted_sum(lambda part: rows.compared(part)[1], by),
    "squared_labels": lambda rows, quantity, by: rows.weighted_sum(lambda part: np.square(rows.compared(part)[1]), by),
    "weights": lambda rows, quantity, by: rows.weighted_sum(lambda part: rows.ratios(part, quantity.clip), by),
    "squared_weights": lambda rows, quantity, by: rows.weighted_sum(
        lambda part: np.square(rows.ratios(part, quantity.clip)), by
    ),
    "rewards": lambda rows, quantity, by: rows.weighted_sum(
        lambda part: rows.ratios(part, quantity.clip) * rows.compared(part)[1], by
    ),
    "corrected": lambda rows, quantity, by: rows.weighted_sum(lambda part: rows.corrected(part, quantity.clip), by),
    "clipped": lambda rows, quantity, by: whole_limbs(by.count_flagged(rows.clipped(quantity.clip))),
    "slates": lambda rows, quantity, by: whole_limbs(by.count_flagged(rows.opens_slate())),
    "outside": lambda rows, quantity, by: whole_limbs(by.count_flagged(rows.outside())),
}

ROW_SUMS = tuple(_QUANTITIES)  # the names of sums
AT_THRESHOLD = ("predicted", "true_positives")  # sums that need a threshold


def _at(quantity: RowSum) -> float:
    if quantity.threshold is None:
        raise ValueError(f"{quantity.name} needs a threshold")
    return quantity.threshold
