"""The columns of text files: the types in which Arrow reads them, and the kinds that the roles of columns ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sparkrank.engines.arrow.text_schema import WHOLE, Field, arrow_kind, number_kinds, typed_columns
from sparkrank.errors import FrameLaneNeededError
from sparkrank.roles import Roles


@dataclass(frozen=True)
class Columns:
    """The columns of files: the types in which Arrow reads them, and the kinds that they become, where it knows these.

    Of the ``numbers``, what is no value of the kind spoils its row.
    """

    stored: pa.Schema
    kinds: Mapping[str, str]
    numbers: frozenset[str]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, _type_of(self.stored.field(name).type, kind)) for name, kind in self.kinds.items()])


def _type_of(stored: pa.DataType, kind: str) -> pa.DataType:
    return arrow_kind(kind) if pa.types.is_string(stored) or kind in WHOLE else stored


def known_kinds(names: Sequence[str], roles: Roles, fields: Sequence[Field] | None, what: str) -> dict[str, str]:
    """The kinds of columns; raises :class:`FrameLaneNeededError` where a role has one that only Spark knows."""
    kinds = typed_columns(names, roles, fields, {})
    declared = {field.name: field.kind for field in fields or ()}
    plain = {field.name: field for field in fields or () if field.is_plain}
    for role, title, column in roles.played():
        is_float = role.is_name and column in plain and plain[column].kind in ("float", "double")
        if is_float or (
            column in kinds and any(field.name == column for field in fields or ()) and column not in plain
        ):
            raise FrameLaneNeededError(
                f"the {title} column {column} is of type {declared[column]} in {what}.schema, which is left to Spark"
            )
    return {name: kind for name, kind in kinds.items() if name in plain or name not in {f.name for f in fields or ()}}


def counted_numbers(roles: Roles, fields: Sequence[Field] | None) -> frozenset[str]:
    """The columns of roles in which a text must be a value of its kind."""
    declared = {field.name for field in fields or () if field.is_plain and field.kind != "string"}
    return frozenset({*number_kinds(roles, fields), *(column for _, column in roles.columns() if column in declared)})
