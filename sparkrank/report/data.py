"""What a report says, as values: one frozen object, made of tables alone, from which every form of it is written.

Undefined numbers are None, never NaN, so that the same tables make equal objects. Names of models, columns and slice
values are those of strangers: whoever shows them escapes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from sparkrank.schemas.tables import COMPARISONS, GATES, METRICS, QUALITY, RUNS

State: TypeAlias = Literal["pass", "fail", "undecided"]
ReportKind: TypeAlias = Literal["day", "window", "evaluation"]
_T = TypeVar("_T")


class TableRow:
    """A row of a stored table, with the columns of the table's schema as fields. What an older table lacks is None."""

    if TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None: ...
        def __getattr__(self, column: str) -> Any: ...


def _with_columns(names: Iterable[str], *without: str) -> Callable[[type[_T]], type[_T]]:
    """Make a frozen dataclass whose first fields are the columns ``names``, but for those ``without``."""

    def made(kind: type[_T]) -> type[_T]:
        columns = [name for name in names if name not in without]
        kind.__annotations__ = dict.fromkeys(columns, Any) | inspect.get_annotations(kind)
        for name in columns:
            setattr(kind, name, None)
        return dataclass(frozen=True)(kind)

    return made


@_with_columns(METRICS.whole_schema.names, "degrees", "noise_floor", "n_effective", "definition", "spec_hash", "run_id")
class MetricValue(TableRow):
    """A row of the table ``metrics``; ``value`` is None where the metric is undefined."""


@_with_columns(
    COMPARISONS.schema.names,
    *("relative_low", "relative_high", "degrees", "n_effective", "definition", "spec_hash", "run_id"),
)
class ComparisonRow(TableRow):
    """A row of the table ``comparisons``: a candidate against the baseline."""


@_with_columns(GATES.schema.names, "p", "p_adjusted", "left_out", "spec_hash", "run_id")
class GateRow(TableRow):
    """A row of the table ``gates``."""


@_with_columns(QUALITY.schema.names)
class QualityRow(TableRow):
    """A row of the table ``quality``."""


@_with_columns(column.name for column in RUNS.schema.field("files").type.value_type)
class FileRow(TableRow):
    """A file that the run wrote."""


@_with_columns(RUNS.schema.names, "from_now_on")
class Provenance(TableRow):
    """Where the numbers come from: the row of the table ``runs``, or what an evaluation knows of itself."""

    days: tuple[str, ...] = ()
    days_missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class OverallVerdict:
    """What the gates say together: the worst verdict, and whether a person has let in what a gate stopped."""

    state: State
    n_pass: int
    n_fail: int
    n_undecided: int
    is_accepted: bool
    accepted_at: str | None  # ISO 8601, in UTC
    accepted_reason: str | None
    sentence: str


@dataclass(frozen=True)
class Comparisons:
    """The table ``comparisons``: the whole day first, then slices, of which ``n_left_out`` rows are too many."""

    baseline: str
    rows: tuple[ComparisonRow, ...]
    n_left_out: int = 0


@dataclass(frozen=True)
class HeadlineRow:
    """A metric of a model over all rows: compared with the baseline and the day before, and judged by its gates."""

    row: MetricValue
    comparison: ComparisonRow | None = None
    before: float | None = None
    change: float | None = None
    verdicts: tuple[GateRow, ...] = ()


@dataclass(frozen=True)
class Headline:
    """The metrics over all rows: a row for each metric and model, metrics in the order of the spec."""

    metrics: tuple[str, ...]
    models: tuple[str, ...]
    rows: tuple[HeadlineRow, ...]


@dataclass(frozen=True)
class TrendPoint:
    """A metric of a model on one day, or window.

    A day that is ``absent`` has tables, but not this model or metric; ``told`` says why one is unreadable. The band is
    that of the day's gate of kind ``history``, ``verdict`` the worst of the gates. ``is_same_definition``: as on the
    last day. ``begins_anew``: a person has let the history of the value begin anew with the day.
    """

    day: str
    state: Literal["value", "undefined", "absent", "missing", "unreadable"]
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    band_low: float | None = None
    band_high: float | None = None
    verdict: State | None = None
    is_accepted: bool = False
    accepted_reason: str | None = None
    is_same_definition: bool = True
    told: str | None = None
    begins_anew: bool = False


@dataclass(frozen=True)
class TrendSeries:
    """A metric of a model over days; the last point is that of the report where it is about a day."""

    metric: str
    model: str
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True)
class Trend:
    """The stored days: a series for each metric and model. ``days`` are all from the first to the last."""

    days: tuple[str, ...]
    series: tuple[TrendSeries, ...]


@dataclass(frozen=True)
class SliceRow:
    """A metric in a value of a slice: a cell for each model of the table, and the counts of the first that is there."""

    slice: str
    slice_value: str | None
    metric: str
    n_groups: int | None
    n_rows: int | None
    cells: tuple[MetricValue | None, ...]


@dataclass(frozen=True)
class SliceTable:
    """By slice, by metric, then by rows, the most first; ``n_left_out`` rows of ``metrics`` are too many."""

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[SliceRow, ...]
    n_left_out: int = 0


@dataclass(frozen=True)
class Point:
    """A point of a curve; ``threshold`` is None where no row is taken (it is infinite in the table)."""

    x: float
    y: float
    threshold: float | None = None


@dataclass(frozen=True)
class Curve:
    """The ROC curve (x false, y true positive rate) or PR curve (x recall, y precision) of a model.

    ``area`` is the value of ``metric``. Of the ``n_points`` in the table these are some, the first and the last with
    them.
    """

    kind: Literal["roc", "pr"]
    model: str
    metric: str
    area: float | None
    points: tuple[Point, ...]
    n_points: int


@dataclass(frozen=True)
class CalibrationBin:
    """Score bins of ``low`` to ``high``: the mean score, and the share of relevant rows; both None without rows."""

    low: float
    high: float
    mean_score: float | None
    rate: float | None
    pos: float
    neg: float


@dataclass(frozen=True)
class Calibration:
    """Mean score against the share of relevant rows, of a model, by the score bins of ``rule``.

    ``has_means``: mean scores come from sums; otherwise from the scores that name the bins, which are lower by up to a
    width. ``errors`` are the metrics of calibration with their values.
    """

    model: str
    rule: str
    has_means: bool
    bins: tuple[CalibrationBin, ...]
    errors: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True)
class HistogramBin:
    """Relevant and other rows (or their weights) with scores from ``low`` to ``high``."""

    low: float
    high: float
    pos: float
    neg: float


@dataclass(frozen=True)
class Histogram:
    """The scores of a model by class, joined from the score bins of ``rule``.

    ``below`` and ``above`` are the relevant and the other rows beyond the edges, infinite scores among them.
    """

    model: str
    rule: str
    bins: tuple[HistogramBin, ...]
    below: tuple[float, float] = (0.0, 0.0)
    above: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class AucUpBin:
    """A score bin whose share of relevant rows is out of order.

    ``position`` is its place by score, the highest first, from 1, and ``best_position`` that by ``rate``. ``lost`` is
    what its wrong order costs of the area: the pairs of it and another bin in the wrong order, half of each, so that
    all bins together lose :attr:`AucUp.gap`.
    """

    score: float
    pos: float
    neg: float
    rate: float
    position: int
    best_position: int
    lost: float


@dataclass(frozen=True)
class AucUp:
    """AUC against AUC_UP of a model: what a better order of the same score bins would gain.

    ``auc`` is the value of ``auc_metric``, ``auc_up`` that of ``metric``. ``gap`` is AUC_UP less the AUC of the same
    bins, by which the areas of ``by_score`` and ``by_rate`` differ. ``worst`` bins lose most of it.
    """

    model: str
    metric: str
    rule: str
    auc_up: float | None
    auc_metric: str | None
    auc: float | None
    gap: float | None
    n_bins: int
    n_wrong: int
    worst: tuple[AucUpBin, ...]
    by_score: tuple[Point, ...]
    by_rate: tuple[Point, ...]


@dataclass(frozen=True)
class ModelCounts:
    """Groups of a model in each bin; ``n_undefined`` stand in none."""

    model: str
    counts: tuple[int, ...]
    n_undefined: int


@dataclass(frozen=True)
class GroupDistribution:
    """How the values of a metric are spread over groups, by model, as the table ``source`` has them.

    Bin i is from ``edges[i]``, included, to ``edges[i + 1]``, which only the last includes.
    """

    metric: str
    edges: tuple[float, ...]
    models: tuple[ModelCounts, ...]
    source: Literal["groups", "distributions"]


@dataclass(frozen=True)
class PairedDistribution:
    """How the differences of groups, candidate minus baseline, are spread: bins as in :class:`GroupDistribution`.

    ``n_equal`` groups without a difference stand in no bin. ``n_unpaired`` have a value of one model alone.
    """

    metric: str
    candidate: str
    baseline: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    n_equal: int
    n_unpaired: int
    comparison: ComparisonRow | None = None


@dataclass(frozen=True)
class Definition:
    """What a metric means: ``definition`` as the table has it; the rest is None where this version does not know it."""

    metric: str
    definition: str | None
    title: str | None = None
    formula: str | None = None
    undefined: str | None = None
    reference: str | None = None
    higher_is_better: bool | None = None
    link: str | None = None


@dataclass(frozen=True)
class ReportData:
    """All that a report of a day, a window, or an evaluation says.

    Parameters
    ----------
    kind, name : str
        What it is about: the day ``2026-11-19``, the window ``2026-11-13..2026-11-19``, or ``evaluation``.
    models, metrics : tuple of str
        In the order of the tables. Of an evaluation or a day by another version, as that has them.
    baseline : str or None
        The model that others are compared with.
    level : float
        That of the intervals: 0.95.
    previous : str or None
        The stored day before, to which :attr:`HeadlineRow.before` refers.
    missing : mapping
        By section, why it is None, empty, or without some models, and what to ask for.
    more : mapping
        By name, the sections that are no fields of this class.

    Other fields are the sections: None, or an empty tuple, where the tables do not hold them.
    """

    kind: ReportKind
    name: str
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    baseline: str | None = None
    level: float | None = None
    previous: str | None = None
    verdict: OverallVerdict | None = None
    headline: Headline | None = None
    trend: Trend | None = None
    comparisons: Comparisons | None = None
    slices: SliceTable | None = None
    roc: tuple[Curve, ...] = ()
    pr: tuple[Curve, ...] = ()
    calibration: tuple[Calibration, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    auc_up: tuple[AucUp, ...] = ()
    distributions: tuple[GroupDistribution, ...] = ()
    paired: tuple[PairedDistribution, ...] = ()
    gates: tuple[GateRow, ...] = ()
    quality: tuple[QualityRow, ...] = ()
    definitions: tuple[Definition, ...] = ()
    provenance: Provenance | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def section(self, name: str) -> Any:
        """The section of this name; None where the tables do not hold it."""
        return getattr(self, name, None) if name in self.__dataclass_fields__ else self.more.get(name)
