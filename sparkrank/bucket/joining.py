"""The rows of a bucket with their judgments: labels of their own, or those of a truth that stands beside the lists.

Lists and truth arrive as rows of one table, told apart by a column. Truth whose item stands in a list of its group
gives its label to the list rows and goes; the rest stays, judged and not retrieved: a full outer join on (group, item)
inside the bucket, by the numbers of the pairs (90 ns a row, most of it to number them). An item counts once in R and in
the ideal list, however often it was listed or given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import checks
from sparkrank.bucket.grouping import Groups, encode, paired
from sparkrank.bucket.impressions import ITEM, LABEL, TRUTH, as_numpy, judged_rows, labels_of, score_columns
from sparkrank.bucket.unmatched import unmatched_rows
from sparkrank.metrics import Plan
from sparkrank.numeric.segments import highest_of_each
from sparkrank.numeric.types import Codes, Flags, Floats, Ints
from sparkrank.ranking.judgments import Judgments
from sparkrank.states.unmatched import LISTS, UnmatchedRow
from sparkrank.states.unmatched import TRUTH as TRUTH_SIDE

Counts = Counter[tuple[str, str]]


@dataclass(frozen=True)
class JudgedRows:
    """The rows to evaluate, with the group (``codes``), the label and whether it was judged (absent: all) of each.

    ``pair`` numbers each row's (group, item), where the plan needs it. Where it chooses groups, ``with_truth``
    (groups) are those of which some row is judged, and ``with_list`` (groups), for each model, those that came with a
    scored row.
    """

    rows: pa.Table
    codes: Codes
    labels: NDArray[np.generic]
    groups: int
    judged: Flags | None
    pair: Codes | None = None
    with_truth: Flags | None = None
    with_list: tuple[Flags, ...] = ()

    def unjudged(self, groups: Flags) -> int:
        """The rows without a label in the ``groups`` (groups) that are flagged."""
        return 0 if self.judged is None else int(np.count_nonzero(groups[self.codes] & ~self.judged))

    def judgments(self, references: Mapping[str, Floats]) -> Judgments:
        item_row = None if self.pair is None else _one_of_each(self.pair)
        return Judgments(self.codes, self.labels, self.groups, self.judged, references, item_row)

    def credited(self, references: Mapping[str, Floats], listed: Ints, best: Ints) -> Judgments:
        """The judgments of a model whose list has the rows ``listed`` and is credited with those of them in ``best``.

        Of each (group, item) one row alone has its label and its place in ``references``: the best listed one, or any
        where none is listed.
        """
        if self.pair is None:
            raise ValueError("repeats are told by the pairs of group and item")
        row = np.full(int(self.pair.max(initial=-1)) + 1, -1, np.int64)
        row[self.pair] = np.arange(len(self.pair))
        row[self.pair[best]] = best
        has_label, repeats = np.zeros((2, len(self.pair)), np.bool_)
        has_label[row[row >= 0]] = True
        repeats[listed] = True
        repeats[best] = False
        judged = has_label if self.judged is None else has_label & self.judged
        orders = {name: np.where(has_label, order, np.nan) for name, order in references.items()}
        labels = np.where(has_label, self.labels, self.labels.dtype.type(0))
        return Judgments(self.codes, labels, self.groups, judged, orders, None, repeats)

    def first_of_item(self, order: Floats) -> Floats:
        """``order`` (n, the lowest first, NaN where a row has none) with the first place of its item for each row.

        The lists of two models may name the same item on rows of their own.
        """
        if self.pair is None:
            return order
        first = np.full(int(self.pair.max(initial=-1)) + 1, np.nan)
        np.fmin.at(first, self.pair, order)
        return first[self.pair]


@dataclass(frozen=True)
class _Truth:
    """What is known of each pair: whether it is ``judged``, its ``label``, and a ``row`` that says so (-1 for none)."""

    judged: Flags
    label: NDArray[np.generic]
    row: Ints


def judge(
    rows: pa.Table, groups: Groups, plan: Plan, counts: Counts, unmatched: dict[str, UnmatchedRow] | None = None
) -> JudgedRows:
    """The rows that ``plan`` evaluates and their labels, of the ``groups`` of ``rows``.

    Where lists and truth are joined, a row of each side without its other half is put among the ``unmatched``, where
    these are asked for.
    """
    if not plan.needs_pairs and not plan.definitions.chooses_groups and plan.definitions.unjudged != "drop":
        counts[checks.UNJUDGED_ROWS, ""] = rows[LABEL].null_count
        labels, some = labels_of(rows[LABEL]), judged_rows(rows[LABEL])
        return JudgedRows(rows, groups.codes, labels, groups.count, some)
    codes = groups.codes
    labels, judged = labels_of(rows[LABEL]), np.asarray(as_numpy(rows[LABEL].is_valid()), np.bool_)
    kept = np.arange(len(codes))
    item, items = encode(rows[ITEM]) if plan.needs_pairs else (None, None)
    pair = None if item is None else paired(codes, item)
    if item is not None and pair is not None and plan.joins:
        kept, labels, judged = _join(rows, groups, pair, labels, judged, counts)
        if unmatched is not None:
            listed = len(kept) - counts[checks.TRUTH_UNLISTED, ""]  # list rows stand first
            sides = {side: np.zeros(len(codes), np.bool_) for side in (LISTS, TRUTH_SIDE)}
            sides[LISTS][kept[:listed]] = ~judged[:listed]
            sides[TRUTH_SIDE][kept[listed:]] = True
            unmatched |= unmatched_rows(rows, sides, item, items, with_group=plan.group_table)
    elif pair is not None:
        known = _truth_of(pair, np.flatnonzero(judged), labels)
        labels, judged = known.label[pair], known.judged[pair]
    with_truth = _groups_of(codes[kept], judged, groups.count)
    if plan.joins:
        counts[checks.GROUPS_WITHOUT_TRUTH, ""] = int(np.count_nonzero(~with_truth))
    drop = plan.definitions.unjudged == "drop"
    counts[checks.UNJUDGED_DROPPED if drop else checks.UNJUDGED_ROWS, ""] = int(np.count_nonzero(~judged))
    if drop:
        kept, labels, judged = kept[judged], labels[judged], judged[judged]
    return JudgedRows(
        rows=rows.take(pa.array(kept)) if plan.joins or drop else rows,
        codes=codes[kept],
        labels=labels,
        groups=groups.count,
        judged=None if judged.all() else judged,
        pair=None if pair is None else pair[kept],
        with_truth=with_truth,
        with_list=tuple(
            _groups_of(codes, as_numpy(rows[name].is_valid()), groups.count) for name in score_columns(rows)
        ),
    )


def _join(
    rows: pa.Table, groups: Groups, pair: Codes, labels: NDArray[np.generic], judged: Flags, counts: Counts
) -> tuple[Ints, NDArray[np.generic], Flags]:
    """The rows that stay, list rows first, with the labels that they have now and whether they are judged."""
    truth = np.asarray(as_numpy(rows[TRUTH]), np.bool_)
    named = np.asarray(as_numpy(pc.is_valid(rows[ITEM])), np.bool_)
    listed, given = np.flatnonzero(~truth & named), np.flatnonzero(truth & named & judged)
    known = _truth_of(pair, given, labels)
    in_list = np.zeros(len(known.judged), np.bool_)
    in_list[pair[listed]] = True
    unlisted = known.row[known.judged & ~in_list]
    distinct = int(np.count_nonzero(known.judged))
    counts[checks.GROUP_ONLY, ""] = int(np.count_nonzero(~named))
    counts[checks.TRUTH_UNLABELLED, ""] = int(np.count_nonzero(truth & named & ~judged))
    counts[checks.TRUTH_REPEATED, ""] = len(given) - distinct
    counts[checks.TRUTH_OVERRULED, ""] = int(np.count_nonzero(labels[given] != known.label[pair[given]]))
    counts[checks.TRUTH_UNLISTED, ""] = len(unlisted)
    counts[checks.TRUTH_LISTED, ""] = distinct - len(unlisted)
    sides = [
        _groups_of_rows(groups.codes, of_side, groups.count) for of_side in (listed, np.flatnonzero(truth & named))
    ]
    counts[checks.GROUPS_JOINED, ""] = int(np.count_nonzero(sides[0] & sides[1]))
    kept = np.concatenate([listed, unlisted])
    return kept, known.label[pair[kept]], known.judged[pair[kept]]


def _truth_of(pair: Codes, given: Ints, labels: NDArray[np.generic]) -> _Truth:
    """What the rows ``given`` say of each pair; of several labels the highest holds."""
    row = highest_of_each(pair[given], int(pair.max(initial=-1)) + 1, labels[given])
    judged = row >= 0
    row[judged] = given[row[judged]]
    label = np.zeros(len(row), labels.dtype)
    label[judged] = labels[row[judged]]
    return _Truth(judged, label, row)


def _one_of_each(pair: Codes) -> Ints | None:
    """The row that stands for each row's pair, or nothing where no pair stands on two rows."""
    row = np.full(int(pair.max(initial=-1)) + 1, -1, np.int64)
    row[pair] = np.arange(len(pair))
    return None if np.count_nonzero(row >= 0) == len(pair) else row[pair]


def _groups_of(codes: Codes, flags: NDArray[np.generic], groups: int) -> Flags:
    """The groups (groups) of which some row is flagged."""
    return _groups_of_rows(codes, np.flatnonzero(flags), groups)


def _groups_of_rows(codes: Codes, rows: Ints, groups: int) -> Flags:
    """The groups (groups) of which some of the ``rows`` is."""
    found = np.zeros(groups, np.bool_)
    found[codes[rows]] = True
    return found
