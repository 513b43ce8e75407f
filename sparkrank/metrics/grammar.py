"""The grammar of the strings that name metrics.

name [ "(" param[=value], ... ")" ] [ "@" k ]      ndcg@10   ap(over=min_k_relevant)@5   auc(exact)
name@{k,k,...}                                    several metrics, which differ in their cut-off
median "(" metric ")"    p90 "(" metric ")"        a percentile of the per-group values, instead of their mean
gmean "(" metric ")"                               their geometric mean
"""

from __future__ import annotations

import re

from sparkrank.base.errors import MetricError, shorten

# Each blank can match in one place of the pattern only, because matching a long run of blanks would be slow otherwise.
ONE_METRIC = re.compile(
    r"(?P<name>(?:11[Pp][Tt]|[A-Za-z_])[\w.-]*)(?:\s*\((?P<parameters>.*)\))?(?:\s*@\s*(?P<k>[^@()\s]+))?", re.DOTALL
)
OVER_GROUPS = re.compile(
    r"(?:median|p(?P<percent>\d+(?:\.\d+)?)|(?P<geometric>gmean))\s*\((?P<of>.*)\)", re.IGNORECASE | re.DOTALL
)
OF_TREC_EVAL = re.compile(r"\Agm_(?P<of>map|bpref)\Z", re.IGNORECASE)  # its names of geometric means
_SEVERAL = re.compile(r"@\s*\{(?P<cutoffs>[^{}]*)\}")  # a list of cut-offs
_COMMA = re.compile(r",(?![^\[]*\])(?![^{]*\})")  # a comma inside [ ] or { } separates grades or labels

MOST_CUTOFF = 2**31 - 1  # positions have 32 bits
MOST_DIGITS = 20  # the most digits of a cut-off in a message
MOST_LETTERS = 1_000  # the greatest length of a metric's string; the time of parsing may grow with its square


def cutoff_of(digits: str | None, text: str) -> int | None:
    if digits is None:
        return None
    if digits.startswith("{") and digits.endswith("}"):
        raise MetricError(f'"{text}" means several metrics, but one is needed here')
    is_short = len(digits.lstrip("0")) <= len(str(MOST_CUTOFF))  # Python refuses numbers of thousands of digits
    if not (digits.isascii() and digits.isdigit() and is_short and 0 < int(digits) <= MOST_CUTOFF):
        raise MetricError(
            f'the cut-off of "{text}" is {shorten(digits, MOST_DIGITS)}: a whole number from 1 to {MOST_CUTOFF} is '
            "allowed"
        )
    return int(digits)


def settings_of(inside: str) -> list[tuple[str, str | None]]:
    """Return the names and values in a text of parameters. A value is None if there is no equals sign."""
    parts = (part.partition("=") for part in _COMMA.split(inside) if part.strip())
    return [(name.strip().lower(), value.strip().strip("'\"") if equals else None) for name, equals, value in parts]


def texts_of(text: str) -> list[str]:
    """Return the strings of the metrics in ``text``: ndcg@1 and ndcg@5 for ``ndcg@{1,5}``.

    Raise :class:`MetricError` if ``text`` is too long or has two lists, or if a cut-off is missing or given twice.
    """
    lists = _SEVERAL.findall(text)
    if not lists:
        return [text]
    quoted = shorten(text)
    if len(lists) > 1 or len(text) > MOST_LETTERS:
        raise MetricError(f'"{quoted}" is too much: one list of cut-offs and {MOST_LETTERS} letters are allowed')
    cutoffs = [cutoff.strip() for cutoff in lists[0].split(",")]
    if "" in cutoffs:
        raise MetricError(f'"{quoted}" lacks a cut-off: write numbers between commas, as in ndcg@{{1,5,10}}')
    if (twice := next((cutoff for cutoff in cutoffs if cutoffs.count(cutoff) > 1), None)) is not None:
        raise MetricError(f'"{quoted}" gives the cut-off {shorten(twice, MOST_DIGITS)} twice')
    return [_SEVERAL.sub(f"@{cutoff}", text) for cutoff in cutoffs]
