"""The report sections with ROC and precision-recall curves, from the table ``curves``.

A further section contains the points of metrics such as ``recall(at_precision=0.9)`` on these curves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.report.data import BestPoint, Curve, Point, ReportData
from sparkrank.report.figures import (
    Figure,
    Frame,
    Line,
    LineChart,
    charted,
    isolated,
    model_key,
    shown_name,
    shown_number,
)
from sparkrank.report.report_tables import ReportTables, parsed, plain_texts, whole_day
from sparkrank.report.section import Drawer, Made, Maker, ReportSection

MOST_POINTS = 400  # the most points of a curve
CURVES_PART = ("curves", "Curves and scores")
_OfMetric = TypeVar("_OfMetric", Curve, BestPoint)


def _curves(tables: ReportTables, kind: Literal["roc", "pr"]) -> Made:
    """Return the whole-day curves, each with at most :data:`MOST_POINTS` evenly selected points."""
    if tables.curves is None:
        return (), None
    rows = _rows(tables.curves, are_best=False)
    rows = rows.filter(pc.equal(rows["curve"], kind))
    areas = {(row.metric, row.model): row.value for row in tables.values}
    keys = rows.select(["metric", "model"]).group_by(["metric", "model"], use_threads=False).aggregate([]).to_pylist()
    curves = [_curve(rows, kind, key["metric"], key["model"], areas.get((key["metric"], key["model"]))) for key in keys]
    return _in_order(curves, tables), None


def _best_points(tables: ReportTables) -> Made:
    if tables.curves is None:
        return (), None
    found = [
        BestPoint(row["curve"], row["model"], row["metric"], Point(row["x"], row["y"], finite(row["threshold"])))
        for row in _rows(tables.curves, are_best=True).to_pylist()
    ]
    return _in_order(found, tables), None


def _rows(curves: pa.Table, *, are_best: bool) -> pa.Table:
    """Return the whole-day rows of metrics that are a best point of a curve, or of all others."""
    rows = plain_texts(whole_day(curves))
    best = [
        metric
        for metric in rows["metric"].unique().to_pylist()
        if (known := parsed(metric)) is not None and getattr(known.declaration, "point_of", None)
    ]
    is_best = pc.is_in(rows["metric"], pa.array(best, pa.string()))
    return rows.filter(is_best if are_best else pc.invert(is_best))


def _in_order(found: Sequence[_OfMetric], tables: ReportTables) -> tuple[_OfMetric, ...]:
    metrics, models = (
        {name: place for place, name in enumerate(names)} for names in (tables.metric_names, tables.models)
    )
    return tuple(sorted(found, key=lambda own: (metrics.get(own.metric, 0), models.get(own.model, 0))))


def _curve(rows: pa.Table, kind: Literal["roc", "pr"], metric: str, model: str, area: float | None) -> Curve:
    own = rows.filter(pc.and_(pc.equal(rows["metric"], metric), pc.equal(rows["model"], model)))
    count = own.num_rows
    # The places include the first and the last point.
    places = [place * (count - 1) // (MOST_POINTS - 1) for place in range(MOST_POINTS)]
    points = own.select(["x", "y", "threshold"]).take(places if count > MOST_POINTS else list(range(count)))
    shown = tuple(Point(point["x"], point["y"], finite(point["threshold"])) for point in points.to_pylist())
    return Curve(kind, model, metric, area, shown, count)


def finite(value: float | None) -> float | None:
    """Return ``value``, or None if ``value`` is infinite or NaN."""
    return value if value is not None and math.isfinite(value) else None


def _figures(data: ReportData, kind: Literal["roc", "pr"]) -> Iterator[Figure]:
    curves, name = (data.roc, "ROC") if kind == "roc" else (data.pr, "Precision-recall")
    titles = ("false positive rate", "true positive rate") if kind == "roc" else ("recall", "precision")
    whole = (0.0, 1.0)
    frame = Frame(*titles, height=250, x_domain=whole, y_domain=whole, diagonal=whole if kind == "roc" else None)
    shown = charted(data.models, data.baseline)
    for metric in dict.fromkeys(curve.metric for curve in curves):
        own = [curve for curve in curves if curve.metric == metric and curve.model in shown]
        lines = [
            Line(model_key(data, curve.model), tuple((point.x, point.y) for point in curve.points)) for curve in own
        ]
        areas = ", ".join(f"{isolated(curve.model)} {shown_number(curve.area)}" for curve in own)
        title = f"{name}, {shown_name(metric)}"
        yield Figure(kind, title, f"Area under the curve: {areas}.", LineChart(lines, frame), metric)


def _section(kind: Literal["roc", "pr"], title: str, ask: str) -> ReportSection:
    advice, in_memory = f"{ask}, and for output.curves: 1000.", f"{ask}, and for curve_points=1000."
    make, figures = partial(_curves, kind=kind), partial(_figures, kind=kind)
    return ReportSection(kind, title, make, advice, in_memory, part=CURVES_PART, figures=figures)


def bins_section(name: str, title: str, ask: str, make: Maker, figures: Drawer) -> ReportSection:
    """Return a section ``name`` that needs score bins, in the page part of the curves.

    ``ask`` is the beginning of the section's advice.
    """
    advice = f"{ask}, and for output.blocks: true."
    return ReportSection(name, title, make, advice, f"{ask}.", part=CURVES_PART, figures=figures)


ROC = _section("roc", "ROC curves", "There is no ROC curve: ask for the metric auc")
PRECISION_RECALL = _section(
    "pr", "Precision-recall curves", "There is no precision-recall curve: ask for the metric pr_auc"
)
OPERATING_POINTS = ReportSection(
    "operating_points",
    "Thresholds",
    _best_points,
    "There is no threshold to set: ask for recall(at_precision=0.9), precision(at_recall=0.8) or tpr(at_fpr=0.01), "
    "and for output.curves: 1000.",
    "There is no threshold to set: ask for recall(at_precision=0.9), precision(at_recall=0.8) or tpr(at_fpr=0.01), "
    "and for curve_points=1000.",
    part=CURVES_PART,
)
