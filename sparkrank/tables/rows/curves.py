"""The table ``curves``: ROC curves of the metrics ``auc`` and PR curves of the metrics ``pr_auc``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparkrank.engines.result import PassResult
from sparkrank.histogram.curve_points import pr_area, pr_points, roc_area, roc_points, sketched, thinned
from sparkrank.histogram.threshold_sweep import Extent, Sweep
from sparkrank.metrics import Plan
from sparkrank.metrics.merged import steps_of
from sparkrank.metrics.subjects import subjects_of
from sparkrank.schemas.tables import CURVES
from sparkrank.states import ScoreHistogram, ScoreSeries

_CURVES = {"roc": (roc_points, roc_area), "pr": (pr_points, pr_area)}


def curves_table(solved: PassResult, plan: Plan) -> pa.Table:
    """Return about ``plan.curve_points`` points for each model, slice value and metric that is an area of a curve."""
    return pa.concat_tables([CURVES.schema.empty_table(), *(_curves(solved, plan) if plan.curve_points else ())])


def _curves(solved: PassResult, plan: Plan) -> Iterator[pa.Table]:
    drawn = [(metric, declared, declared.curve) for metric, declared in plan.histogram_metrics if declared.curve]
    for model, slice_, value in subjects_of(solved.partials, plan):
        for metric, declaration, curve in drawn:
            histogram = bins_of_table(solved, ScoreSeries(model, slice_, value, declaration.rule_of(metric)))
            steps = steps_of(histogram)
            points_of, area = _CURVES[curve]
            points = thinned(points_of(Sweep(steps, Extent.of(steps)), histogram.score[::-1]), plan.curve_points, area)
            count = len(points.x)
            texts = (model, slice_, value, curve, str(metric))
            columns = [pa.repeat(pa.scalar(text, pa.string()), count) for text in texts]
            columns += [pa.array(np.arange(count)), *map(pa.array, (points.x, points.y, points.threshold))]
            yield pa.Table.from_arrays(columns, schema=CURVES.schema)


def bins_of_table(solved: PassResult, series: ScoreSeries) -> ScoreHistogram:
    """Return the score bins for a curve or for gains.

    Exact bins, which may be in a Spark table, are replaced with coarser bins.
    """
    if solved.exact is not None and series in solved.exact.sketches:
        return solved.exact.sketches[series]
    histogram = solved.partials.blocks.get(series, ScoreHistogram.empty(series.rule))
    return sketched(histogram) if series.rule.kind == "exact" else histogram
