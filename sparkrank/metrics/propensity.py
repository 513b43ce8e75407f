"""The parameters ``propensity`` and ``clip`` of sums over hits, as a correction for rows that users rarely see.

A hit counts v = 1 / max(propensity, clip) instead of 1. The propensity of a relevant row is the probability that it was
seen (Yang et al., RecSys 2018; Jain et al., KDD 2016).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sparkrank.metrics.arithmetic import Arithmetic, given, list_table, spread, total, within
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.gain import gain_of, gain_sums, gains_of, ideal_of
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Declaration, Metric, Unbounded
from sparkrank.metrics.needs import WeightStates
from sparkrank.metrics.parameters import UNJUDGED, Choice, Number, discount_of
from sparkrank.metrics.precision import precision_divisor, ratio, recall_divisor
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.discounts import Discount
from sparkrank.ranking.distinct_lists import GroupValues
from sparkrank.ranking.hits import hits_of
from sparkrank.ranking.judgments import Gain
from sparkrank.ranking.ranking import Ranking

ROLE = "propensity"
PROPENSITY = Choice(
    ROLE,
    None,
    "weighs a hit by v = 1 / max(propensity, clip), a column with the chance that a relevant row was seen: ips divides "
    "by what is divided by without it; snips by Σ v of all relevant rows (Yang et al.: RecSys 2018); best by the "
    "highest such sum of any order (Jain et al.: KDD 2016)",
    later=True,
    choices=("ips", "snips", "best"),
    roles=(("ips", ROLE), ("snips", ROLE), ("best", ROLE)),
)
CLIP = Number("clip", None, "the lowest propensity that counts as itself", later=True, above=0.0, below=1.0)
NONE = Discount("none")


@dataclass(frozen=True)
class HitSum:
    """The amount that a hit adds to a metric (``gain`` · ``discount`` / ``scale``), and the ``divisor`` of the sum.

    ``given_otherwise`` names those parameters of the metric on which the divisor depends.
    """

    gain: Callable[[Ranking, Metric], Gain] = lambda ranking, metric: Gain("binary", metric.rel)
    discount: Callable[[Metric], Discount] = lambda metric: NONE
    divisor: Callable[[Ranking, Metric], Floats | float] = lambda ranking, metric: 1.0
    scale: Callable[[Metric], float] = lambda metric: 1.0
    given_otherwise: tuple[str, ...] = ()  # parameters that choose the divisor


def _rows_of_precision(ranking: Ranking, metric: Metric) -> Floats:
    below = precision_divisor(ranking.length, ranking.judgments.relevant(metric.rel), metric.k, metric.word("over"))
    divisor: Floats = np.maximum(below, 1.0)  # a group without rows has no hits, so the quotient is 0
    return divisor


def _ideal_gain(ranking: Ranking, metric: Metric) -> Floats:
    sums = gain_sums(ranking, gain_of(ranking, metric), discount_of(metric["discount"]))
    return GroupValues(sums.of_ideal(metric.k, ideal_of(metric)), sums.distinct).by_group()


_of_gains = HitSum(gain=gain_of, discount=lambda metric: discount_of(metric["discount"]))
HIT_SUMS = {
    "p": HitSum(divisor=_rows_of_precision, given_otherwise=("over",)),
    "r": HitSum(
        divisor=lambda ranking, metric: recall_divisor(
            ranking.judgments.relevant(metric.rel), metric.k, metric.word("over")
        ),
        given_otherwise=("over",),
    ),
    "cg": HitSum(gain=gain_of),
    "dcg": _of_gains,
    "ndcg": replace(_of_gains, divisor=_ideal_gain, given_otherwise=("ideal",)),
    "arhr": HitSum(
        discount=lambda metric: Discount("zipf"),
        divisor=lambda ranking, metric: np.where(ranking.judgments.relevant(metric.rel) > 0, 1.0, np.nan),
    ),
    "rbp": HitSum(
        gain=gain_of,
        discount=lambda metric: Discount(persistence=metric.number("p")),
        scale=lambda metric: metric.number("max_grade") if metric["max_grade"] else 1.0,
    ),
}


def clip_of(metric: Metric) -> float:
    return 0.0 if metric["clip"] is None else metric.number("clip")


class WeighedRows(NamedTuple):
    """The relevant rows, each with the weight 1 / max(propensity, ``clip``). ``rel`` is the lowest relevant label."""

    rel: float | None
    clip: float

    @classmethod
    def of(cls, metric: Metric) -> WeighedRows | None:
        return cls(metric.rel, clip_of(metric)) if ROLE in metric.roles and metric.name in HIT_SUMS else None

    @property
    def states(self) -> WeightStates:
        given = [f"{name}={value:g}" for name, value in zip(self._fields, self, strict=True) if value]
        of = f"relevant({','.join(given)})" if given else "relevant"
        return WeightStates(f"{of} rows", f"{of} 1/propensity", f"{of} 1/propensity squared", f"{of} clipped")


def weight_of_relevant(ranking: Ranking, rel: float | None, clip: float) -> Floats:
    """Return Σ v (see this module) over all relevant rows of each group, in a list or not.

    The highest v are added first.
    """
    credit = ranking.judgments.ideal(Gain("binary", rel, clip=clip))
    return sum_by(credit.group, credit.amount, ranking.groups)


def weighed_hits(ranking: Ranking, metric: Metric) -> tuple[Floats, Floats | float]:
    """Return the sum over the hits of each group, with weights by propensity, and its divisor."""
    own, clip = HIT_SUMS[metric.name], clip_of(metric)
    sums = gain_sums(ranking, replace(own.gain(ranking, metric), clip=clip), own.discount(metric))
    earned = GroupValues(sums.of_list(metric.k), sums.distinct).by_group() / own.scale(metric)
    match metric[PROPENSITY.name]:
        case "ips":
            return earned, own.divisor(ranking, metric)
        case "snips":
            return earned, weight_of_relevant(ranking, metric.rel, clip)
    best = GroupValues(sums.of_ideal(metric.k, "judged"), sums.distinct).by_group()
    return earned, best / own.scale(metric)


def _terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    own = HIT_SUMS[metric.name]
    weighed = replace(own.gain(ranking, metric), clip=clip_of(metric))
    credit, row = gains_of(ranking, weighed), hits_of(ranking, None).row
    discount = own.discount(metric).at(credit.position)
    columns = {
        "weighed gain": spread(ranking, row, credit.amount, 0.0),
        "discount": spread(ranking, row, discount),
        "contribution": spread(ranking, row, credit.amount * discount / own.scale(metric), 0.0),
    }
    columns = {name: within(terms, ranking.stands_at(), metric.k) for name, terms in columns.items()}
    below = weighed_hits(ranking, metric)[1]
    steps = [total("contributions", "contribution"), given("divisor", float(np.broadcast_to(below, 1)[0]))]
    return Arithmetic.of([list_table(ranking, columns)], [*steps, quotient(str(metric), "contributions", "divisor")])


class OwnRanking(NamedTuple):
    """A ranking in place of sums, because groups may share sums, but not a ranking with propensities."""

    ranking: Ranking
    distinct: None = None


def with_propensity(declaration: Declaration) -> Declaration:
    """Return ``declaration``, with the parameters of this module if its metric is a sum over hits."""
    own = HIT_SUMS.get(declaration.name)
    if own is None or not isinstance(declaration, GroupMetric):
        return declaration
    never = declaration.undefined == "never"
    plain_sums, plain_values, plain_terms = declaration.sums, declaration.values, declaration.arithmetic
    assert plain_terms is not None  # noqa: S101 - all of these metrics declare their arithmetic

    def values(sums: Any, metric: Metric) -> Floats:
        if metric[PROPENSITY.name] is None:
            return plain_values(sums, metric)
        return ratio(*weighed_hits(sums.ranking if isinstance(sums, OwnRanking) else sums, metric))

    def sums(ranking: Ranking, metric: Metric) -> Any:
        assert plain_sums is not None  # noqa: S101 - given below
        return plain_sums(ranking, metric) if metric[PROPENSITY.name] is None else OwnRanking(ranking)

    def terms(ranking: Ranking, metric: Metric) -> Arithmetic:
        return plain_terms(ranking, metric) if metric[PROPENSITY.name] is None else _terms(ranking, metric)

    return replace(
        declaration,
        parameters=(*declaration.parameters, PROPENSITY, CLIP),
        undefined=f"{declaration.undefined}{'; propensity=snips or best: R = 0' if never else ''}",
        check=lambda metric: declaration.check(metric) or _why_not_weighed(metric, own),
        unbounded=_unbounded(declaration),
        weight_states=lambda metric: () if (rows := WeighedRows.of(metric)) is None else rows.states.sums,
        values=values,
        sums=None if plain_sums is None else sums,
        arithmetic=terms,
    )


def _unbounded(declaration: GroupMetric) -> Unbounded | None:
    """Return the metrics of ``declaration`` without a highest value, given that hits may count more than 1."""
    plain = declaration.unbounded
    if np.isinf(declaration.highest):
        return plain
    form = "" if plain is None else f"{plain.form}; "

    def holds(metric: Metric) -> bool:
        match metric[PROPENSITY.name]:
            case "ips":
                return True
            case "snips":
                return metric.declaration.defaults.get("gain") is not None and metric["gain"] != "binary"
            case "best":
                return False
        return plain is not None and plain.holds(metric)

    def has_ideal(metric: Metric) -> bool:
        return metric[PROPENSITY.name] is None and plain is not None and plain.has_ideal(metric)

    return Unbounded(f"{form}propensity=ips, or snips where gains may exceed 1", holds, has_ideal)


def _why_not_weighed(metric: Metric, own: HitSum) -> str | None:
    word = metric[PROPENSITY.name]
    if word is None:
        return None if metric["clip"] is None else "gives clip alone: add propensity=ips, snips or best"
    named = next((name for name in own.given_otherwise if name in dict(metric.settings)), None)
    if named is not None and word != "ips":
        return f"gives {named} with propensity={word}, which says itself what is divided by"
    if dict(metric.settings).get(UNJUDGED.name) == "best":
        return f"gives unjudged=best with propensity={word}: the propensity of a row without a label is not read"
    return None
