"""The judgments of a bucket's rows. Labels come from the rows themselves, or from a truth, joined by (group, item).

An item counts once in R (the number of relevant items) and in the ideal list, even if lists or truth repeat the item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.grouping import Groups
from sparkrank.bucket.impressions import ITEM, LABEL, TRUTH, key_columns, score_column, value_column
from sparkrank.bucket.matching import BEATEN, UNLISTED, Matches, matches_of
from sparkrank.bucket.past import without_excluded
from sparkrank.bucket.propensities import with_propensities
from sparkrank.bucket.twins import Twins
from sparkrank.bucket.unmatched_rows import unmatched_rows
from sparkrank.metrics import Plan
from sparkrank.metrics.labels import level_text
from sparkrank.metrics.unjudged import Assumption
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.key_hashes import hash_keys
from sparkrank.numeric.segments import highest_of_each, taken
from sparkrank.ranking.judgments import Judgments, is_relevant
from sparkrank.ranking.value_columns import ValueColumn
from sparkrank.states.distinct_items import lowest_hashes
from sparkrank.states.unmatched import IRRELEVANT, LISTS, UnmatchedRow
from sparkrank.states.unmatched import TRUTH as TRUTH_SIDE

Counts = Counter[tuple[str, str]]


@dataclass(frozen=True)
class JudgedRows:
    """The rows to evaluate, with the number of each row's group (``codes``) and each row's label.

    ``with_label`` flags the rows with a label (None: all rows). ``twins`` are the rows with the same group and item as
    another row (None: not needed). ``with_truth`` flags the groups of rows with a label (None: not needed), and
    ``with_list`` flags, per model, the groups of rows with a score. ``item_hashes`` are the lowest hashes of the items
    in the lists and the truth. ``gains`` maps each column of gains in a joined truth to the gain of each row's item, or
    NaN if it has none.
    """

    rows: BucketRows
    codes: Codes
    labels: NDArray[np.generic]
    groups: int
    with_label: Flags | None
    twins: Twins | None = None
    with_truth: Flags | None = None
    with_list: tuple[Flags, ...] = ()
    item_hashes: tuple[int, ...] = ()
    gains: Mapping[ValueColumn, Floats] = field(default_factory=dict)

    def unjudged(self, groups: Flags) -> int:
        return 0 if self.with_label is None else int(np.count_nonzero(groups[self.codes] & ~self.with_label))

    def judged_among(self, rows: Ints | None) -> int:
        if self.with_label is None:
            return len(self.codes) if rows is None else len(rows)
        return int(np.count_nonzero(taken(self.with_label, rows)))

    def without_unjudged(self) -> JudgedRows:
        """Return only the rows with a label. Groups keep their numbers and their flags, even without a row."""
        if self.with_label is None:
            return self
        kept = np.flatnonzero(self.with_label)
        return replace(
            self,
            rows=self.rows.take(kept),
            codes=self.codes[kept],
            labels=self.labels[kept],
            with_label=None,
            twins=None if self.twins is None else self.twins.among(kept),
            gains={column: values[kept] for column, values in self.gains.items()},
        )

    def assuming(self, assumption: Assumption) -> JudgedRows:
        """Return the rows. Those without a label are left out or labelled as in ``assumption``."""
        if self.with_label is None or assumption.grade is None:
            return self.without_unjudged()
        labels = np.where(self.with_label, self.labels, np.float64(assumption.grade))
        return replace(self, labels=labels, with_label=None)

    def judgments(
        self,
        references: Mapping[str, Floats],
        gains: Mapping[ValueColumn, Floats],
        propensities: Floats | None = None,
    ) -> Judgments:
        """Return the judgments with ``references``, ``gains`` (NaN: no gain) and ``propensities`` (NaN: none).

        Rows of the same group and item all get their highest gain and their lowest propensity.
        """
        if (twins := self.twins) is not None:
            gains = {column: -twins.first_of(-values) for column, values in gains.items()}
            propensities = None if propensities is None else twins.first_of(propensities)
        gains = {column: np.nan_to_num(values) for column, values in gains.items()}
        item_row = None if twins is None else twins.one_of_each(len(self.codes))
        rows = (self.codes, self.labels, self.groups, self.with_label)
        return Judgments(*rows, references, item_row, None, gains, propensities)

    def credited(self, shared: Judgments, listed: Ints, best: Ints) -> Judgments:
        """Return the judgments ``shared`` for the list of the rows ``listed``. Only the rows ``best`` get credit."""
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
        judged = has_label if self.with_label is None else has_label & self.with_label
        orders = {name: np.where(has_label, order, np.nan) for name, order in shared.references.items()}
        labels = np.where(has_label, self.labels, self.labels.dtype.type(0))
        rows = (self.codes, labels, self.groups, judged)
        return Judgments(*rows, orders, None, repeats, shared.gains, shared.propensities)


def judge(
    rows: BucketRows, groups: Groups, plan: Plan, counts: Counts, unmatched: dict[str, UnmatchedRow] | None = None
) -> JudgedRows:
    """Return the rows to evaluate and their labels. Add to ``counts``, and add unmatched rows to ``unmatched``."""
    rows, codes = without_excluded(rows, groups.codes, plan, counts)
    groups = replace(groups, codes=codes)
    if plan.joins:
        return _joined(rows, groups, plan, counts, unmatched)
    labels, judged, twins = rows.labels(), rows.valid(LABEL), None
    if plan.needs_pairs:
        pair = paired(codes, rows.items()[0])
        labels, judged = _labels_of_items(pair, labels, judged)
        twins = Twins.of_pairs(pair)
    unjudged = 0 if judged is None else int(np.count_nonzero(~judged))
    if plan.definitions.unjudged != "drop":
        counts[checks.UNJUDGED_ROWS, ""] = unjudged
        if not plan.needs_pairs and not plan.definitions.chooses_groups:
            return JudgedRows(rows, codes, labels, groups.count, judged)
    with_truth = _groups_of(codes, judged, groups.count)
    with_list = _with_list(rows, codes, groups.count)
    judged_rows = JudgedRows(rows, codes, labels, groups.count, judged, twins, with_truth, with_list)
    if plan.definitions.unjudged != "drop":
        return judged_rows
    counts[checks.UNJUDGED_DROPPED, ""] = unjudged
    return judged_rows.without_unjudged()


def _labels_of_items(
    pair: Codes, labels: NDArray[np.generic], judged: Flags | None
) -> tuple[NDArray[np.generic], Flags | None]:
    """Return the highest label in each row's ``pair`` (group and item), and flags of judged rows (None if all are)."""
    own = np.arange(len(pair)) if judged is None else np.flatnonzero(judged)
    row = np.append(own, -1)[highest_of_each(pair[own], int(pair.max(initial=-1)) + 1, labels[own])][pair]
    is_judged = row >= 0
    return np.where(is_judged, labels[row], labels.dtype.type(0)), None if is_judged.all() else is_judged


def _joined(
    rows: BucketRows, groups: Groups, plan: Plan, counts: Counts, unmatched: dict[str, UnmatchedRow] | None
) -> JudgedRows:
    rows, codes, lists = _lists_first(rows, groups.codes, counts)
    matches = matches_of(rows, codes, groups.count, lists)
    matched, is_unlisted = matches.matched, matches.fates == UNLISTED
    unlisted = np.flatnonzero(is_unlisted)
    item_hashes: tuple[int, ...] = ()
    _count_matches(matches, len(unlisted), counts, plan.levels)
    if unmatched is not None:
        relevant = np.logical_or.reduce([is_relevant(matches.labels, level) for level in plan.levels])
        sides = {LISTS: (0, ~matched), TRUTH_SIDE: (lists, is_unlisted & relevant)}
        if not relevant[unlisted].all():
            sides[IRRELEVANT] = (lists, is_unlisted & ~relevant)
        hashes = None if matches.distinct is None else hash_keys([matches.distinct])
        item_hashes, few = lowest_hashes(matches.items if hashes is None else hashes.view(np.int64))
        few = few if hashes is None else few[:0]  # of distinct items, not of rows
        keys = rows.keys if plan.group_table else None
        unmatched |= unmatched_rows(sides, matches.items, matches.distinct, hashes, keys, few)
    counts[checks.GROUPS_WITHOUT_TRUTH, ""] = int(np.count_nonzero(~matches.with_truth))
    with_list = _with_list(rows, codes, groups.count) if plan.definitions.chooses_groups else ()
    read = rows.table.drop_columns([*key_columns(rows.table), LABEL, TRUTH])
    if plan.weighed_rows:
        pair = paired(codes[lists:], encode(pa.chunked_array([matches.items[lists:]]))[0])
        read = with_propensities(read, BucketRows(rows.table.slice(lists)), pair, matches.row, plan)
    drop = plan.definitions.unjudged == "drop"
    counts[checks.UNJUDGED_DROPPED if drop else checks.UNJUDGED_ROWS, ""] = int(np.count_nonzero(~matched))
    judged_rows = JudgedRows(
        rows=BucketRows(pa.concat_tables([read.slice(0, lists), read.slice(lists).take(pa.array(unlisted))])),
        codes=np.concatenate([codes[:lists], codes[lists:][unlisted]]),
        labels=np.concatenate([matches.labels_of_lists, matches.labels[unlisted]]),
        groups=groups.count,
        with_label=None if matched.all() else np.concatenate([matched, np.ones(len(unlisted), np.bool_)]),
        twins=matches.twins,
        with_truth=matches.with_truth,
        with_list=with_list,
        item_hashes=item_hashes,
        gains=_gains(rows, codes, lists, matches, plan),
    )
    return judged_rows.without_unjudged() if drop else judged_rows


def _gains(rows: BucketRows, codes: Codes, lists: int, matches: Matches, plan: Plan) -> dict[ValueColumn, Floats]:
    """Return the gains of list rows, then of unlisted truth rows, by column. An item has its highest gain, or NaN."""
    if not plan.truth_gains:
        return {}
    truth = BucketRows(rows.table.slice(lists))
    pair = paired(codes[lists:], encode(pa.chunked_array([matches.items[lists:]]))[0])
    row = np.append(matches.row, np.flatnonzero(matches.fates == UNLISTED))
    gains = {}
    for column in plan.truth_gains:
        values = truth.floats(value_column(plan.value_columns.index(column)))
        own = np.flatnonzero(~np.isnan(values))
        highest = highest_of_each(pair[own], int(pair.max(initial=-1)) + 1, values[own])
        of_items = np.append(values[own], np.nan)[highest][pair]
        gains[column] = np.append(of_items, np.nan)[row]
    return gains


def _lists_first(rows: BucketRows, codes: Codes, counts: Counts) -> tuple[BucketRows, Codes, int]:
    """Return the rows that have an item (list rows first), their ``codes``, and the number of list rows."""
    truth, named = rows.truth, rows.valid(ITEM)
    counts[checks.GROUP_ONLY, ""] = 0 if named is None else int(np.count_nonzero(~named))
    of_lists = ~truth if named is None else ~truth & named
    lists = int(np.count_nonzero(of_lists))
    if named is not None or not of_lists[:lists].all():
        order = np.concatenate([np.flatnonzero(of_lists), np.flatnonzero(truth if named is None else truth & named)])
        rows, codes = rows.take(order), codes[order]
    return rows, codes, lists


def _count_matches(matches: Matches, unlisted: int, counts: Counts, levels: Sequence[float | None]) -> None:
    n_judged, distinct = int(np.count_nonzero(matches.with_label)), int(np.count_nonzero(matches.fates))
    counts[checks.TRUTH_UNLABELLED, ""] = len(matches.with_label) - n_judged
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
    counts[checks.TRUTH_PAIRS, ""], counts[checks.TRUTH_ROOM, ""] = matches.pairs, matches.places


def _with_list(rows: BucketRows, codes: Codes, groups: int) -> tuple[Flags, ...]:
    return tuple(_groups_of(codes, rows.valid(score_column(model)), groups) for model in range(rows.models))


def _groups_of(codes: Codes, flags: Flags | None, groups: int) -> Flags:
    """Flag the groups that have a flagged row, or that have any row if ``flags`` is None."""
    has_one = np.zeros(groups, np.bool_)
    has_one[codes if flags is None else codes[np.flatnonzero(flags)]] = True
    return has_one
