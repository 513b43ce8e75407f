"""The conditions of ``input.where`` that Arrow can evaluate: comparisons with a literal, ``IN`` and ``IS [NOT] NULL``.

Conditions may be joined by ``AND``. As in SQL, a comparison with null is never true, and NaN is larger than any number.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import did_you_mean, shorten

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?(?![\w.]))|(?P<op><=|>=|<>|!=|==|=|<|>)|(?P<mark>[(),])"
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
# The most comparisons joined by AND. Arrow's recursion in an expression is as deep as their number.
_MOST_JOINED = 100
_FOR_NAN = (">", ">=", "<>", "!=")  # true when NaN is compared with any number
_IN, _IS_NULL, _IS_NOT_NULL = "IN", "IS NULL", "IS NOT NULL"
Token = tuple[str, str]


class UntranslatableError(ValueError):
    """The error for a condition that only Spark can evaluate. The message contains the reason."""


@dataclass(frozen=True)
class ColumnTest:
    """A test of a ``column`` of the type ``kind`` by a ``sign`` (an operator, IN, IS [NOT] NULL) and ``values``."""

    column: str
    sign: str
    values: tuple[Any, ...]
    kind: pa.DataType

    @property
    def for_nan(self) -> bool:
        """Whether the comparison may be true for NaN."""
        return bool(pa.types.is_floating(self.kind)) and self.sign in _FOR_NAN

    @property
    def holds(self) -> pc.Expression:
        column = pc.field(self.column)
        if self.sign in (_IS_NULL, _IS_NOT_NULL):
            return column.is_null() if self.sign == _IS_NULL else column.is_valid()
        if self.sign == _IN:
            return column.isin(pa.array(self.values, self.kind))
        holds = _COMPARE[self.sign](column, pa.scalar(self.values[0], self.kind))
        return holds | column.is_nan() if self.for_nan else holds


@dataclass(frozen=True)
class Condition:
    """A condition on rows: two expressions that must both be true. None means an expression that is always true.

    Readers may skip row groups by ``row_group_filter``. Only ``row_filter`` may be true for NaN, which row-group
    statistics omit. Both together equal the ``comparisons`` joined by AND, if these are known.
    """

    row_group_filter: pc.Expression | None
    row_filter: pc.Expression | None
    columns: frozenset[str] = frozenset()  # the columns that the condition reads
    comparisons: tuple[ColumnTest, ...] = ()


def pushed_down(condition: str, schema: pa.Schema) -> Condition:
    """Translate ``condition`` to Arrow expressions, or raise :class:`UntranslatableError` if Spark must evaluate it."""
    tokens = _tokens(condition)
    part, rest = _comparison(tokens, schema)
    parts = [part]
    while rest:
        if len(parts) == _MOST_JOINED:
            raise UntranslatableError(f"more than {_MOST_JOINED} comparisons are joined")
        if rest[0] != ("word", "AND"):
            raise UntranslatableError(f"{shorten(rest[0][1])} is not understood")
        part, rest = _comparison(rest[1:], schema)
        parts.append(part)
    sides = ([part.holds for part in parts if part.for_nan == is_for_nan] for is_for_nan in (False, True))
    row_group_filter, row_filter = (functools.reduce(operator.and_, side) if side else None for side in sides)
    return Condition(row_group_filter, row_filter, frozenset(part.column for part in parts), tuple(parts))


def _tokens(condition: str) -> list[Token]:
    tokens: list[Token] = []
    place = 0
    condition = condition.rstrip()
    while place < len(condition):
        match = _TOKEN.match(condition, place)
        if match is None or match.lastgroup is None:
            raise UntranslatableError(f"{condition[place : place + 40].strip()[:20]} is not understood")
        kind, text = match.lastgroup, match[match.lastgroup]
        keyword = kind == "word" and text.upper() in ("AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE")
        tokens.append((kind, text.upper() if keyword else text))
        place = match.end()
    return tokens


def _comparison(tokens: list[Token], schema: pa.Schema) -> tuple[ColumnTest, list[Token]]:
    """Return the first comparison in ``tokens``, and the tokens after it."""
    kinds = [kind for kind, _ in tokens]
    texts = [text for _, text in tokens]
    if not kinds or kinds[0] not in ("word", "quoted") or texts[0] not in schema.names:
        name = texts[0] if texts else "an empty condition"
        raise UntranslatableError(f"{shorten(name)} is not a column{did_you_mean(name, schema.names)}")
    name, kind = texts[0], schema.field(texts[0]).type
    if texts[1:3] == ["IS", "NULL"]:
        return ColumnTest(name, _IS_NULL, (), kind), tokens[3:]
    if texts[1:4] == ["IS", "NOT", "NULL"]:
        return ColumnTest(name, _IS_NOT_NULL, (), kind), tokens[4:]
    if texts[1:3] == ["IN", "("] and ")" in texts:
        end = texts.index(")")
        values = [_literal(token, kind) for token in tokens[3:end:2]]
        if not values or texts[4:end:2] != [","] * (len(values) - 1):
            raise UntranslatableError("a list is not understood")
        if pa.types.is_floating(kind) and 0 in values:  # unlike SQL, Arrow distinguishes -0.0 from 0.0 in a list
            values += [-0.0, 0.0]
        return ColumnTest(name, _IN, tuple(values), kind), tokens[end + 1 :]
    if len(tokens) > 2 and kinds[1] == "op":
        return ColumnTest(name, texts[1], (_literal(tokens[2], kind),), kind), tokens[3:]
    raise UntranslatableError(f"the condition on {shorten(name)} is not understood")


def _literal(token: Token, kind: pa.DataType) -> Any:
    """Return a literal in the type of its column: a string for string or date columns, a number for numeric columns."""
    form, text = token
    value: str | float | Decimal
    if "\\" in text:
        raise UntranslatableError(f"{shorten(text)} has an escape")
    if form == "text" and (pa.types.is_string(kind) or pa.types.is_date32(kind)):
        value = text[1:-1].replace("''", "'")
    elif form == "number" and (pa.types.is_integer(kind) or pa.types.is_float64(kind)):
        value = Decimal(text) if pa.types.is_integer(kind) else float(text) if "." in text else int(text)
    else:
        raise UntranslatableError(f"{shorten(text)} is compared with a column of type {shorten(kind)}")
    try:
        return pa.scalar(value).cast(kind).as_py()
    except (pa.ArrowInvalid, OverflowError):
        raise UntranslatableError(f"{shorten(text)} is not a value of type {kind}") from None
