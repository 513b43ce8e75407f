"""The report section with score histograms: the number of relevant and of other rows by score, for each model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sparkrank.histogram.bins import BinRule
from sparkrank.numeric.array_types import Floats
from sparkrank.report.data import Histogram, HistogramBin, ReportData
from sparkrank.report.figures import ChartKey, Figure, Frame, Line, LineChart, charted, shown_name, steps
from sparkrank.report.report_tables import ReportTables
from sparkrank.report.score_bins import ScoreBins, chosen_bins
from sparkrank.report.section import Made
from sparkrank.report.sections.roc_and_pr import bins_section

HISTOGRAM_BINS = 40
LEFT_OUT = 0.001  # share of the rows at either end that a histogram may leave beyond its edges
NARROW = 1 / 20  # the least share of the common range: if a model covers less, each model gets its own edges
_RULES = ("bits", "digits", "exact", "bins")  # kinds of rule, the best for a histogram first


def _histograms(tables: ReportTables) -> Made:
    """Return histograms of at most :data:`HISTOGRAM_BINS` bins. Models share edges unless their ranges differ much."""
    bins = [own for model in tables.models if (own := chosen_bins(tables.whole_bins, model, _RULES)) is not None]
    if not bins:
        return (), tables.bins_missing
    ranges = [_range([own]) for own in bins]
    low, high = _range(bins)
    narrow = any(upper - lower < NARROW * (high - low) for lower, upper in ranges)
    alike = len({own.rule for own in bins}) == 1
    shared = None if narrow or not alike else _edges(bins[0].rule, low, high)
    return tuple(
        _histogram(own, _edges(own.rule, *ends) if shared is None else shared)
        for own, ends in zip(bins, ranges, strict=True)
    ), tables.bins_missing


def _range(bins: Sequence[ScoreBins]) -> tuple[float, float]:
    """Return the range of finite scores after dropping at most the share :data:`LEFT_OUT` of rows at either end."""
    score = np.concatenate([own.score for own in bins])
    mass = np.concatenate([own.mass / max(float(own.mass.sum()), 1e-300) for own in bins])
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
    """Return at most :data:`HISTOGRAM_BINS` + 1 edges. They do not split the score bins of the rule ``text``."""
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
    """Return edges of equal-width bins from ``low`` to ``high``. If these are equal or undefined, there is one bin."""
    if not low <= high:
        return np.array([0.0, 0.0])
    shares: Floats = np.arange(HISTOGRAM_BINS + 1, dtype=np.float64) / HISTOGRAM_BINS
    edges: Floats = low * (1.0 - shares) + high * shares  # high - low may overflow
    edges[0], edges[-1] = low, high
    return edges if bool(np.all(np.diff(edges) > 0)) else np.array([low, high])


def _divisor(size: int) -> int:
    """Return the largest divisor of ``size`` up to :data:`HISTOGRAM_BINS`; that limit if the divisor is too small."""
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


def _figures(data: ReportData) -> Iterator[Figure]:
    shown = charted(data.models, data.baseline)
    for histogram in data.histograms:
        if histogram.model in shown and histogram.bins:
            yield _figure(histogram)


def _figure(histogram: Histogram) -> Figure:
    most = max(max(one.pos, one.neg) for one in histogram.bins)
    last = histogram.bins[-1].high
    lines = [
        Line(ChartKey("relevant", 1), steps([(one.low, one.pos) for one in histogram.bins], last)),
        Line(ChartKey("other", 0), steps([(one.low, one.neg) for one in histogram.bins], last)),
    ]
    chart = LineChart(lines, Frame("score", "rows", height=150, steps=True, powers=most))
    about = "Rows by score; the axis has powers of ten."
    return Figure("histograms", shown_name(histogram.model), about, chart, model=histogram.model)


SCORE_HISTOGRAMS = bins_section(
    "histograms",
    "Scores by class",
    "There are no score bins: ask for a metric over all rows, such as auc",
    _histograms,
    _figures,
)
