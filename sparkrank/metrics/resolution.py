"""The name of a metric in an evaluation, without the label and the rule for ties that apply by default."""

from __future__ import annotations

from collections.abc import Sequence

from sparkrank.metrics.definitions import Definitions
from sparkrank.metrics.labels import FIRST, Judging
from sparkrank.metrics.metric import Metric
from sparkrank.ranking.ranking import Ties


def without_first_label(metric: Metric, labels: Sequence[str]) -> Metric:
    """Return ``metric`` without its label if this is the first label. Metrics read the first label by default."""
    return metric.with_label(None) if metric.judging.label in labels[:1] else metric


def with_own_label(metric: Metric, own: Judging) -> Metric:
    """Return ``metric`` with ``own``, the label of a model, unless ``metric`` names a label itself or reads none.

    Raise :class:`MetricError` if the metric cannot be computed by that label.
    """
    if own == FIRST or metric.judging != FIRST or not metric.declaration.reads_labels:
        return metric
    return Metric.parse(str(metric.with_judging(own)))


def with_own_ties(metric: Metric, definitions: Definitions, order: Ties | None) -> Metric:
    """Return ``metric`` with ``ties`` only if they differ from those of ``definitions``.

    ``order`` is the rule for metrics that ``ties=expected`` rules out, or None.
    """
    if order is not None and definitions.ties == "expected" and definitions.positions == "dense" and metric.orders:
        return metric.with_ties(order)
    given = definitions.positions != "dense" and metric.ties in ("expected", "block")  # equal if positions are given
    return metric.with_ties(None) if metric.ties == definitions.ties or given else metric
