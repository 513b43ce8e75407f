"""Charts by name and as files: each number is one of the report, and colours can be told apart."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import sparkrank as sr
from sparkrank.base.errors import SparkrankError, SpecError
from sparkrank.report.data import ReportData
from tests.browser.made import report
from tests.conftest import PROJECT
from tests.support.commands import exit_code
from tests.support.reports import DAYS, conf_of, rows_of, write_log

for package in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(package)
charts = pytest.importorskip("sparkrank.report.charts")
forms = pytest.importorskip("sparkrank.report.chart_forms")
inline = pytest.importorskip("sparkrank.report.inline_svg")
figures = pytest.importorskip("sparkrank.report.figures")

FEW = ("ndcg@10", "ap", "logloss")
DATA = report(("old", "new"), FEW, ("de", "fr", None))


def drawn(name: str, data: ReportData = DATA, **which: str) -> list[dict[str, object]]:
    """The rows that the layers of a chart draw."""
    spec = charts.chart(data, name, **which).to_dict()
    return [row for layer in spec["layer"] for row in spec["datasets"][layer.get("data", spec.get("data"))["name"]]]


def test_each_chart_is_valid_and_alone_has_a_title() -> None:
    """Against the schema of Vega-Lite, as altair has it. test_report_of_slices_and_values has what few reports have."""
    for name in charts.charted_sections():
        if name in ("disparities", "exposures", "positions"):
            continue
        spec = charts.chart(DATA, name).to_dict(validate=True)
        assert spec["title"]["text"], name
        assert drawn(name), name


def test_a_chart_of_slices_draws_the_numbers_of_the_table_and_no_others() -> None:
    rows = drawn("slices", metric="ap", slice="country")
    cells = [cell for row in DATA.slices.rows if row.metric == "ap" for cell in row.cells]
    assert {(row["low"], row["x"], row["high"]) for row in rows if "low" in row} == {
        (cell.ci_low, cell.value, cell.ci_high) for cell in cells
    }
    assert {row["label"] for row in rows if "label" in row} == {"de", "fr", "(null)"}


def test_a_trend_breaks_where_a_day_is_missing_and_rings_what_was_accepted() -> None:
    rows = drawn("trend", metric="ap")
    points = [row for row in rows if "at" in row]
    series = [one.points for one in DATA.trend.series if one.metric == "ap"]
    assert [(row["x"], row["y"]) for row in points] == [(point.day, point.value) for one in series for point in one]
    assert sum(row["y"] is None for row in points) == 2
    rings = [(row["x"], row["y"]) for row in rows if set(row) == {"x", "y"}]
    assert rings == [(one[9].day, one[9].value) for one in series]


def test_a_comparison_is_better_or_worse_by_the_direction_of_the_metric_and_only_where_it_is_sure() -> None:
    """By hand: logloss, where lower is better, the other way round."""
    rows = {row.metric: row for row in DATA.comparisons.rows if row.slice == "all"}
    expected = {
        row.difference: "no clear difference" if row.p_adjusted >= 0.05
        else "better" if (row.difference > 0) != (metric == "logloss") else "worse"
        for metric, row in rows.items()
    }  # fmt: skip
    assert {row["x"]: row["name"] for row in drawn("comparisons") if "low" in row}.items() <= expected.items()
    assert len(set(expected.values())) > 1


def test_differences_of_very_different_size_have_charts_of_their_own() -> None:
    first, second, third = (row for row in DATA.comparisons.rows if row.slice == "all")
    wide = {"difference": 100.0, "ci_low": 90.0, "ci_high": 110.0}
    rows = (first, type(second)(**{**vars(second), **wide}), third)
    data = ReportData(**{**vars(DATA), "comparisons": type(DATA.comparisons)("old", rows)})
    assert [figure.metric for figure in charts.figures(data, "comparisons")] == [None, second.metric]


def test_what_is_not_there_is_told_with_what_is() -> None:
    without = ReportData("day", "d", ("a",), (), missing={"roc": "ask for output.curves"})
    for data, which, sentence in (
        (DATA, {"name": "rco"}, r'no chart "rco", did you mean "roc"\? \(there are: trend, comparisons'),
        (DATA, {"name": "trend", "metric": "app"}, r'trend has no chart of the metric "app", did you mean "ap"\?'),
        (DATA, {"name": "auc_up", "model": "nwe"}, r'no chart of the model "nwe", did you mean "new"\?'),
        (DATA, {"name": "slices", "slice": "land"}, r'no chart of the slice "land" \(there are: country\)'),
        (
            DATA,
            {"name": "roc", "slice": "country"},
            r'^no chart of roc is about one slice only: leave out slice="country"$',
        ),
        (without, {"name": "roc"}, r"nothing to draw of roc: ask for output\.curves"),
    ):
        with pytest.raises(SpecError, match=sentence):
            charts.chart(data, **which)


def test_every_chart_becomes_a_file(tmp_path: Path) -> None:
    data = report(("a/../b", "new"), ("ndcg@10",), ("de",))
    files = charts.save_plots(data, tmp_path / "plots")
    assert len(files) == sum(len(charts.figures(data, name)) for name in charts.charted_sections()) > 10
    assert sorted((tmp_path / "plots").rglob("*.svg")) == sorted(files)
    assert files[0].name == "01-trend-ndcg_10.svg"
    assert all(file.parent == tmp_path / "plots" and file.read_bytes().startswith(b"<svg") for file in files)
    again = forms.svg_of(charts.draw(charts.figures(data, "trend")[0]))
    assert files[0].read_text(encoding="utf-8") == again


def test_of_many_models_the_first_and_the_baseline_are_drawn() -> None:
    names = [f"m{number}" for number in range(20)]
    assert figures.charted(names, "m12") == [*names[:7], "m12"]
    assert figures.charted(names, "m3") == figures.charted(names, None) == names[:8]
    series = {row["name"] for row in drawn("roc", report(names, ("ndcg@10",), days=1)) if "name" in row}
    assert series == set(names[:8])


def test_the_command_writes_charts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path, DAYS[-1], rows_of(0, 300))
    conf = ("--conf", conf_of(tmp_path, metrics=["ndcg@10"], gates=[], history={}), "--date", DAYS[-1])
    assert exit_code("evaluate", "--quiet", *conf) == 0
    before = {*tmp_path.iterdir()}
    assert exit_code("report", *conf, "--plots", "here/plots", "--json") == 0
    files = sorted(Path("here/plots").iterdir())
    assert json.loads(capsys.readouterr().out)["paths"] == list(map(str, files))
    assert all(file.read_bytes().startswith(b"<svg") for file in files)
    assert exit_code("report", *conf, "--plots", "here/plots") == 0
    assert f"Written: {len(files)} charts in here/plots" in capsys.readouterr().out
    assert {*tmp_path.iterdir()} - before == {tmp_path / "here"}


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SparkrankError, match=r"the charts in .*file/plots cannot be written: Not a directory"):
        charts.save_plots(DATA, tmp_path / "file" / "plots")


def test_an_evaluation_draws_its_own_numbers() -> None:
    scores = {"old": "old", "new": "new"}
    ev = sr.evaluate(rows_of(0, 400), ["ap"], group="user", score=scores, label="click", slices=["country"])
    drawn_sets = ev.plot("slices", metric="ap", slice="country").to_dict()["datasets"].values()
    rows = [row for rows in drawn_sets for row in rows if "low" in row]
    assert {row["x"] for row in rows} == set(ev.metrics.to_pandas().query("slice == 'country'")["value"])
    with pytest.raises(SpecError, match="nothing to draw of trend"):
        ev.plot("trend")


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(left: str, right: str) -> float:
    dark, light = sorted((luminance(left), luminance(right)))
    return (light + 0.05) / (dark + 0.05)


def test_lines_can_be_seen_on_light_and_dark_paper() -> None:
    """3 : 1, as WCAG asks of what is not text; white against black is 21 by definition."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    style = (PROJECT / "sparkrank/report/templates/report.css").read_text(encoding="utf-8")
    themes = re.findall(r"--paper:(#\w+).*?((?:--c\d:#\w+;?)+)", style, re.DOTALL)
    assert len(themes) == 3
    for paper, colours in themes:
        full = paper if len(paper) == 7 else "#" + "".join(2 * each for each in paper[1:])
        for colour in re.findall(r"#\w{6}", colours):
            assert contrast(colour, full) >= 3, (colour, paper)
    light = re.findall(r"#\w{6}", themes[0][1])
    assert tuple(light) == forms.PALETTE


def test_no_two_series_of_forty_two_look_the_same() -> None:
    assert len({repr(forms.style_of(number)) for number in range(42)}) == 42
    assert len({shape for _, _, shape in map(forms.style_of, range(6))}) == 6


def test_svg_of_a_page_keeps_every_text_and_shape() -> None:
    """It is smaller, has ids of its own, and nothing else is gone: texts, lines and paths that draw."""
    svg = forms.svg_of(charts.chart(report(("<b>&\"'", "new"), FEW), "trend"))
    small = inline.inline_svg(svg, "t", {})
    before, after = (list(root.iter()) for root in map(ET.fromstring, (svg, small)))
    texts, kept = ([part.text for part in parts if part.tag.endswith("text")] for parts in (before, after))
    assert texts == kept
    assert any("<b>&\"'" in text for text in texts if text)
    lines, kept = ([part for part in parts if part.tag.endswith("line")] for parts in (before, after))
    assert len(lines) == len(kept)
    assert len(small) < 0.6 * len(svg)
    assert [name for part in after for name in part.attrib if name in {"style", "id"} or name[:2] == "on"] == []
    clip = '<clipPath id="clip0"><path d="M0,0h1"/></clipPath><g clip-path="url(#clip0)"><path d="M0,0h1"/></g>'
    for prefix in ("a", "b"):  # ids of two charts differ
        svg = f'<svg xmlns="http://www.w3.org/2000/svg">{clip}</svg>'
        assert f'id="{prefix}-0"' in inline.inline_svg(svg, prefix, {})


def test_only_models_have_colours_and_what_else_is_drawn_has_a_legend() -> None:
    """Better, worse and unsure are told apart by shapes, classes and orders by dashes, in ink and in the chart."""
    inked = {"comparisons": 3, "histograms": 2, "auc_up": 2, "paired": 0}
    for name, entries in inked.items():
        svg = forms.svg_of(forms.drawn_chart(charts.figures(DATA, name)[0].chart))
        assert not any(colour in svg.lower() for colour in forms.PALETTE), name
        assert svg.count("role-legend-label") == entries, name
    shapes = {forms.style_of(key.style)[2] for key in charts.figures(DATA, "comparisons")[0].chart.keys}
    assert shapes == {"circle", "triangle-up", "triangle-down"}
    assert forms.PALETTE[0] in forms.svg_of(forms.drawn_chart(charts.figures(DATA, "roc")[0].chart)).lower()


def test_a_chart_says_where_lower_is_better() -> None:
    about = {figure.metric: figure.about for figure in charts.figures(DATA, "trend")}
    assert [name for name, text in about.items() if text.endswith(" Lower is better.")] == ["logloss"]
    first = next(figure for figure in charts.figures(DATA, "comparisons") if figure.metric is None)
    assert [row.label for row in first.chart.rows] == ["ndcg@10", "ap", "logloss ↓"]
    assert "↓: lower is better" in first.about


def test_names_from_right_to_left_keep_their_place_in_a_title() -> None:
    data = report(("old", "שלום"), ("ap",))
    assert charts.figures(data, "comparisons")[0].title == "\u2068שלום\u2069 against old"


def test_of_many_values_the_worst_and_the_largest_are_drawn() -> None:
    """Made values come worst first, the first of them largest: reversed, the largest are the last of the table."""
    data = report(("a", "b"), ("ap",), [f"v{number}" for number in range(100)])
    rows = tuple(reversed(data.slices.rows))
    chart = charts.figures(dataclasses.replace(data, slices=dataclasses.replace(data.slices, rows=rows)), "slices")[0]
    assert {row.label for row in chart.chart.rows} == {f"v{number}" for number in (*range(20), *range(80, 100))}
    assert chart.about.startswith("The 20 worst and the 20 largest of 100 values")
