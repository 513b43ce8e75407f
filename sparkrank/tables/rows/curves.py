"""The table ``curves``: ROC curves of ``auc``, PR curves of ``pr_auc``, and the best points of other pooled metrics."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparkrank.engines.result import PassResult
from sparkrank.histogram.curve_points import (
    Points,
    point_of,
    pr_area,
    pr_points,
    roc_area,
    roc_points,
    sketched,
    thinned,
)
from sparkrank.histogram.threshold_sweep import Extent, Sweep
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged, steps_of
from sparkrank.metrics.subjects import subjects_of
from sparkrank.schemas.tables import CURVES
from sparkrank.states import ScoreHistogram, ScoreSeries
from sparkrank.states.keys import Subject

_CURVES = {"roc": (roc_points, roc_area), "pr": (pr_points, pr_area)}


def curves_table(solved: PassResult, plan: Plan) -> pa.Table:
    """Return the points of curves for each model, slice value and metric.

    There are about ``plan.curve_points`` points for an area, and one for a metric of the best point of a curve.
    """
    return pa.concat_tables([CURVES.schema.empty_table(), *(_curves(solved, plan) if plan.curve_points else ())])


def _curves(solved: PassResult, plan: Plan) -> Iterator[pa.Table]:
    for subject in subjects_of(solved.partials, plan):
        for metric, declaration in plan.histogram_metrics:
            if declaration.curve:
                histogram = bins_of_table(solved, ScoreSeries(*subject, declaration.rule_of(metric)))
                points = _whole_curve(histogram, declaration.curve, plan.curve_points)
                yield _rows(subject, declaration.curve, metric, points)
            elif declaration.point_of and (best := _best(solved.merged, subject, metric, declaration.point_of)):
                yield _rows(subject, declaration.point_of, metric, best)


def _whole_curve(histogram: ScoreHistogram, curve: str, most: int) -> Points:
    steps = steps_of(histogram)
    points_of, area = _CURVES[curve]
    return thinned(points_of(Sweep(steps, Extent.of(steps)), histogram.score[::-1]), most, area)


def _best(merged: Merged, subject: Subject, metric: Metric, curve: str) -> Points | None:
    """Return the point of ``curve`` that gives ``metric`` its value, or None if the value is undefined."""
    row, measured = merged.row(subject, metric), merged.terms_of(subject, metric)
    if math.isnan(row.value) or measured is None or measured.terms.best is None:
        return None
    return point_of(curve, measured.terms.best, measured.extent)


def _rows(subject: Subject, curve: str, metric: Metric, points: Points) -> pa.Table:
    count = len(points.x)
    columns = [pa.repeat(pa.scalar(text, pa.string()), count) for text in (*subject, curve, str(metric))]
    columns += [pa.array(np.arange(count)), *map(pa.array, (points.x, points.y, points.threshold))]
    return pa.Table.from_arrays(columns, schema=CURVES.schema)


def bins_of_table(solved: PassResult, series: ScoreSeries) -> ScoreHistogram:
    """Return the score bins for a curve or for gains (:mod:`sparkrank.tables.rows.gains`).

    Exact bins (one per score) that are in a Spark table are replaced with coarser bins.
    """
    if solved.exact is not None and series in solved.exact.sketches:
        return solved.exact.sketches[series]
    histogram = solved.partials.blocks.get(series, ScoreHistogram.empty(series.rule))
    return sketched(histogram) if series.rule.kind == "exact" else histogram
