"""Declarations of the metrics of graded relevance; their kernels are in :mod:`sparkrank.kernels.gain`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sparkrank.errors import InputError, shortened
from sparkrank.kernels import gain as kernel
from sparkrank.kernels.discounts import TABLED_POSITIONS
from sparkrank.kernels.judgments import Gain
from sparkrank.metrics.declaration import GroupMetric, Unbounded
from sparkrank.metrics.parameters import Choice
from sparkrank.metrics.precision import REL, needs_cutoff

if TYPE_CHECKING:
    from sparkrank.kernels.ranking import Ranking
    from sparkrank.metrics.metric import Metric

JARVELIN = "Järvelin, Kekäläinen: TOIS 2002"
# Of gains of 2^400, sums over a list, and the squares of these over all groups, stay far below float64's 2^1024.
MOST_EXPONENT = 400
GAIN = Choice(
    "gain",
    "linear",
    f"of a label: linear = itself; exp2 = 2^label - 1, of labels up to {MOST_EXPONENT}; binary = 1 if relevant; "
    "a label below 0 has gain 0",
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
    """What the metric makes of the labels. Raises :class:`InputError` where one gives more than 2^MOST_EXPONENT."""
    gain, labels = Gain(metric.word("gain"), metric.rel), ranking.judgments.labels
    highest = 0.0 if gain.kind == "binary" else float(labels.max(initial=0))
    if gain.kind == "exp2" and highest > MOST_EXPONENT:
        raise InputError(
            f"{shortened(metric)} makes 2^{highest:g} of a label: labels up to {MOST_EXPONENT} are allowed"
        )
    if highest > 2.0**MOST_EXPONENT:
        raise InputError(
            f"{shortened(metric)} sums up labels, of which one is {highest:g}: labels up to 2^{MOST_EXPONENT} are "
            f"allowed"
        )
    return gain


def _sums(ranking: Ranking, metric: Metric) -> kernel.GainSums:
    return kernel.gain_sums(ranking, _gain(ranking, metric))


def _check(metric: Metric) -> str | None:
    if metric.rel is not None and metric["gain"] != "binary":
        return f"gives rel with gain={metric['gain']}: only gain=binary asks which labels are relevant"
    if metric.name != "ndcg":
        return None
    ideal = _ideal(metric)
    if metric["gain"] == "exp2" and isinstance(ideal, tuple) and max(ideal) > MOST_EXPONENT:
        return f"makes 2^{max(ideal):g} of an ideal grade: grades up to {MOST_EXPONENT} are allowed"
    if ideal == "k_relevant" and metric.k is not None and metric.k > TABLED_POSITIONS:
        return f"asks for an ideal list of k items: a cut-off up to {TABLED_POSITIONS} is allowed"
    return needs_cutoff("ideal", "k_relevant")(metric)


def _ideal(metric: Metric) -> str | tuple[float, ...]:
    ideal = metric["ideal"]
    return ideal if isinstance(ideal, tuple) else str(ideal)


def _beats_its_ideal(metric: Metric) -> bool:
    """Whether the ideal list is of fixed gains, which labels may exceed."""
    return isinstance(metric["ideal"], tuple) or (metric["ideal"] == "k_relevant" and metric["gain"] != "binary")


CUMULATED_GAIN = GroupMetric(
    name="cg",
    title="cumulated gain",
    formula="Σ g_i over the first k",
    undefined="never",
    reference=JARVELIN,
    parameters=(GAIN, REL),
    highest=math.inf,
    check=_check,
    values=lambda ranking, metric: kernel.cumulated_gain(
        kernel.gains_of(ranking, _gain(ranking, metric)), metric.k, ranking.groups, discounted=False
    ),
)

DISCOUNTED_GAIN = GroupMetric(
    name="dcg",
    title="discounted cumulated gain",
    formula="Σ g_i / log2(i+1) over the first k",
    undefined="never",
    reference=f"{JARVELIN}; gain=exp2: Burges et al., ICML 2005",
    parameters=(GAIN, REL),
    highest=math.inf,
    check=_check,
    sums=_sums,
    values=lambda gains, metric: kernel.discounted_gain(gains, metric.k),
)

NORMALISED_GAIN = GroupMetric(
    name="ndcg",
    title="normalised discounted cumulated gain",
    formula="dcg@k / dcg@k of the ideal list",
    undefined="the ideal list has no gain",
    reference=f"{JARVELIN}; gain=exp2: Burges et al., ICML 2005",
    parameters=(GAIN, IDEAL, REL),
    unbounded=Unbounded("ideal=[grade,...], or ideal=k_relevant where gain is not binary", _beats_its_ideal),
    check=_check,
    sums=_sums,
    values=lambda gains, metric: kernel.normalised_gain(gains, metric.k, _ideal(metric)),
)

DECLARATIONS = (CUMULATED_GAIN, DISCOUNTED_GAIN, NORMALISED_GAIN)
