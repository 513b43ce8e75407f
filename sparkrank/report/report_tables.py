"""The tables for a report, and functions that read their rows. Missing columns are read as None."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import MetricError
from sparkrank.gates.verdicts import WORST_FIRST
from sparkrank.metrics import Definitions, Metric
from sparkrank.metrics.slices import ALL
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.report.certainty import with_doubts
from sparkrank.report.data import ComparisonRow, GateRow, MetricValue, ReportKind, State, TableRow, Trend
from sparkrank.tables.rows.warnings import without_example

if TYPE_CHECKING:
    from sparkrank.comparison.group_tables import GroupTable
    from sparkrank.report.score_bins import BinsByRule, BinsBySliceValue

_R = TypeVar("_R", bound=TableRow)
Key: TypeAlias = "tuple[Any, ...]"
Explain: TypeAlias = "Callable[[Sequence[str], Sequence[Key], str, Sequence[str]], dict[Key, str]]"


@dataclass(frozen=True)
class DayBefore:
    """The previous day or window: its ``name``, and the whole-day rows of its table ``metrics``."""

    name: str
    metrics: pa.Table


@dataclass(frozen=True, eq=False)
class ReportTables:
    """The tables of a day, a window or an evaluation. A missing table is None.

    ``run`` is the row of ``runs``, or the same facts about an evaluation in memory. ``baseline`` and ``level`` are used
    if the tables lack them. The fields from ``most_unpaired`` to ``warnings`` come from the spec and the run: ``keys``
    names the group's key columns, and ``subject`` is the name of the spec. ``before`` is the previous day. ``bins`` are
    read from the table ``blocks``; ``bins_missing`` is the reason why some were not. ``missing`` contains the reason
    for each missing section. ``conf`` is the path of the spec for use in commands. ``shows_keys`` is false if keys of
    groups are hidden. ``explain`` is a function of key columns, keys, a metric and models, and returns an explanation
    for each key.
    """

    kind: ReportKind
    name: str
    metrics: pa.Table
    comparisons: pa.Table | None = None
    gates: pa.Table | None = None
    quality: pa.Table | None = None
    curves: pa.Table | None = None
    distributions: pa.Table | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    level: float | None = None
    most_unpaired: float = Comparison("").most_unpaired
    keys: Sequence[str] = ()
    undefined: str = Definitions().undefined
    subject: str | None = None
    owner: str | None = None
    warnings: Sequence[str] = ()
    trend: Trend | None = None
    before: DayBefore | None = None
    bins: BinsBySliceValue = field(default_factory=dict)
    bins_missing: str | None = None
    groups: GroupTable | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    conf: str = "sparkrank.yaml"
    shows_keys: bool = True
    explain: Explain | None = None
    disparities: pa.Table | None = None
    exposures: pa.Table | None = None
    positions: pa.Table | None = None

    @property
    def without_examples(self) -> ReportTables:
        """The same tables without the single groups in the examples of checks and warnings."""
        quality = self.quality
        if quality is not None and "example" in quality.column_names:
            quality = quality.drop_columns(["example"])
        return replace(self, quality=quality, warnings=[*map(without_example, self.warnings)])

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models, in the order of the table ``metrics`` or, if that table has no rows, of the trend."""
        return self._names("model")

    @cached_property
    def metric_names(self) -> tuple[str, ...]:
        """The metric names, in the order of the table ``metrics`` or, if that table has no rows, of the trend."""
        return self._names("metric")

    def _names(self, column: str) -> tuple[str, ...]:
        if self.trend is not None and not self.metrics.num_rows:
            return tuple(dict.fromkeys(getattr(series, column) for series in self.trend.series))
        return names_of(self.metrics, column)

    @property
    def whole_bins(self) -> BinsByRule:
        """The score bins of the whole day."""
        return self.bins.get((ALL, ALL), {})

    @cached_property
    def values(self) -> list[MetricValue]:
        """The rows of ``metrics`` about the whole day."""
        return rows_of(whole_day(self.metrics), MetricValue)

    @cached_property
    def compared(self) -> list[ComparisonRow]:
        """The rows of ``comparisons`` about the whole day, with reasons for doubt."""
        return [] if self.comparisons is None else self.comparison_rows(whole_day(self.comparisons))

    def comparison_rows(self, table: pa.Table) -> list[ComparisonRow]:
        """Return the rows of ``table``, a subset of ``comparisons``, with reasons for doubt."""
        return with_doubts(rows_of(table, ComparisonRow), self._tests, self.most_unpaired)

    @cached_property
    def _tests(self) -> dict[str, int]:
        """The number of p-values in each family of comparisons, by the family's name."""
        table = self.comparisons
        if table is None or not {"family", "p"} <= set(table.column_names):
            return {}
        counted = plain_texts(table.select(["family", "p"])).group_by("family").aggregate([("p", "count")])
        return dict(zip(*(counted[name].to_pylist() for name in ("family", "p_count")), strict=True))

    @cached_property
    def verdicts(self) -> tuple[GateRow, ...]:
        """The rows of the table ``gates``: failures, then undecided checks, then passes."""
        return tuple(sorted(rows_of(self.gates, GateRow), key=lambda row: WORST_FIRST.index(row.verdict)))


def names_of(table: pa.Table, column: str) -> tuple[str, ...]:
    """Return the distinct strings in ``column``, in the order of the table."""
    return tuple(pc.unique(plain_texts(table.select([column]))[column]).to_pylist())


def plain_texts(table: pa.Table) -> pa.Table:
    """Return the table with its dictionary-encoded columns decoded."""
    for index, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(index, column.name, table[column.name].cast(column.type.value_type))
    return table


def whole_day(table: pa.Table) -> pa.Table:
    """Return the rows of ``table`` for the whole day, without those for slices."""
    return table.filter(pc.equal(table["slice"].cast(pa.string()), ALL))


def is_among(texts: pa.ChunkedArray, allowed: Sequence[str]) -> pa.ChunkedArray:
    """Return a mask of the ``allowed`` strings.

    A filter by a mask keeps the order of rows; a filter by an expression does not.
    """
    return pc.is_in(texts, value_set=pa.array(allowed, pa.string()))


def defined(value: Any) -> Any:
    """Return ``value``, or None if ``value`` is NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def rows_of(table: pa.Table | None, kind: type[_R]) -> list[_R]:
    """Return the rows of ``table`` as objects of the class ``kind``; an empty list without a table."""
    if table is None:
        return []
    names = [column.name for column in fields(kind) if column.name in table.column_names]  # type: ignore[arg-type]
    if not table.num_rows:
        return []
    columns = [_defined_column(column) for column in plain_texts(table.select(names)).columns]
    return [kind(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def _defined_column(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    values: list[Any] = column.to_pylist()
    return values


def by_cell(verdicts: Iterable[GateRow]) -> dict[tuple[str, str | None], tuple[GateRow, ...]]:
    """Return the whole-day verdicts by metric and model."""
    cells: dict[tuple[str, str | None], tuple[GateRow, ...]] = {}
    for row in verdicts:
        if row.slice == ALL:
            cells[row.metric, row.model] = (*cells.get((row.metric, row.model), ()), row)
    return cells


def worst(verdicts: Iterable[State]) -> State | None:
    """Return the worst of ``verdicts``, or None if ``verdicts`` is empty."""
    return min(verdicts, key=WORST_FIRST.index, default=None)


def definitions_of(table: pa.Table) -> dict[tuple[str, str], str | None]:
    """Return the definitions in a table ``metrics`` by metric and model."""
    if "definition" not in table.column_names:
        return {}
    rows = plain_texts(table.select(["metric", "model", "definition"])).to_pylist()
    return {(row["metric"], row["model"]): row["definition"] for row in rows}


def parsed(text: str) -> Metric | None:
    """Return the stored metric ``text``, or None if it is from another version or from a module not imported."""
    with suppress(MetricError):
        return Metric.parse(text)
    return None


def json_object(text: str | None) -> dict[str, Any]:
    """Return the JSON object in ``text``, or an empty dict if ``text`` is not a JSON object."""
    document = None
    with suppress(ValueError):
        document = json.loads(text or "{}")
    return document if isinstance(document, dict) else {}
