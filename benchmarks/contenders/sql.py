"""The metrics of groups in SQL that DuckDB and Spark both read.

It works on one row per relevant impression with its position ``i`` in the list, the ``hits`` through it, its ``gain``
and its position ``j`` in the ideal list. Rows where these are null may be there too and change nothing. Where rows
hold the positions of several models side by side, ``i`` and ``hits`` have a suffix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.contenders.contender import split

AGGREGATES = {
    "first_hit": "min({i})",
    "rank_sum": "sum({i})",
    "precision": "sum({hits} / {i})",
    "hits_{k}": "count(CASE WHEN {i} <= {k} THEN 1 END)",
    "precision_{k}": "sum(CASE WHEN {i} <= {k} THEN {hits} / {i} END)",
    "dcg_{k}": "sum(CASE WHEN {i} <= {k} THEN gain / log2({i} + 1) END)",
    "ideal_{k}": "sum(CASE WHEN {j} <= {k} THEN gain / log2({j} + 1) END)",
}


class Formula(NamedTuple):
    """The value of a group, NULL where it is undefined, and the aggregates it is made of."""

    value: str
    aggregates: tuple[str, ...]


_PAIRS = "(n_rows - n_relevant) * n_relevant"
_AUC = Formula(
    f"({_PAIRS} + n_relevant * (n_relevant + 1) / 2 - rank_sum) / nullif({_PAIRS}, 0)",
    ("rank_sum",),
)

FORMULAS = {
    "ndcg": Formula("coalesce(dcg_{k}, 0) / nullif(ideal_{k}, 0)", ("dcg_{k}", "ideal_{k}")),
    "p": Formula("coalesce(hits_{k}, 0) / {k}", ("hits_{k}",)),
    "r": Formula("hits_{k} / nullif(n_relevant, 0)", ("hits_{k}",)),
    "hit": Formula("CAST(first_hit <= {k} AS DOUBLE)", ("first_hit",)),
    "ap": Formula("precision / nullif(n_relevant, 0)", ("precision",)),
    "ap(over=min_k_relevant)": Formula(
        "coalesce(precision_{k}, 0) / nullif(least({k}, n_relevant), 0)", ("precision_{k}",)
    ),
    "rr": Formula("1 / first_hit", ("first_hit",)),
    "group_auc": _AUC,
    "gauc": _AUC,
}


def column(metric: str) -> str:
    """The metric as a column name that needs no quotes."""
    return re.sub(r"\W+", "_", metric)


def of_groups(metrics: Sequence[str]) -> list[str]:
    """Those of ``metrics`` that are of a group, not of the day."""
    return [metric for metric in metrics if split(metric)[0] in FORMULAS]


def aggregates(
    metrics: Sequence[str], graded: bool, expressions: Mapping[str, str] = AGGREGATES, suffix: str = ""
) -> str:
    """The select list of all aggregates that ``metrics`` need, each once."""
    i, hits = f"i{suffix}", f"hits{suffix}"
    named = {}
    for metric in of_groups(metrics):
        name, k = split(metric)
        for aggregate in FORMULAS[name].aggregates:
            # Where all gains are equal, the ideal position of a hit is its number among the hits.
            named[aggregate.format(k=k)] = expressions[aggregate].format(k=k, i=i, hits=hits, j="j" if graded else hits)
    return ", ".join(f"{expression} AS {name}" for name, expression in named.items())


def values(metrics: Sequence[str]) -> str:
    """The select list of the metrics of a group, from its aggregates."""
    listed = []
    for metric in of_groups(metrics):
        name, k = split(metric)
        listed.append(f"{FORMULAS[name].value.format(k=k)} AS {column(metric)}")
    return ", ".join(listed)


def means(metrics: Sequence[str]) -> list[str]:
    """The means over the group table, groups where a metric is undefined left out."""
    listed = []
    for metric in of_groups(metrics):
        name = column(metric)
        weighted = f"sum({name} * n_rows) / sum(CASE WHEN {name} IS NOT NULL THEN n_rows END)"
        listed.append(f"{weighted if metric == 'gauc' else f'avg({name})'} AS {name}")
    return listed
