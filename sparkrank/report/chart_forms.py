"""The three forms that charts of a report have: lines over an axis, intervals in rows, and steps of a histogram.

Colours are those of Okabe and Ito, darker where they would be hard to see on white, and each series has a dash and a shape
too. All other ink is ``currentColor``: black in a file, the colour of the text in a page. Sizes are set, never measured, so that
the fonts of a machine change nothing; names are cut to what fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import altair as alt

INK = "currentColor"
# Blue, vermillion, green, purple, orange and sky blue; 3 : 1 or more on white. The style sheet has those of a dark page.
PALETTE = ("#0072b2", "#d55e00", "#008a65", "#b0578c", "#a97200", "#2a86b8", "#6b6f76")
PAPER = "#ffffff"
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4])
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
MOST_SERIES = 8  # lines that can be told apart in one chart; the tables have all
LONGEST_NAME = 24  # letters of a name in a chart

Chart: TypeAlias = "alt.LayerChart"
Axis: TypeAlias = Literal["quantitative", "temporal"]


@dataclass(frozen=True)
class Series:
    """Points in their order, and a band around them; ``style`` is the number of its colour, dash and shape."""

    name: str
    points: tuple[tuple[float | str, float], ...]
    style: int = 0
    band: tuple[tuple[float | str, float, float], ...] = ()


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval, if it has one."""

    value: float
    low: float | None = None
    high: float | None = None
    style: int = 0


@dataclass(frozen=True)
class Row:
    """The intervals that stand under each other behind one label."""

    label: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True)
class Frame:
    """What is around the marks: titles, sizes of the plot in pixels, ends of the axes, and lines that guide the eye.

    ``alone`` charts have a title and a legend of their own; in a page the figure has them.
    """

    title: str
    x_title: str
    y_title: str = ""
    width: int = 290
    height: int = 180
    x_axis: Axis = "quantitative"
    x_domain: tuple[float, float] | None = None
    y_domain: tuple[float, float] | None = None
    diagonal: bool = False
    zero: bool = False
    marks: bool = True
    steps: bool = False
    noted: tuple[float | str, ...] = ()
    alone: bool = False


def lines_chart(series: Sequence[Series], frame: Frame) -> Chart:
    """Lines, each with its band and, where ``frame.marks``, its points; places ``noted`` on the x axis have a rule."""
    names = short_names(each.name for each in series)
    named = list(zip(names, series, strict=True))
    coded = _coded(names, [each.style for each in series], alone=frame.alone)
    x = alt.X("x", type=frame.x_axis, title=frame.x_title, scale=_scale(frame.x_domain, frame.x_axis), axis=_axis(frame))
    y = alt.Y("y", type="quantitative", title=frame.y_title, scale=_scale(frame.y_domain), axis=alt.Axis(tickCount=4))
    curve: Literal["step-after", "linear"] = "step-after" if frame.steps else "linear"
    layers: list[alt.Chart] = []
    bands = [
        {"x": place, "y": low, "high": high, "name": name}
        for name, each in named
        for place, low, high in each.band
        if math.isfinite(low) and math.isfinite(high)
    ]
    if bands:
        area = _chart(bands).mark_area(opacity=0.16, interpolate=curve)
        layers.append(area.encode(x=x, y=y, y2="high", color=coded["color"]))
    if frame.diagonal:
        line = _chart([{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]).mark_line(strokeWidth=1, strokeDash=[3, 3], **_INKED)
        layers.append(line.encode(x=x, y=y))
    if frame.noted:
        rule = _chart([{"x": place} for place in frame.noted]).mark_rule(strokeDash=[2, 3], **_INKED)
        layers.append(rule.encode(x=x))
    points = [
        {"x": place, "y": value, "name": name, "at": at}
        for name, each in named
        for at, (place, value) in enumerate(each.points)
        if math.isfinite(value)
    ]
    lines = _chart(points).mark_line(strokeWidth=1.8, interpolate=curve, strokeJoin="round")
    in_order = alt.Order("at", type="quantitative")
    layers.append(lines.encode(x=x, y=y, color=coded["color"], strokeDash=coded["strokeDash"], order=in_order))
    if frame.marks:
        marks = _chart(points).mark_point(filled=True, size=28, opacity=1)
        layers.append(marks.encode(x=x, y=y, color=coded["color"], shape=coded["shape"]))
    return _framed(layers, frame, _LINES)


def intervals_chart(rows: Sequence[Row], frame: Frame, names: Sequence[str]) -> Chart:
    """Intervals in rows, from the top: one behind each label, or one per name of a series.

    ``names`` are those of the series, by the order of the intervals of a row; the height follows the number of rows.
    """
    names = short_names(names)
    inside = max((len(row.intervals) for row in rows), default=1)
    step = 12 + 8 * inside
    drawn = []
    for at, row in enumerate(rows):
        for place, each in enumerate(row.intervals):
            if math.isfinite(each.value):
                y = step * at + step / 2 + 8 * (place - (len(row.intervals) - 1) / 2)
                ends = (each.value if end is None or not math.isfinite(end) else end for end in (each.low, each.high))
                low, high = ends
                drawn.append({"x": each.value, "low": low, "high": high, "y": y, "name": names[place]})
    labels = [{"y": step * at + step / 2, "label": cut(row.label)} for at, row in enumerate(rows)]
    height = max(step * len(rows), step)
    styles = {names[place]: each.style for row in rows for place, each in enumerate(row.intervals)}
    coded = _coded(list(styles), list(styles.values()), alone=frame.alone)
    x = alt.X("x", type="quantitative", title=frame.x_title, scale=_scale(frame.x_domain), axis=_axis(frame))
    y_scale = alt.Scale(domain=[0, height], range=[0, height], nice=False, zero=False)
    y_of = alt.Y("y", type="quantitative", axis=None, scale=y_scale)
    layers: list[alt.Chart] = []
    if frame.zero:
        layers.append(_chart([{"x": 0.0}]).mark_rule(**_INKED).encode(x=x))
    bars = _chart(drawn).mark_rule(strokeWidth=2)
    layers.append(bars.encode(x=alt.X("low", type="quantitative", title=frame.x_title), x2="high", y=y_of, color=coded["color"]))
    marks = _chart(drawn).mark_point(filled=True, size=42, opacity=1)
    layers.append(marks.encode(x=x, y=y_of, color=coded["color"], shape=coded["shape"]))
    texts = _chart(labels).mark_text(align="right", baseline="middle", color=INK, fontSize=11, limit=_LABELS - 12)
    layers.append(texts.encode(x=alt.value(-8), y=y_of, text=alt.Text("label", type="nominal")))
    return _framed(layers, frame, _INTERVALS, height)


def cut(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits into a chart: its first and last letters where it has more.

    Examples
    --------
    >>> cut("a" * 40 + "b")
    'aaaaaaaaaaaaaaa…aaaaaaab'
    """
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def short_names(names: Iterable[str]) -> list[str]:
    """Names cut to what fits into a chart, each another one.

    Examples
    --------
    >>> short_names(["a", "x" * 30, "x" * 31])
    ['a', 'xxxxxxxxxxxxxxx…xxxxxxxx', 'xxxxxxxxxxxxxxx…xxxxxxxx (2)']
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
    """The colour, the dash and the shape of a series, by its number: no two of the first forty have the same."""
    return PALETTE[number % len(PALETTE)], DASHES[number % len(DASHES)], SHAPES[number % len(SHAPES)]


_INKED: dict[str, Any] = {"color": INK, "opacity": 0.5}
_LABELS = 132  # pixels left of an interval chart
_LINES = {"left": 52, "right": 10, "top": 8, "bottom": 36}
_INTERVALS = {"left": _LABELS, "right": 14, "top": 2, "bottom": 36}


def _chart(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))


def _axis(frame: Frame) -> alt.Axis:
    return alt.Axis(tickCount=4, format="%d %b" if frame.x_axis == "temporal" else alt.Undefined, labelOverlap=True)


def _scale(domain: tuple[float, float] | None, axis: Axis = "quantitative") -> alt.Scale:
    if axis == "temporal":
        return alt.Scale(type="utc")
    return alt.Scale(zero=False) if domain is None else alt.Scale(domain=list(domain), nice=False, clamp=True)


def _coded(names: Sequence[str], styles: Sequence[int], *, alone: bool) -> dict[str, Any]:
    """The colour, dash and shape of each series, with a legend where the chart stands alone and has several."""
    looks = [style_of(style) for style in styles]
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolStrokeWidth=2) if alone and len(names) > 1 else None
    scales = zip(("color", "strokeDash", "shape"), zip(*looks, strict=True), strict=True) if looks else ()
    channels = {"color": alt.Color, "strokeDash": alt.StrokeDash, "shape": alt.Shape}
    return {
        name: channels[name](
            "name", type="nominal", legend=legend, scale=alt.Scale(domain=list(names), range=list(values))
        )
        for name, values in scales
    }


def _framed(layers: Sequence[alt.Chart], frame: Frame, padding: dict[str, int], height: int | None = None) -> Chart:
    height = frame.height if height is None else height
    title = alt.Title(frame.title, color=INK, fontSize=13, anchor="start") if frame.alone else alt.Undefined
    made: Chart = alt.layer(*layers).properties(width=frame.width, height=height, title=title)
    # In a page all margins are set: nothing is measured, and plots of one kind stand under each other.
    sized = made.properties(
        padding=14 if frame.alone else padding, autosize=alt.AutoSizeParams(type="pad" if frame.alone else "none")
    )
    labels = {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
    lines = {"gridColor": INK, "gridOpacity": 0.13, "tickColor": INK, "domainColor": INK, "tickOpacity": 0.5}
    framed: Chart = (
        sized.configure(background="transparent")
        .configure_view(stroke=None)
        .configure_axis(**labels, **lines, domainOpacity=0.5, tickSize=4)
        .configure_legend(labelColor=INK, labelFontSize=11, labelLimit=220)
    )
    return framed
