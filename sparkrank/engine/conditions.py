"""The conditions of ``input.where`` that Arrow can push into a Parquet read.

Understood are comparisons of a column with a literal, ``IN``, ``IS NULL`` and ``IS NOT NULL``, joined by ``AND``. They
mean what they mean in SQL: a comparison with null holds for no row. Anything else is left to Spark.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.errors import did_you_mean

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<op><=|>=|<>|!=|==|=|<|>)|(?P<mark>[(),])"
    r"|`(?P<quoted>[^`]+)`|(?P<word>[A-Za-z_]\w*))"
)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Token = tuple[str, str]


class UntranslatableError(ValueError):
    """A condition that only Spark can decide, with the reason."""


def pushed_down(condition: str, schema: pa.Schema) -> pc.Expression:
    """``condition`` as an Arrow expression over the columns of ``schema``; raises :class:`UntranslatableError`."""
    tokens = _tokens(condition)
    expression, rest = _comparison(tokens, schema)
    while rest:
        if rest[0] != ("word", "AND"):
            raise UntranslatableError(f"{rest[0][1]} is not understood")
        more, rest = _comparison(rest[1:], schema)
        expression &= more
    return expression


def _tokens(condition: str) -> list[Token]:
    tokens: list[Token] = []
    place = 0
    while condition[place:].strip():
        match = _TOKEN.match(condition, place)
        if match is None or match.lastgroup is None:
            raise UntranslatableError(f"{condition[place:].strip()[:20]} is not understood")
        kind, text = match.lastgroup, match[match.lastgroup]
        keyword = kind == "word" and text.upper() in ("AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE")
        tokens.append((kind, text.upper() if keyword else text))
        place = match.end()
    return tokens


def _comparison(tokens: list[Token], schema: pa.Schema) -> tuple[pc.Expression, list[Token]]:
    """The comparison at the start of ``tokens``, and the tokens behind it."""
    kinds = [kind for kind, _ in tokens]
    texts = [text for _, text in tokens]
    if not kinds or kinds[0] not in ("word", "quoted") or texts[0] not in schema.names:
        name = texts[0] if texts else "an empty condition"
        raise UntranslatableError(f"{name} is not a column{did_you_mean(name, schema.names)}")
    field = schema.field(texts[0])
    column = pc.field(field.name)
    if texts[1:3] == ["IS", "NULL"]:
        return column.is_null(), tokens[3:]
    if texts[1:4] == ["IS", "NOT", "NULL"]:
        return column.is_valid(), tokens[4:]
    if texts[1:3] == ["IN", "("] and ")" in texts:
        end = texts.index(")")
        values = [_literal(token, field.type) for token in tokens[3:end:2]]
        if texts[4:end:2] != [","] * (len(values) - 1):
            raise UntranslatableError("a list is not understood")
        return column.isin(pa.array([value.as_py() for value in values], field.type)), tokens[end + 1 :]
    if len(tokens) > 2 and kinds[1] == "op":
        holds = _COMPARE[texts[1]](column, _literal(tokens[2], field.type))
        if pa.types.is_floating(field.type) and texts[1].startswith(">"):
            holds |= column.is_nan()  # Spark's SQL takes NaN for larger than any number
        return holds, tokens[3:]
    raise UntranslatableError(f"what is asked of {field.name} is not understood")


def _literal(token: Token, kind: pa.DataType) -> pa.Scalar:
    """The literal as a value of the column's type, where both are texts, both numbers, or a text is a date."""
    form, text = token
    if form == "text" and (pa.types.is_string(kind) or pa.types.is_date32(kind)):
        value = pa.scalar(text[1:-1].replace("''", "'"))
    elif form == "number" and (pa.types.is_integer(kind) or pa.types.is_float64(kind)):
        value = pa.scalar(float(text) if "." in text else int(text))
    else:
        raise UntranslatableError(f"{text} is compared with a column of type {kind}")
    try:
        return value.cast(kind)
    except pa.ArrowInvalid:
        raise UntranslatableError(f"{text} is no value of type {kind}") from None
