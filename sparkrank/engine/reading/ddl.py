"""The schema of a text format as Spark's DDL writes it, ``u STRING, s DOUBLE``: names and types, read without Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparkrank.errors import did_you_mean, listed, shortened

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
        raise ValueError(f'"{text.strip()[:200]}" is no column with its type: u STRING, s DOUBLE is of the form needed')
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
