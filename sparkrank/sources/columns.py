"""Conversion of the columns of an input to bucket columns, by Arrow, in every lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, first_line, shorten
from sparkrank.bucket.bucket_rows import flags_of
from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    LIST,
    MODEL,
    PAST,
    PROPENSITY,
    TRUTH,
    group_weight_column,
    key_column,
    label_column,
    score_column,
    slice_column,
    value_column,
)
from sparkrank.inputs.role_table import GROUP, GROUP_WEIGHT, SCORE, VALUES, Role, row_roles, slice_role
from sparkrank.inputs.role_table import LABEL as OF_LABEL
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.arrays import array_rows, whole_lists
from sparkrank.sources.joined_types import check_joined, check_roles
from sparkrank.sources.sizes import in_parts
from sparkrank.sources.values import READERS


def check_schema(schema: pa.Schema, roles: Roles, plan: Plan, what: str = "input") -> None:
    """Raise :class:`InputError` if a role's column is not in ``schema``, or has a type that does not fit the role."""
    check_roles(schema, roles, plan, what)
    roles.validate_required_roles(plan)
    if roles.true_items is not None:
        check_joined(schema, schema, roles, roles)


def bucket_schema(sides: Sequence[tuple[pa.Schema, Roles]], plan: Plan) -> pa.Schema:
    """Return a schema that fits the bucket rows of all inputs (``sides``). Integers and floats get the widest type."""
    read = [pa.schema(list(map(schema.field, needed_columns(roles, plan)))) for schema, roles in sides]
    schemas = [
        bucket_rows(columns.empty_table(), roles, plan).schema for columns, (_, roles) in zip(read, sides, strict=True)
    ]
    return pa.unify_schemas(schemas, promote_options="permissive")


def bucket_tables(
    tables: Iterable[pa.Table], roles: Roles, plan: Plan, schema: pa.Schema, first: int
) -> Iterator[pa.Table]:
    """Convert ``tables`` of one input to bucket rows with the ``schema`` of all inputs, in tables of bounded size.

    Lists in arrays are numbered from ``first``.
    """
    names = [column for role, _, column in roles.in_use() if role.is_name]
    parts = partial(whole_lists, arrays=roles.arrays, texts=names) if roles.arrays else in_parts
    for table in chain.from_iterable(map(parts, tables)):
        try:
            rows = bucket_rows(table, roles, plan, first)
            first += table.num_rows
            rows = rows if rows.schema == schema else rows.select(schema.names).cast(schema)
        except pa.ArrowInvalid as error:
            what = "the input" if not plan.joins else "the lists" if roles.scores else roles.past_name or "the truth"
            raise InputError(f"a value of {what} cannot be evaluated: {shorten(first_line(error))}") from error
        yield rows


def bucket_rows(rows: pa.Table, roles: Roles, plan: Plan, first: int = 0) -> pa.Table:
    """Convert the ``rows`` of one input to bucket rows. Rows with arrays are lists, numbered from ``first``."""
    if roles.true_items is not None:
        return array_rows(rows, roles, plan, first)
    nothing = pa.chunked_array([pa.nulls(rows.num_rows)])
    keys = key_rows(rows, roles)
    columns = dict(zip(keys.column_names, keys.columns, strict=True))
    columns |= _numbered_columns(rows, roles, plan)
    no_label = nothing if plan.joins else nothing.cast(pa.int8())
    columns[LABEL] = no_label if roles.label is None else _read(rows, OF_LABEL, roles.label)
    for name, index in plan.further_labels.items():
        columns[label_column(index)] = _read(rows, OF_LABEL, roles.labels[name]) if name in roles.labels else no_label
    for index, column in enumerate(roles.scores.values()):
        score = _read(rows, SCORE, column)
        columns[score_column(index)] = pc.negate(score) if roles.by_rank else score
    if not roles.scores:
        columns |= {score_column(index): nothing for index in range(plan.scores_of_row)}
    for role in row_roles():
        if role.needed(plan):
            named = roles.row_columns.get(role.key)
            columns[role.key] = _missing(role, roles, rows.num_rows) if named is None else _read(rows, role, named)
    if plan.has_sparse_propensities and PROPENSITY in roles.row_columns:
        columns[PROPENSITY] = _of_relevant_rows(columns[PROPENSITY], columns[LABEL])
    if plan.long:
        columns[MODEL] = _model_numbers(columns[MODEL], roles, plan)
    if plan.joins:
        is_truth = not roles.scores and roles.past_name is None
        columns[TRUTH] = pa.chunked_array([pa.repeat(is_truth, rows.num_rows)])
        if is_truth and roles.label is None:
            columns[LABEL] = pc.if_else(pc.is_valid(columns[ITEM]), pa.scalar(1, pa.int8()), None)
    if plan.past:
        number = pa.scalar(past_number(roles, plan), pa.int8())
        columns[PAST] = pa.chunked_array([pa.repeat(number, rows.num_rows)])
        columns |= {LIST: nothing} if plan.arrays else {}
    return pa.table(columns)


def _of_relevant_rows(numbers: pa.ChunkedArray, labels: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return ``numbers``, whose values are not copied, with null where ``labels`` are null or not above 0."""
    chunks = []
    for batch in pa.table([labels, numbers], ["labels", "numbers"]).to_batches():
        own, label = batch["numbers"], batch["labels"].fill_null(0).to_numpy()
        valid = np.packbits((label > 0) & flags_of(own.is_valid()), bitorder="little")
        values = own.buffers()[1].slice(own.offset * own.type.bit_width // 8)
        chunks.append(pa.Array.from_buffers(own.type, len(own), [pa.py_buffer(valid), values]))
    return pa.chunked_array(chunks, numbers.type)


def _numbered_columns(rows: pa.Table, roles: Roles, plan: Plan) -> dict[str, pa.ChunkedArray]:
    """Return the columns of slices, weights of groups and values of ``rows``, null where its side has none."""
    nothing = pa.chunked_array([pa.nulls(rows.num_rows)])
    columns = {}
    for index, source in plan.row_slices:
        columns[slice_column(index)] = nothing if roles.past_name else _read(rows, slice_role(source), source.column)
    for index, column in enumerate(plan.group_weights):  # the weight of a group comes from its list alone
        columns[group_weight_column(index)] = nothing if not roles.scores else _read(rows, GROUP_WEIGHT, column)
    for index, value in plan.row_values:
        is_read = value in roles.values  # a truth has gains alone
        columns[value_column(index)] = _read(rows, VALUES[value.kind], value.name) if is_read else nothing
    return columns


def _missing(role: Role, roles: Roles, rows: int) -> pa.ChunkedArray:
    is_null = role.missing is None or roles.past_name
    return pa.chunked_array([pa.nulls(rows) if is_null else pa.repeat(role.missing, rows)])


def past_number(roles: Roles, plan: Plan) -> int:
    """Return the number (from 1) of the table of the past with the columns ``roles``; 0 for another input."""
    return 0 if roles.past_name is None else plan.past.index(roles.past_name) + 1


def key_rows(rows: pa.Table, roles: Roles) -> pa.Table:
    """Return the key columns of the bucket rows of ``rows``."""
    return pa.table({key_column(index): _read(rows, GROUP, column) for index, column in enumerate(roles.group)})


def _model_numbers(names: pa.ChunkedArray, roles: Roles, plan: Plan) -> pa.ChunkedArray:
    """Return the index of each row's model in ``plan``, or null for rows of a truth.

    ``names`` are the models' names if there is a model column. Otherwise all rows have the only model in ``roles``.
    """
    if not plan.models:  # the models are not known yet; a dictionary makes them cheap to count
        return names if pa.types.is_dictionary(names.type) else names.dictionary_encode()
    if not roles.scores:
        return names.cast(pa.int16())
    if MODEL in roles.row_columns:
        models = pa.array(plan.models)
        if not pa.types.is_dictionary(names.type):
            return pc.index_in(names, models).cast(pa.int16())
        numbers = [pc.index_in(part.dictionary, models).cast(pa.int16()).take(part.indices) for part in names.chunks]
        return pa.chunked_array(numbers, pa.int16())
    (model,) = roles.scores
    return pa.chunked_array([pa.repeat(pa.scalar(plan.models.index(model), pa.int16()), len(names))])


def _read(rows: pa.Table, role: Role, column: str) -> pa.ChunkedArray:
    return READERS[role.reads](rows[column])


def needed_columns(roles: Roles, plan: Plan) -> list[str]:
    """Return the names of the input columns that an evaluation reads."""
    return list(dict.fromkeys(column for role, _, column in roles.in_use() if role.needed(plan)))
