"""How the value of a metric comes of the rows of one group: columns of terms, and the steps from these to the value.

A declaration says so beside its formula (``arithmetic``), by the same rankings that its values come of. A step is data:
its name, one of a few operations, and what it is done with, so that whoever doubts a number does the sum again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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
    """A column of terms, by the name of its table and its own."""

    table: str
    name: str

    def __str__(self) -> str:
        return self.name if self.table == LIST else f"{self.name} ({self.table})"


Operand: TypeAlias = "TermColumn | str | float"  # a column of terms, an earlier step by its name, or a number


@dataclass(frozen=True)
class TermTable:
    """Columns of terms of one length: of the list, where ``name`` is :data:`LIST`, of its ideal, or of depths.

    Parameters
    ----------
    name : str
        What the rows are.
    columns : mapping of str to float64 array (n)
        The terms; NaN where a row has none.
    row : int64 array (n), optional
        The row of the judgments that each is about; None where it is about none, as a depth is. Under ``ties=expected``
        terms of a list may belong to its positions: any row of a tie block may stand there.
    """

    name: str
    columns: Mapping[str, Floats]
    row: Ints | None = None


@dataclass(frozen=True)
class Step:
    """A number with what it is made of.

    Parameters
    ----------
    name : str
        What it is called, by which later steps name it.
    operation : str
        ``given``, or what is done with the operands: ``sum`` and ``highest`` of a column (0 of an empty one), ``ratio``
        (undefined where the second is 0), ``share`` (then 0), ``times``, ``plus``, ``minus``, ``min``, ``max``,
        ``root``, and ``where``: the first, undefined where the second is 0.
    operands : tuple
        Columns of terms, names of earlier steps, or numbers.
    value : float
        What comes of it; NaN where it is undefined.
    """

    name: str
    operation: Operation
    operands: tuple[Operand, ...] = ()
    value: float = math.nan

    def formula(self) -> str:
        """What is done, in letters: ``dcg / ideal dcg``."""
        return _FORMULAS[self.operation].format(*map(_operand, self.operands))


def _operand(operand: Operand) -> str:
    return format_number(operand) if isinstance(operand, (int, float)) else str(operand)


_FORMULAS: dict[str, str] = {
    "given": "",
    "sum": "Σ {}",
    "highest": "highest {}",
    "ratio": "{} / {}",
    "share": "{} / {}, 0 where that is 0 / 0",
    "times": "{} · {}",
    "plus": "{} + {}",
    "minus": "{} - {}",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "root": "√{}",
    "where": "{}, undefined where {} = 0",
}


def _sum(column: Floats) -> float:
    return math.fsum(column[~np.isnan(column)].tolist())


def _highest(column: Floats) -> float:
    return float(np.nanmax(column, initial=0.0)) if len(column) and not np.isnan(column).all() else 0.0


_DONE: dict[str, Callable[..., float]] = {
    "sum": _sum,
    "highest": _highest,
    "ratio": lambda part, whole: part / whole if whole else math.nan,
    "share": lambda part, whole: part / whole if whole else 0.0,
    "times": lambda one, other: one * other,
    "plus": lambda one, other: one + other,
    "minus": lambda one, other: one - other,
    "min": min,
    "max": max,
    "root": lambda square: math.sqrt(square) if square >= 0 else math.nan,
    "where": lambda value, holds: value if holds else math.nan,
}


@dataclass(frozen=True)
class OneGroup:
    """The rows of one group, as a kind of metric explains its value by them.

    Parameters
    ----------
    ranking : Ranking
        That of one model, of this group alone, under the ties of the metric.
    scored : ScoredRows
        The rows with a score, as pooled metrics read them.
    scored_rows : int64 array
        Which rows of the judgments these are.
    """

    ranking: Ranking
    scored: ScoredRows
    scored_rows: Ints


@dataclass(frozen=True)
class Arithmetic:
    """The terms of one metric in one group, and the steps to its value, which is that of the last.

    Parameters
    ----------
    tables : tuple of TermTable
        The columns of terms; that of the list comes first.
    steps : tuple of Step
        In the order in which they are done.
    told : tuple of str
        Half-sentences about what numbers cannot say.
    """

    tables: tuple[TermTable, ...]
    steps: tuple[Step, ...]
    told: tuple[str, ...] = ()

    @classmethod
    def of(cls, tables: Iterable[TermTable], steps: Iterable[Step], told: Iterable[str] = ()) -> Arithmetic:
        """The ``steps`` done with ``tables``, one after the other.

        Parameters
        ----------
        tables : iterable of TermTable
            The columns of terms.
        steps : iterable of Step
            Their values are computed here, but of those that are given.
        told : iterable of str
            What numbers cannot say.

        Returns
        -------
        Arithmetic

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
        return cls(there, tuple(done.values()), tuple(told))

    @property
    def value(self) -> float:
        """The value of the last step."""
        return self.steps[-1].value


def _computed(step: Step, columns: Mapping[TermColumn, Floats], done: Mapping[str, Step]) -> Step:
    def read(operand: Operand) -> Any:
        if isinstance(operand, TermColumn):
            return columns[operand]
        return done[operand].value if isinstance(operand, str) else float(operand)

    value = float(_DONE[step.operation](*map(read, step.operands)))
    return Step(step.name, step.operation, step.operands, value)


def given(name: str, value: float) -> Step:
    """A number that comes of no other here."""
    return Step(name, "given", (), float(value))


def total(name: str, column: str, table: str = LIST) -> Step:
    """The sum of a column."""
    return Step(name, "sum", (TermColumn(table, column),))


def highest(name: str, column: str, table: str = LIST) -> Step:
    """The highest number of a column, 0 at least."""
    return Step(name, "highest", (TermColumn(table, column),))


def ratio(name: str, part: Operand, whole: Operand) -> Step:
    """A quotient, undefined where it is one by 0."""
    return Step(name, "ratio", (part, whole))


def step(name: str, operation: Operation, *operands: Operand) -> Step:
    """Any other step."""
    return Step(name, operation, operands)


def list_table(ranking: Ranking, columns: Mapping[str, Floats]) -> TermTable:
    """The ``columns`` (n) of the ranked rows of a ranking."""
    return TermTable(LIST, columns, ranking.row)


def spread(ranking: Ranking, rows: Ints, amounts: Floats, other: float = math.nan) -> Floats:
    """``amounts`` of the ranked ``rows`` as a column of all of them, ``other`` elsewhere."""
    column = np.full(len(ranking.row), other)
    column[rows] = amounts
    return column


def spread_judged(ranking: Ranking, rows: Ints, amounts: Floats) -> Floats:
    """``amounts`` of ``rows`` of the judgments as a column of the ranked rows, NaN at those without."""
    of_all = np.full(len(ranking.judgments.codes), math.nan)
    of_all[rows] = amounts
    return of_all[ranking.row]


def within(column: Floats, positions: NDArray[np.integer], k: int | None) -> Floats:
    """``column`` with NaN at ``positions`` beyond ``k``."""
    return column if k is None else np.where(positions <= k, column, math.nan)


def at_k(name: str, k: int | None) -> str:
    """The ``name`` of something up to ``k``."""
    return name if k is None else f"{name}@{k}"
