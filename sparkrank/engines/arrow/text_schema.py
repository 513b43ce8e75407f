"""The columns of a text format: its schema in Spark's DDL, the types that roles ask for, numbers in texts.

Every lane reads ``u STRING, s DOUBLE`` without Spark, and numbers by one grammar, as patterns that Arrow and Spark read
alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.errors import SpecError, did_you_mean, listed, shortened
from sparkrank.role_table import LABEL
from sparkrank.roles import Roles

# Spark's words for the plain types that every lane knows.
_PLAIN = {
    "string": "string",
    "tinyint": "tinyint",
    "byte": "tinyint",
    "smallint": "smallint",
    "short": "smallint",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "boolean": "boolean",
}
WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}  # and their bits
NUMBERS = frozenset({*WHOLE, "float", "double"})
# Types of Spark's alone.
_OTHERS = (
    *("date", "timestamp", "timestamp_ntz", "timestamp_ltz", "binary", "decimal", "dec", "numeric", "char", "varchar"),
    *("array", "map", "struct", "interval", "variant"),
)
_FIELD = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|(\w+))(?:\s*:\s*|\s+)([A-Za-z_]+)(.*?)"
    r"(\s+not\s+null)?(\s+comment\s+(?:'[^']*'|\"[^\"]*\"))?\s*",
    re.IGNORECASE | re.DOTALL,
)
_ARGUMENTS = re.compile(r"\s*(?:\(.*\)|<.*>)?", re.DOTALL)


@dataclass(frozen=True)
class Field:
    """A column and its type, in Spark's words; ``is_plain`` where every lane knows it."""

    name: str
    kind: str
    is_plain: bool

    def __str__(self) -> str:
        return f"`{self.name.replace('`', '``')}` {self.kind}"


def fields_of(schema: str) -> tuple[Field, ...]:
    """The columns of ``schema``; raises ``ValueError`` with what is allowed where it is no such text."""
    fields = tuple(_field(text) for text in _parts(schema))
    names = [field.name.lower() for field in fields]
    for field in fields:
        if names.count(field.name.lower()) > 1:
            raise ValueError(f'names the column "{shortened(field.name)}" twice')
    return fields


def _field(text: str) -> Field:
    found = _FIELD.fullmatch(text)
    if found is None:
        raise ValueError(
            f'"{text.strip()[:200]}" is not a column with its type: u STRING, s DOUBLE is of the form needed'
        )
    quoted, bare, word, arguments = found.group(1, 2, 3, 4)
    name = bare or quoted.replace("``", "`")
    kind = word.lower()
    if kind in _PLAIN and not arguments.strip():
        return Field(name, _PLAIN[kind], True)
    if kind not in _OTHERS or (kind != "interval" and not _ARGUMENTS.fullmatch(arguments)):
        near = did_you_mean(kind, (*_PLAIN, *_OTHERS)) if kind not in _PLAIN else ""
        raise ValueError(f'gives "{name}" the unknown type {word}{arguments}{near} (known: {listed(_PLAIN)})')
    return Field(name, f"{kind}{arguments}", False)


def _parts(schema: str) -> list[str]:
    """``schema`` at its commas, but for those within brackets and quotes."""
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


BLANK = " \t"
WHOLE_NUMBER = r"\A[ \t]*[+-]?[0-9]+[ \t]*\z"
NUMBER = (
    r"\A[ \t]*(?:[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
    r"|[nN][aA][nN])[ \t]*\z"
)
TRUE, FALSE = r"\A[ \t]*[tT][rR][uU][eE][ \t]*\z", r"\A[ \t]*[fF][aA][lL][sS][eE][ \t]*\z"
LABEL_KIND = "label"  # a number, or true or false
_ARROW = {
    "string": pa.string(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    LABEL_KIND: pa.float64(),
}


def arrow_kind(kind: str) -> pa.DataType:
    """The Arrow type of a column of ``kind``."""
    return _ARROW[kind]


def typed(texts: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """``texts`` as values of ``kind``, null where one is none."""
    if kind == "string":
        return texts
    if kind in ("boolean", LABEL_KIND):
        is_true = pc.match_substring_regex(texts, TRUE)
        is_word = pc.or_(is_true, pc.match_substring_regex(texts, FALSE))
        if kind == "boolean":
            return pc.if_else(is_word, is_true, pa.scalar(None, pa.bool_()))
        return pc.if_else(is_word, is_true.cast(pa.int8()).cast(pa.float64()), typed(texts, "double"))
    pattern = WHOLE_NUMBER if kind in WHOLE else NUMBER
    numbers = pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, pa.string()))
    numbers = pc.replace_substring_regex(pc.utf8_trim(numbers, characters=BLANK), r"\A\+", "")
    return _whole(numbers, kind) if kind in WHOLE else _floats(numbers, arrow_kind(kind))


def _floats(numbers: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return numbers.cast(kind)
    except pa.ArrowInvalid:  # older versions of Arrow refuse what is beyond the largest and the smallest double
        texts = numbers.fill_null("nan").combine_chunks().to_numpy(zero_copy_only=False).astype(np.str_)
        with np.errstate(over="ignore"):
            floats = pa.array(texts.astype(np.float64).astype(kind.to_pandas_dtype()))
        return pa.chunked_array([pc.if_else(pc.is_valid(numbers.combine_chunks()), floats, pa.scalar(None, kind))])


def fitting(numbers: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Whole ``numbers`` as those of ``kind``, null where one is beyond its limits."""
    most = 2 ** (WHOLE[kind] - 1) - 1
    lowest, highest = (pa.scalar(value).cast(numbers.type) for value in (-most - 1, most))
    fits = pc.and_(pc.greater_equal(numbers, lowest), pc.less_equal(numbers, highest))
    return pc.if_else(fits, numbers, pa.scalar(None, numbers.type)).cast(arrow_kind(kind))


def _whole(numbers: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    short = pc.replace_substring_regex(numbers, r"\A(-?)0+([0-9])", r"\1\2")
    short = pc.if_else(pc.less_equal(pc.utf8_length(short), 20), short, pa.scalar(None, pa.string()))
    try:
        return short.cast(arrow_kind(kind))
    except pa.ArrowInvalid:  # one is too large
        return fitting(short.cast(pa.decimal128(38, 0)), kind)


TEXT_FORMATS = ("csv", "json")
NO_NUMBER = "sparkrank: no number"  # the column that says so of a row; no name that a file has
# What a reader of texts does with rows that it cannot make out: none is dropped, and none becomes null.
STRICT = {"mode": "FAILFAST"}


def number_kinds(roles: Roles, fields: Sequence[Field] | None) -> dict[str, str]:
    """The columns of ``roles`` that are numbers, and the kind of each: that of the schema, or a number of any kind.

    Raises :class:`SpecError` where a column is a name as well, and no schema says what it is.
    """
    if roles.true_items is not None:
        return {}
    declared = {field.name: field.kind for field in fields or () if field.kind in (*NUMBERS, "boolean")}
    names = {column for role, _, column in roles.played() if role.is_name}
    kinds: dict[str, str] = {}
    for role, title, column in roles.played():
        if role.is_name:
            continue
        if column in names and column not in declared:
            raise SpecError(
                f'the {title} column "{shortened(column)}" is also a name, as a text is: input.schema says which it is'
            )
        kinds[column] = declared.get(column, LABEL_KIND if role == LABEL else "double")
    return kinds


def typed_columns(
    names: Sequence[str], roles: Roles, fields: Sequence[Field] | None, others: Mapping[str, str]
) -> dict[str, str]:
    """The kind of each of the columns ``names``, which is ``others``' where neither schema nor role says it."""
    numbers = number_kinds(roles, fields)
    declared = {field.name: field.kind for field in fields or ()}
    return {name: numbers.get(name) or declared.get(name) or others.get(name, "string") for name in names}


def is_set(options: Mapping[str, str], name: str) -> bool:
    """Whether a reader's option is true; upper and lower case do not matter to Spark."""
    return option(options, name).lower() == "true"


def option(options: Mapping[str, str], name: str, usual: str = "") -> str:
    return next((value for key, value in options.items() if key.lower() == name.lower()), usual)
