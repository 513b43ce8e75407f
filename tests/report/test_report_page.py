"""The report's page as text: its size, its policy, and the same bytes for the same data. tests/browser opens it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from sparkrank.base.errors import SpecError
from sparkrank.report.collect import report_data
from sparkrank.report.data import Comparisons, GateRow, ReportData
from sparkrank.report.figures import ChartKey, Figure, IntervalChart, Line, LineChart
from sparkrank.report.report_tables import ReportTables
from sparkrank.report.section import Made, ReportSection
from sparkrank.report.section_register import register, sections, unregister
from sparkrank.report.sections.slice_values import slice_figures
from sparkrank.report.sections.verdict import stopped_gates
from sparkrank.report.written_forms import report_document
from sparkrank.schemas.tables import METRICS
from tests.browser.made import gate, report
from tests.conftest import PROJECT

for package in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(package)
page = pytest.importorskip("sparkrank.report.page").page
chart = pytest.importorskip("sparkrank.report.charts").chart

SMALL = ("ndcg@10", "ap")


def test_three_models_eighteen_metrics_and_fifty_values_are_below_a_megabyte() -> None:
    text = page(report(values=[f"value {number}" for number in range(50)]))
    assert len(text.encode()) < 1_000_000
    assert text.count("<tr>") > 18 * 50


def test_the_policy_lets_in_the_style_and_the_script_of_the_page_alone() -> None:
    text = page(report(("a",), SMALL))
    (policy,) = re.findall(r'Content-Security-Policy content="(.*?)"', text)
    for tag in ("style", "script"):
        (body,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        wanted = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{wanted}&#39;" in policy
    assert "unsafe" not in policy
    assert policy.startswith("default-src &#39;none&#39;")
    assert re.findall(r"\s(?:style|on\w+)=", re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)) == []
    links = re.findall(r'(?:src|href|action)=(?:"(.*?)"|([^"\s>]+))', text)
    outside = [link for pair in links for link in pair if link and not link.startswith(("#", "data:,"))]
    assert outside == ["https://example.org/definitions.html#ndcg"] * len(SMALL)


def test_the_same_data_give_the_same_bytes_in_any_process() -> None:
    """Whatever the seed of hashes, the time, and what was drawn before."""
    script = (
        "from sparkrank.report.page import page\nfrom tests.browser.made import report\n"
        "print(page(report(('a', 'b'), ('ndcg@10',), ('x', None), days=1)), end='')"
    )
    run = [sys.executable, "-c", script]
    other = {**os.environ, "PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "PYTHONIOENCODING": "utf-8"}
    told = subprocess.run(run, env=other, cwd=PROJECT, capture_output=True, check=True).stdout
    data = report(("a", "b"), ("ndcg@10",), ("x", None), days=1)
    assert [page(data).encode() == told for _ in range(2)] == [True, True]


def test_a_section_that_is_not_there_or_in_part_leaves_a_line_that_says_what_to_ask_for() -> None:
    titles = {section.name: section.title for section in sections() if section.name != "verdict"}
    missing = {name: f"ask for {name}" for name in titles}
    text = page(ReportData("day", "2026-01-31", (), (), missing={**missing, "verdict": "write gates"}))
    assert re.findall(r"<section id=\"?(\w+)", text) == ["verdict", "missing"]
    assert "write gates" in text
    for name, why in missing.items():
        assert f"<dt>{titles[name]}</dt><dd>{why}</dd>" in text
    text = page(replace(report(("a", "b"), SMALL), missing={"calibration": "b has scores above 1"}))
    assert "Not in this report" not in text  # it is there in part, and says so where it is
    (curves,) = re.findall(r'<section id="curves".*?</section>', text, re.DOTALL)
    assert "b has scores above 1" in curves


def test_a_section_is_added_by_one_module_and_one_line() -> None:
    """It gets its place in the page, in the navigation, in JSON, among charts, and among what is missing."""

    def make(tables: ReportTables) -> Made:
        return tables.name or None, None

    def draw(data: ReportData) -> list[Figure]:
        lines = [Line(ChartKey("a"), ((0.0, 1.0), (1.0, 2.0)))]
        return [Figure("weather", "Rain", "By day.", LineChart(lines))]

    template = '{{ figures("weather") }}<p>It is {{ data.more["weather"] }}.</p>'
    register(ReportSection("weather", "Weather", make, "Look outside.", figures=draw, template=template))
    try:
        tables = ReportTables("day", "sunny", METRICS.schema.empty_table())
        data = report_data(tables)
        text = page(data)
        assert "<p>It is sunny.</p>" in text
        assert '<a href="#weather">Weather</a>' in text
        assert "Rain" in text
        assert report_document(data)["weather"] == "sunny"
        assert chart(data, "weather").to_dict()["title"]["text"] == "Rain"
        assert report_data(replace(tables, name="")).missing["weather"] == "Look outside."
    finally:
        unregister("weather")
    assert "weather" not in report_document(report_data(tables))


def test_the_verdict_says_what_each_gate_that_stops_is_about() -> None:
    """Of one gate with wildcards too: its metric, its model, and the value of the slice, which may be none."""
    first = gate("no worse", "rr", "als", "fail", "it is worse")
    subjects = (
        ("rr", "als", "all", "all"),
        ("ap", None, "all", "all"),
        ("rr", "als", "country", None),
        ("rr", "als", "country,device", r"\N,web"),
    )
    gates = tuple(replace(first, metric=m, model=model, slice=s, slice_value=value) for m, model, s, value in subjects)
    failed = report(("popularity", "als"), SMALL, state="fail")
    text = page(with_gates(failed, gates))
    (head,) = re.findall(r"<section id=verdict.*?</section>", text, re.DOTALL)
    (counted,) = re.findall(r"no worse</bdi>: (.*?)\n", head)
    assert counted == "the gate fails, in 4 of 4 checks"
    lines = [re.sub(r"<.*?>", "", line).strip() for line in re.findall(r"<li>((?:(?!<li>).)*?)</li>", head, re.DOTALL)]
    assert lines == [
        "rr, als: it is worse",
        "ap: it is worse",
        "rr, als, country = (null): it is worse",
        "rr, als, country,device = (null),web: it is worse",
    ]
    assert "the gate fails, in 13 of 13 checks; the worst are" in page(with_gates(failed, (first,) * 13))


def test_each_model_has_its_own_number_of_groups() -> None:
    data = report(("a", "b"), SMALL)
    first, second, *others = data.headline.rows
    few = replace(second, row=replace(second.row, n_groups=50, n_undefined=4))
    text = page(replace(data, headline=replace(data.headline, rows=(first, few, *others))))
    assert text.count("<small>50 groups, 4 undefined</small>") == text.count(" undefined</small>") == 1


def test_a_doubt_stands_beside_the_difference_and_in_the_verdict() -> None:
    data, doubt = report(("a", "b"), SMALL), "clear by itself; not after correction for 42 comparisons"
    first, *others = data.comparisons.rows
    unsure = replace(first, p_adjusted=0.2, doubt=doubt)
    text = page(replace(data, comparisons=replace(data.comparisons, rows=(unsure, *others))))
    (verdict,) = re.findall(r"<section id=verdict.*?</section>", text, re.DOTALL)
    (compared,) = re.findall(r'<section id="comparisons".*?</section>', text, re.DOTALL)
    assert f"({doubt})" in verdict
    assert f"<small class=why>{doubt}</small>" in compared


def test_a_comparison_has_both_ends_of_its_interval_in_order() -> None:
    data = report(("a", "b"), SMALL)
    changed = {"difference": 0.5, "ci_low": -0.25, "ci_high": 0.75}
    rows = tuple(replace(row, **changed) for row in data.comparisons.rows)
    text = page(replace(data, comparisons=replace(data.comparisons, rows=rows)))
    (compared,) = re.findall(r'<section id="comparisons".*?</section>', text, re.DOTALL)
    ends = re.findall(r'title="?-0\.25"?>[^0-9]*(0\.25\d*)</td><td title="?0\.75"?>\+(0\.75\d*)</td>', compared)
    assert ends == [("0.25000", "0.75000")] * len(rows)


def test_days_that_failed_or_were_not_evaluated_are_marked() -> None:
    data = report(("a",), SMALL, days=3)
    text = page(replace(data, trend=replace(data.trend, verdicts=("fail", "not evaluated", "pass"))))
    (trend,) = re.findall(r'<section id="trend".*?</section>', text, re.DOTALL)
    marks = re.findall(r"<p class=note><span[^>]*>(.*?)</span> <bdi>(.*?)</bdi></p>", trend)
    assert marks == [("✕ fail", data.trend.days[0]), ("! not evaluated", data.trend.days[1])]
    assert trend.count("<small>fail</small>") == len(SMALL)


def with_gates(data: ReportData, gates: tuple[GateRow, ...]) -> ReportData:
    stopped = stopped_gates(gates, list(dict.fromkeys(row.gate for row in gates)))
    return replace(data, gates=gates, verdict=replace(data.verdict, stopped=stopped))


@pytest.mark.parametrize("package", ["altair", "jinja2", "vl_convert"])
def test_what_is_not_installed_is_told_in_a_sentence(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find(name))
    with pytest.raises(SpecError, match=rf"need {package}: install them by pip install 'sparkrank\[report\]'$"):
        page(ReportData("day", "2026-01-31", (), ()))


@pytest.mark.tools
def test_twenty_models_of_thirty_metrics_and_two_hundred_values_stay_a_page() -> None:
    """Two megabytes, with thirty days of a trend."""
    metrics = [f"{name}@{k}" for name in ("ndcg", "p", "r", "hit", "ap") for k in range(1, 7)]
    models = [f"model {number}" for number in range(20)]
    data = report(models, metrics, [f"v{number}" for number in range(200)])
    first = data.slices.rows[:200]  # as many as the section makes
    data = replace(data, slices=replace(data.slices, rows=first), gates=data.gates * 11, comparisons=shown(data))
    text = page(data)
    assert len(text.encode()) < 2_000_000
    assert text.count("<figure") < 45
    assert all(f"<bdi>{name}</bdi> against" in text for name in models[1:])


def shown(data: ReportData) -> Comparisons:
    """The comparisons of the whole day, and of the slices of one metric."""
    assert data.comparisons is not None
    rows = (row for row in data.comparisons.rows if row.slice == "all" or row.metric == data.metrics[0])
    return Comparisons(data.comparisons.baseline, tuple(rows))


def test_a_chart_alone_is_wide_and_narrow_on_a_phone() -> None:
    (alone,) = re.findall(r'<section id="trend".*?</section>', page(report(("a", "b"), ("ap",))), re.DOTALL)
    assert len(re.findall(r"<div class=(?:narrow|wide)><svg", alone)) == 2
    (two,) = re.findall(r'<section id="trend".*?</section>', page(report(("a", "b"), SMALL)), re.DOTALL)
    assert "class=wide" not in two


def test_cards_have_the_best_model_and_the_baseline() -> None:
    """Whatever their place; the best of a metric of which less is better has the lowest value."""
    data = report([f"m{number}" for number in range(6)], ("ap", "logloss"))
    text = page(data)
    cards = re.findall(r"<dl class=card>.*?</dl>", text, re.DOTALL)
    cells = data.headline.cells
    for metric, card in zip(data.metrics, cards, strict=True):
        choose = min if metric == "logloss" else max
        best = choose(data.models, key=lambda model: cells[metric, model].row.value)
        assert re.findall(r"<bdi>(m\d)</bdi>", card) == list(dict.fromkeys((best, "m0")))


def test_values_come_before_counts_and_a_gate_with_its_reason() -> None:
    text = page(report(("a", "b"), SMALL, [f"v{number}" for number in range(12)], state="fail"))
    (slices,) = re.findall(r'<section id="slices".*?</section>', text, re.DOTALL)
    head = re.findall(r"<th scope=col>(?:<bdi>)?(\w+)", slices)[:5]
    assert head == ["country", "a", "b", "rows", "groups"]
    assert 'data-size="3"' in slices
    (gates,) = re.findall(r'<section id="gates".*?</section>', text, re.DOTALL)
    assert "<th scope=row class=sentence><bdi>gate b</bdi><small><bdi>b is fail</bdi></small>" in gates


def test_what_is_undefined_has_no_chart_and_no_difference() -> None:
    """No line of a slice value without a value, no chart without lines, and no "no clear difference" of nothing."""
    data = report(("old", "new"), SMALL, ("de", "fr"))
    assert data.comparisons is not None
    assert data.slices is not None
    pairs = tuple(replace(row, difference=None) if row.metric == "ap" else row for row in data.comparisons.rows)
    rows = tuple(
        replace(row, cells=tuple(replace(cell, value=None) for cell in row.cells if cell is not None))
        if row.metric == "ap" or row.slice_value == "de" else row
        for row in data.slices.rows
    )  # fmt: skip
    comparisons, slices = replace(data.comparisons, rows=pairs), replace(data.slices, rows=rows)
    data = replace(data, comparisons=comparisons, slices=slices)
    charts = [(figure.metric, figure.chart) for figure in slice_figures(data)]
    assert [(metric, isinstance(chart, IntervalChart) and len(chart.rows)) for metric, chart in charts] == [
        ("ndcg@10", 1)
    ]
    verdict = page(data).split("<section id=verdict")[1].split("</section>")[0]
    assert "ndcg@10" in verdict
    assert "<bdi>ap</bdi>" not in verdict
