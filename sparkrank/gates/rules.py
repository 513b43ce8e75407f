"""The rules of gates, and the rows of the table ``metrics`` that each rule concerns."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from sparkrank.metrics.slices import ALL, NO_PART, shown_value

Policy: TypeAlias = Literal["fail", "warn", "pass"]  # the consequence of an undecided gate
_WILDCARDS = re.compile(r"[*?]|\[.+\]", re.DOTALL)  # the interval "[18, 25)" has no closing bracket
# A disparity of a slice as gates and verdicts name it: the slice and the slice value of its cell.
OF_DISPARITY, GAP = "disparity of ", "max - min"
_EVERYTHING = re.compile(r"\*+")


class Cell(NamedTuple):
    """The subject of one row of the table ``metrics``: a metric of a model, for a slice value or the whole day.

    For the whole day, ``slice`` and ``slice_value`` are :data:`~sparkrank.metrics.slices.ALL`.
    """

    metric: str
    model: str
    slice: str = ALL
    slice_value: str | None = ALL

    @property
    def shown_slice(self) -> str:
        """The slice and its value as text, or an empty string for the whole day."""
        return "" if self.slice == ALL else f"{self.slice}={shown_value(self.slice_value, self.slice)}"


@dataclass(frozen=True)
class Margin:
    """The margin by which a value may be worse: ``amount``, or that share of the baseline's value if ``relative``."""

    amount: float = 0.0
    relative: bool = False

    def of(self, value: float) -> float:
        """Return the margin in units of the metric. ``value`` is that of the baseline."""
        return abs(value) * self.amount if self.relative else self.amount

    def __str__(self) -> str:
        return f"{self.amount * 100:.6g}%" if self.relative else f"{self.amount:.6g}"


@dataclass(frozen=True)
class History:
    """The settings for comparing a day with the last ``days`` days, of its weekday if ``same_weekday`` is true.

    These days determine a band, the expected range. By ``sides``, a value fails beyond either end or only beyond the
    worse end. The band is as strict as ± ``width`` standard deviations of a normal distribution with known parameters.
    If ``rhythm`` is ``weekly`` and the weekdays differ, each weekday has its own mean. A band needs at least
    ``least_days`` days.
    """

    days: int = 28
    same_weekday: bool = False
    sides: Literal["both", "worse"] = "both"
    rhythm: Literal["none", "weekly"] = "weekly"
    width: float = 3.0
    least_days: int = 7


@dataclass(frozen=True)
class Rule:
    """A rule: one condition of a gate. A gate with both ``min`` and ``max`` has two rules.

    ``metrics`` and ``models`` are the metrics and models in the spec that match the patterns ``metric`` and ``model``.
    ``slice_patterns`` contains pairs of patterns, one for a slice column and one for its value; without any, the rule
    concerns the whole day. ``slices`` contains the columns of each matching slice. ``against`` is the model to compare
    with, or None. ``undecided`` is the policy for an undecided verdict (``pass``, ``warn`` or ``fail``), and
    ``correction`` the correction for multiple tests. ``absent`` contains the pairs (metric, model) without a value,
    because the model reads another label.
    """

    gate: str
    kind: str
    metric: str
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    model: str | None = None
    slice_patterns: tuple[tuple[str, str | None], ...] = ()
    slices: tuple[tuple[str, ...], ...] = ()
    bound: float = 0.0
    against: str | None = None
    margin: Margin = Margin()
    undecided: Policy = "warn"
    correction: str = "holm"
    absent: frozenset[tuple[str, str]] = frozenset()

    @property
    def has_wildcards(self) -> bool:
        """Whether a pattern of the rule has wildcards. A value matched only by a wildcard could vanish unnoticed."""
        patterns = [self.metric, self.model or "*", *itertools.chain.from_iterable(self.slice_patterns)]
        return any(pattern is not None and is_pattern(pattern) for pattern in patterns)

    def covers(self, cell: Cell) -> bool:
        """Return whether the rule concerns ``cell`` (metric, model, slice value).

        A rule never concerns the model ``against``.
        """
        if cell[:2] in self.absent or not matches(cell.model, self.model or "*"):
            return False
        if cell.metric not in self.metrics and not matches(cell.metric, self.metric):
            return False
        return cell.model != self.against and covers_slice(self.slice_patterns, cell.slice, cell.slice_value)

    def cells(self, values: Iterable[tuple[str, str | None]]) -> list[Cell]:
        """Return the cells (metric, model, slice value) that the rule concerns.

        These are the cells named without wildcards, and the cells of the pairs (slice, value) in ``values`` that match.
        """
        if not self.slice_patterns:
            places: list[tuple[str, str | None]] = [(ALL, ALL)]
        else:
            named = [(",".join(columns), value) for columns in self.slices for value in self._literal(columns)]
            places = list(
                dict.fromkeys([*named, *(place for place in values if covers_slice(self.slice_patterns, *place))])
            )
        every = ((metric, model) for metric in self.metrics for model in self.models)
        return [Cell(*pair, *place) for pair in every if pair not in self.absent for place in places]

    def _literal(self, columns: tuple[str, ...]) -> list[str | None]:
        """Return a list with the one value that the rule names for the slice of ``columns``.

        The list is empty if the rule has wildcards or names other columns.
        """
        patterns = dict(self.slice_patterns)
        if any(text is not None and is_pattern(text) for text in itertools.chain.from_iterable(self.slice_patterns)):
            return []
        if len(self.slice_patterns) == 1:
            return [self.slice_patterns[0][1]]
        if not all(column in patterns for column in columns):
            return []
        parts = [patterns[column] for column in columns]
        if all(part is None for part in parts):
            return [None]
        return [",".join(NO_PART if part is None else re.sub(r"([\\,])", r"\\\1", part) for part in parts)]


def is_pattern(text: str) -> bool:
    """Return whether ``text`` contains a wildcard: ``*``, ``?`` or ``[ab]``."""
    return _WILDCARDS.search(text) is not None


def matches(text: str, pattern: str) -> bool:
    """Return whether ``text`` matches ``pattern`` or equals it, as the name of a metric with a bracket may."""
    return text == pattern or (is_pattern(pattern) and fnmatch.fnmatchcase(text, pattern))


def columns_match(slice_patterns: Iterable[str], columns: tuple[str, ...]) -> bool:
    """Return whether the patterns ``slice_patterns`` match the slice of ``columns``, as a whole or column by column."""
    return _assigned(tuple(slice_patterns), columns) is not None


def covers_slice(slice_patterns: tuple[tuple[str, str | None], ...], slice_: str, value: str | None) -> bool:
    """Return whether the (slice, value) patterns ``slice_patterns`` match ``slice_`` and ``value``.

    Without patterns, only the whole day matches.
    """
    if not slice_patterns or slice_ == ALL:
        return not slice_patterns and slice_ == ALL
    if slice_.startswith(OF_DISPARITY):  # no value of a slice, so no wildcard is about it
        return slice_patterns == ((slice_, value),)
    columns = tuple(slice_.split(","))
    if len(slice_patterns) == 1 and matches(slice_, slice_patterns[0][0]):
        return _value_matches(value, slice_patterns[0][1])
    assigned = _assigned(tuple(column for column, _ in slice_patterns), columns)
    if assigned is None:
        return False
    parts = slice_parts(columns, value)
    patterns: Mapping[str, str | None] = dict(slice_patterns)
    return all(_value_matches(parts[column], patterns[pattern]) for column, pattern in assigned.items())


def slice_parts(columns: tuple[str, ...], value: str | None) -> dict[str, str | None]:
    """Return the value of each of the ``columns`` in ``value``, a value of their slice.

    Commas separate the values of columns. Other commas are escaped with a backslash.

    Examples
    --------
    >>> slice_parts(("country", "device"), "de,a\\\\,b")
    {'country': 'de', 'device': 'a,b'}
    """
    if len(columns) == 1 or value is None:
        return dict.fromkeys(columns, value)
    parts = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", value, re.DOTALL)[: len(columns)]
    return {
        column: None if part == NO_PART else re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)
        for column, part in zip(columns, parts, strict=True)
    }


def _value_matches(value: str | None, pattern: str | None) -> bool:
    """Return whether a slice value matches a pattern. A missing value (None) matches the patterns None and ``*``."""
    if value is None or pattern is None:
        return value is pattern or (pattern is not None and _EVERYTHING.fullmatch(pattern) is not None)
    return matches(value, pattern)


def _assigned(patterns: tuple[str, ...], columns: tuple[str, ...]) -> dict[str, str] | None:
    """Return a mapping from each column to the pattern that matches it; None if the patterns do not match."""
    if len(patterns) == 1 and matches(",".join(columns), patterns[0]):
        return dict.fromkeys(columns, patterns[0])
    if len(patterns) != len(columns):
        return None
    for order in itertools.permutations(sorted(patterns, key=is_pattern)):
        if all(matches(column, pattern) for column, pattern in zip(columns, order, strict=True)):
            return dict(zip(columns, order, strict=True))
    return None
