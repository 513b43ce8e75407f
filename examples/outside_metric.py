"""A metric of your own: "mean_position@10", of a spec too (plugins: [outside_metric]); lower is better."""

import numpy as np

from sparkrank.metrics import REL, GroupMetric, Metric, Ranking, hits_of, register


def mean_position(ranking: Ranking, metric: Metric) -> np.ndarray:
    hits = hits_of(ranking, metric.rel)
    count = hits.count(metric.k)
    return hits.sum(hits.probability * hits.position, metric.k) / np.where(count > 0, count, np.nan)


MEAN_POSITION = GroupMetric(
    name="mean_position",
    title="mean position of the hits",
    formula="Σ positions of hits within k / hits within k",
    undefined="no hit stands within k",
    reference="examples/outside_metric.py",
    parameters=(REL,),
    higher_is_better=False,
    highest=np.inf,
    values=mean_position,
)
register(MEAN_POSITION)
