"""From rows as people write them to a bucket, and from what a bucket yields back to plain values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.bucket.counted_items import popularity_states
from sparkrank.bucket.group_rows import with_plain_models
from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    PAST,
    PROPENSITY,
    REFERENCE_RANK,
    key_column,
    one_array,
    score_column,
    value_column,
)
from sparkrank.bucket.item_columns import item_columns
from sparkrank.metrics import Definitions, Metric, Plan, plan_of
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.slices import ALL
from sparkrank.ranking.value_columns import POPULARITY, SEPARATOR
from sparkrank.run.catalog_items import with_catalogue
from sparkrank.states import Partials
from sparkrank.states.item_table import TARGET_ROWS, HeldItems, ItemTable
from sparkrank.states.items import items_table
from sparkrank.states.keys import Subject
from sparkrank.states.popularity import Popularity
from tests.cases import HAD, KINDS, Row

MODEL = "model"
KEY = "user"


def bucket(rows: Iterable[Row], score_type: pa.DataType | None = None) -> pa.Table:
    """The bucket of rows of (group, item, score, label and perhaps reference rank), as :mod:`tests.cases` has them."""
    rows = [*rows]
    ranks = pa.array([row[4] if len(row) > 4 else None for row in rows], pa.float64())
    group, item, score, label = zip(*(row[:4] for row in rows), strict=True) if rows else ((), (), (), ())
    table = pa.table(
        {
            key_column(0): pa.array(group, pa.string()),
            LABEL: pa.array(label, pa.float64()),
            score_column(0): pa.array(score, score_type or pa.float64()),
            ITEM: pa.array(item, pa.string()),
        }
    )
    return table.append_column(REFERENCE_RANK, ranks) if any(len(row) > 4 for row in rows) else table


def evaluate(
    rows: Iterable[Row] | pa.Table, metrics: Sequence[str | Metric], ties: str = "expected", undefined: str = "skip"
) -> BucketResult:
    plan = plan_of(metrics, [MODEL], [KEY], Definitions(ties, undefined), score_sums=True)
    return evaluate_rows(rows if isinstance(rows, pa.Table) else bucket(rows), plan)


def evaluate_rows(rows: pa.Table, plan: Plan) -> BucketResult:
    plan = with_catalog(rows, plan)
    result = evaluate_bucket(beside_past(with_values(rows, plan), plan), plan)
    return replace(result, partials=with_catalogue(result.partials, plan))


def with_catalog(rows: pa.Table, plan: Plan) -> Plan:
    """``plan`` with a catalog if it looks up what items are: of the kinds of cases, else of the columns of ``rows``.

    Where it looks up the popularity of items, the interactions are those that cases mean.
    """
    if plan.reads_popularity and not plan.reads_target_rows:
        return replace(plan, items=(HeldItems(popularity_of(past_of(rows), plan)),))
    columns = {name: column.partition(".")[2] for name, column in item_columns(plan).items()}
    if not columns:
        return plan
    if "kind" in columns.values():
        rows = pa.table({ITEM: [*KINDS], "kind": pa.array(KINDS.values(), pa.large_string()).dictionary_encode()})
    values = {name: one_array(rows[column]) for name, column in columns.items()}
    if plan.reads_target_rows:
        values[TARGET_ROWS] = pa.array(HAD.values())
    return replace(plan, items=(HeldItems(ItemTable.of(one_array(rows[ITEM]), values)),))


def popularity_of(past: pa.Table, plan: Plan) -> ItemTable:
    states = popularity_states(past)
    popularity = Popularity.of(states.items, states.counts[checks.PAST_GROUPS, ""], plan.tiers)
    columns, totals = popularity.columns(), popularity.totals(0)
    read = item_columns(plan, POPULARITY)
    return ItemTable.of(
        popularity.items,
        {name: columns[column].cast(pa.float64()) for name, column in read.items()},
        POPULARITY,
        {name: totals[column] for name, column in read.items()},
    )


def past_of(rows: pa.Table) -> pa.Table:
    """The interactions that cases mean: the rows with a label above 0."""
    return rows.filter(pc.fill_null(pc.greater(rows[LABEL], 0), fill_value=False))


def with_values(rows: pa.Table, plan: Plan) -> pa.Table:
    """``rows`` with the columns of values that ``plan`` reads: a copy of the labels, or of the items, by their name.

    Propensities are the reference ranks; a reward of 0.5 is expected of each action, and 0.25 of the policy.

    An item such as ``a+b`` stands for the texts a and b, and ``1+0`` for these numbers. A label is one text.
    """
    for index, value in plan.row_values:
        own = rows[value.name]
        if value.kind == "texts":
            own = pc.replace_substring(own.cast(pa.string()), "+", SEPARATOR)
        elif value.kind == "numbers":
            own = pa.chunked_array([[[*map(float, item.split("+"))] for item in own.to_pylist()]])
        rows = rows.append_column(value_column(index), own)
    for name, estimate in (("estimate", 0.5), ("policy_estimate", 0.25)):
        rows = rows.append_column(name, pa.array([estimate] * len(rows))) if plan.metric_reading(name) else rows
    return rows.append_column(PROPENSITY, rows[REFERENCE_RANK]) if plan.metric_reading(PROPENSITY) else rows


def beside_past(rows: pa.Table, plan: Plan) -> pa.Table:
    """``rows``, and where ``plan`` reads interactions those that cases mean: of their items with a label above 0."""
    if not plan.past:
        return rows
    had = past_of(rows)
    pairs = {name: had[name] if name in (key_column(0), ITEM) else pa.nulls(len(had)) for name in rows.column_names}
    number = pa.array([0] * len(rows) + [1] * len(had), pa.int8())
    together = pa.concat_tables([rows, pa.table(pairs)], promote_options="permissive")
    return together.append_column(PAST, number)


def group_values(result: BucketResult, metric: str) -> dict[str, float]:
    """The value of each group in the group table, NaN where the metric is undefined."""
    return dict(zip(result.groups[KEY].to_pylist(), result.groups[metric].to_pylist(), strict=True))


def or_nan(value: float | None) -> float:
    """NaN for the None that cases and oracles write where a metric is undefined."""
    return math.nan if value is None else value


def mean(partials: Partials, metric: str) -> float:
    return partials.means.results()[MODEL, ALL, ALL, metric].value


def day(partials: Partials, metric: Metric) -> tuple[float, float]:
    """The value of a metric of the whole day, and its error bound."""
    found = Merged(partials).row(Subject(MODEL, ALL, ALL), metric)
    return found.value, found.error_bound


def bits_of_partials(partials: Partials) -> dict[str, object]:
    """Everything in partials, with each float as its exact text, so that equal means equal bits."""
    return {
        "means": {key: repr(found) for key, found in sorted(partials.means.results().items())},
        "blocks": {
            str(series): [getattr(blocks, name).tolist() for name in ("bins", "pos", "neg", "offset", "rows")]
            for series, blocks in sorted(partials.blocks.items(), key=lambda found: str(found[0]))
        },
        "items": items_table(partials.items).to_pylist(),
        "distributions": {
            key: (str(found.histogram.rule), found.histogram.bins.tolist(), found.histogram.neg.tolist())
            for key, found in sorted(partials.distributions.items())
        },
        "sums": {key: repr(found) for key, found in sorted(partials.sums.results().items())},
        "counts": dict(sorted(partials.counts.items())),
    }


def bits_of_groups(groups: pa.Table, keys: Sequence[str] = (KEY,)) -> list[dict[str, str]]:
    """The group table in the order of its key, with each value as its exact text."""
    ordered = with_plain_models(groups).sort_by([("model", "ascending"), *((key, "ascending") for key in keys)])
    return [{name: repr(value) for name, value in row.items()} for row in ordered.to_pylist()]
