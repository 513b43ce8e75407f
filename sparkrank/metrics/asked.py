"""The metrics of an evaluation as a person asks for them: a list of texts, or of metrics."""

from __future__ import annotations

from collections.abc import Iterable

from sparkrank.errors import MetricError, shortened, shown
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.presets import Preset


def asked_metrics(metrics: Iterable[str | Metric], preset: Preset | None) -> tuple[Metric, ...]:
    """Each of ``metrics`` once, in the order asked for.

    ``preset`` sets the parameters that a metric's text does not give; a metric given as a value stays as it is. Raises
    :class:`MetricError` naming the place and the metric.
    """
    if isinstance(metrics, str):
        raise MetricError(
            f'metrics is "{shortened(metrics)}", one text: a list of texts is needed, for example ["ndcg@10"]'
        )
    if not isinstance(metrics, Iterable):
        raise MetricError(f'metrics is {shown(metrics)}: a list of texts is needed, for example ["ndcg@10"]')
    parsed = []
    for index, metric in enumerate(metrics):
        if not isinstance(metric, (str, Metric)):
            raise MetricError(f"metrics[{index}] is {shown(metric)}: a text is needed, for example ndcg@10")
        try:
            # a value is read again: whoever made it may have given what no text can mean
            parsed.append(Metric.parse(str(metric), None if isinstance(metric, Metric) else preset))
        except MetricError as error:
            raise MetricError(f"metrics[{index}]: {error}") from None
    if not parsed:
        raise MetricError("metrics is empty: name at least one, for example ndcg@10")
    return tuple(dict.fromkeys(parsed))
