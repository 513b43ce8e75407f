"""The report as one self-contained HTML file, which loads no other file, escapes all text and needs no scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError
from sparkrank.metrics.slices import ALL
from sparkrank.report.data import ComparisonRow, HeadlineRow, MetricValue, ReportData, TrendPoint, TrendSeries
from sparkrank.report.figures import MOST_SERIES, charted, directions_of, shown_name, shown_number
from sparkrank.report.section_register import section_of, sections
from sparkrank.report.sections.model_comparisons import side_of
from sparkrank.text.comparison_text import probability, share

if TYPE_CHECKING:
    from jinja2 import Environment

EXTRA = "report"
_MARKED = ("fail", "accepted", "not evaluated", "unreadable")
WIDER = 2  # the factor by which a chart that stands alone is wider
# The most charts per section, and the most if there are more models than a chart shows. A chart takes 0.1 s to draw.
MOST_CHARTS, MOST_OF_MANY = 12, 6
MOST_POINTS = 2_000  # the most values in the tables of the trend
_PACKAGES = ("altair", "jinja2", "vl_convert")
# The point marks of the series in the key, as SVG paths around the centre of the mark.
_SIGNS = {
    "circle": "M23 8a3.5 3.5 0 1 0-7 0a3.5 3.5 0 1 0 7 0",
    "square": "M16 5h7v7h-7z",
    "triangle-up": "M19.5 4l4.2 7.5h-8.4z",
    "diamond": "M19.5 3.5l3.2 4.5l-3.2 4.5l-3.2-4.5z",
    "triangle-down": "M19.5 12l4.2-7.5h-8.4z",
    "cross": "M18 4h3v2.500h2.500v3h-2.500v2.500h-3v-2.500h-2.500v-3h2.500z",
}


def lacking_extra() -> list[str]:
    """Return the names of the missing packages of the extra ``report``."""
    import importlib.util

    return [package for package in _PACKAGES if importlib.util.find_spec(package) is None]


def require_extra() -> None:
    """Raise :class:`SpecError` with installation advice if a package from the ``report`` extra is missing."""
    if missing := lacking_extra():
        raise SpecError(
            f"charts and the HTML report need {', '.join(missing)}: install them by pip install 'sparkrank[{EXTRA}]'"
        )


def page(data: ReportData, *, has_index: bool = False) -> str:
    """Return the report as one HTML page. Equal data and library versions give identical pages.

    If ``has_index`` is true, the page links to the index of all days and, through it, to the previous and next day.
    """
    require_extra()
    template = environment().get_template("report.jinja")
    return template.render(data=data, view=View(data), has_index=has_index, **assets("report.js"))


class View:
    """Values for the template of the page besides the fields of the report data: rows in groups, and charts."""

    def __init__(self, data: ReportData) -> None:
        self._data = data
        self._compared = {
            (row.candidate, row.slice, row.slice_value, row.metric): row
            for row in (() if data.comparisons is None else data.comparisons.rows)
        }
        self._directions = directions_of(data)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The name and title of each part of the page below the verdict."""
        there = [section for section in sections()[1:] if self._data.section(section.name)]
        return list({section.part_name: section.part_title for section in there}.items())

    @property
    def missing(self) -> list[tuple[str, str]]:
        """The title of each missing section, and advice on how to get the section."""
        missing = [(name, why) for name, why in self._data.missing.items() if not self._data.section(name)]
        titles = {section.name: section.title for section in sections()}
        return [(titles.get(name, name), why) for name, why in missing if name != "verdict"]

    def notes(self, part: str) -> list[str]:
        """Return the notes about incomplete sections in a part of the page."""
        own = [section.name for section in sections() if section.part_name == part]
        notes = [self._data.missing.get(name, "") for name in own if self._data.section(name)]
        return list(filter(None, notes))

    def keys(self) -> list[dict[str, Any]]:
        """Return the models with their marks (colour, dash and sign), which are the same in all charts."""
        from sparkrank.report.chart_forms import PALETTE, style_of

        styled = [(model, self._data.models.index(model)) for model in charted(self._data.models, self._data.baseline)]
        return [
            {"model": model, "colour": number % len(PALETTE), "dash": ",".join(map(str, dash)), "sign": _SIGNS[shape]}
            for model, number in styled
            for _, dash, shape in [style_of(number)]
        ]

    def cards(self, metric: str) -> list[HeadlineRow]:
        """Return the headline row of the best model by ``metric`` and the row of the baseline."""
        cells = [cell for cell in dict(self.headline)[metric] if cell is not None]
        sign = -1 if self._directions.get(metric) is False else 1
        known = [cell for cell in cells if cell.row.value is not None] or cells
        best = max(known, key=lambda cell: sign * (cell.row.value or 0.0), default=None)
        baseline = [cell for cell in cells if cell.row.model == self._data.baseline and cell is not best]
        return ([] if best is None else [best]) + baseline

    def shown(self, sections: Sequence[Any]) -> list[Any]:
        """Return those entries of ``sections`` whose model is in the charts."""
        models = charted(self._data.models, self._data.baseline)
        return [own for own in sections if own.model in models]

    def charts(self, *names: str) -> list[dict[str, Any]]:
        """Return the figures of the named sections, drawn as SVG.

        If there is one figure, it also has the SVG ``wide``, for wide pages.
        """
        from markupsafe import Markup

        from sparkrank.report.chart_forms import PALETTE, drawn_chart, svg_of
        from sparkrank.report.charts import figures
        from sparkrank.report.inline_svg import inline_svg

        colours = {colour: f"c{number}" for number, colour in enumerate(PALETTE)}
        charts = []
        most = MOST_CHARTS if len(self._data.models) <= MOST_SERIES else MOST_OF_MANY
        every = [
            (f"{name}-{at}", own) for name in names for at, own in enumerate(figures(self._data, name)[:most], start=1)
        ]
        for ident, figure in every:
            title, frame = f"{ident}-title {ident}-about", figure.chart.frame
            drawn = {"svg": figure.chart}
            if len(every) == 1:
                drawn["wide"] = replace(figure.chart, frame=replace(frame, width=WIDER * frame.width))
            svgs = {
                # Safe: the library escaped all text in its SVG, and inline_svg has parsed and rewritten it since.
                key: Markup(inline_svg(svg_of(drawn_chart(chart)), f"{ident}-{key}", colours, title))  # noqa: S704
                for key, chart in drawn.items()
            }
            charts.append({"ident": ident, "title": figure.title, "about": figure.about, **svgs})
        return charts

    @property
    def headline(self) -> list[tuple[str, list[HeadlineRow | None]]]:
        """The metrics over all rows, each with one cell per model. A cell is None if the model has no value."""
        headline = self._data.headline
        if headline is None:
            return []
        cells = headline.cells
        return [(metric, [cells.get((metric, model)) for model in headline.models]) for metric in headline.metrics]

    @property
    def whole(self) -> list[tuple[str, str, list[ComparisonRow]]]:
        """The comparisons over all rows, as triples (candidate, baseline, rows), one for each candidate."""
        by_pair: dict[tuple[str, str], list[ComparisonRow]] = {}
        for row in self._compared.values():
            if row.slice == ALL:
                by_pair.setdefault((row.candidate, row.baseline), []).append(row)
        return [(*names, rows) for names, rows in by_pair.items()]

    @property
    def sentences(self) -> list[dict[str, Any]]:
        """A dict for each candidate: the comparisons in which it is better, worse or not clearly different."""
        sides = {"better": "better", "worse": "worse", "unsure": ""}
        defined = [
            (candidate, baseline, [row for row in rows if row.difference is not None])
            for candidate, baseline, rows in self.whole
        ]
        return [
            {"candidate": candidate, "baseline": baseline}
            | {name: [row for row in rows if self.side(row) == side] for name, side in sides.items()}
            for candidate, baseline, rows in defined
            if rows
        ]

    def side(self, row: ComparisonRow | None) -> str:
        """Return ``better`` or ``worse`` for a significant difference; otherwise ``""`` (:func:`side_of`)."""
        return side_of(row, self._directions)

    def compared(self, cell: MetricValue) -> ComparisonRow | None:
        """Return the comparison of a value with the baseline's value, or None if the value is not compared."""
        return self._compared.get((cell.model, cell.slice, cell.slice_value, cell.metric))

    @property
    def slices(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """The slices, each with a list of metrics and their rows."""
        rows = () if self._data.slices is None else self._data.slices.rows
        by_slice: dict[str, list[dict[str, Any]]] = {}
        for (name, metric), own in groupby(rows, key=lambda row: (row.slice, row.metric)):
            by_slice.setdefault(name, []).append({"metric": metric, "rows": tuple(own)})
        return list(by_slice.items())

    @property
    def days(self) -> dict[str, str]:
        """The verdict of each day of the trend; empty if the trend has no verdicts."""
        trend = self._data.trend
        return {} if trend is None else dict(zip(trend.days, trend.verdicts, strict=False))

    @property
    def marked_days(self) -> list[tuple[str, list[str]]]:
        """The failed, accepted, unevaluated and unreadable days of the trend, by that state."""
        return [(word, days) for word in _MARKED if (days := [day for day, own in self.days.items() if own == word])]

    @property
    def trend(self) -> list[tuple[str, list[TrendSeries], list[tuple[str, list[TrendPoint | None]]]]]:
        """The series of each metric in the trend, together with the points of these series for each day."""
        trend = self._data.trend
        if trend is None:
            return []
        by_metric = []
        for metric in dict.fromkeys(series.metric for series in trend.series):
            own = [series for series in trend.series if series.metric == metric]
            points = [{point.day: point for point in series.points} for series in own]
            by_metric.append((metric, own, [(day, [of_day.get(day) for of_day in points]) for day in trend.days]))
        return by_metric[: max(1, MOST_POINTS // max(1, len(trend.days) * len(self._data.models)))]


@cache
def environment() -> Environment:
    """Return the Jinja2 environment for all templates, which escapes every string."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_template),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "name": shown_name,
        "number": shown_number,
        "signed": lambda value: "undefined" if value is None else f"{value:+.5f}",
        "plain": lambda value: "" if value is None else f"{value:.5f}",
        "percent": share,
        "share": lambda value: "" if value is None else f"{value:.4%}",
        "probability": probability,
        "whole": _whole,
        "exact": _exact,
        "interval": _interval,
    }
    return environment


def _template(name: str) -> str:
    section = section_of(name.removesuffix(".jinja"))
    return _file(name) if section is None or section.template is None else section.template


def _file(name: str) -> str:
    return resources.files("sparkrank.report").joinpath("templates").joinpath(name).read_text(encoding="utf-8")


@cache
def assets(name: str) -> dict[str, Any]:
    """Return the style sheet, the script file ``name``, and a content security policy for them and inline images."""
    from markupsafe import Markup

    style, script = _file("report.css"), _file(name)
    own = f"style-src {_hash(style)}; script-src {_hash(script)}"
    policy = f"default-src 'none'; {own}; img-src data:; base-uri 'none'; form-action 'none'"
    return {"policy": policy, "style": Markup(style), "script": Markup(script)}  # noqa: S704


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _whole(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def _exact(value: float | None, low: float | None = None, high: float | None = None, p: float | None = None) -> str:
    if value is None:
        return ""
    ends = "" if low is None or high is None else f" [{low!r}, {high!r}]"
    return f"{value!r}{ends}{'' if p is None else f' p {p!r}'}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"
