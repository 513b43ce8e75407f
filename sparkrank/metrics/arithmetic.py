"""The calculation of a metric's value for one group, as columns of terms and steps from the terms to the value.

The declaration of a metric may supply this calculation in addition to the function that computes values. The steps are
printable data, so a user who doubts a value can repeat the calculation by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank.metrics.parameters import format_number
from sparkrank.numeric.array_types import Floats, Ints

if TYPE_CHECKING:
    from sparkrank.histogram.scored_rows import ScoredRows
    from sparkrank.ranking.ranking import Ranking

Operation: TypeAlias = Literal[
    "given", "sum", "highest", "ratio", "share", "times", "plus", "minus", "min", "max", "root", "where"
]
LIST, IDEAL = "list", "ideal list"


class TermColumn(NamedTuple):
    """A column of terms, identified by its table and its name."""

    table: str
    name: str

    def __str__(self) -> str:
        return self.name if self.table == LIST else f"{self.name} ({self.table})"


Operand: TypeAlias = "TermColumn | str | float"  # a column of terms, the name of an earlier step, or a number


@dataclass(frozen=True)
class TermTable:
    """A named table of terms, for example for the list (``name`` is :data:`LIST`) or for the ideal list.

    All ``columns`` have the same length. A term is NaN where a row has no term. ``row`` contains the index of each
    term's row in the judgments (all rows of the group), or is None if the terms do not belong to rows. Under
    ``ties=expected``, a term may belong to a position at which any row of a tie block may be.

    Examples
    --------
    >>> import numpy as np
    >>> from sparkrank.metrics import Arithmetic, TermTable
    >>> terms = TermTable("list", {"hit": np.array([0.0, 1.0, 1.0])})
    >>> Arithmetic.of([terms], [total("hits", "hit")]).value
    2.0
    """

    name: str
    columns: Mapping[str, Floats]
    row: Ints | None = None


@dataclass(frozen=True)
class Step:
    """One step of a calculation: an operation on columns of terms, on the values of earlier steps, or on numbers.

    The operations ``sum`` and ``highest`` return 0 for an empty column. If the second operand is 0, ``ratio`` is
    undefined and ``share`` is 0. ``where`` is the first operand, but undefined if the second operand is 0. An undefined
    ``value`` is NaN.

    Examples
    --------
    >>> from sparkrank.metrics import Step
    >>> Step("p", "ratio", ("hits", 3.0)).formula()
    'hits / 3'
    """

    name: str
    operation: Operation
    operands: tuple[Operand, ...] = ()
    value: float = math.nan

    def formula(self) -> str:
        """Return the step in symbols, such as ``dcg / ideal dcg``; the string is empty for a ``given`` step."""
        shown = (format_number(part) if isinstance(part, (int, float)) else str(part) for part in self.operands)
        return _OPERATIONS[self.operation][0].format(*shown)


def _highest(column: Floats) -> float:
    return float(np.nanmax(column, initial=0.0)) if len(column) and not np.isnan(column).all() else 0.0


# For each operation, the template of its formula and the function that computes it.
_OPERATIONS: dict[str, tuple[str, Callable[..., float]]] = {
    "given": ("", float),
    "sum": ("Σ {}", lambda column: math.fsum(column[~np.isnan(column)].tolist())),
    "highest": ("highest {}", _highest),
    "ratio": ("{} / {}", lambda part, whole: part / whole if whole else math.nan),
    "share": ("{} / {}, 0 where that is 0 / 0", lambda part, whole: part / whole if whole else 0.0),
    "times": ("{} · {}", lambda one, other: one * other),
    "plus": ("{} + {}", lambda one, other: one + other),
    "minus": ("{} - {}", lambda one, other: one - other),
    "min": ("min({}, {})", min),
    "max": ("max({}, {})", max),
    "root": ("√{}", lambda square: math.sqrt(square) if square >= 0 else math.nan),
    "where": ("{}, undefined where {} = 0", lambda value, holds: value if holds else math.nan),
}


@dataclass(frozen=True)
class OneGroup:
    """One model's ranking of one group. ``scored`` lists the rows with a score, ``scored_rows`` their judgment rows.

    A judgment row is the index of a row in the group's judgments (all rows, listed or not).
    """

    ranking: Ranking
    scored: ScoredRows
    scored_rows: Ints


@dataclass(frozen=True)
class Arithmetic:
    """The calculation of a metric's value for one group.

    ``tables`` contains the terms, starting with the table of the list. The value of the last of ``steps`` is the value
    of the metric. ``notes`` contains short remarks that explain the numbers.
    """

    tables: tuple[TermTable, ...]
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, tables: Iterable[TermTable], steps: Iterable[Step], notes: Iterable[str] = ()) -> Arithmetic:
        """Return a calculation with the value of each step, in order, from columns of ``tables``.

        Steps made by :func:`given` keep their value.

        Examples
        --------
        >>> terms = TermTable(LIST, {"hit": np.array([0.0, 1.0, 1.0])})
        >>> steps = [total("hits", "hit"), given("length", 3), ratio("p", "hits", "length")]
        >>> [(step.name, step.formula(), step.value) for step in Arithmetic.of([terms], steps).steps]
        [('hits', 'Σ hit', 2.0), ('length', '', 3.0), ('p', 'hits / length', 0.6666666666666666)]
        """
        there = tuple(tables)
        columns = {TermColumn(table.name, name): values for table in there for name, values in table.columns.items()}
        done: dict[str, Step] = {}
        for step in steps:
            done[step.name] = step if step.operation == "given" else _computed(step, columns, done)
        return cls(there, tuple(done.values()), tuple(notes))

    @property
    def value(self) -> float:
        return self.steps[-1].value


def _computed(step: Step, columns: Mapping[TermColumn, Floats], done: Mapping[str, Step]) -> Step:
    def read(operand: Operand) -> Any:
        if isinstance(operand, TermColumn):
            return columns[operand]
        return done[operand].value if isinstance(operand, str) else float(operand)

    return replace(step, value=float(_OPERATIONS[step.operation][1](*map(read, step.operands))))


def given(name: str, value: float) -> Step:
    """Return a step with a known ``value``, which is not computed from other steps."""
    return Step(name, "given", (), float(value))


def total(name: str, column: str, table: str = LIST) -> Step:
    """Return a step that adds up the column called ``column`` of a table; terms that are NaN are left out."""
    return Step(name, "sum", (TermColumn(table, column),))


def ratio(name: str, part: Operand, whole: Operand) -> Step:
    """Return a step that divides ``part`` by ``whole`` and is undefined if ``whole`` is 0."""
    return Step(name, "ratio", (part, whole))


def step(name: str, operation: Operation, *operands: Operand) -> Step:
    """Return a step that applies ``operation`` to ``operands``."""
    return Step(name, operation, operands)


def list_table(ranking: Ranking, columns: Mapping[str, Floats]) -> TermTable:
    """Return the table of the list; each of ``columns`` has one term for each ranked row."""
    return TermTable(LIST, columns, ranking.row)


def spread(ranking: Ranking, rows: Ints, amounts: Floats, other: float = math.nan) -> Floats:
    """Return a column with a term for each ranked row: ``amounts`` at the ranked ``rows``, and ``other`` elsewhere."""
    column = np.full(len(ranking.row), other)
    column[rows] = amounts
    return column


def spread_judged(ranking: Ranking, rows: Ints, amounts: Floats) -> Floats:
    """Return a column with a term for each ranked row: ``amounts`` at the judgment ``rows``, and NaN elsewhere."""
    of_all = np.full(len(ranking.judgments.codes), math.nan)
    of_all[rows] = amounts
    return of_all[ranking.row]


def within(column: Floats, positions: NDArray[np.integer], k: int | None) -> Floats:
    """Return ``column`` with NaN where ``positions`` exceed ``k``; if ``k`` is None, return ``column`` unchanged."""
    return column if k is None else np.where(positions <= k, column, math.nan)


def at_k(name: str, k: int | None) -> str:
    return name if k is None else f"{name}@{k}"
