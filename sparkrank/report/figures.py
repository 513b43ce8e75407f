"""The charts of a report as plain values: the positions of marks, for any drawing library."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sparkrank.base.errors import escape
from sparkrank.base.redaction import redact
from sparkrank.metrics.slices import shown_value
from sparkrank.report.data import ReportData, TableRow
from sparkrank.text.text import four_decimals

MOST_SERIES = 8  # lines that can be distinguished in one chart; the tables have all series
MOST_ROWS = 40  # the most rows of an interval chart; the tables have all rows
AxisPlace: TypeAlias = "float | str"


@dataclass(frozen=True)
class ChartKey:
    """An entry of a chart's legend, for a dash, a shape and, for models only (``is_model``), a colour.

    The legend shows ``name``. ``style`` is the number of the combination of dash, shape and colour. On a page, one
    legend serves all charts with only models as keys.
    """

    name: str
    style: int = 0
    is_model: bool = False


@dataclass(frozen=True)
class Line:
    """A line through ``points`` in order. A point with the value None breaks the line.

    ``band`` is a shaded area, ``limits`` is a pair of thin lines, and ``flags`` are rings around points.
    """

    key: ChartKey
    points: tuple[tuple[AxisPlace, float | None], ...]
    band: tuple[tuple[AxisPlace, float, float], ...] = ()
    limits: tuple[tuple[AxisPlace, float, float], ...] = ()
    flags: tuple[tuple[AxisPlace, float], ...] = ()


@dataclass(frozen=True)
class IntervalMark:
    """A value and the two ends of its interval, which may be None. ``key`` is an index into the chart's keys."""

    key: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class IntervalRow:
    """A label and the intervals beside it, drawn one below another."""

    label: str
    intervals: tuple[IntervalMark, ...]


@dataclass(frozen=True)
class Frame:
    """The frame of a chart's marks: axis titles and domains, sizes in pixels, and guide lines.

    A line of up to ``marks`` points has a mark on every point, and a longer line only on the last point. ``days`` lists
    the labels of the x axis, and ``noted`` each x of a vertical rule. If ``powers`` (the highest value) is set, the y
    axis is on a symlog scale with ticks at 0 and at powers of ten. ``steps`` is true for step lines, and ``zero`` if
    the axis includes 0.
    """

    x_title: str = ""
    y_title: str = ""
    width: int = 290
    height: int = 180
    days: tuple[str, ...] = ()
    x_domain: tuple[float, float] | None = None
    y_domain: tuple[float, float] | None = None
    diagonal: tuple[float, float] | None = None
    zero: bool = False
    marks: int = 0
    steps: bool = False
    powers: float | None = None
    noted: tuple[AxisPlace, ...] = ()


@dataclass(frozen=True)
class LineChart:
    """A chart of lines (or step lines) on common axes."""

    lines: Sequence[Line]
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True)
class IntervalChart:
    """A chart of intervals in rows, from top to bottom."""

    rows: Sequence[IntervalRow]
    keys: Sequence[ChartKey]
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True)
class Figure:
    """A chart with a description. ``metric``, ``model`` or ``slice`` is None if the chart covers several of them."""

    section: str
    title: str
    about: str
    chart: LineChart | IntervalChart
    metric: str | None = None
    model: str | None = None
    slice: str | None = None


def shown_name(name: str | None, slice_name: str = "") -> str:
    """Return a name in the form for pages and charts: on one line, without secrets, with joined emoji intact.

    If the name is a slice value, ``slice_name`` is the name of the slice.

    Examples
    --------
    >>> shown_name("a\\u202eb <i>")
    'a\\\\u202eb <i>'
    """
    text = escape(redact(shown_value(name, slice_name)))
    return _JOINED.sub(lambda match: chr(int(match[1], 16)), text)


_JOINED = re.compile(r"\\u(200[cd])")


def shown_number(value: float | None) -> str:
    """Return a value with four decimals, as in terminal output, or ``undefined`` for None."""
    return "undefined" if value is None else four_decimals(value)


def shown_level(data: ReportData) -> str:
    """Return a phrase for the report's confidence level, for example ``the 95 % interval``."""
    return "the interval" if data.level is None else f"the {data.level * 100:g} % interval"


def charted(models: Sequence[str], baseline: str | None) -> list[str]:
    """Return the models in a chart: the first :data:`MOST_SERIES`, and always the baseline."""
    shown = list(models[:MOST_SERIES])
    if baseline is not None and baseline in models and baseline not in shown:
        shown[-1:] = [baseline]
    return shown


def model_key(data: ReportData, model: str) -> ChartKey:
    """Return the chart key of a model, which is the same in all charts."""
    style = data.models.index(model) if model in data.models else len(data.models)
    return ChartKey(shown_name(model), style, is_model=True)


def interval_figures(
    data: ReportData,
    section: str,
    label: str,
    value: str,
    about: str,
    frame: Callable[[str], Frame],
) -> Iterator[Figure]:
    """Yield a chart for each metric of ``section``, with one row per label and an interval for each model.

    ``label`` names the column of labels, and ``value`` the column of values. A row of the table without a value has no
    interval. ``frame`` returns the frame of the chart of a metric.
    """
    rows: tuple[TableRow, ...] = data.more.get(section, ())
    shown = charted(data.models, data.baseline)
    for metric in dict.fromkeys(row.metric for row in rows):
        marks: dict[str | None, list[IntervalMark]] = {}
        for row in rows:
            if row.metric == metric and row.model in shown and getattr(row, value) is not None:
                mark = IntervalMark(shown.index(row.model), getattr(row, value), row.ci_low, row.ci_high)
                marks.setdefault(getattr(row, label), []).append(mark)
        lines = [IntervalRow(shown_name(name), tuple(own)) for name, own in marks.items()]
        if lines:
            chart = IntervalChart(lines[:MOST_ROWS], [model_key(data, model) for model in shown], frame(metric))
            yield Figure(section, shown_name(metric), f"{about}, with {shown_level(data)}.", chart, metric)


def directions_of(data: ReportData) -> dict[str, bool | None]:
    """Return a mapping from each metric to whether higher values are better (None: neither direction is better)."""
    return {definition.metric: definition.higher_is_better for definition in data.definitions}


def about_metric(data: ReportData, metric: str, about: str) -> str:
    """Return the description ``about`` of a chart, with a note if lower values of the metric are better."""
    return f"{about} Lower is better." if directions_of(data).get(metric) is False else about


def isolated(name: str | None, slice_name: str = "") -> str:
    """Return a name for use in a sentence. A right-to-left name is isolated, so that other words keep their order."""
    shown = shown_name(name, slice_name)
    is_mirrored = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in shown)
    return f"\u2068{shown}\u2069" if is_mirrored else shown


def steps(counts: Sequence[tuple[float, float]], last: float) -> tuple[tuple[float, float], ...]:
    """Return the points of a step line: each bin's lower edge and count, then the upper edge of the last bin."""
    return (*counts, (last, counts[-1][1])) if counts else ()
