"""Scores of a group beside its labels, as numbers, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from tests.oracles.values import Scored, Value, is_relevant


def calibration_gap(rows: Iterable[Scored], rel: float | None = None, weight: str = "") -> Value:
    """How far the scores of the rows that have one add up beside the number of relevant ones, over their number."""
    listed = [(Fraction(score), is_relevant(label, rel)) for score, label in rows if score is not None]
    if not listed or not all(0 <= score <= 1 for score, _ in listed):
        return None
    return float(abs(sum(score - relevant for score, relevant in listed)) / len(listed))


def mean_error(of_residual: Callable[[float], float], rows: Iterable[Scored]) -> Value:
    """The mean of a function of score less label, over rows with both; undefined beside a number above 2^32."""
    known = [(score, label) for score, label in rows if score is not None and label is not None]
    if not known or max(abs(number) for pair in known for number in pair) > 2**32:
        return None
    return math.fsum(of_residual(score - label) for score, label in known) / len(known)


def root_of(mean: Value) -> Value:
    return None if mean is None else math.sqrt(mean)
