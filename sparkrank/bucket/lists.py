"""The list of one model in a bucket, and the groups in which the model is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.bucket.impressions import WEIGHT, score_column, value_column
from sparkrank.bucket.joining import Counts, JudgedRows
from sparkrank.bucket.twins import Twins
from sparkrank.metrics import Plan
from sparkrank.metrics.policy_value import OF_ACTIONS
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.segments import highest_of_each, taken
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Scores


class ListedRows(NamedTuple):
    """The rows of a bucket that are in the list of one model.

    ``scores`` contains the score of each listed row. ``retrieved`` contains the indices of these rows (None if all are
    listed). ``best`` contains the rows that get credit for their items (None if all listed rows do).
    """

    scores: Scores
    retrieved: Ints | None
    best: Ints | None = None

    def judgments(self, judged: JudgedRows, shared: Judgments) -> Judgments:
        """Return ``shared``, or separate judgments if the list repeats items and the repeats get no credit."""
        if self.best is None:
            return shared
        listed = np.arange(len(self.scores)) if self.retrieved is None else self.retrieved
        return judged.credited(shared, listed, self.best)


def listed_rows(judged: JudgedRows, index: int, model: str, plan: Plan, counts: Counts) -> ListedRows:
    """Return the list of the model at ``index``. Add the number of repeated items to ``counts``.

    With ``duplicates=first`` in ``plan``, the list lacks repeated items; with ``once``, they get no credit.
    """
    column = score_column(index)
    retrieved = judged.rows.rows_with(column)
    listed = ListedRows(judged.rows.present(column), retrieved)
    if judged.twins is None:
        return listed
    twins = judged.twins if retrieved is None else judged.twins.among(retrieved)
    counts[checks.REPEATED_ROWS, model] = len(twins.rows) - twins.count
    if not twins.count or plan.definitions.duplicates not in ("first", "once"):
        return listed
    # values decide last, so that the order of the input does not
    by: list[Codes | Floats] = [judged.rows.order_of(value_column(place)) for place, _ in plan.row_values]
    by += [judged.rows.floats(WEIGHT)] if plan.weighted else []
    by += [judged.rows.floats(name) for name in OF_ACTIONS if plan.policy_values and name in judged.rows]
    best = _best_of_each(twins, [*(taken(values, retrieved) for values in by), listed.scores])
    rows = best if retrieved is None else retrieved[best]
    if plan.definitions.duplicates == "once":
        return ListedRows(listed.scores, retrieved, rows)
    return ListedRows(listed.scores[best], rows)


def _best_of_each(twins: Twins, by: Sequence[NDArray[np.generic]]) -> Ints:
    """Return the rows without twins, and of each set of twins (rows of the same group and item) the highest row.

    The last array of ``by`` says which is the highest. The one before it decides between equal rows, and so on.
    """
    stays = np.ones(len(by[-1]), np.bool_)
    stays[twins.rows] = False
    of_twins = (values[twins.rows] for values in by)
    stays[twins.rows[highest_of_each(twins.code, twins.count, *of_twins)]] = True
    return np.flatnonzero(stays)


def chosen_groups(judged: JudgedRows, index: int, model: str, plan: Plan, counts: Counts) -> Flags | None:
    """Return flags of the groups in which the model at ``index`` is evaluated (None: all). Add others to ``counts``."""
    definitions = plan.definitions
    if not definitions.chooses_groups or judged.with_truth is None:
        return None
    chosen = np.ones(judged.groups, np.bool_)
    if definitions.population in ("truth", "both"):
        chosen &= judged.with_truth
    if definitions.population in ("lists", "both") or definitions.unretrieved == "skip":
        chosen &= judged.with_list[index]
    counts[checks.GROUPS_LEFT_OUT, model] = int(np.count_nonzero(~chosen))
    return chosen
