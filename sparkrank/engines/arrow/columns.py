"""From the columns of a Parquet file to those of a bucket: the Arrow twin of what the frame lane asks Spark to do."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    REFERENCE_RANK,
    SPOILED,
    TRUTH,
    WEIGHT,
    group_weight_column,
    key_column,
    score_column,
    slice_column,
)
from sparkrank.engines.arrow.arrays import array_rows
from sparkrank.engines.arrow.joined_types import (
    check_joined,
    of_wrong_type,
    refuse_no_array,
    refuse_no_column,
    refuse_slice,
)
from sparkrank.engines.arrow.text_schema import NO_NUMBER
from sparkrank.engines.arrow.values import (
    float_values,
    is_number,
    is_slice_value,
    item_values,
    key_values,
    label_values,
)
from sparkrank.metrics import Plan
from sparkrank.roles import GROUP_WEIGHT, SLICE, Roles


def check_arrow_schema(schema: pa.Schema, roles: Roles, plan: Plan, what: str = "input") -> None:
    """Refuse a schema, that of ``what``, in which some role's column is missing or of a type that it cannot have."""
    for role, column in roles.columns():
        refuse_no_column(role, column, schema.names, what)
        kind = schema.field(column).type
        if role == SLICE and not is_slice_value(kind):
            refuse_slice(column, str(kind))
        if roles.true_items is not None and role not in ("group", SLICE, GROUP_WEIGHT):
            refuse_no_array(role, column, kind)
            continue
        number = is_number(kind) or (role == "label" and pa.types.is_boolean(kind))
        if role not in ("group", "item", SLICE) and not number:
            raise of_wrong_type(role, column, kind, "a number")
        if role in ("group", "item") and (pa.types.is_nested(kind) or pa.types.is_interval(kind)):
            raise of_wrong_type(role, column, kind, "a plain value")
    roles.refuse_unnamed(plan)
    if roles.true_items is not None:
        check_joined(schema, schema, roles)


def bucket_schema(sides: Sequence[tuple[pa.Schema, Roles]], plan: Plan) -> pa.Schema:
    """The schema that holds the bucket rows of every side: integers and floats become the widest."""
    read = [pa.schema(list(map(schema.field, needed_columns(roles, plan)))) for schema, roles in sides]
    schemas = [
        bucket_rows(each.empty_table(), roles, plan).schema for each, (_, roles) in zip(read, sides, strict=True)
    ]
    return pa.unify_schemas(schemas, promote_options="permissive")


def bucket_rows(rows: pa.Table, roles: Roles, plan: Plan, first: int = 0) -> pa.Table:
    """The columns of a bucket (:func:`sparkrank.bucket.bucket_columns`) from those of the input, or of the truth.

    What one of the two has and the other has not is null there. Rows are numbered from ``first`` where it matters.
    """
    if roles.true_items is not None:
        return array_rows(rows, roles, plan, first)
    nothing = pa.chunked_array([pa.nulls(rows.num_rows)])
    columns = {key_column(index): key_values(rows[column]) for index, column in enumerate(roles.group)}
    for index, column in enumerate(plan.slice_columns):
        columns[slice_column(index)] = item_values(rows[column])
    for index, column in enumerate(plan.group_weights):  # a truth has none: what a group weighs is said by its list
        weights = nothing if not roles.scores else float_values(rows[column]).cast(pa.float64())
        columns[group_weight_column(index)] = weights
    no_label = nothing if plan.joins else nothing.cast(pa.int8())
    columns[LABEL] = no_label if roles.label is None else label_values(rows[roles.label])
    for index, column in enumerate(roles.scores.values()):
        score = float_values(rows[column])
        columns[score_column(index)] = pc.negate(score) if roles.by_rank else score
    if not roles.scores:
        columns |= {score_column(index): nothing for index in range(len(plan.models))}
    if plan.weighted:  # that of a row of the truth is never read: it has no score
        ones = pa.chunked_array([pa.repeat(1.0, rows.num_rows)])
        columns[WEIGHT] = ones if roles.weight is None else float_values(rows[roles.weight]).cast(pa.float64())
    if plan.needs_item and roles.item is not None:
        columns[ITEM] = item_values(rows[roles.item])
    if plan.needs_reference_rank:
        ranks = roles.reference_rank
        columns[REFERENCE_RANK] = nothing if ranks is None else float_values(rows[ranks])
    if plan.reads_texts:
        said = (
            rows[NO_NUMBER] if NO_NUMBER in rows.column_names else pa.chunked_array([pa.repeat(False, rows.num_rows)])
        )
        columns[SPOILED] = said
    if plan.joins:
        is_truth = not roles.scores
        columns[TRUTH] = pa.chunked_array([pa.repeat(is_truth, rows.num_rows)])
        if is_truth and roles.label is None:
            columns[LABEL] = pc.if_else(pc.is_valid(columns[ITEM]), pa.scalar(1, pa.int8()), None)
    return pa.table(columns)


def needed_columns(roles: Roles, plan: Plan) -> list[str]:
    """The input's columns that an evaluation reads."""
    unread = {"item": not plan.needs_item, "reference rank": not plan.needs_reference_rank}
    return list(dict.fromkeys(column for role, column in roles.columns() if not unread.get(role)))
