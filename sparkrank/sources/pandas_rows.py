"""Conversion of pandas rows to an Arrow table. NaN becomes null, and is counted in columns that may contain nulls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import InputError, itemize, quote, shorten
from sparkrank.inputs.field_paths import Place, columns_of, places, ratings_at
from sparkrank.inputs.role_table import MODEL
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.metrics.rank_comparison import REFERENCE_RANK
from sparkrank.sources.in_memory import is_pandas, valid_table
from sparkrank.sources.nested import shape_of, taken
from sparkrank.sources.types import is_list, list_parts, plain_array

Counts = Counter[tuple[str, str]]


def out_of_pandas(rows: Any, roles: Roles, plan: Plan, what: str, counts: Counts) -> Any:
    """Return a pandas DataFrame, the input ``what`` in messages, as an Arrow table, and other ``rows`` unchanged.

    Add the number of NaN that became null to ``counts``. Raise the errors of :func:`table_of`.
    """
    if not is_pandas(rows):
        return rows
    rows = _with_levels(rows, roles)
    table = table_of(rows, roles, what)
    inside = places(roles, {field.name: shape_of(field.type) for field in table.schema}, what)
    for check, model, name in _looked_at(roles, plan):
        place: Place | None = inside.get(name, Place(name, ()))
        if check == checks.NAN_RATINGS and place is not None:
            place = ratings_at(place)
        if place is not None and place.column in table.column_names:
            counts[check, model] += _nans(rows[place.column], table[place.column], place)
    return table


def _looked_at(roles: Roles, plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield (check, model, column) for each role in which a null is valid. The check counts NaN that became null."""
    arrays = roles.true_items is not None
    for name, column in roles.scores.items():
        model = "" if MODEL.key in roles.row_columns else name
        yield checks.NAN_RATINGS if arrays else checks.NAN_OF_PANDAS, model, column
    for column in roles.labels.values():
        yield checks.NAN_LABELS, "", column
    if REFERENCE_RANK in roles.row_columns and plan.needs_reference_rank:
        yield checks.NAN_REFERENCE_OF_PANDAS, "", roles.row_columns[REFERENCE_RANK]


def _with_levels(rows: Any, roles: Roles) -> Any:
    """Turn the index levels of ``rows`` that have a role into columns."""
    levels = {name for name in rows.index.names if isinstance(name, str)} - set(rows.columns)
    named = {column for _, column in roles.columns()} & levels
    return rows.reset_index(level=list(named)) if named else rows


def table_of(rows: Any, roles: Roles, what: str) -> pa.Table:
    """Return the columns of ``rows`` with a role. If one is missing, return all columns, so that errors list them."""
    names = [name for name in rows.columns if isinstance(name, str)]
    _validate_text_names(rows, names, roles, what)
    try:
        table = pa.Table.from_pandas(rows[columns_of(roles, names)], preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = shorten(": ".join(map(shorten, error.args)).rstrip("."))
        raise InputError(f"the {what} has a column that Arrow cannot hold: {reason}") from error
    return valid_table(table, roles, what)  # pandas columns may be Arrow arrays


def _validate_text_names(rows: Any, names: list[str], roles: Roles, what: str) -> None:
    others = [name for name in rows.columns if not isinstance(name, str)]
    for role, column in roles.columns() if others else ():
        if not any(column == name or column.startswith((f"{name}.", f"{name}[")) for name in names):
            remedy = 'rows.columns.map("_".join)' if rows.columns.nlevels > 1 else "rows.columns.map(str)"
            raise InputError(
                f'the {role} column "{shorten(column)}" is not in the {what} ({itemize([*map(repr, names)])}'
                f"{', ' if names else ''}{itemize(map(quote, others))}): names of columns must be texts, and some of "
                f"these are not: rename them, for example by rows.columns = {remedy}"
            )


def _nans(column: Any, table_column: pa.ChunkedArray, place: Place) -> int:
    """Count the values at ``place`` that are NaN in the pandas ``column`` and null in ``table_column``."""
    nulls = _null_elements(table_column, place)
    if not nulls or column.dtype.name == "category":
        return nulls
    try:
        given = pa.array(column, from_pandas=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # NaN among texts: count every null
        return nulls
    return nulls - _null_elements(given if isinstance(given, pa.ChunkedArray) else pa.chunked_array([given]), place)


def _null_elements(column: pa.ChunkedArray, place: Place) -> int:
    """Count the nulls among the values at ``place``, or among the elements of these values if they are arrays."""
    column = taken(column, place.steps)
    values = plain_array(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))
    while is_list(values.type):
        values = list_parts(values)[1]
    return int(values.null_count)
