"""The charts of a report by name, made of :class:`~sparkrank.report.data.ReportData` alone, and files of them.

Nothing is computed here but where a mark stands: every number is one of the report. The libraries that draw come with
the extra ``report``, and are loaded where one of these functions is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sparkrank.base.errors import SpecError, did_you_mean, escaped, listed, shortened, writing_errors
from sparkrank.base.redaction import redact
from sparkrank.metrics.slices import ALL, shown_value
from sparkrank.report.chart_forms import (
    MOST_SERIES,
    Frame,
    Interval,
    Key,
    Row,
    Series,
    intervals_chart,
    lines_chart,
)
from sparkrank.report.data import (
    AucUp,
    Calibration,
    Comparison,
    Curve,
    GroupDistribution,
    Histogram,
    MetricValue,
    PairedDistribution,
    ReportData,
    SliceRow,
    TrendSeries,
)
from sparkrank.report.written_forms import PLOT_FORMS, PlotForm

if TYPE_CHECKING:
    from sparkrank.report.chart_forms import Chart

SURE = 0.05  # a difference whose adjusted p is below has the colour of better or worse
MOST_ROWS = 40  # of an interval chart; the tables have all
MOST_CANDIDATES = 8
SLICED_METRICS = 2  # that have charts of slices in the page
BETTER, WORSE, UNSURE = Key("better", 2), Key("worse", 1), Key("not sure", 6)
_VERDICTS = (BETTER, WORSE, UNSURE)
_FAR = 25  # times as wide: differences of such metrics do not share an axis


@dataclass(frozen=True)
class Figure:
    """A chart that can be drawn: what it shows in words, and ``draw``, which draws it alone or for a page.

    ``section`` is its name in :data:`~sparkrank.report.data.SECTIONS`; ``metric``, ``model`` and ``slice`` are None
    where it is not about one.
    """

    section: str
    title: str
    about: str
    draw: Callable[[bool], Chart]
    metric: str | None = None
    model: str | None = None
    slice: str | None = None


def figures(data: ReportData, section: str) -> list[Figure]:
    """The charts of a section of the page, in their order; none where the tables do not hold it."""
    return list(_MAKERS[section](data)) if section in _MAKERS else []


def chart(
    data: ReportData,
    name: str,
    *,
    metric: str | None = None,
    model: str | None = None,
    slice: str | None = None,  # noqa: A002 - the name that the tables have for it
) -> Chart:
    """One chart of a report, with its title and legend.

    Parameters
    ----------
    data : ReportData
        What is drawn.
    name : str
        A section that has charts: ``trend``, ``comparisons``, ``slices``, ``roc``, ``pr``, ``calibration``,
        ``histograms``, ``auc_up``, ``distributions`` or ``paired``.
    metric, model, slice : str, optional
        Which one, where the section has several: the first of those that fit is drawn.

    Returns
    -------
    altair.LayerChart
        It shows itself in a notebook, and is saved by its method ``save``.

    Raises
    ------
    SpecError
        Where there is no such section, the tables do not hold it, or the ``report`` extra is not installed.
    """
    if name not in _MAKERS:
        raise SpecError(f'no chart "{shortened(name)}"{did_you_mean(name, _MAKERS)} (there are: {listed(_MAKERS)})')
    asked = {"metric": metric, "model": model, "slice": slice}
    every_metric = name == "slices" and metric is not None
    found = list(_slices(data, data.metrics)) if every_metric else figures(data, name)
    if not found:
        why = data.missing.get(name, "the tables do not hold it")
        raise SpecError(f"there is nothing to draw of {name}: {why}")
    for key, wanted in asked.items():
        there = list(dict.fromkeys(each for figure in found if (each := getattr(figure, key)) is not None))
        found = [figure for figure in found if wanted is None or getattr(figure, key) == wanted]
        if not found:
            raise SpecError(
                f'{name} has no chart of the {key} "{shortened(wanted)}"{did_you_mean(wanted, there)} '
                f"(there are: {listed(there) or 'none'})"
            )
    return found[0].draw(True)


def save_chart(drawn: Chart, path: str | Path, *, format: PlotForm | None = None) -> Path:  # noqa: A002 - as the option
    """Write a chart as SVG, PNG or PDF, by ``format`` or the end of the name; the same bytes for the same chart.

    Raises
    ------
    SpecError
        Where the name ends in something else.
    """
    import vl_convert

    target = Path(path)
    kind = format or target.suffix.removeprefix(".")
    if kind not in PLOT_FORMS:
        told = f'{shortened(str(path))}: a chart is written as {listed(PLOT_FORMS)}, not as "{shortened(kind)}"'
        raise SpecError(told)
    if kind == "svg":
        content = svg_of(drawn).encode()
    elif kind == "png":
        paper = drawn.properties(background="white").to_json(validate=False)
        content = vl_convert.vegalite_to_png(paper, vl_version=_version(), scale=2)
    else:
        content = vl_convert.vegalite_to_pdf(drawn.to_json(validate=False), vl_version=_version())
    with writing_errors(f"the chart {shortened(str(path))}"):
        target.write_bytes(content)
    return target


def save_plots(
    data: ReportData,
    folder: str | Path,
    *,
    format: PlotForm = "svg",  # noqa: A002 - as the option
) -> list[Path]:
    """Write every chart of a report into ``folder``: ``01-trend-ndcg_10.svg``, numbered in the order of the page."""
    if format not in PLOT_FORMS:
        raise SpecError(f'format is "{shortened(str(format))}": charts are written as {listed(PLOT_FORMS)}')
    place = Path(folder)
    with writing_errors(f"the charts in {shortened(str(folder))}"):
        place.mkdir(parents=True, exist_ok=True)
    every = [figure for section in _MAKERS for figure in figures(data, section)]
    return [
        save_chart(figure.draw(True), place / f"{number:02d}-{_file_name(figure)}.{format}")
        for number, figure in enumerate(every, start=1)
    ]


def svg_of(drawn: Chart) -> str:
    """The chart as SVG."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(drawn.to_json(validate=False), vl_version=_version())
    return svg


def shown_name(name: str | None, of: str = "") -> str:
    """A name as pages and charts show it: in one line, without secrets; joined emoji stay joined.

    ``of`` is the slice that a value belongs to.

    Examples
    --------
    >>> shown_name("a\\u202eb <i>")
    'a\\\\u202eb <i>'
    """
    return _JOINED.sub(lambda found: chr(int(found[1], 16)), escaped(redact(shown_value(name, of))))


_JOINED = re.compile(r"\\u(200[cd])")


def charted(models: Sequence[str], baseline: str | None) -> list[str]:
    """The models that a chart shows: the first of them, the baseline always."""
    shown = list(models[:MOST_SERIES])
    if baseline is not None and baseline in models and baseline not in shown:
        shown[-1:] = [baseline]
    return shown


def _version() -> str:
    """The version of Vega-Lite that altair writes, as the converter names it: 5.20 of v5.20.1."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _file_name(figure: Figure) -> str:
    parts = (figure.section, figure.slice, figure.metric, figure.model)
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", each)[:40].strip("_.") or "x" for each in parts if each)


def _key(data: ReportData, model: str) -> Key:
    return Key(shown_name(model), data.models.index(model) if model in data.models else len(data.models))


def _level(data: ReportData) -> str:
    return "the interval" if data.level is None else f"the {data.level * 100:g} % interval"


def _trend(data: ReportData) -> Iterator[Figure]:
    if data.trend is None:
        return
    shown = charted(data.models, data.baseline)
    for metric in dict.fromkeys(series.metric for series in data.trend.series):
        found = [each for each in data.trend.series if each.metric == metric and each.model in shown]
        if max((sum(point.value is not None for point in each.points) for each in found), default=0) > 1:
            yield _trend_figure(data, metric, found)


def _trend_figure(data: ReportData, metric: str, found: Sequence[TrendSeries]) -> Figure:
    def draw(alone: bool) -> Chart:
        lines = []
        for each in found:
            there = [(_date(point.day), point) for point in each.points]
            lines.append(
                Series(
                    _key(data, each.model),
                    tuple((day, point.value) for day, point in there),
                    band=tuple(
                        (day, point.ci_low, point.ci_high)
                        for day, point in there
                        if point.ci_low is not None and point.ci_high is not None
                    ),
                    limits=tuple(
                        (day, point.band_low, point.band_high)
                        for day, point in there
                        if point.band_low is not None and point.band_high is not None
                    ),
                    flags=tuple(
                        (day, point.value) for day, point in there if point.is_accepted and point.value is not None
                    ),
                )
            )
        changed = dict.fromkeys(
            _date(point.day)
            for each in found
            for there in [[point for point in each.points if point.value is not None]]
            for before, point in pairwise(there)
            if before.is_same_definition != point.is_same_definition or point.begins_anew
        )
        days = () if data.trend is None else tuple(map(_date, data.trend.days))
        name = shown_name(metric)
        title = name if alone else ""  # in the page it stands above
        frame = Frame(name, "", title, alone, height=150, days=days, marks=10, noted=tuple(changed))
        return lines_chart(lines, frame)

    days = [] if data.trend is None else data.trend.days
    about = f"By day, {days[0]} to {days[-1]}." if days else "By day."
    return Figure("trend", shown_name(metric), about, draw, metric=metric)


def _date(day: str) -> str:
    """The day, or the last one of a window."""
    return day.rpartition("..")[2]


def _comparisons(data: ReportData) -> Iterator[Figure]:
    if data.comparisons is None:
        return
    rows = [row for row in data.comparisons.rows if row.difference is not None]
    for candidate in list(dict.fromkeys(row.candidate for row in rows))[:MOST_CANDIDATES]:
        of = [row for row in rows if row.candidate == candidate]
        whole = [row for row in of if row.slice == ALL]
        for group in _of_one_scale(whole):
            title = f"{shown_name(candidate)} against {shown_name(group[0].baseline)}"
            named = [(shown_name(row.metric), row) for row in group]
            metric = group[0].metric if len(group) == 1 else None
            about = f"Difference and {_level(data)}, all rows."
            yield _comparison_figure(data, named, title, about, candidate, metric=metric)
        metric = whole[0].metric if whole else next((row.metric for row in of), None)
        for name in dict.fromkeys(row.slice for row in of if row.slice != ALL):
            sliced = [row for row in of if row.slice == name and row.metric == metric][:MOST_ROWS]
            if sliced:
                title = f"{shown_name(candidate)} against {shown_name(sliced[0].baseline)}, by {shown_name(name)}"
                named = [(shown_name(row.slice_value, row.slice), row) for row in sliced]
                about = f"Difference of {shown_name(metric)} and {_level(data)}."
                yield _comparison_figure(data, named, title, about, candidate, metric=metric, slice_name=name)


def _comparison_figure(
    data: ReportData,
    named: Sequence[tuple[str, Comparison]],
    title: str,
    about: str,
    candidate: str,
    *,
    metric: str | None = None,
    slice_name: str | None = None,
) -> Figure:
    directions = {each.metric: each.higher_is_better for each in data.definitions}

    def draw(alone: bool) -> Chart:
        rows = [
            Row(label, (Interval(_verdict_of(row, directions), row.difference or 0.0, row.ci_low, row.ci_high),))
            for label, row in named
        ]
        x_title = "difference" if metric is None else f"difference of {shown_name(metric)}"
        return intervals_chart(rows, _VERDICTS, Frame(title, x_title, alone=alone, width=208, zero=True))

    return Figure("comparisons", title, about, draw, metric=metric, model=candidate, slice=slice_name)


def is_sure(row: Comparison) -> bool:
    """Whether the difference is told from none, by its adjusted p."""
    p = row.p if row.p_adjusted is None else row.p_adjusted
    return p is not None and p < SURE


def _verdict_of(row: Comparison, directions: dict[str, bool | None]) -> int:
    """The place of its key in ``_VERDICTS``."""
    direction = directions.get(row.metric)
    if not is_sure(row) or direction is None or not row.difference:
        return 2
    return 0 if (row.difference > 0) == direction else 1


def _of_one_scale(rows: Sequence[Comparison]) -> list[list[Comparison]]:
    """Rows whose intervals can be seen on one axis; in each the order stays."""
    places = {id(row): at for at, row in enumerate(rows)}
    groups: list[list[Comparison]] = []
    for row in sorted(rows, key=_extent, reverse=True):
        if groups and _extent(row) * _FAR >= _extent(groups[-1][0]):
            groups[-1].append(row)
        else:
            groups.append([row])
    ordered = [sorted(group, key=lambda row: places[id(row)]) for group in groups]
    return sorted(ordered, key=lambda group: places[id(group[0])])


def _extent(row: Comparison) -> float:
    return max(abs(end) for end in (row.difference, row.ci_low, row.ci_high) if end is not None)


def _slices(data: ReportData, metrics: Sequence[str] | None = None) -> Iterator[Figure]:
    if data.slices is None:
        return
    wanted = data.slices.metrics[:SLICED_METRICS] if metrics is None else metrics
    for name in dict.fromkeys(row.slice for row in data.slices.rows):
        for metric in wanted:
            rows = [row for row in data.slices.rows if row.slice == name and row.metric == metric]
            if rows:
                yield _slice_figure(data, name, metric, rows)


def _slice_figure(data: ReportData, name: str, metric: str, rows: Sequence[SliceRow]) -> Figure:
    models = () if data.slices is None else data.slices.models
    shown = charted(models, data.baseline)[: MOST_SERIES // 2 if len(rows) > 12 else MOST_SERIES]
    largest = rows[:MOST_ROWS]

    def draw(alone: bool) -> Chart:
        drawn = []
        for row in largest:
            cells = [
                (shown.index(model), cell) for model, cell in zip(models, row.cells, strict=True) if model in shown
            ]
            intervals = [_interval(key, cell) for key, cell in cells if cell is not None and cell.value is not None]
            drawn.append(Row(shown_name(row.slice_value, row.slice), tuple(intervals)))
        drawn.sort(key=lambda row: -row.intervals[0].value if row.intervals else 0.0)
        frame = Frame(f"{shown_name(metric)} by {shown_name(name)}", shown_name(metric), alone=alone, width=208)
        return intervals_chart(drawn, [_key(data, model) for model in shown], frame)

    of = f"The {len(largest)} largest of {len(rows)} values" if len(rows) > len(largest) else f"{len(rows)} values"
    title = f"{shown_name(metric)} by {shown_name(name)}"
    return Figure("slices", title, f"{of}, the highest first, with {_level(data)}.", draw, metric=metric, slice=name)


def _interval(key: int, cell: MetricValue) -> Interval:
    return Interval(key, 0.0 if cell.value is None else cell.value, cell.ci_low, cell.ci_high)


def _curves(kind: Literal["roc", "pr"]) -> Callable[[ReportData], Iterator[Figure]]:
    titles = ("false positive rate", "true positive rate") if kind == "roc" else ("recall", "precision")
    name = "ROC" if kind == "roc" else "Precision-recall"

    def figure(data: ReportData, metric: str, found: Sequence[Curve]) -> Figure:
        def draw(alone: bool) -> Chart:
            lines = [
                Series(_key(data, each.model), tuple((point.x, point.y) for point in each.points)) for each in found
            ]
            frame = Frame(
                f"{name}, {shown_name(metric)}",
                *titles,
                alone,
                height=250,
                x_domain=(0.0, 1.0),
                y_domain=(0.0, 1.0),
                diagonal=(0.0, 1.0) if kind == "roc" else None,
            )
            return lines_chart(lines, frame)

        areas = ", ".join(f"{shown_name(each.model)} {shown_number(each.area)}" for each in found)
        return Figure(kind, f"{name}, {shown_name(metric)}", f"Area under the curve: {areas}.", draw, metric=metric)

    def make(data: ReportData) -> Iterator[Figure]:
        curves = data.roc if kind == "roc" else data.pr
        shown = charted(data.models, data.baseline)
        for metric in dict.fromkeys(each.metric for each in curves):
            yield figure(data, metric, [each for each in curves if each.metric == metric and each.model in shown])

    return make


def _calibration(data: ReportData) -> Iterator[Figure]:
    shown = charted(data.models, data.baseline)
    for rule in dict.fromkeys(each.rule for each in data.calibration):
        found = [each for each in data.calibration if each.rule == rule and each.model in shown]
        yield _calibration_figure(data, rule, found)


def _calibration_figure(data: ReportData, rule: str, found: Sequence[Calibration]) -> Figure:
    def draw(alone: bool) -> Chart:
        lines = [
            Series(
                _key(data, each.model),
                tuple(
                    (one.mean_score, one.rate)
                    for one in each.bins
                    if one.mean_score is not None and one.rate is not None
                ),
            )
            for each in found
        ]
        ends = [end for each in lines for point in each.points for end in point if isinstance(end, float)]
        low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
        frame = Frame(
            "Calibration", "mean score", "share of relevant rows", alone, height=250, diagonal=(low, high), marks=40
        )
        return lines_chart(lines, frame)

    about = f"Mean score against the share of relevant rows, by bins of scores ({shown_name(rule)}); dashed is perfect."
    return Figure("calibration", "Calibration", about, draw)


def _histograms(data: ReportData) -> Iterator[Figure]:
    shown = charted(data.models, data.baseline)
    for each in data.histograms:
        if each.model in shown and each.bins:
            yield _histogram_figure(each)


def _histogram_figure(histogram: Histogram) -> Figure:
    def draw(alone: bool) -> Chart:
        most = max(max(one.pos, one.neg) for one in histogram.bins)
        last = histogram.bins[-1].high
        lines = [
            Series(Key("relevant", 1), _steps([(one.low, one.pos) for one in histogram.bins], last)),
            Series(Key("other", 0), _steps([(one.low, one.neg) for one in histogram.bins], last)),
        ]
        return lines_chart(lines, Frame(title, "score", "rows", alone, height=150, steps=True, powers=most))

    title = shown_name(histogram.model)
    return Figure(
        "histograms",
        title,
        "Rows by score: relevant dashed, others solid; the axis has powers of ten.",
        draw,
        model=histogram.model,
    )


def _steps(counts: Sequence[tuple[float, float]], last: float) -> tuple[tuple[float, float], ...]:
    """Steps from the lower end of each bin, up to the ``last`` end."""
    return (*counts, (last, counts[-1][1])) if counts else ()


def _auc_up(data: ReportData) -> Iterator[Figure]:
    shown = charted(data.models, data.baseline)
    for each in data.auc_up:
        if each.model in shown:
            yield _auc_up_figure(each)


def _auc_up_figure(found: AucUp) -> Figure:
    def draw(alone: bool) -> Chart:
        lines = [
            Series(key, tuple((point.x, point.y) for point in points))
            for key, points in (
                (Key("by share of relevant rows", 1), found.by_rate),
                (Key("by score", 0), found.by_score),
            )
        ]
        frame = Frame(
            title,
            "false positive rate",
            "true positive rate",
            alone,
            height=250,
            x_domain=(0.0, 1.0),
            y_domain=(0.0, 1.0),
            diagonal=(0.0, 1.0),
        )
        return lines_chart(lines, frame)

    title = f"{shown_name(found.model)}, {shown_name(found.metric)}"
    about = (
        "The score bins in the order of scores (solid) and of their share of relevant rows (dashed): "
        f"AUC_UP {shown_number(found.auc_up)}, {shown_number(found.gap)} above the AUC of the same bins."
    )
    return Figure("auc_up", title, about, draw, metric=found.metric, model=found.model)


def _distributions(data: ReportData) -> Iterator[Figure]:
    for each in data.distributions:
        yield _distribution_figure(data, each)


def _distribution_figure(data: ReportData, found: GroupDistribution) -> Figure:
    def draw(alone: bool) -> Chart:
        shown = charted([each.model for each in found.models], data.baseline)
        lines = [
            Series(_key(data, each.model), _steps(list(zip(found.edges, each.counts, strict=False)), found.edges[-1]))
            for each in found.models
            if each.model in shown
        ]
        frame = Frame(shown_name(found.metric), shown_name(found.metric), "groups", alone, height=150, steps=True)
        return lines_chart(lines, frame)

    return Figure("distributions", shown_name(found.metric), "Groups by their value.", draw, metric=found.metric)


def _paired(data: ReportData) -> Iterator[Figure]:
    for each in data.paired:
        yield _paired_figure(each)


def _paired_figure(found: PairedDistribution) -> Figure:
    def draw(alone: bool) -> Chart:
        steps = _steps(list(zip(found.edges, found.counts, strict=False)), found.edges[-1]) if found.counts else ()
        x_title = f"difference of {shown_name(found.metric)}"
        frame = Frame(title, x_title, "groups", alone, height=150, steps=True, zero=True)
        return lines_chart([Series(Key("groups", UNSURE.style), steps)], frame)  # neither model's colour

    title = f"{shown_name(found.metric)}: {shown_name(found.candidate)} against {shown_name(found.baseline)}"
    alone = f"{found.n_unpaired:,} have a value of one model alone"
    about = f"Groups by their difference; {found.n_equal:,} more have none, and {alone}."
    return Figure("paired", title, about, draw, metric=found.metric, model=found.candidate)


def shown_number(value: float | None) -> str:
    """A value with four digits behind the point, as the terminal shows it."""
    return "undefined" if value is None else f"{value:.4f}"


_MAKERS: dict[str, Callable[[ReportData], Iterator[Figure]]] = {
    "trend": _trend,
    "comparisons": _comparisons,
    "slices": _slices,
    "roc": _curves("roc"),
    "pr": _curves("pr"),
    "calibration": _calibration,
    "histograms": _histograms,
    "auc_up": _auc_up,
    "distributions": _distributions,
    "paired": _paired,
}
CHARTED: tuple[str, ...] = tuple(_MAKERS)
