"""The treatment of rows without a label: the metrics ``judged`` and ``unj``, and the assumptions of other metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparkrank.base.errors import MetricError
from sparkrank.metrics.arithmetic import Arithmetic, at_k, given, list_table, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.parameters import TIES, UNJUDGED, WEIGHT, Choice
from sparkrank.metrics.precision import ratio
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.first_rows import first_shares
from sparkrank.ranking.ranking import Ranking


class Assumption(NamedTuple):
    """The grade that a metric assumes for rows without a label. If ``grade`` is None, the metric skips these rows."""

    grade: float | None


def assumption_of(metric: Metric) -> Assumption | None:
    """Return the assumption of ``metric`` about rows without a label (None: the metric has no such setting)."""
    given_word = dict(metric.settings).get(UNJUDGED.name)
    if given_word is None:
        return None
    return Assumption(None if given_word == "drop" else _highest_grade(metric))


def _highest_grade(metric: Metric) -> float:
    """Return the label with which a row adds most to ``metric``."""
    defaults = metric.declaration.defaults
    gain = metric["gain"] if "gain" in defaults else "binary"
    if isinstance(gain, tuple):
        return float(np.argmax(gain))
    if "max_grade" in defaults and metric["max_grade"] is not None:
        return metric.number("max_grade")
    return 1.0 if metric.rel is None else metric.rel


def validate_assumptions(metrics: Iterable[Metric]) -> None:
    """Raise :class:`MetricError` if one of ``metrics`` needs rows without a label, for evaluations that drop such rows.

    An evaluation with ``unjudged=drop`` calls this.
    """
    for metric in metrics:
        if metric.declaration in DECLARATIONS or dict(metric.settings).get(UNJUDGED.name) == "best":
            raise MetricError(f"{metric} is about rows without a label, and unjudged=drop leaves none: leave it out")


def rows_by_label(ranking: Ranking, k: int | None, labelled: bool) -> Floats:
    """Return the share of each ranked row within ``k``, for rows with a label or (``labelled`` is false) without one.

    The share of all other rows is 0. Of tied rows, those with a label come first under ``ties=best`` and last under
    ``ties=worst``.
    """
    flags = ranking.judgments.pooled()[ranking.row]
    blocks = ranking.blocks
    if len(blocks.row) and ranking.ties in ("item", "worst", "best"):
        tied = flags[blocks.row]
        items = []
        if ranking.ties == "item" and ranking.item_order is not None:
            items = [-ranking.item_order(ranking.row[blocks.row])]
        flags[blocks.row] = tied[np.lexsort((~tied if ranking.ties == "best" else tied, *items, blocks.block))]
    of_row: Floats = first_shares(ranking, k) * (flags == labelled)
    return of_row


def judged_share(ranking: Ranking, k: int | None, over: str) -> Floats:
    """Return (rows with a label within k) / (k if ``over="k"``, or rows of the list within k); NaN without rows."""
    count = sum_by(ranking.lists.group, rows_by_label(ranking, k, True), ranking.groups)
    if k is not None and over == "k":
        return count / k
    return ratio(count, ranking.length if k is None else np.minimum(k, ranking.length))


def unjudged_share(ranking: Ranking, k: int | None) -> Floats:
    """Return the number of rows without a label within k, divided by k, or by the list's length (NaN if 0)."""
    count = sum_by(ranking.lists.group, rows_by_label(ranking, k, False), ranking.groups)
    return ratio(count, ranking.length) if k is None else count / k


def _terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    k, is_judged, length = metric.k, metric.name == "judged", given("length of the list", ranking.length[0])
    column = "judged" if is_judged else "not judged"
    counted = total(at_k(f"rows {column}", k), column)
    if k is None:
        below = [length]
    elif is_judged and metric.word("over") == "retrieved":
        below = [length, step("min(k, length)", "min", float(k), length.name)]
    else:
        below = [given("k", k)]
    table = list_table(ranking, {column: rows_by_label(ranking, k, is_judged)})
    return Arithmetic.of([table], [counted, *below, quotient(str(metric), counted.name, below[-1].name)])


_NO_ASSUMPTION = ((UNJUDGED.name, "it counts rows by whether they have a label"),)


def _why_not_checked(metric: Metric) -> str | None:
    return "counts rows by whether they have a label, which checked_by does not correct" if metric.checked_by else None


DECLARATIONS = (
    GroupMetric(
        name="judged",
        title="share of the first rows that have a label",
        formula="rows of the first k with a label / min(k, length of the list); over=k: / k",
        undefined="the list is empty, unless over=k with a cut-off",
        reference="ir_measures: Judged; a label below 0 is a label, as there",
        parameters=(
            Choice(
                "over",
                "retrieved",
                "denominator: retrieved = min(k, length of the list); k",
                choices=("retrieved", "k"),
            ),
        ),
        common=(TIES, WEIGHT),
        refused=_NO_ASSUMPTION,
        check=_why_not_checked,
        values=lambda ranking, metric: judged_share(ranking, metric.k, metric.word("over")),
        arithmetic=_terms,
        interval="wilson",
    ),
    GroupMetric(
        name="unj",
        title="rows without a label among the first k, over k",
        formula="rows of the first k without a label / k; without k, of all rows / length of the list",
        undefined="the list is empty and there is no cut-off",
        reference="NIST trec_eval 10: unj, which takes labels of -1 and -2 for none",
        higher_is_better=False,
        common=(TIES, WEIGHT),
        refused=_NO_ASSUMPTION,
        check=_why_not_checked,
        values=lambda ranking, metric: unjudged_share(ranking, metric.k),
        arithmetic=_terms,
        interval="wilson",
    ),
)
