"""The columns of text files, with types from a schema in Spark's DDL or from roles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sparkrank.base.errors import SpecError, did_you_mean, itemize, shorten
from sparkrank.inputs.roles import Roles

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")
_ALIASES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_PLAIN = {name: name for name in ("string", *_NUMBERS)} | _ALIASES
_DECIMALS = ("decimal", "dec", "numeric")
_OTHERS = (
    *("date", "timestamp", "timestamp_ntz", "timestamp_ltz", "binary", *_DECIMALS, "char", "varchar"),
    *("array", "map", "struct", "interval", "variant"),
)
_FIELD = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|(\w+))(?:\s*:\s*|\s+)([A-Za-z_]+)(.*?)"
    r"(\s+not\s+null)?(\s+comment\s+(?:'[^']*'|\"[^\"]*\"))?\s*",
    re.IGNORECASE | re.DOTALL,
)
_ARRAY = re.compile(r"array<\s*(\w+)\s*>", re.IGNORECASE)
_ARGUMENTS = re.compile(r"\s*(?:\(.*\)|<.*>)?", re.DOTALL)


@dataclass(frozen=True)
class DdlField:
    """A column and its type, as written in Spark's DDL."""

    name: str
    kind: str

    def __str__(self) -> str:
        return f"`{self.name.replace('`', '``')}` {self.kind}"


def fields_of(schema: str) -> tuple[DdlField, ...]:
    """Return the columns in ``schema``. Raise a ``ValueError`` with the allowed form if ``schema`` is invalid."""
    fields = tuple(_field(text) for text in _parts(schema))
    names = [field.name.lower() for field in fields]
    for field in fields:
        if names.count(field.name.lower()) > 1:
            raise ValueError(f'names the column "{shorten(field.name)}" twice')
    return fields


def _field(text: str) -> DdlField:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise ValueError(
            f'"{text.strip()[:200]}" is not a column with its type: write columns as in u STRING, s DOUBLE'
        )
    quoted, bare, word, arguments = match.group(1, 2, 3, 4)
    name = bare or quoted.replace("``", "`")
    kind = word.lower()
    if kind in _PLAIN and not arguments.strip():
        return DdlField(name, _PLAIN[kind])
    if kind not in _OTHERS or (kind != "interval" and not _ARGUMENTS.fullmatch(arguments)):
        near = did_you_mean(kind, (*_PLAIN, *_OTHERS)) if kind not in _PLAIN else ""
        raise ValueError(f'gives "{name}" the unknown type {word}{arguments}{near} (known: {itemize(_PLAIN)})')
    return DdlField(name, f"{kind}{arguments}")


def _parts(schema: str) -> list[str]:
    """Split ``schema`` at its commas, except for commas inside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in schema:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "`'\"":
            quote = letter
        else:
            depth += (letter in "(<") - (letter in ")>")
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


TEXT_FORMATS = ("csv", "json")
_ARROW = {
    "string": pa.string(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}


def arrow_type(name: str, kind: str, what: str) -> pa.DataType:
    """Return the Arrow type for Spark's type ``kind``. Raise :class:`SpecError` if Arrow has no such type."""
    inner = _ARRAY.fullmatch(kind)
    element = "" if inner is None else inner[1].lower()
    arrow = _ARROW.get(kind if inner is None else _PLAIN.get(element, element))
    if arrow is None:
        raise SpecError(
            f'{what}.schema gives "{shorten(name)}" the type {shorten(kind)}, which Arrow does not have (known to '
            f"Arrow: {itemize(_ARROW)}, and arrays of these): lane: frame reads the {what} with Spark"
        )
    return arrow if inner is None else pa.list_(arrow)


def number_kinds(roles: Roles, fields: Sequence[DdlField] | None) -> dict[str, str]:
    """Return the type of each column whose role takes only numbers: the type in the schema, or else double.

    A decimal is read as a double, too.
    """
    if roles.true_items is not None:
        return {}
    declared = {field.name: "double" if field.kind.startswith(_DECIMALS) else field.kind for field in fields or ()}
    names = {column for role, _, column in roles.in_use() if role.is_name}
    kinds: dict[str, str] = {}
    for role, title, column in roles.in_use():
        if role.takes[-1] not in ("number", "label"):
            continue
        if column in names and column not in declared:
            raise SpecError(
                f'the {title} column "{shorten(column)}" is also a key, item or name, which are texts: give its type '
                "in input.schema"
            )
        kinds[column] = declared.get(column, "double")
    return kinds


def typed_columns(names: Sequence[str], roles: Roles, fields: Sequence[DdlField] | None) -> dict[str, str]:
    """Return the type of each column in ``names``: that of the schema, else that of its role, else string."""
    kinds = {field.name: field.kind for field in fields or ()} | number_kinds(roles, fields)
    return {name: kinds.get(name, "string") for name in names}


def is_set(options: Mapping[str, str], name: str) -> bool:
    """Return whether the reader's option ``name`` is ``true``. Case does not matter."""
    return option(options, name).lower() == "true"


def option(options: Mapping[str, str], name: str, usual: str = "") -> str:
    return next((value for key, value in options.items() if key.lower() == name.lower()), usual)
