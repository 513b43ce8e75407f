"""Rows of pandas as a table of Arrow: what of its columns and index has a role, and what becomes of its NaN.

NaN is how pandas says that there is no value, and nobody can tell it from one that was computed: it is null, in every
role and inside of every column, whatever holds it. Where a null is no bad row it is counted, and a warning says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import InputError, listed, shortened, shown
from sparkrank.inputs.field_paths import Place, columns_of, places, ratings_at
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.metrics.rank_comparison import REFERENCE_RANK
from sparkrank.sources.in_memory import is_pandas, validated
from sparkrank.sources.nested import shape_of, taken
from sparkrank.sources.types import is_list, list_parts, plain_array

Counts = Counter[tuple[str, str]]


class InMemory(NamedTuple):
    """Both sides of an evaluation, tables of Arrow where they were of pandas, and how many NaN of these are null now,
    by check and model.
    """

    impressions: Any
    truth: Any
    counts: Counts


def out_of_pandas(impressions: Any, truth: Any, roles: Roles, plan: Plan) -> InMemory:
    """Both sides with none of pandas; raises :class:`InputError` as :func:`table_of` does."""
    counts: Counts = Counter()
    if is_pandas(impressions):
        impressions = _counted(impressions, roles, plan, "input", counts)
    if is_pandas(truth) and roles.truth is not None:
        truth = _counted(truth, roles.truth, plan, "truth", counts)
    return InMemory(impressions, truth, counts)


def _counted(rows: Any, roles: Roles, plan: Plan, what: str, counts: Counts) -> pa.Table:
    rows = _with_levels(rows, roles)
    table = table_of(rows, roles, what)
    found = places(roles, {field.name: shape_of(field.type) for field in table.schema}, what)
    for check, model, name in _looked_at(roles, plan):
        place: Place | None = found.get(name, Place(name, ()))
        if check == checks.NAN_RATINGS and place is not None:
            place = ratings_at(place)
        if place is not None and place.column in table.column_names:
            counts[check, model] += _nans(rows[place.column], table[place.column], place)
    return table


def _looked_at(roles: Roles, plan: Plan) -> Iterator[tuple[str, str, str]]:
    """The check, the model and the column of each role in which a null is no bad row."""
    arrays = roles.true_items is not None
    for model, column in roles.scores.items():
        yield checks.NAN_RATINGS if arrays else checks.NAN_OF_PANDAS, model, column
    if roles.label is not None:
        yield checks.NAN_LABELS, "", roles.label
    if REFERENCE_RANK in roles.of_rows and plan.needs_reference_rank:
        yield checks.NAN_REFERENCE_OF_PANDAS, "", roles.of_rows[REFERENCE_RANK]


def _with_levels(rows: Any, roles: Roles) -> Any:
    """``rows`` with the levels of the index that have a role among the columns."""
    levels = {name for name in rows.index.names if isinstance(name, str)} - set(rows.columns)
    asked = {column for _, column in roles.columns()} & levels
    return rows.reset_index(level=list(asked)) if asked else rows


def table_of(rows: Any, roles: Roles, what: str) -> pa.Table:
    """The columns of a DataFrame that have a role; all, where some of them are missing, to name them.

    Raises :class:`InputError` where a column has values that no single Arrow type holds, or names that are no text.
    """
    names = [name for name in rows.columns if isinstance(name, str)]
    _validate_text_names(rows, names, roles, what)
    try:
        table = pa.Table.from_pandas(rows[columns_of(roles, names)], preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = shortened(": ".join(map(shortened, error.args)).rstrip("."))
        raise InputError(f"the {what} has a column that Arrow cannot hold: {reason}") from error
    table = validated(table, roles, what)  # columns of pandas may be those of Arrow
    columns = [  # of a column of floats Arrow has made nulls, of their objects and of its own columns it has not
        column if _is_floats(rows.dtypes.iloc[list(rows.columns).index(name)]) else _without_nan(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, table.column_names)


def _validate_text_names(rows: Any, names: list[str], roles: Roles, what: str) -> None:
    others = [name for name in rows.columns if not isinstance(name, str)]
    for role, column in roles.columns() if others else ():
        if not any(column == name or column.startswith((f"{name}.", f"{name}[")) for name in names):
            remedy = 'rows.columns.map("_".join)' if rows.columns.nlevels > 1 else "rows.columns.map(str)"
            raise InputError(
                f'the {role} column "{shortened(column)}" is not in the {what} ({listed([*map(repr, names)])}'
                f"{', ' if names else ''}{listed(map(shown, others))}): names of columns are texts, and some of these "
                f"are none: rename them, as by rows.columns = {remedy}"
            )


def _is_floats(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind == "f"


def _without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    chunks = [_null_for_nan(chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks) if chunks else column


def _null_for_nan(values: pa.Array) -> pa.Array:
    """``values``, of structs and arrays those inside, with null where they are NaN."""
    kind = values.type
    if not _holds_floats(kind):
        return values
    if pa.types.is_struct(kind):
        inside = [_null_for_nan(field) for field in values.flatten()]
        fields = [field.with_type(of.type) for field, of in zip(kind, inside, strict=True)]
        return pa.StructArray.from_arrays(inside, fields=fields, mask=values.is_null()) if inside else values
    if is_list(kind):
        ends, elements = list_parts(values)
        wide = pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind)
        elements = _null_for_nan(elements)
        mask = values.is_null() if values.null_count else None
        offsets = pa.array(ends, pa.int64() if wide else pa.int32())
        return (pa.LargeListArray if wide else pa.ListArray).from_arrays(offsets, elements, mask=mask)
    values = plain_array(values)  # Arrow computes with no half floats
    is_nan = pc.is_nan(values).fill_null(False)
    return pc.if_else(is_nan, pa.scalar(None, values.type), values) if pc.any(is_nan).as_py() else values


def _holds_floats(kind: pa.DataType) -> bool:
    if is_list(kind):
        return _holds_floats(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_holds_floats(field.type) for field in kind)
    return bool(pa.types.is_floating(kind))


def _nans(column: Any, table_column: pa.ChunkedArray, place: Place) -> int:
    """How many values at ``place`` of a ``column`` of pandas are NaN; ``table_column`` has null for them."""
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return int(np.isnan(column.to_numpy()).sum()) if kind.kind == "f" else 0
    if kind.name == "category":
        return int(table_column.null_count)
    try:
        given = pa.array(column, from_pandas=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # NaN among texts: then it is any null
        return int(_elements(taken(table_column, place.steps)).null_count)
    values = _elements(taken(given if isinstance(given, pa.ChunkedArray) else pa.chunked_array([given]), place.steps))
    if not pa.types.is_floating(values.type):
        return 0
    return int(pc.sum(pc.is_nan(values)).as_py() or 0)


def _elements(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column, of arrays their elements."""
    values = plain_array(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))
    while is_list(values.type):
        values = list_parts(values)[1]
    return values
