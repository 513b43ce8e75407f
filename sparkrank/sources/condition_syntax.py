"""Detection of strings that cannot be SQL conditions, for a refusal when the spec is read, without Spark.

This is not a parser: every string that might be SQL passes, and only Spark's parser can decide about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sparkrank.base.errors import quote

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")"
    r"|(?P<is>(?i:is(?:\s+not)?)\b)"
    r"|(?P<value>`(?:[^`]|``)+`|[\w$]+(?:\.\d+)?|\.\d+)"
    r"|(?P<joins><=>|<=|>=|<>|!=|==|=>|->|::|\|\||[=<>*/%|&^.:])|(?P<leads>[-+~!])"
    r"|(?P<opens>[(\[])|(?P<closes>[)\]])|(?P<comma>,)",
    re.DOTALL,
)
_CLOSED_BY = {"(": ")", "[": "]"}
_WORDS = {
    "joins": "AND OR DIV",
    "leads": "NOT IN LIKE ILIKE RLIKE REGEXP BETWEEN ESCAPE WHEN THEN ELSE COLLATE",  # a value follows
    # these may also be names, or parts of longer expressions
    "free": "CASE END TO DATE TIME TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ INTERVAL X DISTINCT FROM YEAR YEARS QUARTER "
    "QUARTERS MONTH MONTHS WEEK WEEKS DAY DAYS HOUR HOURS MINUTE MINUTES SECOND SECONDS",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_AFTER_IS = ("NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT", "JSON")


def validate_condition(condition: str) -> None:
    """Raise ``ValueError`` if ``condition`` cannot be SQL, for example because it has two operators in a row.

    Examples
    --------
    >>> validate_condition("surface = 'home' AND NOT (day < DATE '2026-01-31' OR upper(kind) IS NULL)")
    >>> validate_condition("surface = = 'home'")
    Traceback (most recent call last):
        ...
    ValueError: it is not an SQL condition: a value is missing before "= 'home'"
    """
    opened: list[str] = []
    before = Token("start", "", "")
    for token in _tokens(re.sub(r"\{[^{}]*\}", lambda mark: "1" * len(mark[0]), condition)):
        where = f"before {quote(token.rest)}" if token.rest else "at the end"
        if token.kind == "closes" and (not opened or _CLOSED_BY[opened.pop()] != token.text):
            raise ValueError(f"it is not an SQL condition: {token.text} closes nothing {where}")
        if _lacks_value(before, token):
            raise ValueError(f"it is not an SQL condition: a value is missing {where}")
        if not opened and (token.kind == "comma" or _lacks_operator(before, token)):
            raise ValueError(f"it is not an SQL condition: an operator is missing {where}")
        if before.kind == "is" and token.text not in _AFTER_IS:
            raise ValueError(f"it is not an SQL condition: {before.text} takes NULL, TRUE or FALSE, but is {where}")
        if token.kind == "opens":
            opened.append(token.text)
        before = token
    if opened:
        raise ValueError(f"it is not an SQL condition: {opened[-1]} is not closed")


class Token(NamedTuple):
    """A token of a condition: its ``text`` in capitals, and ``rest``, the condition from the start of the token on."""

    kind: str
    text: str
    rest: str


def _lacks_value(left: Token, right: Token) -> bool:
    if left.kind in ("value", "text", "closes", "free") or right.kind not in ("joins", "closes", "comma", "end"):
        return False
    in_call = left.kind == "opens" and (right.kind == "closes" or right.text == "*")  # f(), f(*)
    in_type = left.text in ("*", ">") and (right.kind in ("closes", "comma") or right.text == ">")  # map<a,array<b>>
    return not in_call and not in_type


def _lacks_operator(left: Token, right: Token) -> bool:
    pair = left.kind, right.kind
    return pair[0] in ("value", "text", "closes") and pair[1] in ("value", "text") and pair != ("text", "text")


def _tokens(condition: str) -> Iterator[Token]:
    place = 0
    while place < len(condition):
        match, rest = _TOKEN.match(condition, place), condition[place:]
        if match is None:
            raise ValueError(f"it is not an SQL condition: {quote(rest)} is not understood")
        place, token = match.end(), match[0].upper()
        if match.lastgroup != "space":
            yield Token(_KINDS.get(token, str(match.lastgroup)), token, rest)
    yield Token("end", "", "")
