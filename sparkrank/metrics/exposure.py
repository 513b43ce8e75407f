"""Declarations of the properties of lists as a whole; their kernels are in :mod:`sparkrank.kernels.exposure`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sparkrank.kernels import exposure as kernel
from sparkrank.metrics.declaration import ListMetric, NeedsOrder
from sparkrank.metrics.parameters import Count
from sparkrank.metrics.precision import REL

if TYPE_CHECKING:
    from sparkrank.kernels.order import Ints
    from sparkrank.metrics.metric import Metric

MOST_ITEMS = 10**12
ITEMS = Count(
    "items",
    None,
    "items of the catalogue, if more than the distinct items of the rows evaluated, listed or not",
    least=1,
    most=MOST_ITEMS,
)
NOTHING = "no row is listed"


def _catalogue(exposure: Ints, metric: Metric) -> int:
    return max(len(exposure), int(metric.number("items")) if metric["items"] is not None else 0)


COVERAGE = ListMetric(
    name="coverage",
    title="share of the catalogue that some list shows",
    formula="items in the first k of some list / items of the catalogue",
    undefined="the catalogue has no item",
    reference="Ge, Delgado-Battenfeld, Jannach: RecSys 2010 (catalogue coverage)",
    aliases=("catalog_coverage",),
    parameters=(ITEMS,),
    needs_order=NeedsOrder(
        "the chance that no list shows an item is a product over lists", "@k", lambda metric: metric.k is not None
    ),
    value=lambda exposure, relevant, groups, metric: kernel.coverage(exposure, _catalogue(exposure, metric)),
)

GINI = ListMetric(
    name="gini",
    title="Gini's coefficient of the exposure of items: 0 = all shown equally often",
    formula="Σ (2j-n-1)·x_j / (n·Σ x), x_j = times that an item stands in the first k, ascending, over n items of the "
    "catalogue; of tied rows that k cuts the expected times",
    undefined=NOTHING,
    reference="Gini 1912; Fleder, Hosanagar: Management Science 2009",
    higher_is_better=False,
    parameters=(ITEMS,),
    value=lambda exposure, relevant, groups, metric: kernel.gini(exposure, _catalogue(exposure, metric)),
)

NOVELTY = ListMetric(
    name="novelty",
    title="mean self-information of the items shown",
    formula="mean over rows within k of -log2(groups in which the item is relevant, at least 1 / groups)",
    undefined=NOTHING,
    reference="Zhou et al.: PNAS 2010; Castells, Vargas, Wang 2011",
    parameters=(REL,),
    highest=math.inf,
    value=lambda exposure, relevant, groups, metric: kernel.novelty(exposure, relevant, groups),
)

DECLARATIONS = (COVERAGE, GINI, NOVELTY)
