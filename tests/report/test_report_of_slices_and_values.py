"""Sections of few reports: how far apart slices are, what values of a column get, and rates by position."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.report.charts import chart as chart_of
from sparkrank.report.charts import figures
from sparkrank.report.data import ReportData
from sparkrank.report.figures import IntervalChart, LineChart
from tests.support.commands import exit_code, write_spec

page = pytest.importorskip("sparkrank.report.page").page

# rr is 1 in de and 1/2 in no. Both lists show p first, which has half of what is relevant.
LOG = pa.table(
    {
        "user": ["a", "a", "b", "b"],
        "item": ["x", "y", "x", "y"],
        "score": [2.0, 1.0, 2.0, 1.0],
        "label": [1, 0, 0, 1],
        "country": ["de", "de", "no", "no"],
        "brand": ["p", "q", "p", "q"],
    }
)
ROLES: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
METRICS = ["rr", "exposure_gap(by=brand)@1"]
SLICED: dict[str, Any] = {"slices": ["country"], "disparities": ["country"]}
POSITIONS = [(1, 2, 1.0), (2, 2, 1.0)]  # of both lists, one of which has its relevant row first


def validate_sections(data: ReportData) -> None:
    (apart,) = (row for row in data.more["disparities"] if row.metric == "rr")
    assert (apart.slice, apart.lowest, apart.highest, apart.difference, apart.ratio) == (
        "country",
        "no",
        "de",
        0.5,
        0.5,
    )
    shown = [(row.value, row.exposure, row.due, row.ratio) for row in data.more["exposures"]]
    assert shown == [("p", 1.0, 0.5, 2.0), ("q", 0.0, 0.5, 0.0)]
    chart = next(figure.chart for figure in figures(data, "disparities") if figure.metric == "rr")
    assert isinstance(chart, IntervalChart)
    assert [(row.label, [mark.value for mark in row.intervals]) for row in chart.rows] == [("country", [0.5])]
    (figure,) = figures(data, "exposures")
    assert isinstance(figure.chart, IntervalChart)
    assert [(row.label, row.intervals[0].value) for row in figure.chart.rows] == [("p", 2.0), ("q", 0.0)]
    assert [(row.position, row.rows, row.relevant) for row in data.more["positions"]] == POSITIONS
    (figure,) = figures(data, "positions")
    assert isinstance(figure.chart, LineChart)
    assert [line.points for line in figure.chart.lines] == [((1, 0.5), (2, 0.5))]
    for name in ("disparities", "exposures", "positions"):
        assert chart_of(data, name).to_dict(validate=True)["title"]["text"]
    text = page(data)
    for name, cells in (
        ("disparities", ("country", "rr", "0.5000")),
        ("exposures", (">p<", "2.0000")),
        ("positions", ("50.0000%",)),
    ):
        (section,) = re.findall(rf"<section id=\"?{name}.*?</section>", text, re.DOTALL)
        assert all(cell in section for cell in cells)


def test_an_evaluation_has_these_sections_only_where_they_are_asked_for() -> None:
    validate_sections(sr.evaluate(LOG, METRICS, position_depth=2, **SLICED, **ROLES).report())
    missing = sr.evaluate(LOG, ["rr"], **ROLES).report().missing
    assert missing["disparities"].endswith("ask for disparities=[COLUMN].")
    assert missing["exposures"].endswith("ask for the metric exposure_gap(by=COLUMN)@10.")
    assert missing["positions"].endswith("ask for position_depth=50.")


def test_the_report_of_a_stored_day_has_these_sections(tmp_path: Path) -> None:
    pq.write_table(LOG, tmp_path / "log.parquet")
    document = {
        "input": {"path": f"{tmp_path}/log.parquet", "columns": ROLES},
        "metrics": METRICS,
        **SLICED,
        "output": {"path": f"{tmp_path}/tables", "positions": 2},
        "engine": {"lane": "local"},
    }
    conf = ("--conf", write_spec(tmp_path, document), "--date", "2026-11-19")
    assert exit_code("evaluate", *conf) == 0
    assert exit_code("report", *conf, "--out", f"{tmp_path}/day.html") == 0
    text = (tmp_path / "day.html").read_text(encoding="utf-8")
    assert {"disparities", "exposures", "positions"} <= set(re.findall(r"<section id=\"?(\w+)", text))
