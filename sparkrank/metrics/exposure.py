"""Declarations of metrics of all lists together, computed from the exposure (shown rows) of items or values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sparkrank.metrics.attention_metric import AttentionMetric
from sparkrank.metrics.catalogue_metric import CatalogueMetric
from sparkrank.metrics.fairness import FAIRNESS_PARAMETERS, why_no_shares
from sparkrank.metrics.gain import DISCOUNT, why_no_discounts
from sparkrank.metrics.metric import Metric, NeedsOrder, Unbounded
from sparkrank.metrics.parameters import Choice, Count
from sparkrank.metrics.precision import REL
from sparkrank.numeric.array_types import Ints
from sparkrank.numeric.elementary import log2
from sparkrank.states.items import UNIT


def coverage(exposure: Ints, items: int) -> float:
    """Return the share of the ``items`` items of the catalogue that some list shows; NaN for an empty catalogue."""
    return int(np.count_nonzero(exposure)) / items if items else math.nan


def gini(exposure: Ints, items: int) -> float:
    """Return the Gini coefficient of the exposures of items; it is 0 if all items are shown equally often.

    The coefficient is Σ (2j - n - 1) x_j / (n Σ x), where x_j are the exposures in ascending order. n = ``items``
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
    counts as relevant in one. ``exposure`` and ``relevant`` contain one number per item. The result is NaN if all
    exposures are 0.
    """
    order = np.lexsort((relevant, exposure))  # equal pairs add equal terms: the order of items has no effect on the sum
    weight = exposure[order].astype(np.float64)
    total = float(np.sum(weight))
    if total == 0:
        return math.nan
    information = log2(groups / np.maximum(relevant[order], 1))
    return float(np.sum(weight * information)) / total


def entropy(exposure: Ints, items: int | None) -> float:
    """Return the entropy -Σ p log2 p, where p are the items' shares of all exposure; NaN if all exposures are 0.

    With ``items``, the number of items of the catalogue, the entropy is divided by its maximum, log2(items). The result
    is then NaN for fewer than two items.
    """
    some = np.sort(exposure[exposure > 0]).astype(np.float64)  # the order of items has no effect on the sum
    if len(some) == 0:
        return math.nan
    share = some / np.sum(some)
    bits = max(0.0, -float(np.sum(share * log2(share))))  # of two zeros the first, which has no sign
    if items is None:
        return bits
    return min(bits / float(log2(np.array([items], np.float64))[0]), 1.0) if items > 1 else math.nan


HALF = 32  # bits of half a product of counts: the halves are added up separately, so that 64 bits hold each sum


def personalization(exposure: Ints, groups: int, k: int | None) -> float:
    """Return the mean share of a list's rows that another list lacks, over all pairs of lists; NaN without pairs.

    The share is 1 - Σ c(c-1) / (places · (groups - 1)). c is the number of lists that show an item, and there are k
    places for each list. Without ``k``, the rows of all lists are the places. All sums are exact.
    """
    lists = exposure // UNIT
    pairs = lists * (lists - 1)
    shared = (int(np.sum(pairs >> HALF)) << HALF) + int(np.sum(pairs & ((1 << HALF) - 1)))
    places = (int(np.sum(lists)) if k is None else k * groups) * (groups - 1)
    return (places - shared) / places if places > 0 else math.nan


MOST_ITEMS = 10**12
ITEMS = Count(
    "items",
    None,
    "items of the catalogue, if more than the distinct items of the rows evaluated, listed or not",
    least=1,
    most=MOST_ITEMS,
)
NOTHING = "no row is listed"
BY = Choice("by", "share", "share of the catalogue, or count of items", choices=("share", "count"), later=True)
OF_RELEVANT = Choice(
    "of",
    "relevant",
    "the popularity of an item: the groups in which it is relevant; users or rows, those of the interactions, make "
    "another metric, novelty(of=users|rows)",
    choices=("relevant",),
    later=True,
)
OF_THE_PAST = "with of=users or of=rows it does, where the popularity is that of the interactions"
ITEMS_OF_UNIT = "gives items with scale=bits: only scale=unit is relative to the items of the catalogue"
ATTENTION = replace(
    DISCOUNT,
    default="none",
    doc="of position i, by which a row counts less than the first: none; log2 = 1/log2(i+1); zipf (or inverse) = 1/i; "
    "or one for each of the first positions, which do not grow, 0 beyond",
    choices=("none", *DISCOUNT.choices),
)
SCALE = Choice(
    "scale", "bits", "bits, or unit = divided by log2 of the items of the catalogue", choices=("bits", "unit")
)


def _catalogue(exposure: Ints, metric: Metric) -> int:
    return max(len(exposure), int(metric.number("items")) if metric["items"] is not None else 0)


DECLARATIONS = (
    CatalogueMetric(
        name="coverage",
        title="share of the catalogue that some list shows",
        formula="items in the first k of some list / items of the catalogue; by=count: their number",
        undefined="the catalogue has no item; by=count: never",
        reference="Ge, Delgado-Battenfeld, Jannach: RecSys 2010 (catalogue coverage)",
        aliases=("catalog_coverage",),
        parameters=(ITEMS, BY),
        unbounded=Unbounded("by=count", lambda metric: metric["by"] == "count", has_ideal=lambda metric: False),
        check=lambda metric: (
            "gives items with by=count, which divides by none" if metric["items"] and metric["by"] == "count" else None
        ),
        needs_order=NeedsOrder(
            "the chance that no list shows an item is a product over lists", "@k", lambda metric: metric.k is not None
        ),
        value=lambda exposure, relevant, groups, metric: (
            float(np.count_nonzero(exposure))
            if metric["by"] == "count"
            else coverage(exposure, _catalogue(exposure, metric))
        ),
    ),
    CatalogueMetric(
        name="gini",
        title="Gini coefficient of the exposure of items: 0 = all shown equally often",
        formula="Σ (2j-n-1)·x_j / (n·Σ x), x_j = how often an item is in the first k, ascending, over the n items of "
        "the catalogue; with a discount, x_j = Σ of the discounts of its positions; for tied rows, on average",
        undefined=NOTHING,
        reference="Gini 1912; Fleder, Hosanagar: Management Science 2009; discount: Raj, Ekstrand: SIGIR 2022",
        higher_is_better=False,
        parameters=(ITEMS, ATTENTION),
        check=why_no_discounts,
        value=lambda exposure, relevant, groups, metric: gini(exposure, _catalogue(exposure, metric)),
    ),
    CatalogueMetric(
        name="novelty",
        title="mean self-information of the items shown",
        formula="mean over rows within k of -log2(groups in which the item is relevant, at least 1 / groups)",
        undefined=NOTHING,
        reference="Zhou et al.: PNAS 2010; Castells, Vargas, Wang 2011",
        parameters=(OF_RELEVANT, REL),
        others=(("of=users", "past_novelty"), ("of=rows", "past_novelty")),
        refused=(*CatalogueMetric.refused, *((name, OF_THE_PAST) for name in ("over", "scale"))),
        highest=math.inf,
        value=lambda exposure, relevant, groups, metric: novelty(exposure, relevant, groups),
    ),
    CatalogueMetric(
        name="entropy",
        title="entropy of the exposure of items: the higher, the more evenly items are shown",
        formula="-Σ p·log2 p, p = x / Σ x, x = how often an item is in the first k, for tied rows that k cuts on "
        "average; scale=unit: over log2 of the items of the catalogue",
        undefined=f"{NOTHING}; scale=unit: or the catalogue has one item",
        reference="Shannon: Bell System Technical Journal 1948",
        aliases=("shannon_entropy",),
        others=(("by", "category_entropy"),),
        parameters=(SCALE, ITEMS),
        unbounded=Unbounded("scale=bits", lambda metric: metric["scale"] == "bits"),
        check=lambda metric: ITEMS_OF_UNIT if metric["items"] is not None and metric["scale"] == "bits" else None,
        value=lambda exposure, relevant, groups, metric: entropy(
            exposure, _catalogue(exposure, metric) if metric["scale"] == "unit" else None
        ),
    ),
    CatalogueMetric(
        name="personalization",
        title="share of a list that another list does not have",
        formula="1 - Σ c(c-1) / (k·G(G-1)), c = how many of the G lists show an item in their first k; without @k: "
        "1 - Σ c(c-1) / ((G-1)·Σ c)",
        undefined="fewer than two groups; without @k: or no row is listed",
        reference="sparkrank's own form of the mean over pairs of lists; of full lists that of evidently, and jurity's "
        "inter-list diversity",
        aliases=("personalisation",),
        counts_lists=True,
        needs_order=NeedsOrder(
            "the chance that two lists both show an item is a product", "@k", lambda metric: metric.k is not None
        ),
        value=lambda exposure, relevant, groups, metric: personalization(exposure, groups, metric.k),
    ),
    AttentionMetric(
        name="exposure_gap",
        title="distance between the attention that values such as providers get in all lists and what they are due",
        formula="distance of E and T over the values v of a column: E_v = the share of Σ d_i over the first k of all "
        "lists that rows of v have, for tied rows on average, T_v = its share of all relevant rows, of the items "
        "of the catalog or of the rows of the interactions; rows without a value are left out",
        undefined="no row in the first k of a list has a value and a discount above 0, or no row or item of the target "
        "has a value",
        reference="Raj, Ekstrand: SIGIR 2022; Sapiezynski et al.: WWW 2019 companion",
        parameters=FAIRNESS_PARAMETERS,
        higher_is_better=False,
        check=why_no_shares,
    ),
)
