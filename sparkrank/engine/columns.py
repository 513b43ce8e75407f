"""From the columns of a Parquet file to those of a bucket: the Arrow twin of what the frame lane asks Spark to do."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.errors import InputError, did_you_mean, listed
from sparkrank.impressions import ITEM, LABEL, REFERENCE_RANK, WEIGHT, key_column, score_column
from sparkrank.metrics import Plan
from sparkrank.roles import Roles


def check_arrow_schema(schema: pa.Schema, roles: Roles, plan: Plan) -> None:
    """Refuse a schema in which some role's column is missing or of a type that it cannot have."""
    for role, column in roles.columns():
        if column not in schema.names:
            near = did_you_mean(column, schema.names)
            raise InputError(f'the {role} column "{column}" is not in the input{near} ({listed(schema.names)})')
        kind = schema.field(column).type
        number = _is_number(kind) or (role == "label" and pa.types.is_boolean(kind))
        if (role in ("label", "weight", "reference rank") or role.startswith("score")) and not number:
            raise InputError(f'the {role} column "{column}" is of type {kind}: a number is needed')
        if role in ("group", "item") and pa.types.is_nested(kind):
            raise InputError(f'the {role} column "{column}" is of type {kind}: a plain value is needed')
    if plan.needs_item and roles.item is None:
        raise InputError(f"{plan.item_is_for}, but no item column is named")
    if plan.needs_reference_rank and roles.reference_rank is None:
        raise InputError("ref=reference_rank compares with a column, but no reference_rank column is named")


def bucket_rows(rows: pa.Table, roles: Roles, plan: Plan) -> pa.Table:
    """The columns of a bucket (:func:`sparkrank.bucket.bucket_columns`) from those of the input."""
    columns = {key_column(index): _key(rows[column]) for index, column in enumerate(roles.group)}
    columns[LABEL] = _label(rows[roles.label])
    for index, column in enumerate(roles.scores.values()):
        columns[score_column(index)] = _float(rows[column])
    if plan.weighted and roles.weight is not None:
        columns[WEIGHT] = rows[roles.weight].cast(pa.float64(), safe=False)
    if plan.needs_item and roles.item is not None:
        columns[ITEM] = rows[roles.item].cast(pa.string())
    if plan.needs_reference_rank and roles.reference_rank is not None:
        columns[REFERENCE_RANK] = _float(rows[roles.reference_rank])
    return pa.table(columns)


def needed_columns(roles: Roles, plan: Plan) -> list[str]:
    """The input's columns that an evaluation reads."""
    unread = {"item": not plan.needs_item, "reference rank": not plan.needs_reference_rank}
    return [column for role, column in roles.columns() if not unread.get(role)]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column  # -0.0 is 0.0


def _label(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int8())
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def _float(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_floating(column.type) else pc.cast(column, pa.float64(), safe=False)
