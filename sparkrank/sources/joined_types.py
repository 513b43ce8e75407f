"""Types that must fit each other, because lists and truth are joined by columns that can have equal values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pyarrow as pa

from sparkrank.base.errors import InputError, did_you_mean, itemize, shorten
from sparkrank.inputs.role_table import ITEMS, NEEDED, SLICE, Takes
from sparkrank.inputs.roles import Roles, of_model
from sparkrank.metrics.slices import columns_of_slices
from sparkrank.sources.types import plain_type
from sparkrank.sources.values import is_array


def joined_columns(roles: Roles) -> list[tuple[str, str, str]]:
    """The columns by which lists and truth are joined, as (role, column of the lists, column of the truth)."""
    if roles.true_items is not None:
        return [
            (of_model(model, ITEMS.name, column), column, roles.true_items) for model, column in roles.scores.items()
        ]
    truth = roles.truth
    if truth is None or roles.item is None or truth.item is None:
        return []
    keys = [("group", *pair) for pair in zip(roles.group, truth.group, strict=True)]
    clusters = [("cluster", roles.cluster, truth.cluster)] if roles.cluster and truth.cluster else []
    return [*keys, ("item", roles.item, truth.item), *clusters]


def check_joined(kinds: pa.Schema, truth_kinds: pa.Schema, roles: Roles) -> None:
    """Refuse a truth whose group key or item is of another kind than that of the lists, because nothing would match."""
    for role, column, truth_column in joined_columns(roles):
        kind, truth_kind = kinds.field(column).type, truth_kinds.field(truth_column).type
        if not _fit(kind, truth_kind):
            raise_different_types(role, column, str(kind), truth_column, str(truth_kind))
    for column in sides_of_slices(roles):
        kind, truth_kind = kinds.field(column).type, truth_kinds.field(column).type
        if pa.types.is_integer(plain_type(kind)) != pa.types.is_integer(plain_type(truth_kind)):
            raise_different_types(SLICE.name, column, str(kind), column, str(truth_kind))


def sides_of_slices(roles: Roles) -> Sequence[str]:
    """The slice columns that lists and truth share; each must be integers on both sides, or a text on both."""
    return [] if roles.truth is None else columns_of_slices(roles.slices)


def raise_different_types(role: str, column: str, kind: str, truth_column: str, truth_kind: str) -> None:
    raise InputError(
        f'the {role} column is of type {shorten(kind)} in the lists ("{shorten(column)}") and of type '
        f'{shorten(truth_kind)} in the truth ("{shorten(truth_column)}"): one type is needed'
    )


# For columns named _c0, _c1 ... by their readers, and for names that are read as values.
HEADER_REMEDY = "; options: {header: true} takes names from the first line"


def validate_column(role: str, column: str, names: Sequence[str], what: str) -> None:
    """Raise :class:`InputError` where ``names``, those of ``what``, lack ``column`` or have it in several cases."""
    if column not in names:
        near = did_you_mean(column, names)
        lacks = f'the {role} column "{shorten(column)}" is not in the {what}{near} ({itemize(names)})'
        raise InputError(f"{lacks}{HEADER_REMEDY if '_c0' in names else ''}")
    alike = [name for name in names if name.lower() == column.lower()]
    if len(alike) > 1:
        raise InputError(
            f'the {role} column "{shorten(column)}" of the {what} is not the only one of that name, upper or lower '
            f"case ({itemize(alike)}): rename the others"
        )


K = TypeVar("K")  # a type in the terms of an engine


def check_roles(
    roles: Roles,
    names: Sequence[str],
    kind_of: Callable[[str], K],
    fits: Mapping[Takes, Callable[[K], bool]],
    text_of: Callable[[K], str],
    what: str,
) -> None:
    """Refuse columns of roles that ``names``, those of ``what``, lack, or whose type does not fit by ``fits``."""
    for role, title, column in roles.played():
        validate_column(title, column, names, what)
        kind = kind_of(column)
        for rule in role.takes:
            if not fits[rule](kind):
                problem = f'the {title} column "{shorten(column)}" is of type {shorten(text_of(kind))}'
                raise InputError(f"{problem}: {NEEDED[rule]} is needed")


def _fit(kind: pa.DataType, other: pa.DataType) -> bool:
    """Whether values of the two types can be equal, or one of the types has no values."""
    if is_array(kind) and is_array(other):
        return _fit(kind.value_type, other.value_type)
    return pa.types.is_null(kind) or pa.types.is_null(other) or _family(kind) == _family(other)


def _family(kind: pa.DataType) -> str:
    """The family of a type. Only values of one family can be equal."""
    kind = plain_type(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "integer" if pa.types.is_integer(kind) else "float"
    return str(kind).removeprefix("large_")
