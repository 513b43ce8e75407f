"""Declarations of metrics of all lists together, computed from how often each item is in the first k rows."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.metrics.catalogue_metric import CatalogueMetric
from sparkrank.metrics.metric import Metric, NeedsOrder
from sparkrank.metrics.parameters import Count
from sparkrank.metrics.precision import REL
from sparkrank.numeric.array_types import Ints
from sparkrank.numeric.elementary import log2


def coverage(exposure: Ints, items: int) -> float:
    """Return the share of the ``items`` items of the catalogue that some list shows; NaN for an empty catalogue."""
    return int(np.count_nonzero(exposure)) / items if items else math.nan


def gini(exposure: Ints, items: int) -> float:
    """Return the Gini coefficient of the exposures of items; 0 means that all items are shown equally often.

    The coefficient is Σ (2j - n - 1) x_j / (n Σ x), where x_j are the exposures in ascending order and n = ``items``
    includes items that are never shown. The result is NaN if all exposures are 0.
    """
    some = np.sort(exposure[exposure > 0]).astype(np.float64)
    if len(some) == 0:
        return math.nan
    place = np.arange(items - len(some) + 1, items + 1, dtype=np.float64)
    return float(np.sum((2 * place - items - 1) * some) / (items * np.sum(some)))


def novelty(exposure: Ints, relevant: Ints, groups: int) -> float:
    """Return the mean of -log2(popularity) over all shown rows, in bits.

    The popularity of an item is the share of groups in which the item is relevant; an item that is relevant in no group
    counts as relevant in one. ``exposure`` and ``relevant`` have one number per item. NaN if all exposures are 0.
    """
    order = np.lexsort((relevant, exposure))  # equal pairs add equal terms: the order of items has no effect on the sum
    weight = exposure[order].astype(np.float64)
    total = float(np.sum(weight))
    if total == 0:
        return math.nan
    information = log2(groups / np.maximum(relevant[order], 1))
    return float(np.sum(weight * information)) / total


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


DECLARATIONS = (
    CatalogueMetric(
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
        value=lambda exposure, relevant, groups, metric: coverage(exposure, _catalogue(exposure, metric)),
    ),
    CatalogueMetric(
        name="gini",
        title="Gini coefficient of the exposure of items: 0 = all shown equally often",
        formula="Σ (2j-n-1)·x_j / (n·Σ x), x_j = how often an item is in the first k, ascending, over the n items of "
        "the catalogue; for tied rows that k cuts, how often on average",
        undefined=NOTHING,
        reference="Gini 1912; Fleder, Hosanagar: Management Science 2009",
        higher_is_better=False,
        parameters=(ITEMS,),
        value=lambda exposure, relevant, groups, metric: gini(exposure, _catalogue(exposure, metric)),
    ),
    CatalogueMetric(
        name="novelty",
        title="mean self-information of the items shown",
        formula="mean over rows within k of -log2(groups in which the item is relevant, at least 1 / groups)",
        undefined=NOTHING,
        reference="Zhou et al.: PNAS 2010; Castells, Vargas, Wang 2011",
        parameters=(REL,),
        highest=math.inf,
        value=lambda exposure, relevant, groups, metric: novelty(exposure, relevant, groups),
    ),
)
