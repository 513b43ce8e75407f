"""Metrics of all rows by their order of scores, row by row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from tests.oracles import orders
from tests.oracles.values import Scored, Value, is_relevant


def capture(top: float, labels: Sequence[bool], scores: Sequence[float], weights: Iterable[float] | None) -> float:
    """The share of the positives in the highest ``top`` of all rows; of tied rows the share that has room."""
    weighed = [1.0] * len(scores) if weights is None else [*weights]
    left, positives = top * math.fsum(weighed), 0.0
    for score in sorted(set(scores), reverse=True):
        tied = [place for place, other in enumerate(scores) if other == score]
        all_ = math.fsum(weighed[place] for place in tied)
        share = min(left / all_, 1.0) if all_ else 0.0
        positives += share * math.fsum(weighed[place] for place in tied if labels[place])
        left -= share * all_
    whole = math.fsum(weight for weight, label in zip(weighed, labels, strict=True) if label)
    return positives / whole if whole else math.nan


def calibration_gaps(
    run_of: Callable[[float, float], float],
    labels: Sequence[bool],
    scores: Sequence[float],
    weights: Iterable[float] | None,
) -> list[tuple[float, float]]:
    """The weight, and the distance of positives from scores, of runs of scores.

    ``run_of`` gives the run of a score, from the score and the share of the rows above its middle.
    """
    weighed = [1.0] * len(scores) if weights is None else [*weights]
    whole, above = math.fsum(weighed), 0.0
    runs: dict[float, tuple[float, float]] = {}
    for score in sorted(set(scores), reverse=True):
        tied = [place for place, other in enumerate(scores) if other == score]
        weight = math.fsum(weighed[place] for place in tied)
        run = run_of(score, (above + weight / 2) / whole)
        all_, gap = runs.get(run, (0.0, 0.0))
        positives = math.fsum(weighed[place] for place in tied if labels[place])
        runs[run] = all_ + weight, gap + positives - score * weight
        above += weight
    return [(weight, abs(gap)) for weight, gap in runs.values()]


Block = tuple[float, list[bool]]  # a score, and whether each row of it is relevant


def bin_of(score: float, bits=12, digits=None, exact=False, bins=None) -> float:
    """The score that stands for all those of a bin."""
    if exact:
        return score
    if bins is not None:
        return min(math.floor(score * bins), bins - 1) / bins
    if digits is not None:
        return round(score * 10**digits) / 10**digits
    fraction, exponent = math.frexp(score)  # of which the first bit is always 1
    return math.ldexp(math.trunc(fraction * 2 ** (bits + 1)), exponent - bits - 1)


def blocks_of(rows: Iterable[Scored], rel: float | None = None, **bins) -> list[Block]:
    """The rows of each bin, the highest first."""
    flags: dict[float, list[bool]] = {}
    for score, label in rows:
        flags.setdefault(bin_of(score, **bins), []).append(is_relevant(label, rel))
    return sorted(flags.items(), reverse=True)


def counts_above(rows: Iterable[Scored], **given) -> Iterator[tuple[int, int]]:
    """The relevant and other rows from each bin on, the highest first."""
    pos = neg = 0
    for _, flags in blocks_of(rows, **given):
        pos, neg = pos + sum(flags), neg + len(flags) - sum(flags)
        yield pos, neg


def auc(rows: Sequence[Scored], **given) -> Value:
    blocks = blocks_of(rows, **given)
    return orders.pair_count_auc([(score, flag) for score, flags in blocks for flag in flags])


def area_by_rate(blocks: Sequence[tuple[int, int]]) -> Fraction:
    """The area over blocks of (positives, negatives), in the order of their rates."""
    area = taken = Fraction(0)
    for pos, neg in sorted(blocks, key=lambda block: Fraction(block[0], sum(block)), reverse=True):
        area += (taken + Fraction(pos, 2)) * neg
        taken += pos
    return area / (sum(pos for pos, _ in blocks) * sum(neg for _, neg in blocks))


def joined_blocks(blocks: Sequence[tuple[int, int]], least: int) -> list[tuple[int, int]]:
    """From the first on, one after the other; what is left joins the last."""
    found: list[tuple[int, int]] = []
    pos = neg = 0
    for more_pos, more_neg in blocks:
        pos, neg = pos + more_pos, neg + more_neg
        if pos + neg >= least:
            found.append((pos, neg))
            pos = neg = 0
    if pos + neg:
        last = found.pop() if found else (0, 0)
        found.append((last[0] + pos, last[1] + neg))
    return found


def auc_up(rows: Sequence[Scored], min_rows=1, rel=None, **bins) -> Value:
    blocks = blocks_of(rows, rel, **(bins or {"digits": 5}))
    return float(area_by_rate(joined_blocks([(sum(own), len(own) - sum(own)) for _, own in blocks], min_rows)))


def pr_auc(rows: Sequence[Scored], **given) -> Value:
    counts = [(0, 0), *counts_above(rows, **given)]
    whole = counts[-1][0]
    return sum((pos - above) / whole * pos / (pos + neg) for (above, _), (pos, neg) in itertools.pairwise(counts))


def captured(rows: Sequence[Scored], top=0.1, rel=None, **bins) -> Value:
    return capture(top, [is_relevant(label, rel) for _, label in rows], [bin_of(own, **bins) for own, _ in rows], None)


def break_even_point(rows: Sequence[Scored], rel=None, **bins) -> Value:
    return captured(rows, sum(is_relevant(label, rel) for _, label in rows) / len(rows), rel, **bins)


def rates_above(rows: Sequence[Scored], **given) -> list[tuple[float, float, float]]:
    """(true positive rate, false positive rate, precision) from each bin on."""
    counts = [*counts_above(rows, **given)]
    return [(pos / counts[-1][0], neg / counts[-1][1], pos / (pos + neg)) for pos, neg in counts]


def separation(rows: Sequence[Scored], **given) -> Value:
    return max(0.0, *(tpr - fpr for tpr, fpr, _ in rates_above(rows, **given)))


def partial_auc(rows: Sequence[Scored], max_fpr=0.1, **given) -> Value:
    """McClish's, with a straight line from each point of the curve to the next."""
    area, points = 0.0, [(0.0, 0.0), *((fpr, tpr) for tpr, fpr, _ in rates_above(rows, **given))]
    for (left, low), (right, high) in itertools.pairwise(points):
        if left < min(right, max_fpr):
            end = min(right, max_fpr)
            at_end = low + (high - low) * (end - left) / (right - left)
            area += (end - left) * (low + at_end) / 2
    least = max_fpr**2 / 2
    return (1 + (area - least) / (max_fpr - least)) / 2


def recall_at_precision(rows: Sequence[Scored], precision=0.9, **given) -> Value:
    return max((tpr for tpr, _, precise in rates_above(rows, **given) if precise >= precision), default=None)


def precision_at_recall(rows: Sequence[Scored], recall=0.8, **given) -> Value:
    return max(precise for tpr, _, precise in rates_above(rows, **given) if tpr >= recall)


def tpr_at_fpr(rows: Sequence[Scored], fpr=0.01, **given) -> Value:
    return max([0.0, *(tpr for tpr, rate, _ in rates_above(rows, **given) if rate <= fpr)])


def of_counts(value: Callable[..., Value]) -> Callable[..., Value]:
    """A metric of the rows from a threshold on, of ``value`` (true and false positives, true and false negatives)."""

    def of_rows(rows: Sequence[Scored], threshold=0.5, rel=None, **given) -> Value:
        pairs = [(score >= threshold, is_relevant(label, rel)) for score, label in rows]
        cells = ((True, True), (True, False), (False, False), (False, True))
        return value(*(pairs.count(cell) for cell in cells), **given)

    return of_rows


def correlation(tp: int, fp: int, tn: int, fn: int) -> Value:
    return (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


def f_beta(tp: int, fp: int, tn: int, fn: int, beta=1.0) -> Value:
    """The weighted harmonic mean of precision and recall: each false negative counts beta^2 times."""
    return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)


ACCURACY = of_counts(lambda tp, fp, tn, fn: (tp + tn) / (tp + fp + tn + fn))
PRECISION = of_counts(lambda tp, fp, tn, fn: tp / (tp + fp))
RECALL = of_counts(lambda tp, fp, tn, fn: tp / (tp + fn))
SPECIFICITY = of_counts(lambda tp, fp, tn, fn: tn / (tn + fp))
FALL_OUT = of_counts(lambda tp, fp, tn, fn: fp / (tn + fp))
BALANCED_ACCURACY = of_counts(lambda tp, fp, tn, fn: (tp / (tp + fn) + tn / (tn + fp)) / 2)
CORRELATION = of_counts(correlation)
F_BETA = of_counts(f_beta)
