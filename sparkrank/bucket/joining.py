"""The judgments of a bucket's rows: their own labels, or the labels of a truth that is joined to the lists.

Lists and truth are rows of one table, and a column flags the truth. A truth row whose item is in a list of its group
gives its label to the list rows and is dropped. The other truth rows stay, judged and not retrieved. This is a full
outer join on (group, item) inside the bucket, by the numbers of the pairs. An item counts once in R and in the ideal
list, however often lists and truth have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.bucket.grouping import Groups, encode, paired
from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    TRUTH,
    as_numpy,
    judged_rows,
    key_columns,
    labels_of,
    score_columns,
)
from sparkrank.bucket.matching import BEATEN, UNLISTED, Matches, matches_of
from sparkrank.bucket.twins import Twins
from sparkrank.bucket.unmatched_rows import unmatched_parts, unmatched_rows
from sparkrank.metrics import Plan
from sparkrank.metrics.plan import level_text
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.segments import highest_of_each, taken
from sparkrank.ranking.judgments import Judgments, is_relevant
from sparkrank.states.unmatched import IRRELEVANT, LISTS, UnmatchedRow
from sparkrank.states.unmatched import TRUTH as TRUTH_SIDE

Counts = Counter[tuple[str, str]]


@dataclass(frozen=True)
class JudgedRows:
    """The rows to evaluate, with the group (``codes``) and the label of each.

    ``judged`` flags the judged rows, or is None where all are judged. ``twins`` are the rows that share group and item,
    or None where the plan does not need them. Where the plan chooses groups, ``with_truth`` (groups) flags the groups
    with a judged row, and ``with_list`` (groups) has, for each model, a flag for the groups with a scored row.
    """

    rows: pa.Table
    codes: Codes
    labels: NDArray[np.generic]
    groups: int
    judged: Flags | None
    twins: Twins | None = None
    with_truth: Flags | None = None
    with_list: tuple[Flags, ...] = ()

    def unjudged(self, groups: Flags) -> int:
        """The number of rows without a label in the flagged ``groups`` (groups)."""
        return 0 if self.judged is None else int(np.count_nonzero(groups[self.codes] & ~self.judged))

    def judged_among(self, rows: Ints | None) -> int:
        """How many of the ``rows``, all of them where None, are judged."""
        if self.judged is None:
            return len(self.codes) if rows is None else len(rows)
        return int(np.count_nonzero(taken(self.judged, rows)))

    def judgments(self, references: Mapping[str, Floats]) -> Judgments:
        item_row = None if self.twins is None else self.twins.one_of_each(len(self.codes))
        return Judgments(self.codes, self.labels, self.groups, self.judged, references, item_row)

    def credited(self, references: Mapping[str, Floats], listed: Ints, best: Ints) -> Judgments:
        """The judgments of a model whose list has the rows ``listed`` and gets credit for the rows ``best`` only.

        One row of each (group, item) has the label and the place in ``references``: the best listed row, or any row
        where none is listed.
        """
        if (twins := self.twins) is None:
            raise ValueError("repeats are found by the twins of rows")
        has_label, repeats, is_best = np.zeros((3, len(self.codes)), np.bool_)
        repeats[listed] = True
        repeats[best] = False
        is_best[best] = True
        row, of_best = twins.last(), is_best[twins.rows]
        row[twins.code[of_best]] = twins.rows[of_best]
        has_label[:] = True
        has_label[twins.rows] = False
        has_label[row] = True
        judged = has_label if self.judged is None else has_label & self.judged
        orders = {name: np.where(has_label, order, np.nan) for name, order in references.items()}
        labels = np.where(has_label, self.labels, self.labels.dtype.type(0))
        return Judgments(self.codes, labels, self.groups, judged, orders, None, repeats)

    def first_of_item(self, order: Floats) -> Floats:
        """``order`` (n, lowest first, NaN where a row has no place), where each row has the first place of its item.

        The lists of two models may have the same item on different rows.
        """
        return order if self.twins is None else self.twins.first_of(order)


@dataclass(frozen=True)
class _Truth:
    """The truth of each pair: whether it is ``judged``, its ``label``, and the ``row`` with that label (or -1)."""

    judged: Flags
    label: NDArray[np.generic]
    row: Ints


def judge(
    rows: pa.Table, groups: Groups, plan: Plan, counts: Counts, unmatched: dict[str, UnmatchedRow] | None = None
) -> JudgedRows:
    """The rows of ``groups`` that ``plan`` evaluates, with their labels.

    Where lists and truth are joined and ``unmatched`` is given, adds to it one row of each side without a match.
    """
    if not plan.needs_pairs and not plan.definitions.chooses_groups and plan.definitions.unjudged != "drop":
        counts[checks.UNJUDGED_ROWS, ""] = rows[LABEL].null_count
        labels, some = labels_of(rows[LABEL]), judged_rows(rows[LABEL])
        return JudgedRows(rows, groups.codes, labels, groups.count, some)
    if plan.joins and (matches := matches_of(rows, groups)) is not None:
        return _judged_by_matches(rows, groups, matches, plan, counts, unmatched)
    codes = groups.codes
    labels, judged = labels_of(rows[LABEL]), np.asarray(as_numpy(rows[LABEL].is_valid()), np.bool_)
    selected = np.arange(len(codes))
    item, items = encode(rows[ITEM]) if plan.needs_pairs else (None, None)
    pair = None if item is None else paired(codes, item)
    if item is not None and pair is not None and plan.joins:
        selected, labels, judged = _join(rows, groups, pair, labels, judged, counts, plan.levels)
        if unmatched is not None:
            listed = len(selected) - counts[checks.TRUTH_UNLISTED, ""]  # list rows come first
            sides = {side: np.zeros(len(codes), np.bool_) for side in (LISTS, TRUTH_SIDE)}
            sides[LISTS][selected[:listed]] = ~judged[:listed]
            relevant = np.logical_or.reduce([is_relevant(labels[listed:], level) for level in plan.levels])
            sides[TRUTH_SIDE][selected[listed:][relevant]] = True
            if not relevant.all():
                sides[IRRELEVANT] = np.zeros(len(codes), np.bool_)
                sides[IRRELEVANT][selected[listed:][~relevant]] = True
            unmatched |= unmatched_rows(rows, sides, item, items, with_group=plan.group_table)
    elif pair is not None:
        known = _truth_of(pair, np.flatnonzero(judged), labels)
        labels, judged = known.label[pair], known.judged[pair]
    with_truth = _groups_of(codes[selected], judged, groups.count)
    if plan.joins:
        counts[checks.GROUPS_WITHOUT_TRUTH, ""] = int(np.count_nonzero(~with_truth))
    drop = plan.definitions.unjudged == "drop"
    counts[checks.UNJUDGED_DROPPED if drop else checks.UNJUDGED_ROWS, ""] = int(np.count_nonzero(~judged))
    if drop:
        selected, labels, judged = selected[judged], labels[judged], judged[judged]
    return JudgedRows(
        rows=rows.take(pa.array(selected)) if plan.joins or drop else rows,
        codes=codes[selected],
        labels=labels,
        groups=groups.count,
        judged=None if judged.all() else judged,
        twins=None if pair is None else Twins.of_pairs(pair[selected]),
        with_truth=with_truth,
        with_list=tuple(
            _groups_of(codes, as_numpy(rows[name].is_valid()), groups.count) for name in score_columns(rows)
        ),
    )


def _judged_by_matches(
    rows: pa.Table,
    groups: Groups,
    matches: Matches,
    plan: Plan,
    counts: Counts,
    unmatched: dict[str, UnmatchedRow] | None,
) -> JudgedRows:
    """The result of :func:`judge` from ``matches``."""
    lists, codes, matched = matches.lists, groups.codes, matches.matched
    unlisted = np.flatnonzero(matches.fates == UNLISTED)
    _count_matches(matches, len(unlisted), counts, plan.levels)
    if unmatched is not None:
        relevant = np.logical_or.reduce([is_relevant(matches.labels, level) for level in plan.levels])
        without_list = matches.fates == UNLISTED
        sides = {LISTS: (0, ~matched), TRUTH_SIDE: (lists, without_list & relevant)}
        if not relevant[unlisted].all():
            sides[IRRELEVANT] = (lists, without_list & ~relevant)
        unmatched |= unmatched_parts(rows, sides, matches.items, matches.distinct, with_group=plan.group_table)
    with_truth = _groups_of(codes[lists:], matches.fates != BEATEN, groups.count)
    counts[checks.GROUPS_WITHOUT_TRUTH, ""] = int(np.count_nonzero(~with_truth))
    read = rows.select([name for name in rows.column_names if name not in (*key_columns(rows), LABEL, TRUTH)])
    drop, n_matched = plan.definitions.unjudged == "drop", int(np.count_nonzero(matched))
    counts[checks.UNJUDGED_DROPPED if drop else checks.UNJUDGED_ROWS, ""] = lists - n_matched
    own: Ints | slice = slice(0, lists)
    of_lists, twins = read.slice(0, lists), matches.twins
    if drop:
        own = np.flatnonzero(matched)
        of_lists, matched, twins = of_lists.take(pa.array(own)), matched[own], twins.among(own)
    with_list = (as_numpy(rows[name].is_valid()) for name in score_columns(rows) if plan.definitions.chooses_groups)
    return JudgedRows(
        rows=pa.concat_tables([of_lists, read.slice(lists).take(pa.array(unlisted))]),
        codes=np.concatenate([codes[own], codes[lists:][unlisted]]),
        labels=np.concatenate([matches.labels_of_lists()[own], matches.labels[unlisted]]),
        groups=groups.count,
        judged=None if matched.all() else np.concatenate([matched, np.ones(len(unlisted), np.bool_)]),
        twins=twins,
        with_truth=with_truth,
        with_list=tuple(_groups_of(codes, each, groups.count) for each in with_list),
    )


def _count_matches(matches: Matches, unlisted: int, counts: Counts, levels: Sequence[float | None]) -> None:
    """Add to ``counts`` what :func:`_join` counts."""
    n_judged, distinct = int(np.count_nonzero(matches.judged)), int(np.count_nonzero(matches.fates))
    counts[checks.GROUP_ONLY, ""] = 0
    counts[checks.TRUTH_UNLABELLED, ""] = len(matches.judged) - n_judged
    counts[checks.TRUTH_REPEATED, ""] = n_judged - distinct
    counts[checks.TRUTH_OVERRULED, ""] = matches.overruled
    counts[checks.TRUTH_UNLISTED, ""] = unlisted
    counts[checks.TRUTH_LISTED, ""] = distinct - unlisted
    for level in levels:
        relevant = is_relevant(matches.labels, level)
        text = level_text(level)
        counts[checks.relevant_truth(text), ""] = int(np.count_nonzero(relevant & (matches.fates != BEATEN)))
        counts[checks.relevant_unlisted(text), ""] = int(np.count_nonzero(relevant & (matches.fates == UNLISTED)))
    counts[checks.GROUPS_JOINED, ""] = matches.joined


def _join(
    rows: pa.Table,
    groups: Groups,
    pair: Codes,
    labels: NDArray[np.generic],
    judged: Flags,
    counts: Counts,
    levels: Sequence[float | None],
) -> tuple[Ints, NDArray[np.generic], Flags]:
    """The rows after the join, list rows first, with their labels and whether they are judged."""
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
    for level in levels:
        relevant = known.judged & is_relevant(known.label, level)
        text = level_text(level)
        counts[checks.relevant_truth(text), ""] = int(np.count_nonzero(relevant))
        counts[checks.relevant_unlisted(text), ""] = int(np.count_nonzero(relevant & ~in_list))
    sides = [
        _groups_of_rows(groups.codes, of_side, groups.count) for of_side in (listed, np.flatnonzero(truth & named))
    ]
    counts[checks.GROUPS_JOINED, ""] = int(np.count_nonzero(sides[0] & sides[1]))
    selected = np.concatenate([listed, unlisted])
    return selected, known.label[pair[selected]], known.judged[pair[selected]]


def _truth_of(pair: Codes, given: Ints, labels: NDArray[np.generic]) -> _Truth:
    """The truth of each pair by the rows ``given``. The highest of several labels wins."""
    row = highest_of_each(pair[given], int(pair.max(initial=-1)) + 1, labels[given])
    judged = row >= 0
    row[judged] = given[row[judged]]
    label = np.zeros(len(row), labels.dtype)
    label[judged] = labels[row[judged]]
    return _Truth(judged, label, row)


def _groups_of(codes: Codes, flags: NDArray[np.generic], groups: int) -> Flags:
    """A flag for each group (groups): whether it has a flagged row."""
    return _groups_of_rows(codes, np.flatnonzero(flags), groups)


def _groups_of_rows(codes: Codes, rows: Ints, groups: int) -> Flags:
    """A flag for each group (groups): whether it has one of the ``rows``."""
    found = np.zeros(groups, np.bool_)
    found[codes[rows]] = True
    return found
