"""The explanation of one group: its list, its ideal list, and the steps to each metric. Rows are in a fixed order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.bucket.evaluate import other_label_rows, ranked_rows
from sparkrank.bucket.impressions import EARLY_ITEM, EARLY_TRUTH, ITEM, LIST, TITLE, past_column, score_column
from sparkrank.bucket.ranked import RankedModel
from sparkrank.bucket.row_order import row_order
from sparkrank.inputs.role_table import rejections
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.arithmetic import LIST as RANKED
from sparkrank.metrics.arithmetic import Arithmetic, Step, TermTable
from sparkrank.metrics.labels import FIRST
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.unjudged import assumption_of
from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.ranking.ranking import Ranking

UNLISTED = "judged and not in the list"
# The columns that mark rows, with the bucket columns that flag them.
MARKS = {
    "truth before list": EARLY_TRUTH,
    "listed too early": EARLY_ITEM,
    "truth had before": past_column(INTERACTIONS),
}


@dataclass(frozen=True)
class ExplainedTable:
    """A table in an explanation. ``name`` describes the rows. Columns contain Python values (None: missing)."""

    name: str
    columns: Mapping[str, tuple[Any, ...]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True)
class ExplainedMetric:
    """The computation of a metric of one model for one group.

    ``value`` is the group's value of the metric ``value_of``, which is not ``metric`` itself for a percentile, a
    geometric mean and a metric of ranks. It is NaN if it is undefined, or if ``metric`` is of all rows (``is_mean`` is
    false). ``counts_as`` is the value that enters the mean, NaN if the group is left out. The ``steps`` compute the
    value from the columns of ``tables``, the first of which is the list. ``notes`` contains remarks that numbers cannot
    express.
    """

    metric: str
    definition: str
    formula: str
    model: str
    value_of: str
    value: float
    is_mean: bool
    counts_as: float
    weight: float
    tables: tuple[ExplainedTable, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExplainedGroup:
    """One group, or one list of an input with arrays. ``counts`` contains the number of rejected rows by reason."""

    metrics: tuple[ExplainedMetric, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0


@dataclass(frozen=True)
class ExplainedKey:
    """The explanation of one group key. ``groups`` contains one group, or several lists if arrays have the same key."""

    key: Mapping[str, Any]
    groups: tuple[ExplainedGroup, ...]


def explain_rows(rows: pa.Table, plan: Plan, metrics: Sequence[Metric], models: Sequence[str]) -> list[ExplainedGroup]:
    """Explain ``metrics`` of ``models`` for the rows of one key. If the input has arrays, each list is one group."""
    if not plan.arrays:
        return [_explained(_in_one_order(rows), plan, metrics, models)]
    numbers = rows[LIST].cast(rows[LIST].type.value_type)  # the tables of several splits have several dictionaries
    past = rows.filter(pc.is_null(numbers))  # which all lists of the key share
    own_rows = (rows.filter(pc.equal(numbers, number)) for number in pc.unique(numbers.drop_null()))
    lists = [pa.concat_tables([_in_one_order(own), past]) for own in own_rows]
    lists.sort(key=lambda own: repr(own.drop_columns([LIST]).to_pydict()))
    return [_explained(own, plan, metrics, models) for own in lists]


def _in_one_order(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(row_order(rows, [(ITEM, "ascending")])))


def _explained(rows: pa.Table, plan: Plan, metrics: Sequence[Metric], models: Sequence[str]) -> ExplainedGroup:
    counted: Counter[tuple[str, str]] = Counter()
    ranked = ranked_rows(rows, plan, counted)
    counts = {check: count for (check, _), count in counted.items() if check in rejections() and count}
    if not ranked.judged.groups:
        return ExplainedGroup((), counts, counted[checks.ROWS_READ, ""])
    by_label = [ranked, *other_label_rows(ranked, plan, Counter())]
    own = {read.plan.judging or FIRST: read for read in by_label}
    explained = [
        _metric(model, metric)
        for metric in metrics
        for model in own[metric.judging].models
        if model.name in models and (model.name, metric) not in plan.absent and own[metric.judging].judged.groups
    ]
    for read in by_label:
        for model in read.models:
            model.drop_cached()
    return ExplainedGroup(tuple(explained), counts, counted[checks.ROWS_READ, ""])


def _metric(model: RankedModel, metric: Metric) -> ExplainedMetric:
    plan, of_groups = model.plan, metric.group_metric
    arithmetic = model.explained(of_groups)
    seen = model.seen_by(of_groups)
    ranking = seen.ranked(of_groups.ties)
    is_mean = of_groups.declaration.is_averaged
    is_left_out = model.chosen is not None and not bool(model.chosen[0])
    value = counts_as = weight = math.nan
    notes = list(arithmetic.notes)
    if is_mean:
        declared = dict(plan.group_metrics)[of_groups]
        value = float(model.values()[str(of_groups)].by_group()[0])
        counts_as = math.nan if is_left_out else float(model.value_of_groups(str(of_groups))[0])
        weights = declared.weights_of(ranking, of_groups, model.weights)
        weight = 1.0 if weights is None else float(weights.by_group()[0])
    if (assumption := assumption_of(of_groups)) is not None:
        is_there = "are left out" if assumption.grade is None else f"count as labelled {assumption.grade:g}"
        notes.append(f"rows without a label {is_there}")
    if metric.percentile is not None:
        notes.append(f"{metric} is the percentile of the values of all groups, of which this is one")
    if metric.geometric:
        notes.append(f"{metric} is the geometric mean of the values of all groups, of which this is one")
    if metric.checked_by is not None:
        notes += _notes_of_checks(model, metric, metric.checked_by)
    elif of_groups != metric.bare:
        notes.append(f"{metric} is of the ranks of all groups, of which {of_groups} is this one")
    if is_mean and math.isnan(value):
        notes.append(f"the value is undefined for this group ({of_groups.declaration.undefined})")
    if is_left_out:
        definitions = plan.definitions
        setting = f"population={definitions.population}, unretrieved={definitions.unretrieved}"
        notes.append(f"the group is left out of the means ({setting})")
    rel = of_groups.rel if "rel" in of_groups.declaration.defaults else plan.level
    tables = _tables(arithmetic, ranking, seen, ranking.judgments.flags(rel))
    return ExplainedMetric(
        str(metric),
        plan.definition(metric),
        of_groups.declaration.formula,
        model.name,
        str(of_groups),
        value,
        is_mean,
        counts_as,
        weight,
        tables,
        arithmetic.steps,
        tuple(notes),
    )


def _notes_of_checks(model: RankedModel, metric: Metric, checked_by: str) -> Iterator[str]:
    yield f"{metric} corrects the mean of {metric.group_metric} by groups in which all rows have the label {checked_by}"
    other, whole = model.checked[checked_by]
    if whole[0]:
        value = float(other.values_of(metric.group_metric).by_group()[0])
        yield f"this group is one of them: its value by the label {checked_by} is {value:g}"


def _tables(
    arithmetic: Arithmetic, ranking: Ranking, model: RankedModel, relevant: Flags
) -> tuple[ExplainedTable, ...]:
    there = {table.name: table for table in arithmetic.tables}
    own = there.pop(RANKED, TermTable(RANKED, {}))
    tables = [_list(own, ranking, model, relevant)]
    for table in there.values():
        columns: dict[str, tuple[Any, ...]] = {}
        if table.row is not None:
            columns |= _named(table.row, model, ranking)
        tables.append(ExplainedTable(table.name, columns | _plain(table.columns)))
    listed = np.zeros(len(ranking.judgments.codes), np.bool_)
    listed[ranking.row] = True
    pooled = ranking.judgments.pooled()
    unlisted = np.flatnonzero(~listed & pooled)
    if len(unlisted):
        tables.append(ExplainedTable(UNLISTED, _named(unlisted, model, ranking)))
    return tuple(tables)


def _list(terms: TermTable, ranking: Ranking, model: RankedModel, relevant: Flags) -> ExplainedTable:
    row, blocks = ranking.row, ranking.blocks
    block: list[int | None] = [None] * len(row)
    for place, number in zip(blocks.row.tolist(), blocks.block.tolist(), strict=True):
        block[place] = number + 1
    named = _named(row, model, ranking)
    columns: dict[str, tuple[Any, ...]] = {"position": tuple(ranking.stands_at().tolist())}
    columns |= {name: values for name, values in named.items() if name in (ITEM, TITLE)}
    scores = model.rows.table[score_column(model.plan.models.index(model.name))]
    shown = pc.negate(scores) if model.plan.by_rank else scores
    score = "rank" if model.plan.by_rank else "score"
    columns[score] = tuple(shown.take(pa.array(row)).to_pylist())
    columns["label"] = named["label"]
    columns["relevant"] = tuple(map(bool, relevant[row]))
    columns["tie block"] = tuple(block)
    if (repeats := ranking.judgments.repeats) is not None:
        columns["repeats"] = tuple(map(bool, repeats[row]))
    columns |= {name: values for name, values in named.items() if name in MARKS}
    own = {name: values for name, values in terms.columns.items() if name != "relevant"}
    return ExplainedTable(RANKED, columns | _plain(own))


def _named(rows: Ints, model: RankedModel, ranking: Ranking) -> dict[str, tuple[Any, ...]]:
    """Return the columns label (None: the row has no label), item and title (if there are any) of ``rows``.

    Further columns mark rows that came too early, and rows of a truth that the group had before.
    """
    columns: dict[str, tuple[Any, ...]] = {}
    for name in (ITEM, TITLE):
        if name in model.rows and model.rows.table[name].null_count < len(model.rows):
            columns[name] = tuple(model.rows.table[name].take(pa.array(rows)).to_pylist())
    judgments = ranking.judgments
    labels, judged = judgments.labels[rows].tolist(), judgments.pooled()[rows].tolist()
    columns["label"] = tuple(label if there else None for label, there in zip(labels, judged, strict=True))
    for title, name in MARKS.items():
        of_truth = name == past_column(INTERACTIONS)
        if name in model.rows and (model.plan.joins or not of_truth):
            flags = np.asarray(model.rows.values(name), np.bool_)[rows]
            if of_truth:
                flags &= judgments.pooled()[rows]
            columns[title] = tuple(flags.tolist())
    return columns


def _plain(columns: Mapping[str, Floats]) -> dict[str, tuple[Any, ...]]:
    return {
        name: tuple(None if math.isnan(value) else value for value in values.tolist())
        for name, values in columns.items()
    }
