"""The rows of a bucket with one of several labels. Metrics may keep only rows that are relevant by another label."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import paired
from sparkrank.bucket.grouping import Groups
from sparkrank.bucket.impressions import LABEL, label_column
from sparkrank.bucket.joining import Counts, JudgedRows, judge
from sparkrank.bucket.past import excluded_rows
from sparkrank.metrics import Plan
from sparkrank.metrics.labels import Judging
from sparkrank.numeric.array_types import Flags, Ints
from sparkrank.numeric.segments import count_by
from sparkrank.ranking.judgments import is_relevant

FIRST_LABEL = label_column(0)  # the first label, in rows whose label is another


class RowsOfLabel(NamedTuple):
    """The ``rows`` of a bucket with the label that some metrics read, and the ``groups`` of the rows.

    ``whole`` contains the bucket's group for each of ``groups``, or is None if no row is left out.
    """

    rows: BucketRows
    groups: Groups
    whole: Ints | None


def column_of(label: str, plan: Plan) -> str:
    return label_column(plan.further_labels[label]) if label in plan.further_labels else LABEL


def label_columns(plan: Plan) -> list[str]:
    """Return the bucket columns of the labels that metrics read."""
    return [LABEL, *map(label_column, plan.further_labels.values())]


def rows_of_label(rows: BucketRows, groups: Groups, judging: Judging, plan: Plan) -> RowsOfLabel:
    """Return ``rows`` and ``groups`` with the label of ``judging``.

    If ``judging`` names a label ``among``, only rows with an item relevant by ``among`` remain.
    """
    kept = None if judging.among is None else _among(rows, groups, column_of(judging.among, plan), plan)
    label = read_label(rows, judging, plan)
    table = rows.table.set_column(rows.table.column_names.index(LABEL), LABEL, label)
    if plan.labels[0] in plan.checking_labels:
        table = table.append_column(FIRST_LABEL, rows.table[LABEL])
    if kept is None:
        return RowsOfLabel(BucketRows(table), groups, None)
    whole, codes = np.unique(groups.codes[kept].astype(np.int64), return_inverse=True)
    own = BucketRows(table.filter(pa.array(kept)))
    return RowsOfLabel(own, Groups(codes.astype(np.int32), len(whole)), whole)


def rows_checked_by(label: str, judged: JudgedRows, plan: Plan) -> tuple[JudgedRows, Flags]:
    """Return the rows of ``judged`` with another ``label``, and flags of the groups with this label in every row."""
    column = label_column(plan.further_labels[label]) if label in plan.further_labels else FIRST_LABEL
    table = judged.rows.table
    table = table.set_column(table.column_names.index(LABEL), LABEL, table[column])
    unused: Counts = Counter()
    checked = judge(BucketRows(table), Groups(judged.codes, judged.groups), plan, unused)
    whole = count_by(judged.codes, judged.groups) > 0
    if checked.with_label is not None:
        whole[judged.codes[~checked.with_label]] = False
    return checked, whole


def count_labels(rows: BucketRows, plan: Plan, counts: Counts) -> None:
    """Add the number of rows with each label to ``counts``, if metrics read several, and of rows ``among`` a label."""
    for name in (plan.labels[0], *plan.further_labels) if plan.further_labels else ():
        column = rows.table[column_of(name, plan)]
        counts[checks.with_label(name), ""] = len(column) - column.null_count
    for name in {judging.among for judging in plan.judgings if judging.among is not None}:
        relevant = is_relevant(rows.labels(column_of(name, plan)), None)
        counts[checks.among_label(name), ""] = int(np.count_nonzero(relevant))


def _among(rows: BucketRows, groups: Groups, column: str, plan: Plan) -> Flags:
    """Flag the rows that are not excluded and have a label above 0 in ``column``, or the item of such a row.

    The other row is of the same group.
    """
    kept = is_relevant(rows.labels(column), None) & ~excluded_rows(rows, plan)
    if not plan.needs_pairs:
        return kept
    pair = paired(groups.codes, rows.items()[0])
    has_one = np.zeros(int(pair.max(initial=-1)) + 1, np.bool_)
    has_one[pair[kept]] = True
    return has_one[pair]


def read_label(rows: BucketRows, judging: Judging, plan: Plan) -> pa.ChunkedArray:
    """Return the column of labels that metrics with ``judging`` read: one label, or a weighted sum of several."""
    if judging.label is None:
        return rows.table[LABEL]
    if judging.label in plan.labels:
        return rows.table[column_of(judging.label, plan)]
    return _weighted({column_of(name, plan): weight for name, weight in judging.weights.items()}, rows)


def _weighted(weights: dict[str, float], rows: BucketRows) -> pa.ChunkedArray:
    """Return the sum of the labels above 0 times their ``weights`` (by column); null in a row without any label."""
    total, valid = np.zeros(len(rows)), np.zeros(len(rows), np.bool_)
    for column, weight in weights.items():
        total += weight * np.maximum(rows.labels(column), 0).astype(np.float64)
        own = rows.valid(column)
        valid |= True if own is None else own
    return pa.chunked_array([pa.array(total, mask=None if valid.all() else ~valid)])
