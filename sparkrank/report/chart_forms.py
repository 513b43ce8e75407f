"""The two forms that charts of a report have: lines over an axis, steps among them, and intervals in rows.

Colours are those of Okabe and Ito, darker where they would be hard to see on white, and each series has a dash and a
shape, too. All other ink is ``currentColor``: black in a file, the colour of the text in a page. Sizes are set, never
measured, so that the fonts of a machine change nothing, and names are cut to what fits.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import altair as alt

INK = "currentColor"
# Blue, vermillion, green, purple, orange, sky blue and grey: 3 : 1 or more on white. The style sheet has those of a
# dark page.
PALETTE = ("#0072b2", "#d55e00", "#008a65", "#b0578c", "#a97200", "#2a86b8", "#6b6f76")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4])
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
MOST_SERIES = 8  # lines that can be told apart in one chart; the tables have all
LONGEST_NAME = 20  # letters of a name in a chart

Chart: TypeAlias = "alt.LayerChart"
Place: TypeAlias = "float | str"


@dataclass(frozen=True)
class Key:
    """What a colour, a dash and a shape stand for: ``style`` is their number."""

    name: str
    style: int = 0


@dataclass(frozen=True)
class Series:
    """Points in their order; a value of None breaks the line.

    ``band`` is an area around them, ``limits`` a pair of thin lines. ``flags`` are rings around points.
    """

    key: Key
    points: tuple[tuple[Place, float | None], ...]
    band: tuple[tuple[Place, float, float], ...] = ()
    limits: tuple[tuple[Place, float, float], ...] = ()
    flags: tuple[tuple[Place, float], ...] = ()


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval, if it has one; ``key`` is the place of its key."""

    key: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """The intervals that stand under each other behind one label."""

    label: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True)
class Frame:
    """What is around the marks: titles, sizes of the plot in pixels, ends of axes, and lines that guide the eye.

    ``alone``: the chart has its title and a legend in it; in a page the figure has them. ``diagonal`` are the ends of a
    line where x is y. ``marks`` are how many points a line may have and still show each; of a longer one the last has a
    mark. ``days`` are those of an x axis of days. ``powers``: the y axis has powers of ten, and 0.
    """

    title: str
    x_title: str
    y_title: str = ""
    alone: bool = False
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
    noted: tuple[Place, ...] = ()


def lines_chart(series: Sequence[Series], frame: Frame) -> Chart:
    """Lines with their bands and points; at places ``noted`` of the x axis there is a rule."""
    drawn = _Drawn()
    names = short_names(each.key.name for each in series)
    coded = _coded(names, [each.key.style for each in series], alone=frame.alone)
    x = alt.X(
        "x",
        type="temporal" if frame.days else "quantitative",
        title=frame.x_title,
        scale=alt.Scale(type="utc") if frame.days else _scale(frame.x_domain),
        axis=_axis(frame),
    )
    y = alt.Y("y", type="quantitative", title=frame.y_title, scale=_y_scale(frame), axis=_y_axis(frame))
    curve: Literal["step-after", "linear"] = "step-after" if frame.steps else "linear"
    named = list(zip(names, series, strict=True))
    layers: list[alt.Chart] = []
    bands = [
        {"x": place, "y": low, "high": high, "name": name} for name, each in named for place, low, high in each.band
    ]
    if bands:
        area = drawn.chart(bands).mark_area(opacity=0.16, interpolate=curve)
        layers.append(area.encode(x=x, y=y, y2="high", color=coded["color"]))
    limits = [
        {"x": place, "y": end, "name": name, "side": side}
        for name, each in named
        for place, *ends in each.limits
        for side, end in zip(("low", "high"), ends, strict=True)
    ]
    if limits:
        thin = drawn.chart(limits).mark_line(strokeWidth=1, strokeDash=[1, 3])
        layers.append(thin.encode(x=x, y=y, color=coded["color"], detail=alt.Detail("side", type="nominal")))
    layers += _guides(frame, drawn, x, y)
    points = [
        {"x": place, "y": value, "name": name, "at": at}
        for name, each in named
        for at, (place, value) in enumerate(each.points)
    ]
    lines = drawn.chart(points).mark_line(strokeWidth=1.8, interpolate=curve, strokeJoin="round")
    in_order = alt.Order("at", type="quantitative")
    layers.append(lines.encode(x=x, y=y, color=coded["color"], strokeDash=coded["strokeDash"], order=in_order))
    marked = [
        {"x": place, "y": value, "name": name}
        for name, each in named
        for place, value in (each.points if len(each.points) <= frame.marks else each.points[-1:])
        if frame.marks and value is not None
    ]
    if marked:
        marks = drawn.chart(marked).mark_point(filled=True, size=30, opacity=1)
        layers.append(marks.encode(x=x, y=y, color=coded["color"], shape=coded["shape"]))
    flags = [{"x": place, "y": value} for _, each in named for place, value in each.flags]
    if flags:
        layers.append(drawn.chart(flags).mark_point(size=110, strokeWidth=1.4, opacity=1, color=INK).encode(x=x, y=y))
    return _framed(layers, drawn, frame, _LINES, frame.height)


def intervals_chart(rows: Sequence[Row], keys: Sequence[Key], frame: Frame) -> Chart:
    """Intervals in rows, from the top, under each other where a row has several; the height follows their number."""
    drawn = _Drawn()
    names = short_names(key.name for key in keys)
    step = 12 + 8 * max((len(row.intervals) for row in rows), default=1)
    height = step * max(len(rows), 1)
    values = [
        {"x": each.value, "low": low, "high": high, "y": y, "name": names[each.key]}
        for at, row in enumerate(rows)
        for place, each in enumerate(row.intervals)
        for low, high in [[each.value if end is None else end for end in (each.low, each.high)]]
        for y in [step * at + step / 2 + 8 * (place - (len(row.intervals) - 1) / 2)]
    ]
    labels = [{"y": step * at + step / 2, "label": cut(row.label)} for at, row in enumerate(rows)]
    coded = _coded(names, [key.style for key in keys], alone=frame.alone)
    scale = _scale(frame.x_domain)
    x = alt.X("x", type="quantitative", title=frame.x_title, scale=scale, axis=_axis(frame))
    low_x = alt.X("low", type="quantitative", title=frame.x_title, scale=scale, axis=_axis(frame))
    from_top = alt.Scale(domain=[0, height], range=[0, height], nice=False, zero=False)
    y = alt.Y("y", type="quantitative", axis=None, scale=from_top)
    layers: list[alt.Chart] = []
    if frame.zero:
        layers.append(drawn.chart([{"x": 0.0}]).mark_rule(**_INKED).encode(x=x))
    layers += [
        drawn.chart(values).mark_rule(strokeWidth=2).encode(x=low_x, x2="high", y=y, color=coded["color"]),
        drawn.chart(values)
        .mark_point(filled=True, size=42, opacity=1)
        .encode(x=x, y=y, color=coded["color"], shape=coded["shape"]),
        drawn.chart(labels)
        .mark_text(align="right", baseline="middle", color=INK, fontSize=11)
        .encode(x=alt.value(-8), y=y, text=alt.Text("label", type="nominal")),
    ]
    return _framed(layers, drawn, frame, _INTERVALS, height)


def cut(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits into a chart: its first and last letters where it has more.

    Examples
    --------
    >>> cut("a" * 40 + "b")
    'aaaaaaaaaaa…aaaaaaab'
    """
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def short_names(names: Iterable[str]) -> list[str]:
    """Names cut to what fits into a chart, each another one.

    Examples
    --------
    >>> short_names(["a", "x" * 30, "x" * 31])
    ['a', 'xxxxxxxxxxx…xxxxxxxx', 'xxxxxxxxxxx…xxxxxxxx (2)']
    """
    found: list[str] = []
    for name in map(cut, names):
        again, number = name, 1
        while again in found:
            number += 1
            again = f"{name} ({number})"
        found.append(again)
    return found


def style_of(number: int) -> tuple[str, list[int], str]:
    """The colour, the dash and the shape of a series, by its number: no two of the first forty-two have the same."""
    return PALETTE[number % len(PALETTE)], DASHES[number % len(DASHES)], SHAPES[number % len(SHAPES)]


_INKED: dict[str, Any] = {"color": INK, "opacity": 0.5}
_LABELS = 132  # pixels left of an interval chart
_LINES = {"left": 52, "right": 14, "top": 8, "bottom": 36}
_INTERVALS = {"left": _LABELS, "right": 16, "top": 2, "bottom": 36}


def _guides(frame: Frame, drawn: _Drawn, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    found = []
    if frame.diagonal is not None:
        line = drawn.chart([{"x": end, "y": end} for end in frame.diagonal]).mark_line(
            strokeWidth=1, strokeDash=[3, 3], **_INKED
        )
        found.append(line.encode(x=x, y=y))
    noted = [*frame.noted, *((0.0,) if frame.zero else ())]
    if noted:
        rule = drawn.chart([{"x": place} for place in noted]).mark_rule(strokeDash=[2, 3], **_INKED)
        found.append(rule.encode(x=x))
    return found


class _Drawn:
    """The rows that layers draw, by the names that the layers have for them.

    They are put into the chart when it is ready, for altair copies a chart with all that is in it at every step.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def chart(self, rows: list[dict[str, Any]]) -> alt.Chart:
        name = next((name for name, known in self.rows.items() if known is rows), f"rows{len(self.rows)}")
        self.rows[name] = rows
        return alt.Chart(alt.NamedData(name=name))


def _axis(frame: Frame) -> alt.Axis:
    if not frame.days:
        return alt.Axis(tickCount=4, labelOverlap=True, labelSeparation=6)
    last = len(frame.days) - 1
    shown = sorted({round(last * at / 4) for at in range(5)}) if last > 4 else range(last + 1)
    midnights = [dt.datetime.fromisoformat(frame.days[at]).replace(tzinfo=dt.timezone.utc) for at in shown]
    return alt.Axis(
        values=[round(midnight.timestamp() * 1000) for midnight in midnights], format="%d %b", labelOverlap=True
    )


def _y_axis(frame: Frame) -> alt.Axis:
    if frame.powers is None:
        return alt.Axis(tickCount=4)
    most = max(math.ceil(math.log10(max(frame.powers, 1))), 1)
    return alt.Axis(values=[0, *(10.0**power for power in range(0, most + 1, max(1, most // 4)))], format="~s")


def _y_scale(frame: Frame) -> alt.Scale:
    return _scale(frame.y_domain) if frame.powers is None else alt.Scale(type="symlog", constant=1, nice=False)


def _scale(domain: tuple[float, float] | None) -> alt.Scale:
    return alt.Scale(zero=False) if domain is None else alt.Scale(domain=list(domain), nice=False)


def _coded(names: Sequence[str], styles: Sequence[int], *, alone: bool) -> dict[str, Any]:
    """The colour, dash and shape of each series, with a legend where the chart stands alone and has several."""
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolOpacity=1) if alone and len(names) > 1 else None
    channels = {"color": alt.Color, "strokeDash": alt.StrokeDash, "shape": alt.Shape}
    looks = [style_of(style) for style in styles]
    return {
        name: channel(
            "name",
            type="nominal",
            legend=legend,
            scale=alt.Scale(domain=list(names), range=[look[at] for look in looks]),
        )
        for at, (name, channel) in enumerate(channels.items())
    }


def _framed(layers: Sequence[alt.Chart], drawn: _Drawn, frame: Frame, padding: dict[str, int], height: int) -> Chart:
    layered: Any = alt.layer(*layers)  # of layers without facets it is a LayerChart
    made: Chart = layered.properties(width=frame.width, height=height)
    if frame.alone:
        made = made.properties(padding=14, title=alt.Title(frame.title, color=INK, fontSize=13, anchor="start"))
    else:  # all margins are set: nothing is measured, and plots of one kind stand under each other
        made = made.properties(padding=padding, autosize=alt.AutoSizeParams(type="none"))
    labels = {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    }
    lines = {"gridColor": INK, "gridOpacity": 0.13, "domainColor": INK, "ticks": False, "labelPadding": 6}
    framed: Chart = (
        made.configure(background="transparent")
        .configure_view(stroke=None)
        .configure_axis(**labels, **lines, domainOpacity=0.5)
        .configure_legend(labelColor=INK, labelFontSize=11, labelLimit=220)
    )
    framed["datasets"] = drawn.rows
    return framed
