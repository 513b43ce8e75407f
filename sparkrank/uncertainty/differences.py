"""Differences between two models on the same groups, two days or two runs, and their tests.

A difference of means over one day is tested by pairs of groups, with exact moments. All other differences are tested by
leaving out one part (fixed subset) of the groups at a time. A group is in the same part on all days and for all models,
so the common variation of the two values cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank.metrics import Metric
from sparkrank.metrics.merged import SubjectStates
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import UNIT_ARRAY, UNITS
from sparkrank.states.part_states import PAIR_COUNTS
from sparkrank.stats.intervals import LEAST_GROUPS, NOISE, OFF, jackknife, jackknife_degrees, lesser
from sparkrank.stats.paired import Differences, paired_ts, t_tests
from sparkrank.stats.power import smallest_detectables
from sparkrank.stats.ratios import fiellers
from sparkrank.uncertainty.samples import Sample, Samples, padded
from sparkrank.uncertainty.unsmooth_metrics import TestWithErrors, percentile_test, swapped_test

JACKKNIFE = "jackknife"
# A part whose difference is below this rounding error, relative to the values, counts as having no difference.
ROUNDED = 1e-10
_FINEST = UNITS[-1]
_Columns: TypeAlias = dict[str, NDArray[Any]]


class PairSums(NamedTuple):
    """The sums over groups for the tests of n differences between two models. Shape of each: (n,).

    d is the difference between the two models in one group. ``there`` is true where the states contain these sums.
    ``n_above``, ``n_equal`` and ``n_below`` count groups by the sign of d, and ``n_pairs`` counts all groups with a d.
    ``n_unpaired`` counts groups for which only one model has a value. ``d`` is the sum of d, ``dd`` the sum of d², in
    the finest unit of exact sums.
    """

    there: NDArray[np.bool_]
    n_pairs: Ints
    n_above: Ints
    n_equal: Ints
    n_below: Ints
    n_unpaired: Ints
    d: NDArray[np.object_]
    dd: NDArray[np.object_]

    @classmethod
    def of(cls, there: NDArray[np.bool_], numbers: Floats) -> PairSums:
        """Return the sums in ``numbers``: five counts and two sums of six limbs (floats) for each pair of models.

        Shape of ``numbers``: (n, 17).
        """
        counts = numbers[:, : len(PAIR_COUNTS)].astype(np.int64)
        limbs = numbers[:, len(PAIR_COUNTS) :].reshape(len(numbers), 2, len(UNITS)) / UNIT_ARRAY  # whole numbers
        sums = np.zeros(limbs.shape[:2], object)
        for place, unit in enumerate(UNITS):
            if limbs[:, :, place].any():
                sums += limbs[:, :, place].astype(np.int64).astype(object) * int(unit / _FINEST)
        return cls._make([there, *counts.T, *sums.T])


@dataclass(frozen=True)
class ComparisonColumns:
    """The differences between n candidates and their baselines, with the tests and the numbers of groups.

    ``baseline`` contains the baselines' values. ``n_groups`` and ``n_effective`` each contain the smaller of the
    candidate's and the baseline's number. ``errors`` contains the three fields of
    :class:`~sparkrank.stats.ratios.StandardErrors`; its shape is (3, n).
    """

    difference: Floats
    baseline: Floats
    n_groups: Floats
    n_effective: Floats
    test: Differences
    errors: Floats

    def columns(self, level: float) -> _Columns:
        """Return the numeric columns of the ``comparisons`` table and the column ``interval``, by name. Shape: (n,)."""
        test, size = self.test, np.abs(self.baseline)
        relative = np.full(len(size), np.nan)
        np.divide(self.difference, size, out=relative, where=size > 0)
        detectable = smallest_detectables(test.stderr, test.degrees, level)
        low, high = fiellers(self.difference, self.baseline, [*self.errors], test.degrees, level)
        has_width = high - low > NOISE * np.abs(relative)
        ends = (np.where(has_width, end, np.nan) for end in test.holding_0(low, high, level))
        relative_low, relative_high = ends
        return {
            "difference": self.difference,
            "relative": relative,
            "relative_low": relative_low,
            "relative_high": relative_high,
            "stderr": test.stderr,
            "ci_low": test.low,
            "ci_high": test.high,
            "interval": test.method,
            "degrees": test.degrees,
            "p": test.p,
            "smallest_detectable": np.where(test.least_p < 1 - level, detectable, np.nan),
            "n_groups": self.n_groups,
            "n_effective": self.n_effective,
        }


def compare_two(candidate: Sample, baseline: Sample, metric: Metric, level: float) -> dict[str, Any]:
    """Return the ``comparisons`` row for ``candidate`` minus ``baseline``, by column, with None for missing numbers."""
    one = np.zeros(1, np.int64)
    columns = compare_samples(candidate.alone, baseline.alone, (one, one), metric, level).columns(level)
    return {
        name: None if name != "difference" and column[0] != column[0] else column[0] for name, column in columns.items()
    }


def compare_samples(
    candidates: Samples,
    baselines: Samples,
    places: tuple[Ints, Ints],
    metric: Metric,
    level: float,
    pairs: PairSums | None = None,
) -> ComparisonColumns:
    """Return the differences ``candidates`` - ``baselines`` with their tests.

    ``places`` contains the indices of the n candidates and of their n baselines. A difference is tested by ``pairs`` of
    groups if these are given and if both values are defined in the same groups. All other differences are tested by
    parts, which are fixed subsets of the groups.
    """
    sides = tuple(zip((candidates, baselines), places, strict=True))
    ours, theirs = (side.rows(metric).at(at) for side, at in sides)
    groups, effective = (
        np.fmin(*(getattr(side, name)(metric)[at] for side, at in sides)) for name in ("groups", "n_effective")
    )
    difference = ours.value - theirs.value
    test, errors = Differences.untested(np.full(len(difference), np.nan)), np.full((3, len(difference)), np.nan)
    is_paired = np.zeros(len(difference), bool) if pairs is None else pairs.there & (pairs.n_unpaired == 0)
    if pairs is not None:
        at = np.flatnonzero(is_paired)
        own = PairSums._make(column[at] for column in pairs)
        moving = (own.n_above + own.n_below).astype(np.float64)
        tested = paired_ts(own.n_pairs, own.d, own.dd, moving, level, int(1 / _FINEST))
        test.put(at, tested)
        theirs_and_ours = (side.means(metric).stderr[own_places[at]] for side, own_places in reversed(sides))
        errors[:, at] = np.where(np.isnan(tested.stderr), np.nan, [tested.stderr, *theirs_and_ours])
    others = np.flatnonzero(~is_paired & ~np.isnan(difference))
    test.difference[others] = difference[others]
    if len(others) and metric.declaration.interval != "none":
        has_parts = (candidates.has_parts[places[0]] & baselines.has_parts[places[1]])[others]
        test.method[others[~has_parts]] = OFF.method
        others = others[has_parts]
        most = np.where(np.isnan(effective), np.inf, effective)
        has_floor = ~np.isnan(ours.noise_floor + theirs.noise_floor)
        by_one = others if metric.percentile is not None else others[has_floor[others]]
        left = [np.setdiff1d(others, by_one)]
        for at in by_one.tolist():
            pair = candidates.side(int(places[0][at])), baselines.side(int(places[1][at]))
            of_one = _by_one(pair, metric, float(difference[at]), level, float(most[at]))
            if of_one is None:
                left.append(np.array([at]))
                continue
            one, ratio = of_one
            test.put(
                np.array([at]),
                [np.nan if number is None and name != "method" else number for name, number in one._asdict().items()],
            )
            errors[:, at] = np.nan if ratio is None else ratio
        _put_jackknife(test, errors, np.concatenate(left), sides, metric, difference, level, most)
    return ComparisonColumns(difference, theirs.value, groups, effective, test, errors)


def _by_one(
    pair: tuple[SubjectStates, SubjectStates], metric: Metric, difference: float, level: float, effective: float
) -> TestWithErrors | None:
    """Return the test for a metric for which leaving out parts of the groups fails; None for all other metrics."""
    for test in UNSMOOTH:
        if (tested := test(pair[0], pair[1], metric, difference, level, effective)) is not None:
            return tested
    return None


def _put_jackknife(
    test: Differences,
    errors: Floats,
    at: Ints,
    sides: Sequence[tuple[Samples, Ints]],
    metric: Metric,
    difference: Floats,
    level: float,
    effective: Floats,
) -> None:
    """Compute the jackknife, which leaves out one part of the groups at a time.

    The results are stored in ``test`` and ``errors``, in place, at the indices ``at``.
    """
    both = list(zip(*(side.without_parts(metric, places[at]) for side, places in sides), strict=True))
    known = [place for place, (ours, theirs) in enumerate(both) if ours is not None and theirs is not None]
    at = at[known]
    (own, of_ours, sizes), (base, of_theirs, other_sizes) = (
        padded([pair[side] for place in known if (pair := both[place])[side] is not None]) for side in (0, 1)
    )
    of_ours, of_theirs = np.where(sizes > 0, of_ours, own[:, None]), np.where(other_sizes > 0, of_theirs, base[:, None])
    values = np.concatenate([own - base, base, own])
    without = np.concatenate([of_ours - of_theirs, of_theirs, of_ours])
    together = sizes + other_sizes  # a part may have groups of only one of the two
    stderr = jackknife(values, without, np.tile(together, (3, 1)))[0].reshape(3, -1)
    degrees = lesser(jackknife_degrees(own - base, of_ours - of_theirs, together), effective[at] - 1)
    moving = np.where(effective[at] >= LEAST_GROUPS, _moving(values.reshape(3, -1), of_ours - of_theirs, together), 0.0)
    tested = t_tests(difference[at], stderr[0], degrees, moving, level, JACKKNIFE)
    test.put(at, tested)
    errors[:, at] = np.where(np.isnan(tested.stderr), np.nan, stderr)


# Tests by parts for metrics for which the jackknife fails. The first test that applies to a metric is used, or else the
# jackknife.
UNSMOOTH: tuple[Callable[[SubjectStates, SubjectStates, Metric, float, float, float], TestWithErrors | None], ...] = (
    percentile_test,
    swapped_test,
)


def _moving(values: Floats, without: Floats, sizes: Floats) -> Floats:
    """Return, for each difference in ``values[0]``, the number of parts with a jackknife pseudo-value other than 0."""
    whole = sizes.sum(axis=1, keepdims=True)
    share = np.divide(sizes, whole, out=np.zeros_like(sizes), where=sizes > 0)
    there = (share > 0) & (share < 1)
    share, first = np.where(there, share, 0.5), values[0][:, None]
    own = first - (1 - share) / share * (without - first)
    limit = ROUNDED / share * np.abs(values).max(axis=0, initial=0.0)[:, None]
    moving: Floats = np.count_nonzero(there & (np.abs(own) > limit), axis=1).astype(np.float64)
    return moving
