"""Checks of column types. A type must fit its column's role, and columns that join inputs need comparable types."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sparkrank.base.errors import (
    InputError,
    MissingColumnError,
    SparkrankError,
    SpecError,
    did_you_mean,
    hint,
    itemize,
    shorten,
)
from sparkrank.inputs.role_table import ITEMS, NEEDED, SLICE, TIME
from sparkrank.inputs.roles import Roles, role_title
from sparkrank.metrics import Plan
from sparkrank.metrics.parameters import Name
from sparkrank.ranking.value_columns import TIER
from sparkrank.sources.types import plain_type
from sparkrank.sources.values import FITS, is_array, time_kind

TYPE_NAME = b"type name"  # the key of the metadata of a field whose type the user knows by another name than Arrow's


def joined_columns(roles: Roles, beside: Roles) -> list[tuple[str, str, str]]:
    """Return the columns that join lists with another input: (role, column of the lists, column of that input)."""
    items = [(role_title(model, ITEMS.name, column), column) for model, column in roles.scores.items()]
    if roles.true_items is not None and not beside.past_name:
        return [(*listed, roles.true_items) for listed in items]
    keys = [("group", *pair) for pair in zip(roles.group, beside.group, strict=True)]
    if roles.true_items is not None:
        return [*keys, *((*listed, str(beside.item)) for listed in items)]
    if roles.item is None or beside.item is None:
        return []
    clusters = [("cluster", roles.cluster, beside.cluster)] if roles.cluster and beside.cluster else []
    return [*keys, ("item", roles.item, beside.item), *clusters]


def check_joined(
    schema: pa.Schema, other: pa.Schema, roles: Roles, beside: Roles, sides: tuple[str, str] = ("lists", "truth")
) -> None:
    """Raise :class:`InputError` if group keys or items of two inputs (``sides``) have types without equal values.

    The inputs have the schemas ``schema`` and ``other``. Slice columns must be integers in both or in neither, and
    times of one kind.
    """
    joined = [(*columns, fit) for columns in joined_columns(roles, beside)]
    alike = lambda kind, other: _is_integer(kind) == _is_integer(other)  # noqa: E731 - a rule like the other
    of_slices = (source.column for source in beside.slice_sources if not source.is_number)
    joined += [(SLICE.name, column, column, alike) for column in of_slices]
    alike_times = lambda kind, other: "null" in (kinds := {time_kind(kind), time_kind(other)}) or len(kinds) == 1  # noqa: E731
    if roles.time is not None and beside.time is not None and beside is not roles:
        joined.append((TIME.name, roles.time, beside.time, alike_times))
    for role, column, other_column, fits in joined:
        field, field_beside = schema.field(column), other.field(other_column)
        if not fits(field.type, field_beside.type):
            raise InputError(
                f'the {role} column is of type {type_name(field)} in the {sides[0]} ("{shorten(column)}") and of '
                f'type {type_name(field_beside)} in the {sides[1]} ("{shorten(other_column)}"): one type is needed'
            )


def type_name(field: pa.Field) -> str:
    """Return the name of the type of ``field`` in messages: :data:`TYPE_NAME` in its metadata, or Arrow's name."""
    name = (field.metadata or {}).get(TYPE_NAME)
    return shorten(field.type if name is None else name.decode())


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(plain_type(kind)))


# For columns named _c0, _c1 ... by their readers, and for names that are read as values.
HEADER_REMEDY = "; options: {header: true} takes names from the first line"
SLICES_REMEDY = ": with a truth, the columns of slices stand in the lists and in the truth"


def validate_column(
    role: str,
    column: str,
    names: Sequence[str],
    what: str,
    remedy: str = "",
    lacking: type[SparkrankError] = MissingColumnError,
) -> None:
    """Raise ``lacking`` if ``column`` is not in ``names``, or :class:`InputError` if a name differs only in case.

    A missing column ``tier`` of rows is a :class:`SpecError`, because interactions would give it.
    """
    if column not in names:
        if column == TIER and what.startswith("input"):
            lacking, remedy = SpecError, ": name interactions, of which items have a tier"
        lacks = f'the {role} column "{shorten(column)}" is not in the {what}{hint(column, names, "")}'
        raise lacking(f"{lacks}{HEADER_REMEDY if '_c0' in names else remedy}")
    alike = [name for name in names if name.lower() == column.lower()]
    if len(alike) > 1:
        raise InputError(
            f'the {role} column "{shorten(column)}" of the {what} is not the only one of that name, upper or lower '
            f"case ({itemize(alike)}): rename the others"
        )


def check_roles(schema: pa.Schema, roles: Roles, plan: Plan, what: str) -> None:
    """Raise :class:`InputError` if a role's column is not in ``schema``, or has a type that does not fit the role.

    ``what`` is the name of the input. The message on a missing column adds what else ``plan`` allows: columns of slices
    in both lists and a truth, or the words that a parameter accepts in place of a column.
    """
    lacking = MissingColumnError if roles.past_name is None else SpecError
    for role, title, column in roles.in_use():
        remedy = SLICES_REMEDY if plan.joins and role is SLICE else _words_for(column, plan)
        validate_column(title, column, schema.names, what, remedy, lacking)
        field = schema.field(column)
        for rule in role.takes:
            if not FITS[rule](field.type):
                problem = f'the {title} column "{shorten(column)}" is of type {type_name(field)}'
                raise InputError(f"{problem}: {NEEDED[rule]} is needed")


def _words_for(column: str, plan: Plan) -> str:
    """Return the words that a parameter takes, if a metric of ``plan`` gives ``column`` to a parameter with words."""
    for metric in plan.metrics:
        for own in metric.declaration.all_parameters:
            if isinstance(own, Name) and own.choices and metric[own.name] == column:
                return f"; {own.name} takes {own.allowed}{did_you_mean(column, own.choices)}"
    return ""


def fit(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return whether values of the two types can be equal. The null type fits every other type."""
    if is_array(kind):  # beside a table of the past, the array of a list meets plain items
        return fit(kind.value_type, other.value_type if is_array(other) else other)
    return pa.types.is_null(kind) or pa.types.is_null(other) or _family(kind) == _family(other)


def _family(kind: pa.DataType) -> str:
    """Return the family of the type ``kind``. Only values of the same family can be equal."""
    kind = plain_type(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "integer" if pa.types.is_integer(kind) else "float"
    return str(kind).removeprefix("large_")
