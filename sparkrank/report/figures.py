"""The charts of a report as values: which marks stand where, before any library draws them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sparkrank.base.errors import escape
from sparkrank.base.redaction import redact
from sparkrank.metrics.slices import shown_value
from sparkrank.report.data import ReportData

MOST_SERIES = 8  # lines that can be told apart in one chart; the tables have all
MOST_ROWS = 40  # of an interval chart; the tables have all
AxisPlace: TypeAlias = "float | str"


@dataclass(frozen=True)
class ChartKey:
    """The name of what a colour, a dash and a shape stand for; ``style`` is their number."""

    name: str
    style: int = 0


@dataclass(frozen=True)
class Line:
    """Points in their order; a value of None breaks the line.

    ``band`` is an area around them, ``limits`` a pair of thin lines. ``flags`` are rings around points.
    """

    key: ChartKey
    points: tuple[tuple[AxisPlace, float | None], ...]
    band: tuple[tuple[AxisPlace, float, float], ...] = ()
    limits: tuple[tuple[AxisPlace, float, float], ...] = ()
    flags: tuple[tuple[AxisPlace, float], ...] = ()


@dataclass(frozen=True)
class IntervalMark:
    """A value with the ends of its interval, if it has one; ``key`` is the place of its key."""

    key: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class IntervalRow:
    """The intervals that stand under each other behind one label."""

    label: str
    intervals: tuple[IntervalMark, ...]


@dataclass(frozen=True)
class Frame:
    """What is around the marks: titles and ends of the axes, sizes in pixels, lines that guide the eye.

    A line of more points than ``marks`` shows the last alone. ``days`` are those of the x axis, ``noted`` its places
    with a rule. ``powers``: the y axis has powers of ten, and 0.
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
    """Lines over an axis, steps among them."""

    lines: Sequence[Line]
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True)
class IntervalChart:
    """Intervals in rows, from the top."""

    rows: Sequence[IntervalRow]
    keys: Sequence[ChartKey]
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True)
class Figure:
    """A chart, and in words what it shows; ``metric``, ``model`` and ``slice`` are None where it is not about one."""

    section: str
    title: str
    about: str
    chart: LineChart | IntervalChart
    metric: str | None = None
    model: str | None = None
    slice: str | None = None


def shown_name(name: str | None, slice_name: str = "") -> str:
    """A name as pages and charts show it: in one line, without secrets; joined emoji stay joined.

    ``slice_name`` is the slice that a value belongs to.

    Examples
    --------
    >>> shown_name("a\\u202eb <i>")
    'a\\\\u202eb <i>'
    """
    text = escape(redact(shown_value(name, slice_name)))
    return _JOINED.sub(lambda match: chr(int(match[1], 16)), text)


_JOINED = re.compile(r"\\u(200[cd])")


def shown_number(value: float | None) -> str:
    """A value with four digits behind the point, as the terminal shows it."""
    return "undefined" if value is None else f"{value:.4f}"


def shown_level(data: ReportData) -> str:
    """The intervals of the report in words."""
    return "the interval" if data.level is None else f"the {data.level * 100:g} % interval"


def charted(models: Sequence[str], baseline: str | None) -> list[str]:
    """The models that a chart shows: the first of them, the baseline always."""
    shown = list(models[:MOST_SERIES])
    if baseline is not None and baseline in models and baseline not in shown:
        shown[-1:] = [baseline]
    return shown


def model_key(data: ReportData, model: str) -> ChartKey:
    """The key that a model has in all charts."""
    return ChartKey(shown_name(model), data.models.index(model) if model in data.models else len(data.models))


def steps(counts: Sequence[tuple[float, float]], last: float) -> tuple[tuple[float, float], ...]:
    """Steps from the lower end of each bin, up to the ``last`` end."""
    return (*counts, (last, counts[-1][1])) if counts else ()
