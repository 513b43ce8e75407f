"""The report section on AUC and AUC_UP, the AUC of the best order of the same score bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.threshold_sweep import joined_starts
from sparkrank.metrics import Metric
from sparkrank.numeric.array_types import Floats
from sparkrank.report.data import AucUp, AucUpBin, MetricValue, Point, ReportData
from sparkrank.report.figures import (
    ChartKey,
    Figure,
    Frame,
    Line,
    LineChart,
    charted,
    isolated,
    shown_name,
    shown_number,
)
from sparkrank.report.report_tables import ReportTables, parsed
from sparkrank.report.score_bins import ScoreBins
from sparkrank.report.section import Made
from sparkrank.report.sections.roc_and_pr import MOST_POINTS, bins_section, finite

MOST_WORST = 20
LEAST_LOST = 1e-12  # an area; a smaller loss is rounding error


def _gaps(tables: ReportTables) -> Made:
    gaps, reason = [], tables.bins_missing
    for model in tables.models:
        own = [value for value in tables.values if value.model == model]
        for value in own:
            metric = parsed(value.metric)
            if metric is None or metric.declaration.name != "auc_up":
                continue
            rule = str(_rule_of(metric))
            bins = tables.whole_bins.get((model, rule))
            if bins is not None and bins.is_joined:
                reason = f"There are too many score bins of {rule} for their order: ask for auc_up(digits=5)."
            elif bins is not None:
                gaps.append(_auc_up(bins, value, metric, _auc_beside(own, rule)))
    return tuple(gaps), reason


def _rule_of(metric: Metric) -> BinRule | None:
    rule: BinRule | None = getattr(metric.declaration, "rule_of", lambda _: None)(metric)
    return rule


def _auc_beside(values: Sequence[MetricValue], rule: str) -> MetricValue | None:
    """Return the AUC to compare with AUC_UP: from the same bins if possible, otherwise from the same relevant rows."""
    aucs = [(value, _rule_of(metric)) for value in values if (metric := parsed(value.metric)) and metric.name == "auc"]
    parsed_rule = BinRule.parse(rule)
    read = parsed_rule.rel, parsed_rule.judging
    alike = [(str(own) != rule, value) for value, own in aucs if own is not None and (own.rel, own.judging) == read]
    return min(alike, key=lambda pair: pair[0], default=(True, None))[1]


def _auc_up(bins: ScoreBins, value: MetricValue, metric: Metric, auc: MetricValue | None) -> AucUp:
    steps = _joined_steps(bins, int(metric.number("min_rows")))
    named = None if auc is None else auc.metric, None if auc is None else auc.value
    positives, negatives = float(steps.pos.sum()), float(steps.neg.sum())
    if not positives or not negatives:
        return AucUp(bins.model, value.metric, bins.rule, value.value, *named, None, len(steps.score), 0, (), (), ())
    pos, neg = steps.pos / positives, steps.neg / negatives
    with np.errstate(over="ignore"):
        odds = np.divide(steps.pos, steps.neg, out=np.where(steps.pos > 0, np.inf, 0.0), where=steps.neg > 0)
    best = np.argsort(-odds, kind="stable")
    tp, fp = np.cumsum(pos), np.cumsum(neg)
    tp_best, fp_best = np.empty_like(tp), np.empty_like(fp)
    tp_best[best], fp_best[best] = np.cumsum(pos[best]), np.cumsum(neg[best])
    # A wrongly ordered pair of bins costs the area that a swap would gain. Each bin is assigned half of that area.
    lost = (neg * (tp_best - tp) + pos * (fp - fp_best)) / 2
    place = np.empty(len(best), np.int64)
    place[best] = np.arange(1, len(best) + 1)
    wrong = lost > LEAST_LOST
    order = np.argsort(-lost, kind="stable")[: min(MOST_WORST, int(np.count_nonzero(wrong)))]
    numbers = np.arange(1, len(best) + 1)
    columns = (steps.score, steps.pos, steps.neg, steps.pos / steps.mass, numbers, place, lost)
    return AucUp(
        bins.model,
        value.metric,
        bins.rule,
        value.value,
        *named,
        max(float(lost.sum()), 0.0),
        len(steps.score),
        int(np.count_nonzero(wrong)),
        tuple(AucUpBin(*row) for row in zip(*(column[order].tolist() for column in columns), strict=True)),
        _outline(fp, tp, steps.score),
        _outline(np.cumsum(neg[best]), np.cumsum(pos[best]), None),
    )


def _joined_steps(bins: ScoreBins, min_rows: int) -> ScoreBins:
    """Return the bins by descending score, joined as for AUC_UP. A joined bin has the highest score in it."""
    steps = bins.select(bins.mass > 0).select(slice(None, None, -1))
    if min_rows <= 1 or not len(steps.score):
        return steps
    first = joined_starts(steps.rows.astype(np.int64), min_rows)
    short = len(first) > 1 and steps.rows[first[-1] :].sum() < min_rows
    return steps.summed(first[:-1] if short else first)


def _outline(x: Floats, y: Floats, score: Floats | None) -> tuple[Point, ...]:
    """Return a curve from (0, 0) to (1, 1) of at most :data:`MOST_POINTS` points, at equal steps along the curve."""
    x, y = np.append(0.0, x), np.append(0.0, y)
    x[-1], y[-1] = 1.0, 1.0
    thresholds = np.full(len(x), np.inf) if score is None else np.append(np.inf, score)
    places = np.arange(len(x))
    if len(x) > MOST_POINTS:
        along = (x + y) / 2
        places = np.unique(np.searchsorted(along, np.linspace(0.0, 1.0, MOST_POINTS)))
    rows = zip(*(column[places].tolist() for column in (x, y, thresholds)), strict=True)
    return tuple(Point(x, y, finite(threshold)) for x, y, threshold in rows)


def _figures(data: ReportData) -> Iterator[Figure]:
    shown = charted(data.models, data.baseline)
    whole = (0.0, 1.0)
    titles = ("false positive rate", "true positive rate")
    frame = Frame(*titles, height=250, x_domain=whole, y_domain=whole, diagonal=whole)
    for gap in data.auc_up:
        if gap.model not in shown:
            continue
        lines = [
            Line(ChartKey("in the best order", 1), tuple((point.x, point.y) for point in gap.by_rate)),
            Line(ChartKey("by score", 0), tuple((point.x, point.y) for point in gap.by_score)),
        ]
        about = (
            "The score bins in the order of scores, and in the best order, of their share of relevant rows: "
            f"AUC_UP {shown_number(gap.auc_up)}, {shown_number(gap.gap)} above the AUC of the same bins."
        )
        title = f"{isolated(gap.model)}, {shown_name(gap.metric)}"
        yield Figure("auc_up", title, about, LineChart(lines, frame), gap.metric, gap.model)


AUC_UP_GAP = bins_section(
    "auc_up", "AUC against AUC_UP", "AUC_UP is not evaluated: ask for the metrics auc and auc_up", _gaps, _figures
)
