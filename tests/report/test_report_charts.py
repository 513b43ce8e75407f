"""Charts by name and as files: each number is one of the report, and colours can be told apart."""

from __future__ import annotations

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
    """Against the schema of Vega-Lite, as altair has it."""
    for name in charts.charted_sections():
        spec = charts.chart(DATA, name).to_dict(validate=True)
        assert spec["title"]["text"], name
        assert drawn(name), name


def test_a_chart_of_slices_draws_the_numbers_of_the_table_and_no_others() -> None:
    found = drawn("slices", metric="ap", slice="country")
    cells = [cell for row in DATA.slices.rows if row.metric == "ap" for cell in row.cells]
    assert {(row["low"], row["x"], row["high"]) for row in found if "low" in row} == {
        (cell.ci_low, cell.value, cell.ci_high) for cell in cells
    }
    assert {row["label"] for row in found if "label" in row} == {"de", "fr", "(null)"}


def test_a_trend_breaks_where_a_day_is_missing_and_rings_what_was_accepted() -> None:
    found = [row for row in drawn("trend", metric="ap") if "at" in row]
    series = [each for each in DATA.trend.series if each.metric == "ap"]
    assert [(row["x"], row["y"]) for row in found] == [(p.day, p.value) for each in series for p in each.points]
    assert sum(row["y"] is None for row in found) == 2
    rings = [row for row in drawn("trend", metric="ap") if set(row) == {"x", "y"}]
    assert [(row["x"], row["y"]) for row in rings] == [(each.points[9].day, each.points[9].value) for each in series]


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
    for which, sentence in (
        ({"name": "rco"}, r'no chart "rco", did you mean "roc"\? \(there are: trend, comparisons'),
        ({"name": "trend", "metric": "app"}, r'trend has no chart of the metric "app", did you mean "ap"\?'),
        ({"name": "auc_up", "model": "nwe"}, r'no chart of the model "nwe", did you mean "new"\?'),
        ({"name": "slices", "slice": "land"}, r'no chart of the slice "land" \(there are: country\)'),
        ({"name": "roc", "slice": "country"}, r'no chart of the slice "country" \(there are: none\)'),
    ):
        with pytest.raises(SpecError, match=sentence):
            charts.chart(DATA, **which)


def test_a_section_that_tables_do_not_hold_says_what_to_ask_for() -> None:
    with pytest.raises(SpecError, match=r"nothing to draw of roc: ask for output\.curves"):
        charts.chart(ReportData("day", "d", ("a",), (), missing={"roc": "ask for output.curves"}), "roc")


def test_every_chart_becomes_a_file(tmp_path: Path) -> None:
    data = report(("a/../b", "new"), ("ndcg@10",), ("de",))
    files = charts.save_plots(data, tmp_path / "plots")
    assert len(files) == sum(len(charts.figures(data, name)) for name in charts.charted_sections()) > 10
    assert sorted((tmp_path / "plots").rglob("*.svg")) == sorted(files)
    assert files[0].name == "01-trend-ndcg_10.svg"
    assert all(file.parent == tmp_path / "plots" and file.read_bytes().startswith(b"<svg") for file in files)
    again = forms.svg_of(charts.drawn(charts.figures(data, "trend")[0]))
    assert files[0].read_text(encoding="utf-8") == again


def test_of_many_models_the_first_and_the_baseline_are_drawn() -> None:
    names = [f"m{number}" for number in range(20)]
    assert figures.charted(names, "m12") == [*names[:7], "m12"]
    assert figures.charted(names, "m3") == figures.charted(names, None) == names[:8]
    series = {row["name"] for row in drawn("roc", report(names, ("ndcg@10",), days=1)) if "name" in row}
    assert series == set(names[:8])


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("night")
    write_log(folder, DAYS[-1], rows_of(0, 300))
    conf = conf_of(folder, metrics=["ndcg@10"], gates=[], history={})
    assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", DAYS[-1]) == 0
    return conf


def test_the_command_writes_charts_alone(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("report", "--conf", stored, "--date", DAYS[-1], "--plots", "here/plots")
    assert exit_code(*asked, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    files = sorted(Path("here/plots").iterdir())
    assert document["paths"] == list(map(str, files))
    assert all(file.read_bytes().startswith(b"<svg") for file in files)
    assert exit_code(*asked) == 0
    assert f"Written: {len(files)} charts in here/plots" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [tmp_path / "here"]


def test_options_that_would_do_nothing_are_refused(stored: str, capsys: pytest.CaptureFixture[str]) -> None:
    for more, sentence in (
        (["--plots", "p", "--format", "png"], "html, md, json, latex are allowed; --plots writes charts as SVG"),
        (["--plots", "p", "--format", "md"], "--plots and --format do not go together"),
        (["--plots", "p", "--out", "x.html"], "--plots and --out do not go together"),
        (["--plots", "p", "--open"], "--plots and --open do not go together"),
        (
            ["--out", "x.pdf"],
            "names no form: .html, .htm, .md, .json, .tex are known, or give a format; print the page",
        ),
    ):
        assert exit_code("report", "--conf", stored, "--date", DAYS[-1], *more) == 2
        assert sentence in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(stored: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SparkrankError, match=r"the charts in .*file/plots cannot be written: Not a directory"):
        charts.save_plots(DATA, tmp_path / "file" / "plots")


def test_an_evaluation_draws_its_own_numbers() -> None:
    scores = {"old": "old", "new": "new"}
    ev = sr.evaluate(rows_of(0, 400), ["ap"], group="user", score=scores, label="click", slices=["country"])
    found = ev.plot("slices", metric="ap", slice="country").to_dict()
    rows = [row for each in found["datasets"].values() for row in each if "low" in row]
    table = ev.metrics.to_pandas().query("slice == 'country'")
    assert {row["x"] for row in rows} == set(table["value"])
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
    before, after = map(ET.fromstring, (svg, small))
    texts = [[each.text for each in root.iter() if each.tag.endswith("text")] for root in (before, after)]
    assert texts[0] == texts[1]
    assert any("<b>&\"'" in text for text in texts[1] if text)
    lines = [[each for each in root.iter() if each.tag.endswith("line")] for root in (before, after)]
    assert len(lines[0]) == len(lines[1])
    assert len(small) < 0.6 * len(svg)
    assert {
        name for each in after.iter() for name in each.attrib if name in {"style", "id"} or name[:2] == "on"
    } == set()


def test_ids_of_two_charts_are_others() -> None:
    clip = (
        '<clipPath id="clip0"><path d="M0,0h1"/></clipPath><g clip-path="url(#clip0)"><path d="M0,0h1" fill="red"/></g>'
    )
    svg = f'<svg xmlns="http://www.w3.org/2000/svg">{clip}</svg>'
    assert 'id="a-0"' in inline.inline_svg(svg, "a", {})
    assert 'id="b-0"' in inline.inline_svg(svg, "b", {})
