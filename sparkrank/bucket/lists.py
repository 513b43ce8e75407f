"""The list of one model in a bucket, and the groups in which the model is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.impressions import WEIGHT, score_column, value_column
from sparkrank.bucket.joining import Counts, JudgedRows
from sparkrank.bucket.twins import Twins
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.segments import highest_of_each, taken
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Scores


class ListedRows(NamedTuple):
    """The rows of a bucket that are in the list of one model.

    ``scores`` has the score of each listed row. ``retrieved`` has the indices of these rows (None if all are listed).
    ``best`` has the rows that get credit for their items (None if all listed rows do).
    """

    scores: Scores
    retrieved: Ints | None
    best: Ints | None = None

    def judgments(self, judged: JudgedRows, shared: Judgments, references: Mapping[str, Floats]) -> Judgments:
        """Return ``shared``, or separate judgments if the list repeats items and the repeats get no credit."""
        if self.best is None:
            return shared
        listed = np.arange(len(self.scores)) if self.retrieved is None else self.retrieved
        return judged.credited(references, listed, self.best)


def listed_rows(judged: JudgedRows, index: int, model: str, plan: Plan, counts: Counts) -> ListedRows:
    """Return the list of the ``index``-th model. If ``plan`` has ``duplicates=first``, repeated items are removed."""
    column = score_column(index)
    retrieved = judged.rows.rows_with(column)
    listed = ListedRows(judged.rows.present(column), retrieved)
    if judged.twins is None:
        return listed
    twins = judged.twins if retrieved is None else judged.twins.among(retrieved)
    counts[checks.REPEATED_ROWS, model] = len(twins.rows) - twins.count
    if not twins.count or plan.definitions.duplicates not in ("first", "once"):
        return listed
    weights = [judged.rows.floats(WEIGHT)] if plan.weighted else []
    others = [taken(column, retrieved) for column in (*_values(judged.rows, plan), *weights)]
    best = _best_of_each(twins, listed.scores, others)
    rows = best if retrieved is None else retrieved[best]
    if plan.definitions.duplicates == "once":
        return ListedRows(listed.scores, retrieved, rows)
    return ListedRows(listed.scores[best], rows)


def _values(rows: BucketRows, plan: Plan) -> Iterator[Codes | Floats]:
    for index, value in enumerate(plan.value_columns):
        name = value_column(index)
        yield rows.floats(name) if value.kind == "number" else rows.places(name)


def _best_of_each(twins: Twins, scores: Scores, others: Sequence[NDArray[np.generic]]) -> Ints:
    """Return the rows without twins, and the best row of each set of twins by score, then by the last of ``others``."""
    by = [values[twins.rows] for values in (*others, scores)]
    stays = np.ones(len(scores), np.bool_)
    stays[twins.rows] = False
    stays[twins.rows[highest_of_each(twins.code, twins.count, *by)]] = True
    return np.flatnonzero(stays)


def chosen_groups(judged: JudgedRows, index: int, model: str, plan: Plan, counts: Counts) -> Flags | None:
    """Flag the groups in which the ``index``-th model is evaluated. None means all groups."""
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
