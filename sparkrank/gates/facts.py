"""The facts (values and differences) that gates read from the tables of a day or window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.gates.rules import GAP, OF_DISPARITY, Cell, Rule, covers_slice, matches
from sparkrank.metrics.slices import ALL
from sparkrank.schemas.tables import COMPARISONS, DISPARITIES

# The columns that are read from the table ``comparisons``.
_OF_PAIRS = ("candidate", "baseline", "slice", "slice_value", "metric", "difference", "stderr", "ci_low", "ci_high")
_SIZES = ("interval", "degrees", "n_effective", "n_groups", "n_unpaired")
COMPARED = pa.schema(map(COMPARISONS.schema.field, (*_OF_PAIRS, *_SIZES)))
# The columns that are read from the table ``disparities``.
_OF_SLICES = ("model", "slice", "metric", "difference", "stderr", "ci_low", "ci_high", "interval", "degrees")
APART = pa.schema(map(DISPARITIES.schema.field, (*_OF_SLICES, "n_effective", "n_groups")))


class IntervalEstimate(NamedTuple):
    """A value or a difference with its interval from ``low`` to ``high``.

    ``interval`` is the method of the interval, ``degrees`` the degrees of freedom. ``n_undefined`` counts the groups
    without a value, ``n_unpaired`` the groups in which only one of two models has a value. In rows of older runs, the
    fields after ``stderr`` are None.
    """

    value: float | None
    low: float | None
    high: float | None
    stderr: float | None
    definition: str | None = None
    interval: str | None = None
    degrees: float | None = None
    n_groups: int | None = None
    n_effective: float | None = None
    n_unpaired: int | None = None
    n_undefined: int | None = None

    @property
    def defined(self) -> tuple[float, float] | None:
        """The share of groups with a defined value, and the share's standard error; None if unknown."""
        if not self.n_groups or self.n_undefined is None or self.n_undefined > self.n_groups:
            return None
        share = 1 - self.n_undefined / self.n_groups
        return share, math.sqrt(share * (1 - share) / self.n_groups)

    @classmethod
    def of(cls, table: pa.Table, value: str) -> Iterator[IntervalEstimate]:
        """Yield an estimate for each row of ``table``, whose column named ``value`` contains the measured numbers."""
        names = (value, "ci_low", "ci_high", *cls._fields[3:])
        return map(cls, *(_column(table, name) for name in names))


@dataclass(frozen=True)
class DayOutcome:
    """The outcome of a stored day, as sets of cells. A cell is a metric of a model for a slice value.

    ``failed`` contains the cells that failed a gate, and ``let_in`` the cells with an accepted failure. ``levels``
    contains the accepted cells that had failed the comparison with their history. On this day, a new history begins for
    the cells in ``anew``, or for all cells if ``is_new`` is true.
    """

    failed: frozenset[Cell] = frozenset()
    let_in: frozenset[Cell] = frozenset()
    levels: frozenset[Cell] = frozenset()
    anew: frozenset[Cell] = frozenset()
    is_new: bool = False

    def begins_anew(self, cell: Cell) -> bool:
        return self.is_new or cell in self.anew


@dataclass(frozen=True)
class Facts:
    """The facts of the day or window ``name``, by cell (metric, model, slice value).

    ``measured`` maps cells to values, and ``compared`` maps cells and baselines to differences; ``compared`` is None
    without a table ``comparisons``. ``metrics`` and ``models`` contain all names in the tables. ``outcome`` contains
    the results of the gates when the day was stored.
    """

    name: str
    measured: Mapping[Cell, IntervalEstimate]
    compared: Mapping[tuple[Cell, str], IntervalEstimate] | None = None
    spec_hash: str | None = None
    run_id: str | None = None
    metrics: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    outcome: DayOutcome = DayOutcome()

    @property
    def values(self) -> list[tuple[str, str | None]]:
        """The distinct pairs of slice and slice value in ``measured``, in the order of the table."""
        return list(dict.fromkeys((cell.slice, cell.slice_value) for cell in self.measured))


@dataclass(frozen=True)
class Standard:
    """The earlier ``days`` for comparison, latest first. ``unread`` names the days with unreadable tables."""

    days: Sequence[Facts] = ()
    unread: Sequence[str] = ()

    @property
    def before(self) -> Facts | None:
        """The last day without unaccepted failures, except for values with failures accepted on later days.

        The result is None if there is no such day.
        """
        let_go: set[Cell] = set()
        for facts in self.days:
            if not facts.outcome.failed:
                kept = {cell: measured for cell, measured in facts.measured.items() if cell not in let_go}
                return replace(facts, measured=kept) if let_go else facts
            let_go |= facts.outcome.let_in
        return None


NO_STANDARD = Standard()


def facts_of(
    name: str,
    metrics: pa.Table,
    comparisons: pa.Table | None,
    rules: Sequence[Rule],
    beside: Iterable[str] = (),
    disparities: pa.Table | None = None,
) -> Facts:
    """Return the facts of the day or window ``name`` for the cells of ``rules`` and for the models in ``beside``."""
    beside = set(beside)
    rows = _rows_of_rules(metrics, rules, beside)
    measured = dict(zip(_cells(rows, "model"), IntervalEstimate.of(rows, "value"), strict=True))
    if disparities is not None:
        apart = (cell._replace(slice=f"{OF_DISPARITY}{cell.slice}", slice_value=GAP) for cell in _apart(disparities))
        estimates = zip(apart, IntervalEstimate.of(disparities, "difference"), strict=True)
        measured |= {cell: own for cell, own in estimates if any(rule.covers(cell) for rule in rules)}
    compared = None
    if comparisons is not None:
        pairs = _rows_of_rules(comparisons, rules, None)
        keys = zip(_cells(pairs, "candidate"), _column(pairs, "baseline"), strict=True)
        compared = dict(zip(keys, IntervalEstimate.of(pairs, "difference"), strict=True))
    texts, models = (frozenset(_distinct(metrics, column)) for column in ("metric", "model"))
    return Facts(name, measured, compared, _first(metrics, "spec_hash"), _first(metrics, "run_id"), texts, models)


def _cells(table: pa.Table, model: str) -> Iterator[Cell]:
    return map(Cell, *(_column(table, name) for name in ("metric", model, "slice", "slice_value")))


def _apart(disparities: pa.Table) -> Iterator[Cell]:
    return map(Cell, *(_column(disparities, name) for name in ("metric", "model", "slice")))


def _column(table: pa.Table, name: str) -> list[Any]:
    """Return the values of the column ``name`` as a list, or a list of None if the table lacks the column."""
    return table[name].to_pylist() if name in table.column_names else [None] * table.num_rows


def _rows_of_rules(table: pa.Table, rules: Sequence[Rule], beside: set[str] | None) -> pa.Table:
    """Return the rows of ``table`` that may concern a rule, or that have a model named in ``beside``.

    ``beside`` is None for the table ``comparisons``. Slices may have many values, so only names are matched here.
    """
    tests: dict[str, Callable[[Rule, str], bool]] = {
        "metric": lambda rule, text: matches(text, rule.metric),
        "candidate" if beside is None else "model": lambda rule, text: matches(text, rule.model or "*"),
        "slice": _may_be_of,
    }
    for column, test in tests.items():
        also = beside if beside is not None and column == "model" else set()
        texts = [text for text in _distinct(table, column) if text in also or any(test(rule, text) for rule in rules)]
        table = table.filter(pc.field(column).isin(pa.array(texts, pa.string())))
    return table


def _may_be_of(rule: Rule, slice_: str) -> bool:
    whatever = tuple((column, "*") for column, _ in rule.slice_patterns)
    columns = slice_.count(",") + 1
    return covers_slice(whatever, slice_, ALL if slice_ == ALL else ",".join(["x"] * columns))


def _distinct(table: pa.Table, column: str) -> list[str]:
    texts: list[str] = pc.unique(table[column]).to_pylist()
    return texts


def _first(table: pa.Table, column: str) -> Any:
    return table[column][0].as_py() if column in table.column_names and table.num_rows else None
