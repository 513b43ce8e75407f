"""The drawing of a report's charts with altair. Sizes are fixed, so they do not depend on installed fonts."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import altair as alt

from sparkrank.report.figures import ChartKey, Frame, IntervalChart, LineChart

INK = "currentColor"
# The Okabe-Ito colours, with a contrast of at least 3:1 on white. The style sheet has others for dark pages.
PALETTE = ("#0072b2", "#d55e00", "#008a65", "#b0578c", "#a97200", "#2a86b8", "#6b6f76")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4])
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
LONGEST_NAME = 20  # the most characters of a name in a chart

Chart: TypeAlias = "alt.LayerChart"


class ReportChart(alt.LayerChart):
    """A chart that notebooks show without a network: as Vega-Lite if the front end can draw that, otherwise as SVG.

    The default of altair also offers an HTML page. Front ends prefer that page, but it loads scripts from the network.
    """

    def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> Any:
        if alt.renderers.active != "default":  # the user has chosen another form
            return super()._repr_mimebundle_(*args, **kwds)
        major = alt.SCHEMA_VERSION.partition(".")[0]
        on_white = self.copy(deep=False)
        on_white.config = {**self.config.to_dict(), "background": "white"}  # marks and text in an image are black
        return {f"application/vnd.vegalite.{major}+json": self.to_dict(), "image/svg+xml": svg_of(on_white)}


def drawn_chart(chart: LineChart | IntervalChart, title: str | None = None) -> Chart:
    """Return the chart drawn with altair. A chart with a ``title`` is standalone, with the title and a legend."""
    return _lines(chart, title) if isinstance(chart, LineChart) else _intervals(chart, title)


def _lines(chart: LineChart, title: str | None) -> Chart:
    drawn, series, frame = _Drawn(), chart.lines, chart.frame
    names = short_names(line.key.name for line in series)
    coded = _coded(names, [line.key for line in series], alone=title is not None, of_lines=True)
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

    def add(rows: list[dict[str, Any]], mark: str, look: dict[str, Any], **channels: Any) -> None:
        if rows:
            layers.append(getattr(drawn.chart(rows), f"mark_{mark}")(**look).encode(x=x, y=y, **channels))

    color = {"color": coded["color"]}
    bands = [
        {"x": place, "y": low, "high": high, "name": name} for name, line in named for place, low, high in line.band
    ]
    add(bands, "area", {"opacity": 0.16, "interpolate": curve}, y2="high", **color)
    limits = [
        {"x": place, "y": end, "name": name, "side": side}
        for name, line in named
        for place, *ends in line.limits
        for side, end in zip(("low", "high"), ends, strict=True)
    ]
    side = alt.Detail("side", type="nominal")
    add(limits, "line", {"strokeWidth": 1, "strokeDash": [1, 3]}, **color, detail=side)
    layers += _guides(frame, drawn, x, y)
    points = [
        {"x": place, "y": value, "name": name, "at": at}
        for name, line in named
        for at, (place, value) in enumerate(line.points)
    ]
    order = alt.Order("at", type="quantitative")
    look = {"strokeWidth": 1.8, "interpolate": curve, "strokeJoin": "round"}
    nothing = [{"x": None, "y": None}]  # a chart has at least one layer
    add(points or nothing, "line", look, **color, strokeDash=coded["strokeDash"], order=order)
    marked = [
        {"x": place, "y": value, "name": name}
        for name, line in named
        for place, value in (line.points if len(line.points) <= frame.marks else line.points[-1:])
        if frame.marks and value is not None
    ]
    add(marked, "point", {"filled": True, "size": 30, "opacity": 1}, **color, shape=coded["shape"])
    flags = [{"x": place, "y": value} for _, line in named for place, value in line.flags]
    add(flags, "point", {"size": 110, "strokeWidth": 1.4, "opacity": 1, "color": INK})
    return _framed(layers, drawn, frame.width, frame.height, _with_legend(_LINES, [line.key for line in series]), title)


def _intervals(chart: IntervalChart, title: str | None) -> Chart:
    """Draw an interval chart. A row's intervals are drawn below each other, so the height depends on their number."""
    drawn, rows, frame = _Drawn(), chart.rows, chart.frame
    names = short_names(key.name for key in chart.keys)
    step = 12 + 8 * max((len(row.intervals) for row in rows), default=1)
    height = step * max(len(rows), 1)
    values = [
        {"x": mark.value, "low": low, "high": high, "y": y, "name": names[mark.key]}
        for at, row in enumerate(rows)
        for place, mark in enumerate(row.intervals)
        for low, high in [[mark.value if end is None else end for end in (mark.low, mark.high)]]
        for y in [step * at + step / 2 + 8 * (place - (len(row.intervals) - 1) / 2)]
    ]
    labels = [{"y": step * at + step / 2, "label": cut(row.label)} for at, row in enumerate(rows)]
    coded = _coded(names, chart.keys, alone=title is not None, of_lines=False)
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
    return _framed(layers, drawn, frame.width, height, _with_legend(_INTERVALS, chart.keys), title)


def cut(name: str, most: int = LONGEST_NAME) -> str:
    """Return ``name``, cut in the middle to ``most`` characters for a chart.

    Examples
    --------
    >>> cut("a" * 40 + "b")
    'aaaaaaaaaaa…aaaaaaab'
    """
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def short_names(names: Iterable[str]) -> list[str]:
    """Return ``names``, shortened for a chart, with a number where two names would become equal.

    Examples
    --------
    >>> short_names(["a", "x" * 30, "x" * 31])
    ['a', 'xxxxxxxxxxx…xxxxxxxx', 'xxxxxxxxxxx…xxxxxxxx (2)']
    """
    shown: list[str] = []
    for name in map(cut, names):
        distinct, number = name, 1
        while distinct in shown:
            number += 1
            distinct = f"{name} ({number})"
        shown.append(distinct)
    return shown


def style_of(number: int) -> tuple[str, list[int], str]:
    """Return the colour, dash and shape of the series ``number``. The first forty-two combinations are distinct."""
    return PALETTE[number % len(PALETTE)], DASHES[number % len(DASHES)], SHAPES[number % len(SHAPES)]


_INKED: dict[str, Any] = {"color": INK, "opacity": 0.5}
_LABELS = 132  # pixels to the left of an interval chart
_LINES = {"left": 52, "right": 14, "top": 8, "bottom": 36}
_INTERVALS = {"left": _LABELS, "right": 16, "top": 2, "bottom": 36}


def _guides(frame: Frame, drawn: _Drawn, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    guides = []
    if frame.diagonal is not None:
        line = drawn.chart([{"x": end, "y": end} for end in frame.diagonal]).mark_line(
            strokeWidth=1, strokeDash=[3, 3], **_INKED
        )
        guides.append(line.encode(x=x, y=y))
    noted = [*frame.noted, *((0.0,) if frame.zero else ())]
    if noted:
        rule = drawn.chart([{"x": place} for place in noted]).mark_rule(strokeDash=[2, 3], **_INKED)
        guides.append(rule.encode(x=x))
    return guides


class _Drawn:
    """The data rows of all layers, by the names with which the layers refer to them.

    The rows are added only to the finished chart, because altair copies a chart with its whole contents at every step.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def chart(self, rows: list[dict[str, Any]]) -> alt.Chart:
        name = next((name for name, known in self.rows.items() if known is rows), f"rows{len(self.rows)}")
        self.rows[name] = rows
        return alt.Chart(alt.NamedData(name=name))


def _axis(frame: Frame) -> alt.Axis:
    if not frame.days:
        return alt.Axis(tickCount=4, labelOverlap=True, labelSeparation=14)
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


def _has_legend(keys: Sequence[ChartKey]) -> bool:
    """Return whether a chart on a page has its own legend.

    It has one if it has several keys that are not all models.
    """
    return len(keys) > 1 and not all(key.is_model for key in keys)


def _with_legend(padding: dict[str, int], keys: Sequence[ChartKey]) -> dict[str, int]:
    lines = 18 * math.ceil(len(keys) / 2) + 6 if _has_legend(keys) else 0
    return {**padding, "bottom": padding["bottom"] + lines}


def _coded(names: Sequence[str], keys: Sequence[ChartKey], *, alone: bool, of_lines: bool) -> dict[str, Any]:
    """Return the altair channels for the colour, dash and shape of each series, with a legend where it is needed."""
    has_legend = _has_legend(keys) or (alone and len(names) > 1)
    look: dict[str, Any] = {"symbolSize": 900, "symbolType": "stroke"} if of_lines and _has_legend(keys) else {}
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolOpacity=1, **look) if has_legend else None
    channels = {"color": alt.Color, "strokeDash": alt.StrokeDash, "shape": alt.Shape}
    looks: list[list[Any]] = [
        [colour if key.is_model else INK, *look] for key in keys for colour, *look in [style_of(key.style)]
    ]
    return {
        name: channel(
            "name",
            type="nominal",
            legend=legend,
            scale=alt.Scale(domain=list(names), range=[look[at] for look in looks]),
        )
        for at, (name, channel) in enumerate(channels.items())
    }


def _framed(
    layers: Sequence[alt.Chart], drawn: _Drawn, width: int, height: int, padding: dict[str, int], title: str | None
) -> Chart:
    labels: dict[str, Any] = {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11}
    lines: dict[str, Any] = {
        "gridColor": INK,
        "gridOpacity": 0.13,
        "domainColor": INK,
        "ticks": False,
        "labelPadding": 6,
    }
    config = alt.Config(
        background="transparent",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(**labels, titleFontWeight="normal", **lines, domainOpacity=0.5),
        legend=alt.LegendConfig(labelColor=INK, labelFontSize=11, labelLimit=220),
    )
    if title is not None:
        outside: dict[str, Any] = {"padding": 14, "title": alt.Title(title, color=INK, fontSize=13, anchor="start")}
    else:  # all margins are fixed, so that charts of one kind align below each other
        outside = {"padding": padding, "autosize": alt.AutoSizeParams(type="none")}
    # All at once, because each of altair's methods copies the chart.
    framed: Chart = ReportChart(layer=list(layers), width=width, height=height, config=config, **outside)
    framed["datasets"] = drawn.rows
    return framed


def svg_of(chart: Chart) -> str:
    """Return the chart as SVG. The same chart always gives the same string."""
    import vl_convert

    # The Vega-Lite version that altair writes, in the converter's notation: 5.20 for v5.20.1.
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    svg: str = vl_convert.vegalite_to_svg(chart.to_json(validate=False), vl_version=version)
    return svg
