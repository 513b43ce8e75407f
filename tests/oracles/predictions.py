"""Scores beside labels, as numbers, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from tests.oracles.thresholds import bin_of, blocks_of
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


def bias(rows: Iterable[Scored]) -> Value:
    return mean_error(lambda far: far, rows)


def determination(rows: Sequence[Scored]) -> Value:
    known = [(score, label) for score, label in rows if label is not None]
    mean = math.fsum(label for _, label in known) / len(known)
    return 1 - math.fsum((own - y) ** 2 for own, y in known) / math.fsum((mean - y) ** 2 for _, y in known)


def clicked(rows: Iterable[Scored], rel: float | None) -> list[tuple[float, bool]]:
    return [(score, is_relevant(label, rel)) for score, label in rows]


def log_loss(rows: Sequence[Scored], rel=None) -> Value:
    """In nats, of probabilities between 0 and 1."""
    return -math.fsum(math.log(own if flag else 1 - own) for own, flag in clicked(rows, rel)) / len(rows)


def relative_loss(rows: Sequence[Scored], rel=None) -> Value:
    """Beside that of the base rate for every row."""
    rate = sum(flag for _, flag in clicked(rows, rel)) / len(rows)
    return log_loss(rows, rel) / log_loss([(rate, label) for _, label in rows], rel)


def brier_score(rows: Sequence[Scored], rel=None) -> Value:
    return math.fsum((score - flag) ** 2 for score, flag in clicked(rows, rel)) / len(rows)


def clicks_over_predicted(rows: Sequence[Scored], rel=None) -> Value:
    return sum(flag for _, flag in clicked(rows, rel)) / math.fsum(score for score, _ in rows)


def base_variance(rows: Sequence[Scored], rel=None) -> Value:
    rate = sum(flag for _, flag in clicked(rows, rel)) / len(rows)
    return rate * (1 - rate)


Bin = tuple[int, int, float]  # rows, relevant ones of them, sum of scores


def bins_of(rows: Sequence[Scored], rel: float | None, bins: dict) -> list[Bin]:
    """The highest bin first."""
    sums = {at: math.fsum(own for own, _ in rows if bin_of(own, **bins) == at) for at, _ in blocks_of(rows, **bins)}
    return [(len(flags), sum(flags), sums[at]) for at, flags in blocks_of(rows, rel, **bins)]


def calibration_error(rows: Sequence[Scored], rel=None, **bins) -> Value:
    return sum(abs(pos - score) for _, pos, score in bins_of(rows, rel, bins or {"bins": 15})) / len(rows)


def largest_calibration_error(rows: Sequence[Scored], rel=None, **bins) -> Value:
    return max(abs(pos - score) / count for count, pos, score in bins_of(rows, rel, bins or {"bins": 15}))


def calibration_error_by_mass(rows: Sequence[Scored], mass=20, rel=None, **bins) -> Value:
    """A bin is of the run in which the rows above its middle end."""
    runs: dict[int, float] = {}
    above = 0
    for count, pos, score in bins_of(rows, rel, bins):
        run = math.floor(mass * Fraction(2 * above + count, 2 * len(rows)))
        runs[run] = runs.get(run, 0.0) + pos - score
        above += count
    return sum(map(abs, runs.values())) / len(rows)


def isotonic_rates(bins: Sequence[Bin]) -> list[float]:
    """The fit of rates that fall from the first bin on: the lowest, over ends above, of the highest mean from there."""

    def rate(first: int, last: int) -> float:
        return sum(pos for _, pos, _ in bins[first : last + 1]) / sum(count for count, *_ in bins[first : last + 1])

    places = range(len(bins))
    return [min(max(rate(first, last) for last in places[place:]) for first in places[: place + 1]) for place in places]


def score_of(bins: Sequence[Bin], rates: Iterable[float]) -> float:
    """The Brier score of one rate a bin, over all rows."""
    losses = (pos * (1 - r) ** 2 + (count - pos) * r**2 for (count, pos, _), r in zip(bins, rates, strict=True))
    return math.fsum(losses) / sum(count for count, *_ in bins)


def miscalibration(rows: Sequence[Scored], rel=None, **bins) -> Value:
    found = bins_of(rows, rel, bins)
    return score_of(found, (score / count for count, _, score in found)) - score_of(found, isotonic_rates(found))


def discrimination(rows: Sequence[Scored], rel=None, **bins) -> Value:
    found = bins_of(rows, rel, bins)
    return base_variance(rows, rel) - score_of(found, isotonic_rates(found))
