"""The charts of a report by name, and their files. The drawing libraries are imported only when needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sparkrank.base.errors import SpecError, hint, shorten, validate_names, writing_errors
from sparkrank.report.data import ReportData
from sparkrank.report.figures import Figure
from sparkrank.report.section_register import section_of, sections
from sparkrank.report.sections.slice_values import slice_figures

if TYPE_CHECKING:
    from sparkrank.report.chart_forms import Chart


def figures(data: ReportData, name: str) -> list[Figure]:
    """Return the charts of a section, in order. The list is empty if the section has no charts or no data."""
    section = section_of(name)
    return [] if section is None or section.figures is None else list(section.figures(data))


def charted_sections() -> list[str]:
    """Return the names of the sections that have charts, in the order of the page."""
    return [section.name for section in sections() if section.figures is not None]


def chart(
    data: ReportData,
    name: str,
    *,
    metric: str | None = None,
    model: str | None = None,
    slice: str | None = None,  # noqa: A002 - the name that the tables have for it
) -> Chart:
    """Return the first matching chart of the section ``name``, standalone with title and legend.

    Raise :class:`SpecError` if there is no such section or chart, or if the tables lack its data.
    """
    names = charted_sections()
    validate_names("no chart", [name], names, "there are")
    every_metric = name == "slices" and metric is not None
    charts = list(slice_figures(data, data.metrics)) if every_metric else figures(data, name)
    if not charts:
        why = data.missing.get(name, "the tables do not hold it")
        raise SpecError(f"there is nothing to draw of {name}: {why}")
    for key, wanted in (("metric", metric), ("model", model), ("slice", slice)):
        there = list(dict.fromkeys(value for figure in charts if (value := getattr(figure, key)) is not None))
        if wanted is not None and not there:
            raise SpecError(f'no chart of {name} is about one {key} only: leave out {key}="{shorten(wanted)}"')
        charts = [figure for figure in charts if wanted is None or getattr(figure, key) == wanted]
        if not charts:
            raise SpecError(f'{name} has no chart of the {key} "{shorten(wanted)}"{hint(wanted, there, "there are")}')
    return draw(charts[0])


def draw(figure: Figure) -> Chart:
    """Return the figure drawn as a standalone chart with title and legend."""
    from sparkrank.report.chart_forms import drawn_chart

    return drawn_chart(figure.chart, figure.title)


def save_plots(data: ReportData, folder: str | Path) -> list[Path]:
    """Write every chart of a report into ``folder`` as SVG, and return the paths.

    The files are numbered in page order, such as ``01-trend-ndcg_10.svg``.
    """
    from sparkrank.report.chart_forms import svg_of

    place = Path(folder)
    every = [figure for name in charted_sections() for figure in figures(data, name)]
    files = [place / f"{number:02d}-{_file_name(figure)}.svg" for number, figure in enumerate(every, start=1)]
    with writing_errors(f"the charts in {shorten(str(folder))}"):
        place.mkdir(parents=True, exist_ok=True)
        for figure, file in zip(every, files, strict=True):
            file.write_text(svg_of(draw(figure)), encoding="utf-8")
    return files


def _file_name(figure: Figure) -> str:
    parts = (figure.section, figure.slice, figure.metric, figure.model)
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", part)[:40].strip("_.") or "x" for part in parts if part)
