"""From the columns of a Parquet file to those of a bucket: the Arrow twin of what the frame lane asks Spark to do."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.errors import InputError, did_you_mean, listed
from sparkrank.impressions import ITEM, LABEL, TRUTH, key_column, score_column
from sparkrank.metrics import Plan
from sparkrank.roles import Roles


def check_arrow_schema(schema: pa.Schema, roles: Roles, plan: Plan, what: str = "input") -> None:
    """Refuse a schema, that of ``what``, in which some role's column is missing or of a type that it cannot have."""
    for role, column in roles.columns():
        if column not in schema.names:
            near = did_you_mean(column, schema.names)
            raise InputError(f'the {role} column "{column}" is not in the {what}{near} ({listed(schema.names)})')
        kind = schema.field(column).type
        number = _is_number(kind) or (role == "label" and pa.types.is_boolean(kind))
        if role.startswith(("label", "score", "rank")) and not number:
            raise InputError(f'the {role} column "{column}" is of type {kind}: a number is needed')
        if role in ("group", "item") and pa.types.is_nested(kind):
            raise InputError(f'the {role} column "{column}" is of type {kind}: a plain value is needed')
    refuse_no_item(roles, plan)


def check_truth(kinds: pa.Schema, truth_kinds: pa.Schema, roles: Roles) -> None:
    """Refuse a truth whose group key or item is of another kind than that of the lists: nothing would be found."""
    for role, column, truth_column in joined_columns(roles):
        kind, truth_kind = kinds.field(column).type, truth_kinds.field(truth_column).type
        if _family(kind) != _family(truth_kind):
            refuse_other_kind(role, column, str(kind), truth_column, str(truth_kind))


def joined_columns(roles: Roles) -> list[tuple[str, str, str]]:
    """(role, column of the lists, column of the truth) of what lists and truth are joined by."""
    truth = roles.truth
    if truth is None or roles.item is None or truth.item is None:
        return []
    keys = [("group", *pair) for pair in zip(roles.group, truth.group, strict=True)]
    return [*keys, ("item", roles.item, truth.item)]


def refuse_other_kind(role: str, column: str, kind: str, truth_column: str, truth_kind: str) -> None:
    raise InputError(
        f'the {role} column is of type {kind} in the lists ("{column}") and of type {truth_kind} in the truth '
        f'("{truth_column}"): one type is needed'
    )


def refuse_no_item(roles: Roles, plan: Plan) -> None:
    """Raise :class:`InputError` where the item decides something and no column is named."""
    if plan.needs_item and roles.item is None:
        asks = "ties=item orders tied rows" if plan.definitions.ties == "item" else "duplicates are found"
        raise InputError(f"{asks} by item, but no item column is named")


def bucket_schema(sides: Sequence[tuple[pa.Schema, Roles]], plan: Plan) -> pa.Schema:
    """The schema that holds the bucket rows of every side: integers and floats become the widest."""
    schemas = [bucket_rows(schema.empty_table(), roles, plan).schema for schema, roles in sides]
    return pa.unify_schemas(schemas, promote_options="permissive")


def bucket_rows(rows: pa.Table, roles: Roles, plan: Plan) -> pa.Table:
    """The columns of a bucket (:func:`sparkrank.bucket.bucket_columns`) from those of the input, or of the truth.

    What one of the two has and the other has not is null there.
    """
    nothing = pa.chunked_array([pa.nulls(rows.num_rows)])
    keys = [_decoded(rows[column]) if plan.joins else rows[column] for column in roles.group]
    columns = {key_column(index): _key(key) for index, key in enumerate(keys)}
    columns[LABEL] = nothing if roles.label is None else _label(rows[roles.label])
    for index, column in enumerate(roles.scores.values()):
        score = _score(rows[column])
        columns[score_column(index)] = pc.negate(score) if roles.by_rank else score
    if not roles.scores:
        columns |= {score_column(index): nothing for index in range(len(plan.models))}
    if plan.needs_item and roles.item is not None:
        columns[ITEM] = _item(rows[roles.item])
    if plan.joins:
        is_truth = not roles.scores
        columns[TRUTH] = pa.chunked_array([pa.repeat(is_truth, rows.num_rows)])
        if is_truth and roles.label is None:
            columns[LABEL] = pc.if_else(pc.is_valid(columns[ITEM]), pa.scalar(1, pa.int8()), None)
    return pa.table(columns)


def needed_columns(roles: Roles, plan: Plan) -> list[str]:
    """The input's columns that an evaluation reads."""
    return [column for role, column in roles.columns() if role != "item" or plan.needs_item]


def _family(kind: pa.DataType) -> str:
    """Types of one family hold values that can be equal."""
    if pa.types.is_dictionary(kind):
        return _family(kind.value_type)
    families = {"integer": pa.types.is_integer, "float": pa.types.is_floating, "text": pa.types.is_string}
    families |= {"large text": pa.types.is_large_string}
    found = next((name for name, holds in families.items() if holds(kind)), str(kind))
    return found.removeprefix("large ")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _item(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers and texts as they are, anything else as text."""
    column = _decoded(column)
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return column if plain else column.cast(pa.string())


def _key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column  # -0.0 is 0.0


def _label(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int8())
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def _score(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_floating(column.type) else pc.cast(column, pa.float64(), safe=False)
