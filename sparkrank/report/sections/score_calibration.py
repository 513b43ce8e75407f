"""The report section on calibration: mean scores and shares of relevant rows, for scores that are probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sparkrank.histogram.bins import BinRule
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.segments import run_starts
from sparkrank.report.data import Calibration, CalibrationBin, ReportData
from sparkrank.report.figures import ChartKey, Figure, Frame, Line, LineChart, charted, isolated, model_key, shown_name
from sparkrank.report.report_tables import ReportTables, parsed
from sparkrank.report.score_bins import WHOLE_DAY, BinsByRule, ScoreBins, chosen_bins
from sparkrank.report.section import Made
from sparkrank.report.sections.roc_and_pr import bins_section

CALIBRATION_BINS = 15
FEW_ROWS = 30  # among fewer rows, the share of relevant rows is mostly chance, and its line a zigzag
MOST_OWN_BINS = 50  # bins of the rule `bins` that are shown unchanged
_FOLLOWING = ("bits", "digits", "exact")  # rules whose bins adapt to the scores, the best first
_METRICS = ("ece", "logloss", "ne", "brier", "copc")


def _calibration(tables: ReportTables) -> Made:
    errors: dict[str, list[tuple[str, float | None]]] = {}
    for value in tables.values:
        metric = parsed(value.metric)
        if metric is not None and metric.declaration.name in _METRICS:
            errors.setdefault(value.model, []).append((value.metric, value.value))
    calibrated, others = [], []
    for model in tables.models:
        own = _calibration_in(tables.whole_bins, model)
        if own is None:
            continue
        own_errors = errors.get(model, [])
        if _are_probabilities(tables.whole_bins, model, own_errors):
            calibrated.append(replace(own, errors=tuple(own_errors)))
        else:
            others.append(model)
    reason = (
        f"The scores of {', '.join(others)} are no probabilities: only these have a calibration." if others else None
    )
    return tuple(calibrated), reason or tables.bins_missing


def _of_values(tables: ReportTables) -> Made:
    """Return the calibration of each model whose scores are probabilities, by the largest values of slices."""
    models = [own.model for own in _calibration(tables)[0]]
    calibrated = (
        replace(own, slice=place[0], slice_value=place[1])
        for place, bins in tables.bins.items()
        for model in models
        if place != WHOLE_DAY and (own := _calibration_in(bins, model)) is not None
    )
    return tuple(calibrated), None


def _calibration_in(bins: BinsByRule, model: str) -> Calibration | None:
    """Return the calibration of ``model`` in its most informative ``bins``, or None without bins."""
    own = _for_rates(bins, model)
    if own is None:
        return None
    is_own = BinRule.parse(own.rule).kind == "bins"
    rates = _own_bins(own.with_sums()) if is_own else _equal_shares(own.with_sums())
    return Calibration(model, own.rule, own.score_sum is not None, rates)


def _for_rates(bins: BinsByRule, model: str) -> ScoreBins | None:
    """Return the most informative bins: of equal width if enough of these have rows, otherwise fitted to scores."""
    own = chosen_bins(bins, model, ["bins"])
    with_sums = {key: scores for key, scores in bins.items() if scores.score_sum is not None}
    fine = chosen_bins(with_sums, model, _FOLLOWING) or chosen_bins(bins, model, _FOLLOWING)
    if own is not None and len(own.score) <= MOST_OWN_BINS and (fine is None or np.count_nonzero(own.mass) > 2):
        return own
    return fine if fine is not None else own


def _are_probabilities(bins: BinsByRule, model: str, errors: Sequence[tuple[str, float | None]]) -> bool:
    """Return whether all scores are in [0, 1]. Only bins that can hold other scores decide (not equal-width bins)."""
    scores = [
        own.score[own.mass > 0]
        for (name, rule), own in bins.items()
        if name == model and BinRule.parse(rule).kind != "bins"
    ]
    beyond = any(len(score) and (score.min() < 0 or score.max() > 1) for score in scores)
    undefined = bool(errors) and all(value is None for _, value in errors)
    return not beyond and (bool(scores) or not undefined)


def _own_bins(bins: ScoreBins) -> tuple[CalibrationBin, ...]:
    """Return the bins of an equal-width rule, joined if there are more than :data:`MOST_OWN_BINS`."""
    size = BinRule.parse(bins.rule).size
    count = size if size <= MOST_OWN_BINS else CALIBRATION_BINS
    place = np.minimum(np.rint(bins.score * size).astype(np.int64) * count // size, count - 1)
    first = run_starts(place)
    summed = bins.summed(first)
    ends = [(at / count, (at + 1) / count) for at in place[first].tolist()]
    return _calibration_bins(summed, ends)


def _equal_shares(bins: ScoreBins) -> tuple[CalibrationBin, ...]:
    bins = bins.select(bins.mass > 0)
    if not len(bins.score):
        return ()
    taken = np.cumsum(bins.mass)
    place = np.minimum((taken - bins.mass / 2) * (CALIBRATION_BINS / taken[-1]), CALIBRATION_BINS - 1).astype(np.int64)
    first = run_starts(place)
    summed = bins.summed(first)
    last = np.append(first[1:], len(bins.score)) - 1
    ends = zip(bins.score[first].tolist(), bins.score[last].tolist(), strict=True)
    return _calibration_bins(summed, list(ends))


def _calibration_bins(bins: ScoreBins, ends: Sequence[tuple[float, float]]) -> tuple[CalibrationBin, ...]:
    sums = [None] * len(ends) if bins.score_sum is None else bins.score_sum.tolist()
    made = []
    counts = zip(bins.pos.tolist(), bins.neg.tolist(), bins.rows.tolist(), strict=True)
    for (low, high), (pos, neg, rows), sum_ in zip(ends, counts, sums, strict=True):
        mass = pos + neg
        mean = None if sum_ is None or not mass else sum_ / mass
        made.append(CalibrationBin(low, high, mean, pos / mass if mass else None, pos, neg, rows))
    return tuple(made)


def _figures(data: ReportData) -> Iterator[Figure]:
    shown = charted(data.models, data.baseline)
    for rule in dict.fromkeys(calibration.rule for calibration in data.calibration):
        own = [curve for curve in data.calibration if curve.rule == rule and curve.model in shown]
        lines = [Line(model_key(data, curve.model), tuple(_points(curve))) for curve in own]
        yield Figure("calibration", "Calibration", _about(own), _diagram(lines))


def _figures_of_values(data: ReportData) -> Iterator[Figure]:
    """Yield a diagram for each model, with a line for each value of a slice."""
    curves: tuple[Calibration, ...] = data.more.get("calibration_of_values", ())
    for model in charted(data.models, data.baseline):
        own = [curve for curve in curves if curve.model == model]
        lines = [Line(ChartKey(_value_name(curve), style), tuple(_points(curve))) for style, curve in enumerate(own)]
        if lines:
            title = f"Calibration of {isolated(model)} by values of slices"
            yield Figure("calibration_of_values", title, _about(own), _diagram(lines), model=model)


def _value_name(curve: Calibration) -> str:
    return f"{shown_name(curve.slice)}={shown_name(curve.slice_value, curve.slice)}"


def _about(curves: Sequence[Calibration]) -> str:
    bins = ", ".join(map(shown_name, dict.fromkeys(curve.rule for curve in curves)))
    about = f"Mean score against the share of relevant rows, by bins of scores ({bins}); dashed is perfect."
    has_few = any(0 < one.rows < FEW_ROWS for curve in curves for one in curve.bins)
    return f"{about} Bins of fewer than {FEW_ROWS} rows are joined with their neighbours." if has_few else about


def _diagram(lines: Sequence[Line]) -> LineChart:
    ends = [end for line in lines for point in line.points for end in point if isinstance(end, float)]
    diagonal = (min(ends), max(ends)) if ends else (0.0, 1.0)
    return LineChart(lines, Frame("mean score", "share of relevant rows", height=250, diagonal=diagonal, marks=40))


def _points(calibration: Calibration) -> Iterator[tuple[float, float]]:
    """Yield the points of a curve. A bin of few rows is joined with the next bins (at the end, with previous bins)."""
    joined: list[Floats] = []  # for each point: its rows, their mass, the sum of their scores, and the relevant mass
    for one in calibration.bins:
        if one.mean_score is None or one.rate is None:
            continue
        mass = one.pos + one.neg
        amounts = np.array([one.rows, mass, one.mean_score * mass, one.pos])
        if joined and joined[-1][0] < FEW_ROWS:
            joined[-1] += amounts
        else:
            joined.append(amounts)
    if len(joined) > 1 and joined[-1][0] < FEW_ROWS:
        last = joined.pop()
        joined[-1] += last
    for _, mass, scores, relevant in np.array(joined).tolist():
        yield scores / mass, relevant / mass


SCORE_CALIBRATION = bins_section(
    "calibration", "Calibration", "There are no score bins: ask for the metric ece", _calibration, _figures
)
CALIBRATION_OF_VALUES = bins_section(
    "calibration_of_values",
    "Calibration by values of slices",
    "There are no score bins of slices: ask for the metric ece and for slices",
    _of_values,
    _figures_of_values,
)
