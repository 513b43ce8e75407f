"""Declarations of the metrics of graded relevance; their kernels are in :mod:`sparkrank.kernels.gain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkrank.errors import InputError
from sparkrank.kernels import gain as kernel
from sparkrank.kernels.judgments import Gain
from sparkrank.metrics.declaration import GroupMetric
from sparkrank.metrics.parameters import Choice
from sparkrank.metrics.precision import REL, needs_cutoff

if TYPE_CHECKING:
    from sparkrank.kernels.ranking import Ranking
    from sparkrank.metrics.metric import Metric

MOST_EXP2_LABEL = 1000  # float64 ends at 2^1024, and gains are added up
JARVELIN = "Järvelin, Kekäläinen: TOIS 2002"
GAIN = Choice(
    "gain",
    "linear",
    "of a label: linear = itself; exp2 = 2^label - 1; binary = 1 if relevant; a label below 0 has gain 0",
    aliases=("dcg",),
    choices=("linear", "exp2", "binary"),
    synonyms=(("log2", "linear"), ("exp-log2", "exp2")),
)
IDEAL = Choice(
    "ideal",
    "judged",
    "ideal list: judged = all labels of the group; retrieved = those in the list; k_relevant = k items of gain 1; "
    "or the grades of one list",
    choices=("judged", "retrieved", "k_relevant"),
    grades=True,
)


def _gain(ranking: Ranking, metric: Metric) -> Gain:
    """How the labels of ``ranking`` become gains. Raises :class:`InputError` where 2^label would pass all floats."""
    gain = Gain(metric.word("gain"), metric.rel)
    if gain.kind == "exp2" and (highest := ranking.judgments.labels.max(initial=0)) > MOST_EXP2_LABEL:
        raise InputError(f"{metric} takes 2^label, and a label is {highest:g}: {MOST_EXP2_LABEL} at most is allowed")
    return gain


def _check(metric: Metric) -> str | None:
    if metric.rel is not None and metric["gain"] != "binary":
        return f"gives rel with gain={metric['gain']}: only gain=binary asks which labels are relevant"
    return needs_cutoff("ideal", "k_relevant")(metric) if metric.name == "ndcg" else None


def _ideal(metric: Metric) -> str | tuple[float, ...]:
    ideal = metric["ideal"]
    return ideal if isinstance(ideal, tuple) else str(ideal)


CUMULATED_GAIN = GroupMetric(
    name="cg",
    title="cumulated gain",
    formula="Σ g_i over the first k",
    undefined="never",
    reference=JARVELIN,
    parameters=(GAIN, REL),
    check=_check,
    values=lambda ranking, metric: kernel.cumulated_gain(
        ranking.gains(_gain(ranking, metric)), metric.k, ranking.groups, discounted=False
    ),
)

DISCOUNTED_GAIN = GroupMetric(
    name="dcg",
    title="discounted cumulated gain",
    formula="Σ g_i / log2(i+1) over the first k",
    undefined="never",
    reference=f"{JARVELIN}; gain=exp2: Burges et al., ICML 2005",
    parameters=(GAIN, REL),
    check=_check,
    values=lambda ranking, metric: kernel.cumulated_gain(
        ranking.gains(_gain(ranking, metric)), metric.k, ranking.groups, discounted=True
    ),
)

NORMALISED_GAIN = GroupMetric(
    name="ndcg",
    title="normalised discounted cumulated gain",
    formula="dcg@k / dcg@k of the ideal list",
    undefined="the ideal list has no gain",
    reference=f"{JARVELIN}; gain=exp2: Burges et al., ICML 2005",
    parameters=(GAIN, IDEAL, REL),
    check=_check,
    values=lambda ranking, metric: kernel.normalised_gain(ranking, _gain(ranking, metric), metric.k, _ideal(metric)),
)

DECLARATIONS = (CUMULATED_GAIN, DISCOUNTED_GAIN, NORMALISED_GAIN)
