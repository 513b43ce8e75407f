"""The contents of a report as one frozen object, from which all forms of the report are made.

The object is built from tables alone. Undefined numbers are None, never NaN, so that equal tables give equal objects.
Names of models, columns and slice values are untrusted input, so the code that displays these strings must escape
them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from sparkrank.gates.day_verdict import DayState, head_of
from sparkrank.gates.verdicts import CheckVerdict
from sparkrank.metrics.slices import ALL
from sparkrank.schemas.tables import COMPARISONS, DISPARITIES, EXPOSURES, GATES, METRICS, POSITIONS, QUALITY, RUNS

State: TypeAlias = Literal["pass", "fail", "undecided"]
ReportKind: TypeAlias = Literal["day", "window", "evaluation"]
_T = TypeVar("_T")


class TableRow:
    """A row of a stored table, with its schema's columns as fields. Columns missing in older tables are None."""

    if TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None: ...
        def __getattr__(self, column: str) -> Any: ...


def _with_columns(names: Iterable[str], *without: str) -> Callable[[type[_T]], type[_T]]:
    """Return a decorator for a frozen dataclass whose first fields are the columns ``names`` except ``without``."""

    def made(kind: type[_T]) -> type[_T]:
        columns = [name for name in names if name not in without]
        kind.__annotations__ = dict.fromkeys(columns, Any) | inspect.get_annotations(kind)
        for name in columns:
            setattr(kind, name, None)
        return dataclass(frozen=True)(kind)

    return made


@_with_columns(METRICS.whole_schema.names, "degrees", "noise_floor", "n_effective", "definition", "spec_hash", "run_id")
class MetricValue(TableRow):
    """A row of the table ``metrics``. ``value`` is None if the metric is undefined."""


@_with_columns(
    COMPARISONS.schema.names,
    *("relative_low", "relative_high", "degrees", "n_effective", "definition", "spec_hash", "run_id"),
)
class ComparisonRow(TableRow):
    """A row of the table ``comparisons``: a candidate compared with the baseline.

    ``doubt`` is the reason why a difference is not clear although its interval or p-value suggests so, or None. If
    ``is_of_other_groups`` is true, too many groups have a value for only one of the two models.
    """

    doubt: str | None = None
    is_of_other_groups: bool = False


@_with_columns(GATES.schema.names, "p", "p_adjusted", "left_out", "spec_hash", "run_id")
class GateRow(TableRow):
    """A row of the table ``gates``."""

    @property
    def check(self) -> CheckVerdict:
        """The verdict without numbers. The policy is ``warn`` if the row's release did not store a policy."""
        return CheckVerdict(self.gate, self.verdict, self.policy or "warn", bool(self.accepted))


@_with_columns(QUALITY.schema.names)
class QualityRow(TableRow):
    """A row of the table ``quality``."""


@_with_columns(column.name for column in RUNS.schema.field("files").type.value_type)
class FileRow(TableRow):
    """A file of the run, from the list in the table ``runs``."""


@_with_columns(DISPARITIES.schema.names, "degrees", "n_effective", "definition", "spec_hash", "run_id")
class DisparityRow(TableRow):
    """A row of the table ``disparities``: the distance between the values of a slice."""


@_with_columns(EXPOSURES.schema.names)
class ExposureRow(TableRow):
    """A row of the table ``exposures``: the attention that a value of a column gets, and the attention due."""


@_with_columns(POSITIONS.schema.names)
class PositionRow(TableRow):
    """A row of the table ``positions``: the numbers of rows and of relevant rows at a position of the lists."""


@_with_columns(RUNS.schema.names, "from_now_on")
class Provenance(TableRow):
    """The origin of the results: a row of the table ``runs``, or the same facts about an evaluation in memory."""

    days: tuple[str, ...] = ()
    days_missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoppedGate:
    """A gate that does not pass, its ``number`` among the ``n_gates`` gates, and its worst ``verdict``.

    The verdict is that of ``n_worst`` of the gate's ``n_checks`` checks. ``rows`` contains the worst checks, and
    ``n_more`` is the number of others.
    """

    gate: str
    number: int
    n_gates: int
    verdict: State
    n_worst: int
    n_checks: int
    rows: tuple[GateRow, ...]
    n_more: int = 0

    @property
    def sentence(self) -> str:
        """The result of the gate in words, such as ``gate 2 of 4 fails, in 46 of 65 checks; the worst are``."""
        verb = "fails" if self.verdict == "fail" else "is undecided"
        title = "the gate" if self.n_gates == 1 else f"gate {self.number:,} of {self.n_gates:,}"
        worst = "; the worst are" if self.n_more else ""
        return f"{title} {verb}, in {self.n_worst:,} of {self.n_checks:,} checks{worst}"


@dataclass(frozen=True)
class OverallVerdict:
    """The overall verdict from gates, warnings and limits.

    ``n_pass``, ``n_fail`` and ``n_undecided`` count checks of gates. ``is_accepted`` is true if a person has accepted a
    day that gates stopped. ``warnings`` has the run's warnings and a sentence for each exceeded limit. ``stopped``
    contains the gates that do not pass. ``exit_code`` is the run's exit code.
    """

    state: DayState
    n_pass: int
    n_fail: int
    n_undecided: int
    is_accepted: bool
    accepted_at: str | None  # ISO 8601, in UTC
    accepted_reason: str | None
    sentence: str
    exit_code: int = 0
    warnings: tuple[str, ...] = ()
    stopped: tuple[StoppedGate, ...] = ()

    @property
    def head(self) -> str:
        """The symbol and the verdict at the start of the report's title, for example ``✕ Fail``."""
        return head_of(self.state, is_accepted=self.is_accepted)


@dataclass(frozen=True)
class Comparisons:
    """The rows of the table ``comparisons``, with the whole day first.

    ``n_left_out`` is the number of rows beyond the limit, which are left out.
    """

    baseline: str
    rows: tuple[ComparisonRow, ...]
    n_left_out: int = 0


@dataclass(frozen=True)
class HeadlineRow:
    """A metric of a model over all rows, its comparison with the baseline, and its gate verdicts.

    ``before`` is the value on the previous day, and ``change`` the difference from it; None where a value is missing.
    """

    row: MetricValue
    comparison: ComparisonRow | None = None
    before: float | None = None
    change: float | None = None
    verdicts: tuple[GateRow, ...] = ()


@dataclass(frozen=True)
class Headline:
    """The metrics over all rows, with one row for each metric and model, and with metrics in the order of the spec.

    ``groups`` is a sentence about the evaluated groups and those without a list, and ``since`` a sentence about the
    changes since the previous day. Both may be empty.
    """

    metrics: tuple[str, ...]
    models: tuple[str, ...]
    rows: tuple[HeadlineRow, ...]
    groups: str = ""
    since: str = ""

    @property
    def cells(self) -> dict[tuple[str, str], HeadlineRow]:
        """The rows by metric and model."""
        return {(line.row.metric, line.row.model): line for line in self.rows}


@dataclass(frozen=True)
class TrendPoint:
    """A metric of a model on one day or window.

    The state is ``absent`` if the day has tables but lacks this model or metric. ``reason`` is why a day is unreadable.
    The band (``band_low`` to ``band_high``) is the range expected by the day's ``history`` gate. ``verdict`` is the
    worst verdict of all gates. ``is_same_definition`` is true if the metric is defined as on the last day, and
    ``begins_anew`` if a person restarted the value's history on this day.
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
    reason: str | None = None
    begins_anew: bool = False


@dataclass(frozen=True)
class TrendSeries:
    """The points of one metric of one model, by day. In the report of a day, the last point is that of the day."""

    metric: str
    model: str
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True)
class Trend:
    """The trend: a series for each metric and model. ``days`` lists every day from the first to the last.

    ``verdicts`` contains the combined verdict of each day's gates, including those on slices: a word such as ``fail``,
    ``accepted`` or ``not evaluated``, or an empty string if the day has no gates.
    """

    days: tuple[str, ...]
    series: tuple[TrendSeries, ...]
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True)
class SliceRow:
    """A metric for a slice value, with one of ``cells`` per model of the table (None without a value).

    The counts are those of the first cell with a value.
    """

    slice: str
    slice_value: str | None
    metric: str
    n_groups: int | None
    n_rows: int | None
    cells: tuple[MetricValue | None, ...]


@dataclass(frozen=True)
class SliceTable:
    """Rows by slice and metric, worst slice value first. ``n_left_out`` counts rows of ``metrics`` beyond the limit."""

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[SliceRow, ...]
    n_left_out: int = 0


@dataclass(frozen=True)
class CloserGroup:
    """A group to look at: its ``key`` (empty if keys are hidden), the values of two models, and its numbers of rows.

    ``value`` is the model's value. ``command`` is the command that explains the group, and ``explanation`` its output,
    or None if the spec requests none.
    """

    key: Mapping[str, Any]
    baseline_value: float | None
    value: float | None
    difference: float | None
    n_rows: int
    n_relevant: int
    command: str
    explanation: str | None = None


@dataclass(frozen=True)
class CloserLook:
    """The groups with the worst ``metric`` of ``model``, and those that differ most from the baseline (``moved``)."""

    metric: str
    model: str
    baseline: str | None
    worst: tuple[CloserGroup, ...]
    moved: tuple[CloserGroup, ...] = ()

    @property
    def parts(self) -> list[tuple[str, tuple[CloserGroup, ...]]]:
        """The non-empty lists of groups, each as a pair (title, groups)."""
        titled = [("The worst groups", self.worst), ("The groups that moved most", self.moved)]
        return [(title, groups) for title, groups in titled if groups]


@dataclass(frozen=True)
class Point:
    """A point of a curve.

    ``threshold`` is None (in the table: infinity) at the start, where no row is selected.
    """

    x: float
    y: float
    threshold: float | None = None


@dataclass(frozen=True)
class Curve:
    """The ROC curve (x: false positive rate, y: true positive rate) or PR curve (x: recall, y: precision) of a model.

    ``area`` is the value of ``metric``. ``points`` is a selection of the ``n_points`` points in the table, including
    the first and the last.
    """

    kind: Literal["roc", "pr"]
    model: str
    metric: str
    area: float | None
    points: tuple[Point, ...]
    n_points: int


@dataclass(frozen=True)
class BestPoint:
    """The best point of the ROC or PR curve (``kind``) of a model. ``metric`` is one of its coordinates."""

    kind: Literal["roc", "pr"]
    model: str
    metric: str
    point: Point


@dataclass(frozen=True)
class CalibrationBin:
    """The rows with scores from ``low`` to ``high``.

    ``mean_score`` and ``rate`` (the share of relevant rows) are None without rows. ``pos`` and ``neg`` are the numbers
    (or weights) of relevant rows and of other rows. ``rows`` is the number of all rows.
    """

    low: float
    high: float
    mean_score: float | None
    rate: float | None
    pos: float
    neg: float
    rows: float


@dataclass(frozen=True)
class Calibration:
    """A model's mean score and its share of relevant rows, in score bins by ``rule``.

    ``slice`` and ``slice_value`` select the rows: all rows, or those with one value of a slice. If ``has_means`` is
    true, mean scores are computed from sums. Otherwise, the score of the bin serves as its mean score, and is too low
    by up to a bin width. ``errors`` are the calibration metrics with their values.
    """

    model: str
    rule: str
    has_means: bool
    bins: tuple[CalibrationBin, ...]
    errors: tuple[tuple[str, float | None], ...] = ()
    slice: str = ALL
    slice_value: str | None = ALL


@dataclass(frozen=True)
class HistogramBin:
    """A bin of scores from ``low`` to ``high``: the number or weight of relevant (``pos``) and other rows (``neg``)."""

    low: float
    high: float
    pos: float
    neg: float


@dataclass(frozen=True)
class Histogram:
    """The scores of a model by class (relevant or not), in bins joined from score bins by ``rule``.

    ``below`` and ``above`` count the relevant and the other rows beyond the edges, including infinite scores.
    """

    model: str
    rule: str
    bins: tuple[HistogramBin, ...]
    below: tuple[float, float] = (0.0, 0.0)
    above: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class AucUpBin:
    """A score bin whose share of relevant rows is out of order.

    ``position`` is the bin's rank by score (the highest has 1), and ``best_position`` its rank by ``rate``, its share
    of relevant rows. ``lost`` is the area lost through the wrong position. The loss from each wrongly ordered pair of
    bins is split evenly between the two, so that the losses of all bins add up to :attr:`AucUp.gap`.
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
    """The AUC of a model, and its AUC_UP: the AUC of the best order of the same score bins.

    ``auc`` is the value of ``auc_metric``, and ``auc_up`` is the value of ``metric``. ``gap`` is AUC_UP minus the AUC
    of the same bins: the area under ``by_rate`` minus the area under ``by_score``. ``n_wrong`` of the ``n_bins`` bins
    are out of order, and ``worst`` are the bins that lose the most area.
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
    """The numbers of a model's groups by bin. The ``n_undefined`` groups without a value are in no bin."""

    model: str
    counts: tuple[int, ...]
    n_undefined: int


@dataclass(frozen=True)
class GroupDistribution:
    """The distribution of a metric's values over groups, by model, from the table ``source``.

    Bin i includes its lower edge ``edges[i]``. Only the last bin includes its upper edge ``edges[i + 1]``.
    """

    metric: str
    edges: tuple[float, ...]
    models: tuple[ModelCounts, ...]
    source: Literal["groups", "distributions"]


@dataclass(frozen=True)
class PairedDistribution:
    """The distribution of the groups' differences, candidate minus baseline, binned as in :class:`GroupDistribution`.

    The ``n_equal`` groups with difference zero are in no bin. In ``n_unpaired`` groups, only one model has a value.
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
    """The meaning of a metric.

    If this version of sparkrank lacks the metric, only ``metric`` and ``definition`` (from the table) are set.
    """

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
    """The contents of a report about a day, a window or an evaluation.

    Parameters
    ----------
    kind, name : str
        The subject of the report: the day ``2026-11-19``, the window ``2026-11-13..2026-11-19``, or ``evaluation``.
    models, metrics : tuple of str
        The names in the order of the tables. Names stored by another version are kept as that version wrote them.
    baseline : str or None
        The model that others are compared with.
    level : float
        The confidence level of the intervals, for example 0.95.
    previous : str or None
        The previous stored day, whose values are in :attr:`HeadlineRow.before`.
    subject, owner : str or None
        The ``name`` of the spec, and its ``owner``: the person or team who is responsible.
    missing : mapping
        The reason for each section that is None, empty or without some models, with advice on what to request.
    more : mapping
        The sections that are not fields of this class, keyed by name.

    The other fields are the sections. A section is None or an empty tuple if the tables lack its data.
    """

    kind: ReportKind
    name: str
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    baseline: str | None = None
    level: float | None = None
    previous: str | None = None
    subject: str | None = None
    owner: str | None = None
    verdict: OverallVerdict | None = None
    headline: Headline | None = None
    trend: Trend | None = None
    comparisons: Comparisons | None = None
    slices: SliceTable | None = None
    closer: CloserLook | None = None
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

    @property
    def title(self) -> str:
        """The verdict, the subject and the day, for example ``✕ Fail - home feed - 2026-11-19``."""
        head = None if self.verdict is None else self.verdict.head
        name = None if self.kind == "evaluation" else self.name
        return " - ".join(filter(None, (head, self.subject or "Evaluation", name)))

    def section(self, name: str) -> Any:
        """Return the section called ``name``, or None if the tables lack its data."""
        return getattr(self, name, None) if name in self.__dataclass_fields__ else self.more.get(name)
