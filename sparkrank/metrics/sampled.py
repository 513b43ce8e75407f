"""Declarations of metrics among all items, estimated from lists of one relevant item and a few sampled items."""

from __future__ import annotations

from functools import partial

import numpy as np

from sparkrank.metrics.metric import Metric, NeedsOrder, Unbounded
from sparkrank.metrics.parameters import Choice, Count, Number
from sparkrank.metrics.positions import MOST_ITEMS, MOST_SAMPLED
from sparkrank.metrics.precision import REL
from sparkrank.metrics.sampled_metric import BY, GAMMA, ITEMS, SAMPLED, SampledMetric
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.elementary import log2

LEAST_GAMMA = 1e-6  # with a smaller gamma, least squares lose all digits
PARAMETERS = (
    Count(
        SAMPLED,
        None,
        "m, how many other items were drawn at random for each list",
        least=1,
        most=MOST_SAMPLED,
        required=True,
    ),
    Count(ITEMS, None, "I, how many items there are to draw from", least=2, most=MOST_ITEMS, required=True),
    Choice(
        BY,
        "em",
        "em = the most likely distribution of ranks; minimal_bias = what each rank counts so that bias and variance "
        "are least",
        choices=("em", "minimal_bias"),
    ),
    Number(GAMMA, 0.1, "with by=minimal_bias, the weight of the variance", above=LEAST_GAMMA, below=1.0),
    REL,
)
REFERENCE = (
    "Jin et al., AAAI 2021, and Li et al., AAAI 2023: 300 steps of EM; by=minimal_bias: Krichene, Rendle, KDD 2020"
)
RANKS = (
    "p = the distribution of ranks R among all I items; of more than 100,000 items, ranks above 10,000 in ranges of a "
    "thousandth, each as its middle rank"
)


def check(metric: Metric) -> str | None:
    """Return the reason why ``metric`` is meaningless, or None."""
    missing = next((name for name in (SAMPLED, ITEMS) if metric[name] is None), None)
    if missing is not None:
        return f"lacks {missing}: write {metric.declaration.called}(sampled=m,items=I), m others drawn from I items"
    if not metric.number(ITEMS) > metric.number(SAMPLED):
        return f"draws {metric[SAMPLED]} others from {metric[ITEMS]} items: items must be more"
    if metric.word(BY) == "em" and GAMMA in dict(metric.settings):
        return "gives gamma, which by=minimal_bias alone reads"
    return None


def within(ranks: Floats, k: int | None, gains: Floats) -> Floats:
    """Return ``gains`` at ranks up to ``k``, and 0 at later ranks."""
    return gains if k is None else np.where(ranks <= k, gains, 0.0)


of_ranks = partial(
    SampledMetric,
    undefined="no group has a list of one relevant row and m others",
    reference=REFERENCE,
    parameters=PARAMETERS,
    check=check,
    needs_order=NeedsOrder("a rank to be counted is that of one order"),
    interval="logit",
    unbounded=Unbounded("by=minimal_bias", lambda metric: metric.word(BY) == "minimal_bias", both_ways=True),
)

DECLARATIONS = (
    of_ranks(
        name="sampled_r",
        called="r",
        title="recall among all items, estimated from sampled candidates",
        formula=f"Σ p_R over R <= k; {RANKS}",
        gain=lambda ranks, metric: within(ranks, metric.k, np.ones(len(ranks))),
    ),
    of_ranks(
        name="sampled_hit",
        called="hit",
        title="hit rate among all items, estimated from sampled candidates",
        formula=f"Σ p_R over R <= k; {RANKS}",
        gain=lambda ranks, metric: within(ranks, metric.k, np.ones(len(ranks))),
    ),
    of_ranks(
        name="sampled_rr",
        called="rr",
        title="reciprocal rank among all items, estimated from sampled candidates",
        formula=f"Σ p_R / R over R <= k; {RANKS}",
        gain=lambda ranks, metric: within(ranks, metric.k, 1 / ranks),
    ),
    of_ranks(
        name="sampled_ndcg",
        called="ndcg",
        title="NDCG among all items, estimated from sampled candidates",
        formula=f"Σ p_R / log2(R + 1) over R <= k; {RANKS}",
        gain=lambda ranks, metric: within(ranks, metric.k, 1 / log2(ranks + 1)),
    ),
)
