"""Intervals of the effects mix and rate, by a jackknife over parts (fixed subsets of the groups)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparkrank.metrics import Metric
from sparkrank.numeric.array_types import Floats
from sparkrank.states.part_sums import parts_of_slice
from sparkrank.stats.intervals import OFF, Interval, jackknife, jackknife_degrees, t_interval
from sparkrank.uncertainty.differences import JACKKNIFE
from sparkrank.uncertainty.samples import Sample


class _Side(NamedTuple):
    """The weights, means and part sizes of the slice values in the left or the right run of a comparison."""

    weights: Floats  # shape (values, 1 + parts), with all groups first
    means: Floats  # shape (values, 1 + parts)
    sizes: Floats  # shape (values, parts)


def intervals_of_parts(
    before: Sequence[Sample],
    after: Sequence[Sample],
    metric: Metric,
    parts: Sequence[tuple[float, float, float]],
    level: float,
) -> list[tuple[Interval, Interval, Interval]]:
    """Return three intervals for each slice value: for mix, for rate and for the sum of mix and rate.

    ``before`` and ``after`` contain the samples (groups) of the left and of the right run for each slice value with
    weight in at least one run. ``parts`` contains a triple (mix, rate, sum) for each slice value, from the ``metrics``
    tables.
    """
    if not (before[0].has_parts and after[0].has_parts):
        return [(OFF, OFF, OFF) for _ in parts]
    ours, theirs = (_side(samples, metric) for samples in (before, after))
    numbers = np.stack(_mix_and_rate(ours, theirs))  # (mix and rate, values, 1 + parts)
    numbers = np.concatenate([numbers, numbers.sum(axis=0, keepdims=True)])
    sizes = (ours.sizes + theirs.sizes).sum(axis=0)
    whole, without = numbers[..., 0], numbers[..., 1:]
    errors, degrees = jackknife(whole, without, sizes)[0], jackknife_degrees(whole, without, sizes)
    intervals = []
    for place, own in enumerate(parts):
        mix, rate, part = (
            t_interval(value, float(errors[row, place]), float(degrees[row, place]), level, JACKKNIFE)
            for row, value in enumerate(own)
        )
        intervals.append((mix, rate, part))
    return intervals


def _side(samples: Sequence[Sample], metric: Metric) -> _Side:
    parts = parts_of_slice(samples[0].subject.slice)
    weights, means, sizes = (np.zeros((len(samples), columns)) for columns in (parts + 1, parts + 1, parts))
    for place, sample in enumerate(samples):
        without = sample.without_parts(metric)
        if without is None:  # this side lacks the slice value
            continue
        there, whole = without.sizes > 0, sample.row(metric).weight
        sizes[place] = without.sizes
        weights[place] = [whole, *np.where(there, without.weights, whole)]
        means[place] = [without.value, *np.where(there, without.without, without.value)]
    return _Side(weights, np.where(weights > 0, means, 0.0), sizes)


def _mix_and_rate(before: _Side, after: _Side) -> tuple[Floats, Floats]:
    """Return mix and rate as :mod:`sparkrank.comparison.mix_and_rate` defines them, in shape (values, 1 + parts)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [side.weights / side.weights.sum(axis=0) for side in (before, after)]
    middle = sum((share * side.means).sum(axis=0) for share, side in zip(shares, (before, after), strict=True)) / 2
    # A missing mean is replaced by the other side's mean, so the whole contribution is mix.
    left = np.where(before.weights > 0, before.means, after.means)
    right = np.where(after.weights > 0, after.means, before.means)
    mix = (shares[1] - shares[0]) * ((left + right) / 2 - middle)
    return mix, (shares[0] + shares[1]) / 2 * (right - left)
