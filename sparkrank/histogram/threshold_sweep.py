"""The threshold sweep over score bins, in the order of score or of empirical rate (share of positives).

The terms of a metric are the sums or highest values that the sweep adds up over bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.histogram.upper_hull import UpperHull
from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.numeric.binomial import mean_deviation
from sparkrank.numeric.exact_sums import LIMBS, UNITS, Amounts, exact_sum, exact_sums, limbs_of, rounded, total
from sparkrank.numeric.ordered_integers import bin_scores
from sparkrank.numeric.segments import Segments, run_starts

_UNITS, _NO_WEIGHTS = np.array(UNITS), np.empty(0)
MAX_EXPONENT = 1023  # the highest exponent of a power of two in float64
Amount = NDArray[Any]  # one sum: a whole number, or its limbs (6)


def value_of(amount: Amount) -> float:
    return float(rounded(np.asarray(amount)[None])[0])


@dataclass(frozen=True)
class BinSteps:
    """Bins in the order of a sweep: their amounts of positives and negatives, numbers of rows, and sums of scores.

    ``bins`` contains the numbers of the bins, or is None if they are no longer bins of a rule.
    """

    pos: Amounts
    neg: Amounts
    rows: Ints
    score_sum: Floats | None = None
    bins: Ints | None = None


class RowSteps(NamedTuple):
    """Rows in the order of a sweep, each in a bin of its own. ``relevant`` contains a flag per row.

    If ``weights`` is None, each weight is 1. ``bins`` is as in :class:`BinSteps`.
    """

    relevant: Flags
    weights: Floats | None
    bins: Ints | None = None

    def steps(self) -> BinSteps:
        pos, neg = (self._of_class(flags) for flags in (self.relevant, ~self.relevant))
        return BinSteps(pos, neg, np.ones(len(self.relevant), np.int64), bins=self.bins)

    def _of_class(self, flags: Flags) -> Amounts:
        if self.weights is None:
            return flags.astype(np.int64)
        limbs = np.zeros((len(flags), LIMBS))
        for index, limb in limbs_of(np.where(flags, self.weights, 0.0)):
            limbs[:, index] = limb
        return limbs


@dataclass(frozen=True)
class Extent:
    """The amounts of positives and negatives, and the numbers of rows and bins, in a day or above a score."""

    pos: Amount
    neg: Amount
    rows: int
    bins: int

    @classmethod
    def of(cls, steps: BinSteps) -> Extent:
        return cls(steps.pos.sum(axis=0), steps.neg.sum(axis=0), int(steps.rows.sum()), len(steps.rows))

    @property
    def scale(self) -> float:
        """The power of two by which the sum of positives and negatives is multiplied to lie between 1/2 and 1."""
        return math.ldexp(1.0, -math.frexp(value_of(self.pos) + value_of(self.neg))[1])

    def __add__(self, other: Extent) -> Extent:
        return Extent(self.pos + other.pos, self.neg + other.neg, self.rows + other.rows, self.bins + other.bins)


class Sweep:
    """A sweep over some bins (``steps``) of a day, from the highest score or rate down.

    ``day`` is the extent of the whole day, and ``above`` the extent of the bins swept before. ``pos`` and ``neg`` are
    the amounts of each bin, ``tp`` and ``fp`` the amounts of the bin and all bins before it, and ``positives`` and
    ``negatives`` the amounts of the day. Because the units of exact sums are fixed, a power of two scales all amounts
    so that the day's total is between 1/2 and 1. ``through`` is the extent of all bins swept so far.

    Examples
    --------
    Three bins with one relevant row and two others: the total of 3 becomes 3/4, and a row 1/4.

    >>> import numpy as np
    >>> from sparkrank.metrics import Sweep
    >>> steps = RowSteps(np.array([True, False, False]), None).steps()
    >>> sweep = Sweep(steps, Extent.of(steps))
    >>> sweep.tp.tolist(), sweep.fp.tolist(), float(sweep.negatives)
    ([0.25, 0.25, 0.25], [0.0, 0.25, 0.5], 0.5)
    """

    rows: NDArray[Any]
    score_sum: Floats | None
    bins: Ints | None = None
    positives: Any  # a number, or one for each day
    negatives: Any

    def __init__(self, steps: BinSteps | RowSteps, day: Extent, above: Extent | None = None) -> None:
        scale = day.scale
        self.least = scale if np.ndim(day.pos) == 0 else 0.0  # a lower bound of the weight of a positive row
        self.score_sum, self.bins = None, steps.bins
        if isinstance(steps, BinSteps):
            self._sweep(steps, scale, above)
        elif native.runs("sweep"):
            self._sweep_rows(steps, scale, above)
        else:
            self._sweep(steps.steps(), scale, above)
        self.tp_above = _shifted(self.tp, 0.0 if above is None else value_of(above.pos) * scale)
        self.fp_above = _shifted(self.fp, 0.0 if above is None else value_of(above.neg) * scale)
        self.positives, self.negatives = value_of(day.pos) * scale, value_of(day.neg) * scale

    def _sweep(self, steps: BinSteps, scale: float, above: Extent | None) -> None:
        self.pos, self.neg = rounded(steps.pos) * scale, rounded(steps.neg) * scale
        self.tp = _taken(steps.pos, None if above is None else above.pos) * scale
        self.fp = _taken(steps.neg, None if above is None else above.neg) * scale
        self.rows = steps.rows
        self.score_sum = None if steps.score_sum is None else steps.score_sum * scale
        own = Extent.of(steps)
        self.through = own if above is None else above + own

    def _sweep_rows(self, steps: RowSteps, scale: float, above: Extent | None) -> None:
        rows, weighted = len(steps.relevant), steps.weights is not None
        taken = np.zeros((2, LIMBS))
        if above is not None:
            taken[:, : None if weighted else 1] = np.array([above.pos, above.neg]).reshape(2, -1)
        self.pos, self.neg, self.tp, self.fp = np.empty((4, rows))
        relevant = np.ascontiguousarray(steps.relevant).view(np.uint8)
        weights = _NO_WEIGHTS if steps.weights is None else np.ascontiguousarray(steps.weights)
        amounts = (self.pos, self.neg, self.tp, self.fp)
        native.blocks.sweep_rows(relevant, weights, _UNITS, scale, taken, *amounts)
        self.rows = np.broadcast_to(np.int64(1), rows)
        pos, neg = taken if weighted else taken[:, 0].astype(np.int64)
        counted = (0, 0) if above is None else (above.rows, above.bins)
        self.through = Extent(pos, neg, counted[0] + rows, counted[1] + rows)


class Sweeps(Sweep):
    """Sweeps over the same n bins of several days or subsets of groups (called days here).

    Arrays have shape (days, n), and the totals of days have shape (days, 1). The terms of these sweeps are float64 sums
    in bin order, not exact sums. Differences between subsets of groups are computed from them.
    """

    def __init__(self, pos: Floats, neg: Floats, rows: Floats, least: float, score_sum: Floats | None = None) -> None:
        self.pos, self.neg, self.rows, self.least, self.score_sum = pos, neg, rows, least, score_sum
        self.tp, self.fp = np.cumsum(pos, axis=1), np.cumsum(neg, axis=1)
        self.tp_above, self.fp_above = self.tp - pos, self.fp - neg
        self.positives, self.negatives = self.tp[:, -1:], self.fp[:, -1:]


def by_rate(pos: Floats, neg: Floats) -> tuple[Floats, Floats]:
    """Sort the bins of each day by descending ``pos`` / ``neg`` (0 if both are 0). Shape of all arrays: (days, n)."""
    with np.errstate(over="ignore"):
        rate = np.divide(pos, neg, out=np.where(pos > 0, np.inf, 0.0), where=neg > 0)
    order = np.argsort(-rate, axis=1, kind="stable")
    return np.take_along_axis(pos, order, axis=1), np.take_along_axis(neg, order, axis=1)


def _taken(amounts: Amounts, above: Amount | None) -> Floats:
    sums = np.cumsum(amounts, axis=0)  # exact, because whole numbers and each limb add up exactly
    return rounded(sums if above is None else sums + above)


def _shifted(taken: Floats, above: float) -> Floats:
    before = np.empty(len(taken))
    before[:1] = above
    before[1:] = taken[:-1]
    return before


class OperatingPoint(NamedTuple):
    """A point of a sweep at the end of a bin: rows with at least the score ``threshold`` are predicted positive.

    ``tp`` and ``fp`` are the amounts of these rows as in a :class:`Sweep`. The better of two points is the greater
    tuple: by the ``value`` of the metric, then the positives, then the threshold.
    """

    value: float
    tp: float
    threshold: float
    fp: float


_ABOVE_ALL = OperatingPoint(0.0, 0.0, math.inf, 0.0)  # no row is predicted positive


@dataclass(frozen=True)
class Terms:
    """The terms of a metric from some bins (for each day if there are several).

    ``limbs`` contains sums over bins, as the floats that make up exact sums. ``highest`` contains highest values.
    ``hulls`` are upper hulls of points of the bins, and ``best`` is the point of the first of ``highest``, for a single
    day.

    Examples
    --------
    >>> import numpy as np
    >>> from sparkrank.metrics import Terms
    >>> Terms.of(sums=[np.array([0.5, 0.25])], highest=[np.array([0.5, 0.25])]).highest.tolist()
    [0.5]
    """

    limbs: Floats
    highest: Floats
    hulls: tuple[UpperHull, ...] = ()
    best: OperatingPoint | None = None

    @classmethod
    def of(cls, sums: Sequence[Floats] = (), highest: Sequence[Floats] = (), hulls: Sequence[UpperHull] = ()) -> Terms:
        if any(terms.ndim > 1 for terms in (*sums, *highest)):  # for several days: (terms, days)
            added = np.array([terms.sum(axis=1) for terms in sums])
            return cls(added, np.array([terms.max(axis=1, initial=-np.inf) for terms in highest]))
        limbs = np.array([exact_sum(terms) for terms in sums]).reshape(len(sums), LIMBS)
        return cls(limbs, np.array([terms.max(initial=-np.inf) for terms in highest]), tuple(hulls))

    @classmethod
    def merged(cls, parts: Sequence[Terms]) -> Terms:
        return cls(
            np.sum([part.limbs for part in parts], axis=0),
            np.max([part.highest for part in parts], axis=0),
            tuple(UpperHull.merged(hulls) for hulls in zip(*(part.hulls for part in parts), strict=True)),
            max((part.best for part in parts if part.best is not None), default=None),
        )

    @property
    def sums(self) -> list[float]:
        return [total(limbs) for limbs in self.limbs]


def roc_terms(sweep: Sweep) -> Terms:
    """Return the number of correctly ordered pairs of a positive and a negative, and the number of pairs inside bins.

    A pair inside a bin counts as half a correctly ordered pair.
    """
    in_pos, in_neg = magnified(sweep.positives), magnified(sweep.negatives)
    pos, neg = sweep.pos * in_pos, sweep.neg * in_neg
    return Terms.of((neg * (sweep.tp * in_pos - pos / 2), pos * neg))


def magnified(amount: Floats | float) -> Any:
    """Return the power of two that scales ``amount`` to between 1/2 and 1, so that exact sums keep all of its bits."""
    if isinstance(amount, np.ndarray):
        return np.ldexp(1.0, np.minimum(-np.frexp(amount)[1], MAX_EXPONENT))
    return math.ldexp(1.0, min(-math.frexp(amount)[1], MAX_EXPONENT))


def average_precision_terms(sweep: Sweep) -> Terms:
    """Return the sums of each bin's positives times three precisions: at the end of the bin, and best and worst inside.

    The best precision is after all positives of the bin and before its negatives. The worst precision is after all
    negatives and one positive of the bin.
    """
    pos = sweep.pos * magnified(sweep.positives)
    precision = _share(sweep.tp, sweep.tp + sweep.fp)
    best = _share(sweep.tp, sweep.tp + sweep.fp_above)
    fewest = sweep.tp_above + sweep.least
    worst = np.where((sweep.rows == 1) | (sweep.fp == 0), precision, _share(fewest, fewest + sweep.fp))
    return Terms.of([pos * share for share in (precision, best, worst)])


def separation_terms(sweep: Sweep) -> Terms:
    """Return the highest TPR - FPR at the end of a bin, and the same with a bin's positives before its negatives."""
    tpr = _share(sweep.tp, sweep.positives)
    return Terms.of(highest=(tpr - _share(sweep.fp, sweep.negatives), tpr - _share(sweep.fp_above, sweep.negatives)))


def partial_roc_terms(sweep: Sweep, max_fpr: float) -> Terms:
    """Return three counts of the pairs of a positive and a lower negative, among the negatives up to ``max_fpr``.

    In the three counts, the positives of a bin are evenly among its negatives, all first, and all last.
    """
    in_pos, in_neg = magnified(sweep.positives), magnified(sweep.negatives)
    wide = np.minimum(sweep.fp, max_fpr * sweep.negatives) - sweep.fp_above
    wide = np.maximum(wide, 0.0) * in_neg
    before, after = sweep.tp_above * in_pos, sweep.tp * in_pos
    inside = sweep.pos * in_pos * _share(wide, sweep.neg * in_neg) / 2
    return Terms.of((wide * (before + inside), wide * after, wide * before))


def recall_at_precision_terms(sweep: Sweep, precision: float) -> Terms:
    """Return the highest recall at the end of a bin with at least this ``precision``.

    The second term is the same with the positives of each bin before its negatives, which is an upper bound.
    """
    recall = _share(sweep.tp, sweep.positives)
    taken = sweep.tp + sweep.fp, sweep.tp + sweep.fp_above
    return _best_terms(sweep, [np.where(_share(sweep.tp, rows) >= precision, recall, -np.inf) for rows in taken])


def precision_at_recall_terms(sweep: Sweep, recall: float) -> Terms:
    """Return the highest precision at the end of a bin with at least this ``recall``.

    The second term is the same with the positives of each bin before its negatives, which is an upper bound.
    """
    holds = _share(sweep.tp, sweep.positives) >= recall
    taken = sweep.tp + sweep.fp, sweep.tp + sweep.fp_above
    return _best_terms(sweep, [np.where(holds, _share(sweep.tp, rows), -np.inf) for rows in taken])


def tpr_at_fpr_terms(sweep: Sweep, fpr: float) -> Terms:
    """Return the highest true positive rate at the end of a bin with at most the false positive rate ``fpr``.

    The second term is the same with the positives of each bin before its negatives, which is an upper bound.
    """
    tpr = _share(sweep.tp, sweep.positives)
    taken = sweep.fp, sweep.fp_above
    holding = [np.where(_share(fp, sweep.negatives) <= fpr, tpr, -np.inf) for fp in taken]
    return _best_terms(sweep, holding, _ABOVE_ALL)


def _best_terms(sweep: Sweep, values: list[Floats], *others: OperatingPoint) -> Terms:
    """Return the highest of each array in ``values``, and where the first has it, unless one of ``others`` is better.

    There is no such point for several days at once, or without bins.
    """
    terms = Terms.of(highest=values)
    if sweep.bins is None or not len(sweep.bins):
        return terms
    ends = np.flatnonzero(values[0] == terms.highest[0])
    end = int(ends[np.argmax(sweep.tp[ends])])  # the first of equal ones has the highest score
    threshold = float(bin_scores(sweep.bins[end : end + 1])[0])
    best = OperatingPoint(float(terms.highest[0]), float(sweep.tp[end]), threshold, float(sweep.fp[end]))
    return replace(terms, best=max((best, *others)))


def break_even_terms(sweep: Sweep) -> Terms:
    """Return the positives in the first P rows, where P is the number of positives.

    The three terms are the number pro rata within a bin, the largest, and the smallest possible number.
    """
    return _positives_of_first(sweep, sweep.positives)


def capture_terms(sweep: Sweep, top: float) -> Terms:
    """Return the positives in the share ``top`` of all rows, highest scores first.

    The three terms are the number pro rata within a bin, the largest, and the smallest possible number.
    """
    return _positives_of_first(sweep, top * (sweep.positives + sweep.negatives))


def _positives_of_first(sweep: Sweep, rows: float) -> Terms:
    return Terms.of([part * magnified(sweep.positives) for part in positives_of_first(sweep, np.array([rows]))])


def positives_of_first(sweep: Sweep, rows: Floats) -> list[Floats]:
    """Return three estimates of the weight of positives among the first n rows, for each n in ``rows``.

    The estimates are pro rata within the bin of the n-th row, the largest possible and the smallest possible. Each
    array has one element for each n with the n-th row in a bin of ``sweep``.
    """
    before, after = sweep.tp_above + sweep.fp_above, sweep.tp + sweep.fp
    here = np.searchsorted(after, rows)
    ends = here < len(after)
    ends[ends] = before[here[ends]] < rows[ends]
    here = here[ends]
    left = rows[ends] - before[here]
    pos, neg, above = sweep.pos[here], sweep.neg[here], sweep.tp_above[here]
    inside = (left * _share(pos, pos + neg), np.minimum(pos, left), np.maximum(left - neg, 0.0))
    return [above + part for part in inside]


def calibration_terms(sweep: Sweep) -> Terms:
    """Return the summed distances of each bin's positives from its sum of scores, up to the weight of the bin.

    For a single day, a second sum is that of the distances expected for calibrated scores.
    """
    if sweep.score_sum is None:
        raise ValueError("calibration needs the sums of scores")
    weight = sweep.pos + sweep.neg
    terms = [np.minimum(np.abs(sweep.pos - sweep.score_sum), weight)]
    if not isinstance(sweep, Sweeps):
        score = np.clip(_share(sweep.score_sum, weight), 0.0, 1.0)
        terms.append(weight * mean_deviation(sweep.rows, score) / sweep.rows)
    return Terms.of(terms)


def mass_terms(sweep: Sweep, mass: int) -> Terms:
    """Return sums of positives, weights, scores and (for a single day) rows over ``mass`` runs of adjacent bins.

    The runs have nearly equal weight. A bin belongs to the run that contains its middle row by weight.
    """
    if sweep.score_sum is None:
        raise ValueError("calibration needs the sums of scores")
    weight = sweep.pos + sweep.neg
    middle = _share(sweep.tp_above + sweep.fp_above + weight / 2, sweep.positives + sweep.negatives)
    run = np.clip(middle * mass, 0, mass - 1).astype(np.int32)
    amounts = (sweep.pos, weight, sweep.score_sum)
    if isinstance(sweep, Sweeps):
        return Terms.of([np.where(run == number, amount, 0.0) for amount in amounts for number in range(mass)])
    runs = Segments(mass, run)
    limbs = [exact_sums(amount, runs) for amount in (*amounts, sweep.rows.astype(np.float64))]
    return Terms(np.concatenate(limbs), np.empty(0))


def isotonic_terms(sweep: Sweep) -> Terms:
    """Return the squared errors, Σ (label - mean score of the bin)², and the hulls of the isotonic fit and its best.

    The best fit has the positives of each bin before its negatives, as exact scores might order them.
    """
    if sweep.score_sum is None:
        raise ValueError("calibration needs the sums of scores")
    score = np.clip(_share(sweep.score_sum, sweep.pos + sweep.neg), 0.0, 1.0)
    errors = sweep.pos * (1 - score) ** 2 + sweep.neg * score**2
    return Terms.of((errors,), hulls=(UpperHull.of(sweep.fp, sweep.tp), UpperHull.of(sweep.fp_above, sweep.tp)))


def largest_gap_terms(sweep: Sweep) -> Terms:
    """Return the largest distance between a bin's share of positives and its mean score, at most 1."""
    if sweep.score_sum is None:
        raise ValueError("calibration needs the sums of scores")
    weight = sweep.pos + sweep.neg
    return Terms.of(highest=(np.minimum(_share(np.abs(sweep.pos - sweep.score_sum), weight), 1.0),))


def _share(part: Floats, whole: Floats | float) -> Floats:
    some = np.asarray(whole) > 0
    if some.all():  # mostly so, and three times as fast as a test of each element
        shares: Floats = part / whole
        return shares
    return np.divide(part, whole, out=np.zeros(part.shape), where=some)


CLASS_BITS = 31  # the bits of the number of positives, and of the number of negatives


@dataclass(frozen=True)
class Rates:
    """Bins by descending ``rate``. The rate is pos / neg, not the share of positives, which may round to 1 near 1."""

    rate: Floats
    pos: Amounts
    neg: Amounts
    rows: Ints

    @classmethod
    def of(cls, steps: BinSteps) -> Rates:
        """Return the bins of ``steps`` by descending rate. Bins without weight get the rate 0 and change no metric."""
        steps = _merge_equal_steps(steps)
        pos, neg = rounded(steps.pos), rounded(steps.neg)
        with np.errstate(over="ignore"):  # an infinite rate sorts like one without negatives
            rate = np.divide(pos, neg, out=np.where(pos > 0, np.inf, 0.0), where=neg > 0)
        return cls(rate, steps.pos, steps.neg, steps.rows).merged()

    def merged(self, *others: Rates) -> Rates:
        parts = [part for part in (self, *others) if len(part.rate)]
        if not parts:
            return self
        rate = np.concatenate([part.rate for part in parts])
        order = np.argsort(-rate)
        first = run_starts(rate[order])
        pos, neg, rows = (
            np.add.reduceat(np.concatenate([getattr(part, name) for part in parts])[order], first)
            for name in ("pos", "neg", "rows")
        )
        return Rates(rate[order][first], pos, neg, rows)

    @property
    def steps(self) -> BinSteps:
        return BinSteps(self.pos, self.neg, self.rows)


def _merge_equal_steps(steps: BinSteps) -> BinSteps:
    """Merge steps with equal numbers of positives and negatives. Many are equal because most bins have few rows."""
    if steps.pos.ndim > 1 or max(steps.pos.max(initial=0), steps.neg.max(initial=0)) >> CLASS_BITS:
        return steps
    both, count = np.unique(steps.pos << CLASS_BITS | steps.neg, return_counts=True)
    pos, neg = (both >> CLASS_BITS) * count, (both & (1 << CLASS_BITS) - 1) * count
    return BinSteps(pos, neg, pos + neg)


def joined(steps: BinSteps, min_rows: int) -> BinSteps:
    """Join adjacent bins until each has at least ``min_rows`` rows. A smaller remainder joins the last bin."""
    if min_rows <= 1 or len(steps.rows) == 0:
        return steps
    first = joined_starts(steps.rows, min_rows)
    short = len(first) > 1 and steps.rows[first[-1] :].sum() < min_rows
    first = first[:-1] if short else first
    pos, neg, rows = (np.add.reduceat(amounts, first) for amounts in (steps.pos, steps.neg, steps.rows))
    return BinSteps(pos, neg, rows)


def joined_starts(rows: Ints, min_rows: int) -> Ints:
    """Return the first bin of each run of joined bins. The last run may have fewer than ``min_rows`` rows."""
    # Each bin links to the first bin after the run that would start there. The links are followed from bin 0 in
    # log2(bins) passes, as each pass doubles the number of links per stride.
    count = len(rows)
    begins = np.zeros(count + 1, np.bool_)
    begins[0] = True
    stride = np.minimum(_links(rows, min_rows), count)
    for _ in range(count.bit_length()):
        begins[stride[begins]] = True
        stride = stride[stride]
    return np.flatnonzero(begins[:-1])


def _links(rows: Ints, min_rows: int) -> Ints:
    """Return the first bin after the run that starts at each bin, or ``len(rows)`` + 1 if the run is too short."""
    taken = np.cumsum(rows)
    return np.append(np.searchsorted(taken, taken - rows + min_rows) + 1, len(rows))
