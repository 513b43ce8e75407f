"""The difference of two values, and its test: for two models on the same groups, or for two days or runs.

A mean of one day is tested by pairs of groups, with exact moments. Everything else is tested by leaving out each part
of the groups: a group is in the same part on all days and for all models, so what they have in common cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sparkrank.metrics import Metric
from sparkrank.metrics.merged import Merged, MetricRow, SubjectStates, WithoutParts
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.states.keys import Subject
from sparkrank.states.means import NO_GROUPS
from sparkrank.states.part_states import PAIR_COUNTS
from sparkrank.stats.intervals import LEAST_GROUPS, NOISE, OFF, jackknife, jackknife_degrees
from sparkrank.stats.paired import Difference, paired_t, t_test
from sparkrank.stats.power import smallest_detectable
from sparkrank.stats.ratios import StandardErrors, fieller
from sparkrank.uncertainty.unsmooth_metrics import Tested, percentile_test, ratio_errors, swapped_test

_Number = TypeVar("_Number", int, float)
JACKKNIFE = "jackknife"
# Relative to the values: the rounding error up to which a part counts as one without a difference.
ROUNDED = 1e-10


@dataclass(frozen=True)
class Sample:
    """A model on one value of a slice, in the merged states of a day or a window.

    ``has_parts``: the plan has states of parts for it. ``clustered``: the same group may occur on several days.
    """

    merged: Merged
    subject: Subject
    has_parts: bool = True
    clustered: bool = False

    @property
    def side(self) -> SubjectStates:
        return SubjectStates(self.merged, self.subject)

    def row(self, metric: Metric) -> MetricRow:
        return self.merged.row(self.subject, metric)

    def groups(self, row: MetricRow) -> int | None:
        """The number of groups behind ``row``; None if rows have no group, or groups were not counted."""
        sizes = self.merged.sizes_of_parts(self.subject) if row.n_groups is None else None
        return row.n_groups if sizes is None else int(sizes.sum())

    def stderr_of_mean(self, metric: Metric) -> float:
        """The standard error of a mean of independent groups of equal weight."""
        return self.merged.means.get(self.subject.state(metric), NO_GROUPS).stderr

    def n_effective(self, metric: Metric) -> float | None:
        return self.merged.n_effective(self.subject, metric, clustered=self.clustered)

    def without_parts(self, metric: Metric) -> WithoutParts | None:
        """The values of ``metric`` without each part of the groups; None if it has none."""
        return self.merged.without_parts(self.subject, metric) if self.has_parts else None


class PairSums(NamedTuple):
    """The numbers of groups of a pair of models by the sign of their difference d, and the sums of d and d squared."""

    n_pairs: int
    n_above: int
    n_equal: int
    n_below: int
    n_unpaired: int
    d: Fraction
    dd: Fraction

    @classmethod
    def of(cls, numbers: Floats) -> PairSums:
        """Read the sums from ``numbers``, the single part that the states of pairs have."""
        counts, limbs = numbers[: len(PAIR_COUNTS)], numbers[len(PAIR_COUNTS) :].reshape(2, LIMBS).tolist()
        return cls(*map(int, counts), *(sum(map(Fraction, limbs_of_sum), Fraction()) for limbs_of_sum in limbs))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Compared:
    """Two values, the ``test`` of their difference, and the number of groups of the side with fewer."""

    candidate: MetricRow
    baseline: MetricRow
    n_groups: int | None
    n_effective: float | None
    test: Difference
    errors: StandardErrors | None = None

    @property
    def difference(self) -> float:
        return self.candidate.value - self.baseline.value

    def columns(self, level: float) -> dict[str, Any]:
        """The numbers of a row of ``comparisons``."""
        test, size, detectable = self.test, abs(self.baseline.value), None
        if test.finds(level):
            detectable = smallest_detectable(test.stderr, test.degrees or 0, level)
        relative = self.difference / size if size and not math.isnan(self.difference) else None
        ends = None
        if self.errors is not None and test.degrees is not None and relative is not None:
            ends = fieller(self.difference, self.baseline.value, self.errors, test.degrees, level)
        if ends is not None and relative is not None:
            has_width = ends[1] - ends[0] > NOISE * abs(relative)
            ends = test.holding_0(*ends, level) if has_width else None
        return {
            "difference": self.difference,
            "relative": relative,
            "relative_low": ends and ends[0],
            "relative_high": ends and ends[1],
            "stderr": test.stderr,
            "ci_low": test.low,
            "ci_high": test.high,
            "interval": test.method,
            "degrees": test.degrees,
            "p": test.p,
            "smallest_detectable": detectable,
            "n_groups": self.n_groups,
            "n_effective": self.n_effective,
        }


def compared(
    candidate: Sample, baseline: Sample, metric: Metric, level: float, pairs: PairSums | None = None
) -> Compared:
    """``candidate`` less ``baseline``, tested by ``pairs`` of independent groups if given, else by parts.

    It is also tested by parts if some groups are in no pair, because only one of the two is defined there.
    """
    ours, theirs = candidate.row(metric), baseline.row(metric)
    groups = _smaller(candidate.groups(ours), baseline.groups(theirs))
    effective = _smaller(candidate.n_effective(metric), baseline.n_effective(metric))
    if pairs is not None and not pairs.n_unpaired:
        test = paired_t(pairs.n_pairs, pairs.d, pairs.dd, level, pairs.n_above + pairs.n_below)
        errors = ratio_errors(test, baseline.stderr_of_mean(metric), candidate.stderr_of_mean(metric))
        return Compared(ours, theirs, groups, effective, test, errors)
    difference = ours.value - theirs.value
    most = math.inf if effective is None else effective
    test, errors = _by_parts(candidate, baseline, metric, difference, level, most)
    return Compared(ours, theirs, groups, effective, test, errors)


def _smaller(*numbers: _Number | None) -> _Number | None:
    return min((number for number in numbers if number is not None), default=None)


def _by_parts(
    candidate: Sample, baseline: Sample, metric: Metric, difference: float, level: float, effective: float
) -> Tested:
    if math.isnan(difference):
        return Difference(None), None
    if metric.declaration.interval == "none":
        return Difference(difference), None
    if not (candidate.has_parts and baseline.has_parts):
        return Difference(difference, method=OFF.method), None
    for test in TESTS:
        if (tested := test(candidate.side, baseline.side, metric, difference, level, effective)) is not None:
            return tested
    return Difference(difference), None


def jackknife_test(
    candidate: SubjectStates, baseline: SubjectStates, metric: Metric, difference: float, level: float, effective: float
) -> Tested | None:
    """The test by the jackknife, which leaves out each part of the groups."""
    ours, theirs = (side.merged.without_parts(side.subject, metric) for side in (candidate, baseline))
    if ours is None or theirs is None:
        return None
    values = np.array([ours.value - theirs.value, theirs.value, ours.value])
    of_ours, of_theirs = (np.where(side.sizes > 0, side.without, side.value) for side in (ours, theirs))
    without = np.stack([of_ours - of_theirs, of_theirs, of_ours])
    sizes = ours.sizes + theirs.sizes  # a part may have groups of only one of the two
    stderr = jackknife(values, without, sizes)[0].tolist()
    degrees = min(float(jackknife_degrees(values, without, sizes)[0]), effective - 1)
    moving = _moving(values, without[0], sizes) if effective >= LEAST_GROUPS else 0
    test = t_test(difference, stderr[0], degrees, level, JACKKNIFE, moving)
    return test, ratio_errors(test, *stderr[1:])


# The tests of a difference by parts of the groups: the first one that applies to a metric is used.
TESTS: tuple[Callable[[SubjectStates, SubjectStates, Metric, float, float, float], Tested | None], ...] = (
    percentile_test,
    swapped_test,
    jackknife_test,
)


def _moving(values: Floats, without: Floats, sizes: Floats) -> int:
    """The number of parts in which the difference, the first of ``values``, is not 0, by their pseudo-values."""
    share = np.divide(sizes, sizes.sum(), out=np.zeros(len(sizes)), where=sizes > 0)
    there = (share > 0) & (share < 1)
    own = values[0] - (1 - share[there]) / share[there] * (without[there] - values[0])
    return int(np.count_nonzero(np.abs(own) > ROUNDED / share[there] * np.abs(values).max()))
