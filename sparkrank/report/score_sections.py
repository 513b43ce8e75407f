"""The sections that come of score bins, the table ``blocks``: scores by class, calibration, AUC against AUC_UP.

Of the table, the bins over the whole day are kept, a batch at a time. Where a model has more than :data:`MOST_BINS` of
a rule, as exact bins may be, neighbouring bins are joined, so that memory is bounded whatever the day.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import MetricError
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.threshold_sweep import joined_starts
from sparkrank.metrics import Metric
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.segments import run_starts
from sparkrank.report.data import (
    AucUp,
    AucUpBin,
    Calibration,
    CalibrationBin,
    Histogram,
    HistogramBin,
    MetricValue,
    Point,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = ("model", "slice", "rule", "score", "pos", "neg", "score_sum", "rows")  # that are read of the table
MOST_BINS = 200_000  # of a model and rule that are kept: as many as five decimals of a probability need
JOINED_BITS = 8  # bits of the mantissa by which more of them are joined
HISTOGRAM_BINS = 40
CALIBRATION_BINS = 15
MOST_OWN_BINS = 50  # of the rule `bins` that are shown as they are
LEFT_OUT = 0.001  # of the rows, at either end, that may stand beyond the edges of a histogram
NARROW = 1 / 20  # of the range of all models: one with less has edges of its own, and so have the others then
MOST_POINTS = 400
MOST_WORST = 20
MOST_FRAME_BINS = 2_000_000  # that Spark gives to this process
LEAST_LOST = 1e-12  # of the area: less is rounding
_BY_CLASS = ("bits", "digits", "exact", "bins")  # rules, the best for a histogram first
_FOR_RATES = ("bits", "digits", "exact", "bins")  # and for calibration, where `bins` alone does not serve
_OF_CALIBRATION = ("ece", "logloss", "ne", "brier", "copc")


@dataclass(frozen=True)
class ScoreBins:
    """The bins of a model by a rule, over the whole day, ascending by ``score``.

    ``pos`` and ``neg`` are relevant and other rows, or their weights, ``rows`` counts them. ``score_sum`` is None where
    the table has none. ``is_joined``: there were too many, and neighbouring ones have become one.
    """

    model: str
    rule: str
    score: Floats
    pos: Floats
    neg: Floats
    rows: Floats
    score_sum: Floats | None
    is_joined: bool = False

    @property
    def mass(self) -> Floats:
        """All rows of each bin, or their weights."""
        return self.pos + self.neg

    def with_sums(self) -> ScoreBins:
        """With sums of scores: where the table has none, every row has the score that names its bin."""
        with np.errstate(invalid="ignore"):  # an infinite score without weight
            return self if self.score_sum is not None else replace(self, score_sum=self.score * self.mass)

    def select(self, which: Any) -> ScoreBins:
        """Those at the places, or by the flags, ``which``."""
        sums = None if self.score_sum is None else self.score_sum[which]
        return replace(
            self,
            score=self.score[which],
            pos=self.pos[which],
            neg=self.neg[which],
            rows=self.rows[which],
            score_sum=sums,
        )

    def summed(self, first: Ints) -> ScoreBins:
        """With the bins from each of ``first`` to the next as one, which has the first score."""
        pos, neg, rows = (np.add.reduceat(each, first) for each in (self.pos, self.neg, self.rows))
        sums = None if self.score_sum is None else np.add.reduceat(self.score_sum, first)
        return ScoreBins(self.model, self.rule, self.score[first], pos, neg, rows, sums, self.is_joined)

    def joined(self) -> ScoreBins:
        """With few enough bins: those of one rule of :data:`JOINED_BITS`."""
        if len(self.score) <= MOST_BINS:
            return self
        numbers = BinRule("bits", JOINED_BITS).numbers(self.score)
        return replace(self.summed(run_starts(numbers)), is_joined=True)

    @classmethod
    def merged(cls, parts: Sequence[ScoreBins]) -> ScoreBins:
        """All bins of ``parts`` of one model and rule, in order."""
        score, pos, neg, rows = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("score", "pos", "neg", "rows")
        )
        sums = [part.score_sum for part in parts if part.score_sum is not None]
        order = np.argsort(score, kind="stable")
        whole = cls(
            parts[0].model,
            parts[0].rule,
            score[order],
            pos[order],
            neg[order],
            rows[order],
            np.concatenate(sums)[order] if len(sums) == len(parts) else None,
            any(part.is_joined for part in parts),
        )
        return whole.joined()


Bins = Mapping[tuple[str, str], ScoreBins]


def score_bins(batches: Iterable[pa.RecordBatch]) -> dict[tuple[str, str], ScoreBins]:
    """The bins over the whole day by model and rule.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The rows of the table ``blocks``, with those of :data:`COLUMNS` that it has.

    Returns
    -------
    dict
        The bins, in the order of the table.
    """
    parts: dict[tuple[str, str], list[ScoreBins]] = {}
    held: dict[tuple[str, str], int] = {}
    for batch in batches:
        rows = batch.filter(_are(batch["slice"], ALL))
        for model in pc.unique(rows["model"]).to_pylist():
            of_model = rows.filter(_are(rows["model"], model))
            for rule in pc.unique(of_model["rule"]).to_pylist():
                key = (model, rule)
                parts.setdefault(key, []).append(_bins(model, rule, of_model.filter(_are(of_model["rule"], rule))))
                held[key] = held.get(key, 0) + len(parts[key][-1].score)
                if held[key] > 2 * MOST_BINS:
                    parts[key] = [ScoreBins.merged(parts[key])]
                    held[key] = len(parts[key][0].score)
    return {key: ScoreBins.merged(of) for key, of in parts.items()}


def _are(texts: pa.Array, text: str) -> pa.Array:
    """Which of ``texts`` are ``text``; of a dictionary its few texts are compared, not each row."""
    if not pa.types.is_dictionary(texts.type):
        return pc.equal(texts, text)
    places = pc.indices_nonzero(pc.equal(texts.dictionary, text))
    return pc.is_in(texts.indices, places.cast(texts.indices.type))


def _bins(model: str, rule: str, rows: pa.RecordBatch) -> ScoreBins:
    def column(name: str) -> Floats:
        values: Floats = rows[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
        return values

    pos, neg = column("pos"), column("neg")
    names = rows.schema.names
    sums = column("score_sum") if "score_sum" in names and not rows["score_sum"].null_count else None
    return ScoreBins(model, rule, column("score"), pos, neg, column("rows") if "rows" in names else pos + neg, sums)


def _chosen(bins: Bins, model: str, kinds: Sequence[str]) -> ScoreBins | None:
    """The bins of ``model`` by the first of ``kinds`` of rules that it has; those that name no ``rel`` go first."""
    own = [(BinRule.parse(rule), of) for (of_model, rule), of in bins.items() if of_model == model and len(of.score)]
    known = [(rule, of) for rule, of in own if rule.kind in kinds]
    if not known:
        return None
    return min(known, key=lambda each: (kinds.index(each[0].kind), each[0].rel is not None, -each[0].size))[1]


def histograms(bins: Bins, models: Sequence[str]) -> tuple[Histogram, ...]:
    """The scores of each model by class, in at most :data:`HISTOGRAM_BINS` bins.

    Parameters
    ----------
    bins : mapping
        What :func:`score_bins` gives.
    models : sequence of str
        Their order.

    Returns
    -------
    tuple of Histogram
        One for each model that has bins; of equal edges unless the ranges of their scores differ much.
    """
    of_models = [of for model in models if (of := _chosen(bins, model, _BY_CLASS)) is not None]
    if not of_models:
        return ()
    ranges = [_range([each]) for each in of_models]
    low, high = _range(of_models)
    narrow = any(upper - lower < NARROW * (high - low) for lower, upper in ranges)
    alike = len({each.rule for each in of_models}) == 1
    shared = None if narrow or not alike else _edges(of_models[0].rule, low, high)
    return tuple(
        _histogram(each, _edges(each.rule, *own) if shared is None else shared)
        for each, own in zip(of_models, ranges, strict=True)
    )


def _range(of_models: Sequence[ScoreBins]) -> tuple[float, float]:
    """The finite scores between which all but :data:`LEFT_OUT` of the rows at either end lie."""
    score = np.concatenate([each.score for each in of_models])
    mass = np.concatenate([each.mass / max(float(each.mass.sum()), 1e-300) for each in of_models])
    is_there = np.isfinite(score) & (mass > 0)
    score, mass = score[is_there], mass[is_there]
    if not len(score):
        return 0.0, 0.0
    order = np.argsort(score, kind="stable")
    score, taken = score[order], np.cumsum(mass[order])
    ends = np.searchsorted(taken / taken[-1], (LEFT_OUT, 1 - LEFT_OUT))
    low, high = (float(score[min(end, len(score) - 1)]) for end in ends)
    whole = float(score[-1]) - float(score[0])
    return (float(score[0]), float(score[-1])) if whole <= 1.5 * (high - low) or high == low else (low, high)


def _edges(text: str, low: float, high: float) -> Floats:
    """At most :data:`HISTOGRAM_BINS` + 1 edges, between which whole bins of the rule ``text`` fall."""
    rule = BinRule.parse(text)
    if rule.kind == "bins":
        count = _divisor(rule.size)
        return np.arange(count + 1, dtype=np.float64) / count
    if rule.kind == "digits" and high > low:
        unit = 10.0**-rule.size
        first, last = round(low / unit), round(high / unit)
        width = max(math.ceil((last - first + 1) / HISTOGRAM_BINS), 1)
        count = math.ceil((last - first + 1) / width)
        return np.asarray((first - 0.5 + width * np.arange(count + 1)) * unit, np.float64)
    return edges_between(low, high)


def edges_between(low: float, high: float) -> Floats:
    """Bins of equal width from the least value to the greatest, or one where these are the same, or there is none."""
    if not low <= high:
        return np.array([0.0, 0.0])
    shares: Floats = np.arange(HISTOGRAM_BINS + 1, dtype=np.float64) / HISTOGRAM_BINS
    edges: Floats = low * (1.0 - shares) + high * shares  # the range itself may be too large for a number
    edges[0], edges[-1] = low, high
    return edges if bool(np.all(np.diff(edges) > 0)) else np.array([low, high])


def _divisor(size: int) -> int:
    """The most bins, up to :data:`HISTOGRAM_BINS`, into which ``size`` of them fall whole; else as many as may be."""
    whole = max(count for count in range(1, HISTOGRAM_BINS + 1) if size % count == 0)
    return whole if whole > HISTOGRAM_BINS // 4 or size <= HISTOGRAM_BINS else HISTOGRAM_BINS


def _histogram(bins: ScoreBins, edges: Floats) -> Histogram:
    count = len(edges) - 1
    place = np.searchsorted(edges, bins.score, side="right") - 1
    place[bins.score == edges[-1]] = count - 1
    inside = (place >= 0) & (place < count)
    pos, neg = (np.bincount(place[inside], amount[inside], minlength=count).tolist() for amount in (bins.pos, bins.neg))
    ends = edges.tolist()
    rows = tuple(HistogramBin(low, high, p, n) for low, high, p, n in zip(ends[:-1], ends[1:], pos, neg, strict=True))
    below, above = (
        (float(bins.pos[beyond].sum()), float(bins.neg[beyond].sum())) for beyond in (place < 0, place >= count)
    )
    return Histogram(bins.model, bins.rule, rows, below, above)


def calibration(
    bins: Bins, models: Sequence[str], values: Iterable[MetricValue]
) -> tuple[tuple[Calibration, ...], str | None]:
    """Mean score against the share of relevant rows, of each model whose scores are probabilities.

    Parameters
    ----------
    bins : mapping
        What :func:`score_bins` gives.
    models : sequence of str
        Their order.
    values : iterable of MetricValue
        The metrics over the whole day, among them those of calibration.

    Returns
    -------
    tuple of Calibration, str or None
        And a sentence about the models that have none.
    """
    errors: dict[str, list[tuple[str, float | None]]] = {}
    for value in values:
        if _name_of(value.metric) in _OF_CALIBRATION:
            errors.setdefault(value.model, []).append((value.metric, value.value))
    found, others = [], []
    for model in models:
        of = _for_rates(bins, model)
        if of is None:
            continue
        if not _are_probabilities(bins, model, errors.get(model, [])):
            others.append(model)
            continue
        is_own = BinRule.parse(of.rule).kind == "bins"
        rates = _own_bins(of.with_sums()) if is_own else _equal_shares(of.with_sums())
        found.append(Calibration(model, of.rule, of.score_sum is not None, rates, tuple(errors.get(model, ()))))
    told = f"The scores of {', '.join(others)} are no probabilities, which alone are calibrated." if others else None
    return tuple(found), told


def _for_rates(bins: Bins, model: str) -> ScoreBins | None:
    """The bins that tell most: those of equal width where some of them have rows, else bins that follow the scores."""
    own = _chosen(bins, model, ["bins"])
    others = [of for (of_model, _), of in bins.items() if of_model == model and of.score_sum is not None]
    with_sums = {(of.model, of.rule): of for of in others}
    fine = _chosen(with_sums, model, _FOR_RATES[:-1]) or _chosen(bins, model, _FOR_RATES[:-1])
    if own is not None and len(own.score) <= MOST_OWN_BINS and (fine is None or np.count_nonzero(own.mass) > 2):
        return own
    return fine if fine is not None else own


def _are_probabilities(bins: Bins, model: str, errors: Sequence[tuple[str, float | None]]) -> bool:
    """Whether no score is below 0 or above 1, as far as bins tell: those of equal width between 0 and 1 do not."""
    ranged = [
        of.score[of.mass > 0]
        for (of_model, rule), of in bins.items()
        if of_model == model and BinRule.parse(rule).kind != "bins"
    ]
    beyond = any(len(score) and (score.min() < 0 or score.max() > 1) for score in ranged)
    undefined = bool(errors) and all(value is None for _, value in errors)
    return not beyond and (bool(ranged) or not undefined)


def _own_bins(of: ScoreBins) -> tuple[CalibrationBin, ...]:
    """The bins of a rule of equal width, as they are, or joined by as many as keep :data:`MOST_OWN_BINS` at most."""
    size = BinRule.parse(of.rule).size
    count = size if size <= MOST_OWN_BINS else CALIBRATION_BINS
    place = np.minimum(np.rint(of.score * size).astype(np.int64) * count // size, count - 1)
    first = run_starts(place)
    summed = of.summed(first)
    return tuple(
        _calibration_bin(summed, index, float(at) / count, float(at + 1) / count)
        for index, at in enumerate(place[first].tolist())
    )


def _equal_shares(of: ScoreBins) -> tuple[CalibrationBin, ...]:
    """About :data:`CALIBRATION_BINS` runs of bins with about as many rows each."""
    of = of.select(of.mass > 0)
    if not len(of.score):
        return ()
    taken = np.cumsum(of.mass)
    place = np.minimum((taken - of.mass / 2) * (CALIBRATION_BINS / taken[-1]), CALIBRATION_BINS - 1).astype(np.int64)
    first = run_starts(place)
    summed = of.summed(first)
    last = np.append(first[1:], len(of.score)) - 1
    return tuple(
        _calibration_bin(summed, index, float(of.score[begin]), float(of.score[end]))
        for index, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True))
    )


def _calibration_bin(of: ScoreBins, index: int, low: float, high: float) -> CalibrationBin:
    pos, neg = float(of.pos[index]), float(of.neg[index])
    if not pos + neg:
        return CalibrationBin(low, high, None, None, pos, neg)
    mean = None if of.score_sum is None else float(of.score_sum[index]) / (pos + neg)
    return CalibrationBin(low, high, mean, pos / (pos + neg), pos, neg)


def auc_up(bins: Bins, models: Sequence[str], values: Iterable[MetricValue]) -> tuple[tuple[AucUp, ...], str | None]:
    """AUC against AUC_UP of each model and metric ``auc_up``, with the bins that stand in the wrong order.

    Parameters
    ----------
    bins : mapping
        What :func:`score_bins` gives.
    models : sequence of str
        Their order.
    values : iterable of MetricValue
        The metrics over the whole day.

    Returns
    -------
    tuple of AucUp, str or None
        And a sentence where bins are too many for it.
    """
    by_model: dict[str, list[MetricValue]] = {}
    for value in values:
        by_model.setdefault(value.model, []).append(value)
    found, told = [], None
    for model in models:
        for value in by_model.get(model, ()):
            metric = _parsed(value.metric)
            if metric is None or metric.declaration.name != "auc_up":
                continue
            rule = str(_rule_of(metric))
            of = bins.get((model, rule))
            if of is None:
                continue
            if of.is_joined:
                told = f"There are too many score bins of {rule} for their order: ask for auc_up(digits=5)."
                continue
            found.append(_auc_up(of, value, metric, _auc_beside(by_model[model], rule)))
    return tuple(found), told


def _parsed(text: str) -> Metric | None:
    with suppress(MetricError):  # of another version
        return Metric.parse(text)
    return None


def _name_of(text: str) -> str | None:
    metric = _parsed(text)
    return None if metric is None else metric.declaration.name


def _rule_of(metric: Metric) -> BinRule | None:
    rule_of = getattr(metric.declaration, "rule_of", None)
    found: BinRule | None = None if rule_of is None else rule_of(metric)
    return found


def _auc_beside(values: Sequence[MetricValue], rule: str) -> MetricValue | None:
    """The AUC to which AUC_UP is compared: of the same bins where it is there, else of the same relevant rows."""
    aucs = [(value, _rule_of(metric)) for value in values if (metric := _parsed(value.metric)) and metric.name == "auc"]
    same = [value for value, of in aucs if str(of) == rule]
    rel = BinRule.parse(rule).rel
    alike = [value for value, of in aucs if of is not None and of.rel == rel]
    return next(iter((*same, *alike)), None)


def _auc_up(of: ScoreBins, value: MetricValue, metric: Metric, auc: MetricValue | None) -> AucUp:
    steps = _joined_steps(of, int(metric.number("min_rows")))
    named = None if auc is None else auc.metric, None if auc is None else auc.value
    positives, negatives = float(steps.pos.sum()), float(steps.neg.sum())
    if not positives or not negatives:
        return AucUp(of.model, value.metric, of.rule, value.value, *named, None, len(steps.score), 0, (), (), ())
    pos, neg = steps.pos / positives, steps.neg / negatives
    with np.errstate(over="ignore"):
        odds = np.divide(steps.pos, steps.neg, out=np.where(steps.pos > 0, np.inf, 0.0), where=steps.neg > 0)
    best = np.argsort(-odds, kind="stable")
    tp, fp = np.cumsum(pos), np.cumsum(neg)
    tp_best, fp_best = np.empty_like(tp), np.empty_like(fp)
    tp_best[best], fp_best[best] = np.cumsum(pos[best]), np.cumsum(neg[best])
    # Of a pair of bins in the wrong order the area loses what it would gain by their exchange; half of it is of each.
    lost = (neg * (tp_best - tp) + pos * (fp - fp_best)) / 2
    place = np.empty(len(best), np.int64)
    place[best] = np.arange(1, len(best) + 1)
    wrong = lost > LEAST_LOST
    order = np.argsort(-lost, kind="stable")[: min(MOST_WORST, int(np.count_nonzero(wrong)))]
    worst = tuple(
        AucUpBin(
            float(steps.score[at]),
            float(steps.pos[at]),
            float(steps.neg[at]),
            float(steps.pos[at] / (steps.pos[at] + steps.neg[at])),
            at + 1,
            int(place[at]),
            float(lost[at]),
        )
        for at in order.tolist()
    )
    return AucUp(
        of.model,
        value.metric,
        of.rule,
        value.value,
        *named,
        max(float(lost.sum()), 0.0),
        len(steps.score),
        int(np.count_nonzero(wrong)),
        worst,
        _outline(fp, tp, steps.score),
        _outline(np.cumsum(neg[best]), np.cumsum(pos[best]), None),
    )


def _joined_steps(of: ScoreBins, min_rows: int) -> ScoreBins:
    """The bins from the highest score down, as AUC_UP joins them; one that is joined has its highest score."""
    steps = of.select(of.mass > 0).select(slice(None, None, -1))
    if min_rows <= 1 or not len(steps.score):
        return steps
    first = joined_starts(steps.rows.astype(np.int64), min_rows)
    short = len(first) > 1 and steps.rows[first[-1] :].sum() < min_rows
    return steps.summed(first[:-1] if short else first)


def _outline(x: Floats, y: Floats, score: Floats | None) -> tuple[Point, ...]:
    """A curve from (0, 0), of at most :data:`MOST_POINTS` points at equal steps along it."""
    x, y = np.append(0.0, x), np.append(0.0, y)
    x[-1], y[-1] = 1.0, 1.0
    at = None if score is None else np.append(np.inf, score)
    places = np.arange(len(x))
    if len(x) > MOST_POINTS:
        along = (x + y) / 2
        places = np.unique(np.searchsorted(along, np.linspace(0.0, 1.0, MOST_POINTS)))
    return tuple(
        Point(float(x[place]), float(y[place]), _finite(None if at is None else float(at[place])))
        for place in places.tolist()
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def frame_bins(frame: DataFrame) -> tuple[Bins, str | None]:
    """The score bins over the whole day of a Spark DataFrame, unless they are more than one process should hold.

    Parameters
    ----------
    frame : DataFrame
        The table ``blocks``.

    Returns
    -------
    dict, str or None
        The bins, and why there are none.
    """
    rows = frame.where(frame["slice"] == ALL).select([name for name in COLUMNS if name in frame.columns])
    if rows.count() > MOST_FRAME_BINS:
        return {}, f"There are more than {MOST_FRAME_BINS:,} score bins: ask for a rule with fewer, as auc(bits=12)."
    return score_bins(rows.toArrow().to_batches()), None


def sections_of_bins(
    bins: Bins, models: Sequence[str], values: Sequence[MetricValue], told: str | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The sections of score bins.

    Parameters
    ----------
    bins : mapping
        What :func:`score_bins` gives.
    models : sequence of str
        Their order.
    values : sequence of MetricValue
        The metrics over the whole day.
    told : str, optional
        Why the bins were not read.

    Returns
    -------
    dict, dict
        The sections by name, and why some are empty, or lack a model.
    """
    rates, uncalibrated = calibration(bins, models, values)
    orders, too_many = auc_up(bins, models, values)
    sections = {"histograms": histograms(bins, models), "calibration": rates, "auc_up": orders}
    missing = {"histograms": told, "calibration": uncalibrated or told, "auc_up": too_many or told}
    return sections, {name: why for name, why in missing.items() if why is not None}
