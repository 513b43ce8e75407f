"""The evaluation of one bucket of whole groups, the unit of work of every run, with only pyarrow and numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank import native
from sparkrank.base import checks
from sparkrank.base.errors import InputError, shorten
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.clusters import clustered_groups, clusters_of
from sparkrank.bucket.counted_items import popularity_states, relevant_items
from sparkrank.bucket.encoding import TextOrder, encode, paired
from sparkrank.bucket.group_parts import part_states
from sparkrank.bucket.group_rows import group_rows
from sparkrank.bucket.grouping import Groups, groups_of_rows, hashes_of_keys, keys_of
from sparkrank.bucket.impressions import (
    ITEM,
    LIST,
    PAST,
    PROPENSITY,
    REFERENCE_RANK,
    TRUTH,
    group_weight_column,
    in_one_piece,
    key_column,
    one_array,
    past_column,
    score_column,
    slice_column,
    value_column,
)
from sparkrank.bucket.item_columns import item_columns, with_items
from sparkrank.bucket.joining import Counts, JudgedRows, judge
from sparkrank.bucket.label_rows import count_labels, label_columns, rows_checked_by, rows_of_label
from sparkrank.bucket.largest_groups import largest_groups
from sparkrank.bucket.lists import ListedRows, chosen_groups, listed_rows
from sparkrank.bucket.past import hashes_with_past, with_past, without_past
from sparkrank.bucket.propensities import propensities_of
from sparkrank.bucket.ranked import CheckedModel, RankedModel
from sparkrank.bucket.rejection import reject
from sparkrank.bucket.relevance_slices import GroupCopies, copies_by_relevance
from sparkrank.bucket.slicing import WHOLE_DAY, GroupSlice, SlicedRows, sliced_rows
from sparkrank.bucket.times import without_times
from sparkrank.bucket.weights import weighed_groups, weights_of_groups
from sparkrank.bucket.wide_rows import count_rows_of_models, wide_rows
from sparkrank.inputs.role_table import row_roles
from sparkrank.metrics import Plan
from sparkrank.metrics.labels import FIRST
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.slices import is_of_relevant
from sparkrank.numeric.array_types import Codes, Floats, Ints
from sparkrank.numeric.key_hashes import Hashes, hash_keys, parts_of
from sparkrank.ranking.judgments import is_relevant
from sparkrank.ranking.ranking import Ranking, ScoreOrder
from sparkrank.ranking.value_columns import Arrays, ValueColumn
from sparkrank.states import ItemCounts, MeanStates, Partials, RowSums
from sparkrank.states.largest import largest_of
from sparkrank.states.unmatched import UnmatchedRow


@dataclass(frozen=True)
class BucketResult:
    """The partial results of a bucket, and its rows of the group table (None if the plan does not request one).

    ``hashes`` contains the hash of each group's key, or is None if the plan does not request them.
    """

    partials: Partials
    groups: pa.Table | None
    hashes: Hashes | None = None


def bucket_columns(plan: Plan, keys: int) -> list[str]:
    """Return the names of the columns of bucket rows for ``plan`` and a group key of ``keys`` columns."""
    columns = [*map(key_column, range(keys)), *label_columns(plan), *map(score_column, range(plan.scores_of_row))]
    columns += map(slice_column, range(len(plan.slice_sources)))
    columns += map(group_weight_column, range(len(plan.group_weights)))
    columns += map(value_column, range(len(plan.value_columns)))
    read = {role.key: role.needed(plan) for role in row_roles()}
    read |= {TRUTH: plan.joins, LIST: plan.arrays, PAST: bool(plan.past)}
    looked_up = item_columns(plan)
    beside = {*looked_up, *map(slice_column, plan.items_had)}
    columns = [name for name in columns if name not in beside]
    return [*columns, *(name for name, is_read in read.items() if is_read)]


def evaluate_bucket(rows: pa.Table, plan: Plan) -> BucketResult:
    """Compute all results that ``plan`` requests for the whole groups in ``rows``. Rejected rows are counted."""
    native.counted()  # drop the counts of earlier work in this thread
    if plan.counts_items:
        return BucketResult(popularity_states(rows), None)
    counts: Counter[tuple[str, str]] = Counter()
    unmatched: dict[str, UnmatchedRow] = {}
    first = ranked_rows(rows, plan, counts, unmatched)
    accepted, groups, judged, models, hashes = first[:5]
    counts[checks.ROWS_EVALUATED, ""] = len(judged.rows)
    if plan.keys:
        counts[checks.GROUPS, ""] = judged.groups
    if plan.exposures or plan.stores_popularity:
        counts[checks.ITEMLESS_ROWS, ""] = judged.rows.table[ITEM].null_count
    for model in models:
        counts.update(model.counts())
    by_label = [first, *other_label_rows(first, plan, counts)]
    every = [model for own in by_label for model in own.models]
    _count_by_metric(every if plan.keys else (), counts)
    keys = keys_of(accepted, groups) if plan.has_parts or plan.group_table else None
    clusters = None if plan.cluster is None else clusters_of(accepted, groups, models, counts)
    part = np.zeros(groups.count, np.int32)
    if plan.has_parts:
        part = parts_of(hashes_of_keys(accepted, groups) if clusters is None else hash_keys([one_array(clusters)]))
    parts_of_labels = [part if own.whole is None else part[own.whole] for own in by_label]
    sliced = [_sliced(own, own_part) for own, own_part in zip(by_label, parts_of_labels, strict=True)]
    states = _states(sliced, [own.plan for own in by_label])
    for own, own_part in zip(by_label, parts_of_labels, strict=True):
        states = _with_relevant(states, own, own_part)
    if plan.stores_popularity:
        states = replace(states, items=states.items.merge(relevant_items(accepted, groups.codes, plan)))
    states = replace(
        states,
        counts=dict(counts),
        unmatched=unmatched,
        item_hashes=judged.item_hashes,
        heaviest={key: weight for model in every for key, weight in model.heaviest()},
        largest_weights=largest_of([pair for model in models for pair in model.largest_weight()]),
        largest=largest_groups(accepted.table, groups, models[0].ranking.judgments.rows_of_group(), plan),
    )
    table = None
    if keys is not None and plan.group_table:
        by_model = [
            [(own, of.whole) for of in by_label for own in of.models if own.name == name] for name in plan.models
        ]
        table = pa.concat_tables([group_rows(own, keys, plan) for own in by_model])
    for of_label in sliced:
        for _, _, of_slice in of_label:
            _drop_cached(of_slice)
    return BucketResult(replace(states, loops=native.counted()), table, hashes)


def _count_by_metric(models: Iterable[RankedModel], counts: Counter[tuple[str, str]]) -> None:
    for model in models:
        counts.update(model.counts_of_metrics())
        for check, count in model.checked_counts().items():
            counts.setdefault(check, count)  # metrics of several labels may be checked by one


_SlicedModels: TypeAlias = "tuple[GroupSlice, Codes, list[RankedModel]]"


def _sliced(ranked: RankedRows, part: Codes) -> list[_SlicedModels]:
    """Return (slice, part of each group, models) for the whole day and each slice that is not by relevant rows.

    A part is one of 64 subsets of the groups. ``part`` contains the part of each group.
    """
    of_rows = (sliced_rows(ranked.rows, ranked.plan, own) for own in ranked.plan.slices if not is_of_relevant(own))
    return [(WHOLE_DAY, part, ranked.models), *(_by_value(own, ranked, part) for own in of_rows)]


def _with_relevant(states: Partials, ranked: RankedRows, part: Codes) -> Partials:
    rows, plan = ranked.rows, ranked.plan
    of_relevant = (sliced_rows(rows, plan, columns) for columns in plan.slices if is_of_relevant(columns))
    for sliced in of_relevant:
        for copies in copies_by_relevance(sliced, rows, ranked.groups, plan):
            own = _of_copies(copies, part, ranked)
            states = Partials.merged([states, _states([[own]], [plan])])
            _drop_cached(own[2])
    return states


def _states(of_labels: Sequence[Sequence[_SlicedModels]], plans: Sequence[Plan]) -> Partials:
    """Return the states of all slices. ``of_labels`` has the results of :func:`_sliced` for each label that is read.

    ``plans`` contains the plan of each label.
    """
    every = [own for parts in of_labels for own in parts]
    sliced = [(model, values) for values, _, models in every for model in models]
    items = [items for model, values in sliced for items in model.items(values)]
    items += [items for values, part, models in every for model in models for items in model.attention(values, part)]
    first, *others = (part_states(parts, plan) for parts, plan in zip(of_labels, plans, strict=True))
    return Partials(
        MeanStates.of([means for model, values in sliced for means in model.means(values)]),
        {series: histogram for model, values in sliced for series, histogram in model.histograms(values)},
        RowSums.of([sums for model, values in sliced for sums in model.sums(values)]),
        {key: distribution for model, values in sliced for key, distribution in model.distributions(values)},
        items=ItemCounts.all_of(items),
        parts=first.merge(others) if others else first,
    )


def _drop_cached(models: Sequence[RankedModel]) -> None:
    for model in models:
        model.drop_cached()


class RankedRows(NamedTuple):
    """The rows that can be evaluated, with their groups, their judgments, and the rankings of each model.

    ``plan`` contains only the metrics of the label that these rows carry. ``hashes`` contains the hashes of the keys of
    all groups, including rejected groups and groups that are only in the past, or is None if the plan does not request
    them. ``whole`` contains the bucket's group for each of ``groups``, or is None if they are the same.
    """

    rows: BucketRows
    groups: Groups
    judged: JudgedRows
    models: list[RankedModel]
    hashes: Hashes | None
    plan: Plan
    whole: Ints | None = None


def ranked_rows(
    table: pa.Table, plan: Plan, counts: Counter[tuple[str, str]], unmatched: dict[str, UnmatchedRow] | None = None
) -> RankedRows:
    """Return the rankings of the rows of ``table``, with the first label. Add the counts of checks to ``counts``.

    Put examples of rows without a match into ``unmatched``, unless it is None.
    """
    table, pairs = without_past(table, plan, counts)
    counts[checks.ROWS_READ, ""] = table.num_rows
    if plan.joins:
        counts[checks.TRUTH_ROWS, ""] = pc.sum(table[TRUTH]).as_py() or 0
    rows = with_items(BucketRows(in_one_piece(table)), plan, counts)
    if plan.long:
        count_rows_of_models(rows, plan, counts)
    rows = reject(rows, plan, counts)
    if plan.long:
        rows = wide_rows(rows, plan, counts)
    rows = without_times(with_past(rows, pairs, plan, counts), plan, counts)
    groups = groups_of_rows(rows, plan)
    hashes = hashes_with_past(hashes_of_keys(rows, groups), pairs) if plan.hashes_keys else None
    if plan.arrays and plan.past:  # otherwise lists of one key stand in several splits, whose hashes are compared
        repeats = np.unique(hashes_of_keys(rows, groups), return_counts=True)[1]
        counts[checks.SEVERAL_LISTS, ""] = int(np.count_nonzero(repeats > 1))
    rows, groups = weighed_groups(rows, groups, plan, counts)
    rows, groups = clustered_groups(rows, groups, plan, counts)
    count_labels(rows, plan, counts)
    own = plan.by_judging[FIRST]
    judged = judge(rows, groups, own, counts, unmatched)
    models = ranked_models(judged, own, counts, weights_of_groups(rows, groups, plan))
    return RankedRows(rows, groups, judged, models, hashes, own)


def other_label_rows(first: RankedRows, plan: Plan, counts: Counter[tuple[str, str]]) -> Iterator[RankedRows]:
    """Yield the rows of ``first`` with each other label. Rows are not sorted again unless a label leaves some out.

    Models without a metric of the label are left out. Only the number of rows without a gain is added to ``counts``,
    because all other counts are those of the first label.
    """
    for judging, own in plan.by_judging.items():
        if judging == FIRST:
            continue
        rows, groups, whole = rows_of_label(first.rows, first.groups, judging, plan)
        unused: Counts = Counter()
        judged = judge(rows, groups, own, unused)
        weights = first.models[0].weights
        if whole is not None:
            weights = {column: values[whole] for column, values in weights.items()}
        is_sorted = whole is None and plan.definitions.unjudged != "drop"
        models = ranked_models(judged, own, unused, weights, first.models if is_sorted else None)
        gainless = [(checks.without_gain(column.name), "") for column in own.gain_columns]
        counts.update({check: unused[check] for check in gainless})
        models = [model for model in models if model.plan.own_metrics]
        yield RankedRows(rows, groups, judged, models, None, own, whole)


def _by_value(sliced: SlicedRows, ranked: RankedRows, part: Codes) -> _SlicedModels:
    """Return (slice, part of each group, models) for ``sliced``. A group with several values is divided by value."""
    groups, plan = ranked.groups, ranked.plan
    if not sliced.divides(groups):
        return sliced.by_group(groups), part, ranked.models
    divided = Groups.numbered(paired(groups.codes, sliced.code))
    whole = groups.codes[divided.row]
    unused: Counts = Counter()  # the table quality counts the rows of the day, whatever their slice is
    judged = judge(ranked.rows, divided, plan, unused)
    weights = {column: values[whole] for column, values in ranked.models[0].weights.items()}
    models = ranked_models(judged, plan, unused, weights)
    return sliced.by_group(divided), part[whole], [own for own in models if _is_among(own, ranked.models)]


def _of_copies(copies: GroupCopies, part: Codes, ranked: RankedRows) -> _SlicedModels:
    unused: Counts = Counter()
    judged = judge(copies.rows, copies.groups, ranked.plan, unused)
    models = ranked_models(judged, ranked.plan, unused, copies.weights(ranked.models[0].weights))
    return copies.values, copies.parts(part), [own for own in models if _is_among(own, ranked.models)]


def _is_among(model: RankedModel, models: Sequence[RankedModel]) -> bool:
    return any(model.name == other.name for other in models)


def ranked_models(
    judged: JudgedRows,
    plan: Plan,
    counts: Counter[tuple[str, str]],
    weights: Mapping[str, Floats],
    alike: Sequence[RankedModel] | None = None,
) -> list[RankedModel]:
    """Return the rankings of each model: by its label, by assumed labels, and by labels that check others.

    ``alike`` contains the same models with another label of the same rows, whose order of the rows is used again.
    """
    assumed = {assumption: judged.assuming(assumption) for assumption in plan.assumptions}
    others = {own: (rows, _rankings(rows, plan, Counter())) for own, rows in assumed.items() if rows is not judged}
    orders = None if alike is None else [model.ranking.sorted_rows for model in alike]
    own_rankings = _rankings(judged, plan, counts, orders)
    orders = [ranking.sorted_rows for ranking, _ in own_rankings]
    labels = dict.fromkeys(str(metric.checked_by) for metric in plan.checked_metrics)
    by_label = {label: rows_checked_by(label, judged, plan) for label in labels}
    checked = {label: (*rows, _rankings(rows[0], plan, Counter(), orders)) for label, rows in by_label.items()}
    models = []
    for index, (name, of_model) in enumerate(plan.by_model.items()):
        chosen = chosen_groups(judged, index, name, plan, counts)
        under = {
            own: RankedModel(name, of_model, *rankings[index], rows.rows, chosen, weights)
            for own, (rows, rankings) in others.items()
        }
        by_other = {
            own: CheckedModel(RankedModel(name, of_model, *rankings[index], rows.rows, chosen, weights), whole)
            for own, (rows, whole, rankings) in checked.items()
        }
        rankings = own_rankings[index]
        models.append(RankedModel(name, of_model, *rankings, judged.rows, chosen, weights, under, by_other))
    if (checks.UNJUDGED_ROWS, "") in counts and models[0].chosen is not None:
        evaluated = np.logical_or.reduce([model.chosen for model in models if model.chosen is not None])
        counts[checks.UNJUDGED_ROWS, ""] = judged.unjudged(evaluated)
    return models


def _rankings(
    judged: JudgedRows,
    plan: Plan,
    counts: Counter[tuple[str, str]],
    orders: Sequence[ScoreOrder] | None = None,
) -> list[tuple[Ranking, ListedRows]]:
    """Return the ranking and the list of each model. All share one set of judgments, unless a list repeats items.

    ``orders`` contains the rows of each model in the order of their scores, or is None if they are not sorted yet.
    """
    references, propensities = _references(judged, plan), propensities_of(judged.rows, plan)
    columns, totals = _columns(judged, plan), _totals(plan)
    if propensities is not None:
        columns[PROPENSITY] = propensities
    arrays = _arrays(judged, plan)
    gains = {column: np.asarray(columns[column], np.float64) for column in plan.gain_columns} | dict(judged.gains)
    for column, values in gains.items():
        lacking = np.isnan(values) & is_relevant(judged.labels, None)
        counts[checks.without_gain(column.name), ""] = int(np.count_nonzero(lacking))
    judgments = judged.judgments(references, gains, propensities)
    # the item decides which of the tied rows is shown
    ordered = plan.orders_by_item or plan.exposures or (plan.values and ITEM in judged.rows)
    item_order = TextOrder(judged.rows.table[ITEM]) if ordered else None
    rankings = []
    for index, name in enumerate(plan.models):
        listed = listed_rows(judged, index, name, plan, counts)
        if plan.joins:
            counts[checks.ROWS_IN_TRUTH, name] = judged.judged_among(listed.retrieved)
        ranking = Ranking(
            listed.judgments(judged, judgments),
            listed.scores,
            listed.retrieved,
            plan.definitions.ties,
            item_order,
            plan.definitions.positions,
            plan.cutoffs,
            None if orders is None else orders[index],
            columns=columns,
            totals=totals,
            arrays=arrays,
        )
        rankings.append((ranking, listed))
    return rankings


def _columns(judged: JudgedRows, plan: Plan) -> dict[str | ValueColumn, Codes | Floats]:
    read = [role for role in row_roles() if plan.metric_reading(role.key) is not None and role.key != PROPENSITY]
    rows = judged.rows
    columns: dict[str | ValueColumn, Codes | Floats] = {
        role.key: rows.names(role.key) if role.is_name else rows.floats(role.key) for role in read
    }
    if INTERACTIONS in plan.past:
        columns[INTERACTIONS] = rows.floats(past_column(INTERACTIONS))
    return columns | {value: _values(rows, value, plan) for value in plan.values}


def _values(rows: BucketRows, value: ValueColumn, plan: Plan) -> Codes | Floats:
    name = value_column(plan.value_columns.index(value.stored))
    if value.share_of is not None:
        codes, distinct = encode(rows.table[name])
        table = next(items.table for items in plan.items if name in items.table.columns)
        return table.shares(name, distinct, value.share_of)[codes]
    if value.equals is not None:
        return rows.equal(name, value.equals)
    if value.kind in ("category", "texts", "numbers"):
        return rows.categories(name)
    return rows.floats(name) if value.kind == "number" else rows.names(name)


def _arrays(judged: JudgedRows, plan: Plan) -> dict[ValueColumn, Arrays]:
    """Return the distinct arrays of each column whose values are arrays."""
    arrays = {}
    for index, value in enumerate(plan.value_columns):
        if value.kind in ("texts", "numbers"):
            arrays[value] = judged.rows.arrays(value_column(index))
        if value.kind == "numbers":
            _validate_lengths(judged, value.name, judged.rows.categories(value_column(index)), arrays[value])
    return arrays


def _validate_lengths(judged: JudgedRows, column: str, codes: Codes, arrays: Arrays) -> None:
    """Raise :class:`InputError` if a group has arrays of different lengths. Two groups may have different lengths."""
    lengths = np.diff(arrays.ends)
    if len(np.unique(lengths)) < 2:
        return
    rows = np.flatnonzero(codes >= 0)
    most = int(lengths.max()) + 1
    group, length = np.divmod(np.unique(judged.codes[rows].astype(np.int64) * most + lengths[codes[rows]]), most)
    if len(several := np.flatnonzero(group[1:] == group[:-1])):
        first, second = length[several[0] : several[0] + 2]
        raise InputError(
            f'the value column "{shorten(column)}" has arrays of {first} and of {second} numbers in one group: one '
            "length is needed"
        )


def _totals(plan: Plan) -> dict[ValueColumn, int]:
    """Return the number of distinct values of each catalog column of categories, and the total of each popularity."""
    totals = {}
    for index, value in enumerate(plan.value_columns):
        name = value_column(index)
        for table in (items.table for items in plan.items if name in items.table.columns):
            if value.kind == "category":
                totals[value] = table.distinct(name)
            elif name in table.totals:
                totals[value] = table.totals[name]
    return totals


def _references(judged: JudgedRows, plan: Plan) -> dict[str, Floats]:
    orders = {
        name: judged.rows.floats(name)
        if name == REFERENCE_RANK
        else -judged.rows.floats(score_column(plan.models.index(name)))
        for name in plan.references
    }
    twins = judged.twins  # the lists of two models may have the same item on different rows
    return orders if twins is None else {name: twins.first_of(order) for name, order in orders.items()}
