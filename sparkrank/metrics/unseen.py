"""The declaration of ``new``, the share of rows of a list with an item that the group has not had before."""

from __future__ import annotations

import numpy as np

from sparkrank.metrics.arithmetic import Arithmetic, at_k, given, list_table, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.parameters import Choice
from sparkrank.metrics.precision import ratio
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.first_rows import first_shares
from sparkrank.ranking.ranking import Ranking


def new_rows(ranking: Ranking, k: int | None) -> Floats:
    """Return the share within ``k`` of each ranked row with a new item: 0, 1, or between for rows tied across k."""
    return first_shares(ranking, k) * (1.0 - ranking.columns[INTERACTIONS][ranking.row])


def new_share(ranking: Ranking, k: int | None, over: str) -> Floats:
    """Return (new rows within k) / k or, if ``over="retrieved"``, / (rows of the list within k) (NaN if empty)."""
    count = sum_by(ranking.lists.group, new_rows(ranking, k), ranking.groups)
    if k is None or over == "retrieved":
        return ratio(count, ranking.length if k is None else np.minimum(k, ranking.length))
    return count / k


def _terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    k, length = metric.k, given("length of the list", ranking.length[0])
    counted = total(at_k("new rows", k), "new")
    if k is None:
        below = [length]
    elif metric.word("over") == "k":
        below = [given("k", k)]
    else:
        below = [length, step("min(k, length)", "min", float(k), length.name)]
    columns = {"new": new_rows(ranking, k)}
    return Arithmetic.of(
        [list_table(ranking, columns)], [counted, *below, quotient(str(metric), counted.name, below[-1].name)]
    )


DECLARATIONS = (
    GroupMetric(
        name="new",
        title="share of a list that its group has not had before",
        formula="rows of the first k whose item the group does not have in the interactions / k; without k, "
        "of all rows / length of the list",
        undefined="the list is empty, with over=retrieved or without k",
        reference="Vargas, Castells: RecSys 2011 (unseen items); Novelty of RePlay",
        parameters=(
            Choice(
                "over",
                "k",
                "denominator: k; retrieved = min(k, length of the list)",
                choices=("k", "retrieved"),
            ),
        ),
        reads_labels=False,
        reads_interactions=True,
        values=lambda ranking, metric: new_share(ranking, metric.k, metric.word("over")),
        arithmetic=_terms,
        interval="wilson",
    ),
)
