"""Every number of a report is that of a table; what a table does not hold is left out, with what to ask for."""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from collections import defaultdict
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError
from sparkrank.config import load_spec
from sparkrank.jobs.report_job import report_stored
from sparkrank.report import score_bins
from sparkrank.report.collect import report_data
from sparkrank.report.data import GateRow, MetricValue, QualityRow, ReportData
from sparkrank.report.page import page
from sparkrank.report.report_tables import ReportTables
from sparkrank.report.section_register import sections
from sparkrank.report.sections import model_comparisons, roc_and_pr, slice_values
from sparkrank.report.sections.metric_definitions import link_of
from sparkrank.report.sections.trend import band_of_gate
from sparkrank.schemas import tables
from tests.support import nights
from tests.support.commands import exit_code
from tests.support.reports import (
    DAYS,
    METRICS,
    MODELS,
    all_rows,
    conf_of,
    document_of,
    of_day,
    of_window,
    rows_of,
    spec_of,
    store_metrics,
    table,
    write_log,
)

TODAY = DAYS[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days with all tables, and their window."""
    made = tmp_path_factory.mktemp("reported")
    for number, day in enumerate(DAYS):
        write_log(made, day, rows_of(number))
        assert exit_code("evaluate", "--quiet", "--conf", conf_of(made), "--date", day) == 0
    assert exit_code("merge", "--quiet", "--conf", conf_of(made), "--from", DAYS[0], "--to", TODAY) == 0
    return made


@pytest.fixture(scope="module")
def data(folder: Path) -> ReportData:
    return stored(conf_of(folder), TODAY)


def stored(conf: str, day: str) -> ReportData:
    spec = load_spec(conf)
    return report_stored(spec, of_day(spec, day))


def same(one: float | None, other: float | None) -> bool:
    """Whether two numbers have the same bits; None stands for NaN and for null."""
    undefined = [each is None or math.isnan(each) for each in (one, other)]
    return all(undefined) or one == other


def assert_is_row(value: object, row: dict[str, Any]) -> None:
    """Every field of ``value`` that is a column has the column's value."""
    for each in fields(value):
        if each.name in row:
            found, expected = getattr(value, each.name), row[each.name]
            equal = same(found, expected) if isinstance(expected, float) else found == expected
            assert equal, (each.name, found, expected)


def test_the_headline_is_the_table_metrics(folder: Path, data: ReportData) -> None:
    rows = {(row["metric"], row["model"]): row for row in all_rows(table(folder, "metrics", TODAY))}
    assert [(each.row.metric, each.row.model) for each in data.headline.rows] == [
        (metric, model) for metric in METRICS for model in MODELS
    ]
    for each in data.headline.rows:
        assert_is_row(each.row, rows[each.row.metric, each.row.model])
        assert each.row.n_days is None
    assert (data.models, data.metrics, data.baseline, data.level) == (MODELS, METRICS, "old", 0.95)


def test_the_headline_has_the_day_before_and_its_verdicts(folder: Path, data: ReportData) -> None:
    before = {(row["metric"], row["model"]): row["value"] for row in all_rows(table(folder, "metrics", DAYS[1]))}
    assert data.previous == DAYS[1]
    for each in data.headline.rows:
        assert same(each.before, before[each.row.metric, each.row.model])
        assert each.row.value is not None
        assert each.change == each.row.value - each.before
    judged = {(each.row.metric, each.row.model): [gate.gate for gate in each.verdicts] for each in data.headline.rows}
    assert judged["rr", "old"] == ["floor"]
    assert judged["auc", "old"] == ["as before"]
    assert judged["auc", "new"] == []


def test_comparisons_gates_and_quality_are_their_tables(folder: Path, data: ReportData) -> None:
    compared = table(folder, "comparisons", TODAY).to_pylist()
    assert data.comparisons.n_left_out == 0
    assert len(data.comparisons.rows) == len(compared)
    keys = ("candidate", "slice", "slice_value", "metric")
    by_key = {tuple(row[key] for key in keys): row for row in compared}
    for row in data.comparisons.rows:
        assert_is_row(row, by_key[row.candidate, row.slice, row.slice_value, row.metric])
    assert any(row.p_adjusted is not None for row in data.comparisons.rows)
    for found, name in ((data.gates, "gates"), (data.quality, "quality")):
        rows = table(folder, name, TODAY).to_pylist()
        assert len(found) == len(rows) > 0
        if name == "gates":  # what stops comes first
            order = {"fail": 0, "undecided": 1, "pass": 2}
            rows.sort(key=lambda row: order[row["verdict"]])
        for each, row in zip(found, rows, strict=True):
            assert_is_row(each, row)


def test_slices_are_the_table_metrics_by_rows(folder: Path, data: ReportData) -> None:
    rows = [row for row in table(folder, "metrics", TODAY).to_pylist() if row["slice"] != "all"]
    by_key = {(row["slice_value"], row["metric"], row["model"]): row for row in rows}
    cells = [(row, cell) for row in data.slices.rows for cell in row.cells]
    assert len(cells) == len(rows)
    for row, cell in cells:
        assert cell is not None
        assert_is_row(cell, by_key[row.slice_value, row.metric, cell.model])
    first = [row for row in data.slices.rows if row.metric == METRICS[0]]
    assert [row.slice_value for row in first] == [
        value for _, value in sorted(((-row.n_rows, row.slice_value) for row in first), key=lambda each: each[0])
    ]
    assert {row.slice_value for row in first} == {"de", "fr", None}


def test_curves_are_points_of_the_table_with_both_ends(folder: Path, data: ReportData) -> None:
    rows = all_rows(table(folder, "curves", TODAY))
    areas = {(row["metric"], row["model"]): row["value"] for row in all_rows(table(folder, "metrics", TODAY))}
    assert {(each.metric, each.model) for each in (*data.roc, *data.pr)} == {
        (metric, model) for metric in ("auc", "auc(digits=2)", "pr_auc") for model in MODELS
    }
    for curve in (*data.roc, *data.pr):
        own = [row for row in rows if (row["metric"], row["model"]) == (curve.metric, curve.model)]
        there = [(row["x"], row["y"], row["threshold"] if math.isfinite(row["threshold"]) else None) for row in own]
        points = [(point.x, point.y, point.threshold) for point in curve.points]
        assert set(points) <= set(there)
        assert points == [each for each in there if each in set(points)]
        assert (points[0], points[-1], curve.n_points) == (there[0], there[-1], len(there))
        assert len(points) <= roc_and_pr.MOST_POINTS
        assert curve.area == areas[curve.metric, curve.model]
        assert {row["curve"] for row in own} == {curve.kind}


def test_a_long_curve_is_thinned(folder: Path, monkeypatch: pytest.MonkeyPatch, data: ReportData) -> None:
    monkeypatch.setattr(roc_and_pr, "MOST_POINTS", 10)
    thin = stored(conf_of(folder), TODAY)
    for one, other in zip(thin.roc, data.roc, strict=True):
        assert len(one.points) == 10 < len(other.points)
        assert (one.points[0], one.points[-1]) == (other.points[0], other.points[-1])


def test_histograms_have_every_row_of_the_score_bins(folder: Path, data: ReportData) -> None:
    blocks = [row for row in all_rows(table(folder, "blocks", TODAY)) if row["rule"] == "bits=12"]
    assert [each.model for each in data.histograms] == list(MODELS)
    for histogram in data.histograms:
        own = [row for row in blocks if row["model"] == histogram.model]
        ends = [(each.low, each.high) for each in histogram.bins]
        assert all(one[1] == other[0] for one, other in itertools.pairwise(ends))
        for place, label in enumerate(("pos", "neg")):
            inside = sum(getattr(each, label) for each in histogram.bins)
            assert inside + histogram.below[place] + histogram.above[place] == sum(row[label] for row in own)
        for number, each in enumerate(histogram.bins):
            last = number == len(histogram.bins) - 1
            there = [row for row in own if each.low <= row["score"] < each.high or (last and row["score"] == each.high)]
            assert (each.pos, each.neg) == (sum(row["pos"] for row in there), sum(row["neg"] for row in there))
    assert len({tuple((each.low, each.high) for each in histogram.bins) for histogram in data.histograms}) == 1


def test_calibration_is_the_bins_of_ece_and_adds_up_to_it(folder: Path, data: ReportData) -> None:
    blocks = [row for row in all_rows(table(folder, "blocks", TODAY)) if row["rule"] == "bins=15"]
    values = {(row["metric"], row["model"]): row["value"] for row in all_rows(table(folder, "metrics", TODAY))}
    for each in data.calibration:
        own = [row for row in blocks if row["model"] == each.model]
        assert (each.rule, each.has_means, len(each.bins)) == ("bins=15", True, len(own))
        for found, row in zip(each.bins, own, strict=True):
            rows = row["pos"] + row["neg"]
            assert (found.pos, found.neg, found.low) == (row["pos"], row["neg"], row["score"])
            assert found.rate == row["pos"] / rows
            assert found.mean_score == row["score_sum"] / rows
        # ece by its definition: the gaps, weighted by rows
        rows = sum(each_bin.pos + each_bin.neg for each_bin in each.bins)
        gap = sum(abs(b.rate - b.mean_score) * (b.pos + b.neg) for b in each.bins if b.rate is not None)
        assert gap / rows == pytest.approx(values["ece", each.model], abs=1e-12)
        assert each.errors == tuple((metric, values[metric, each.model]) for metric in ("ece", "logloss"))


def test_the_gap_is_what_both_metrics_say(folder: Path, data: ReportData) -> None:
    values = {(row["metric"], row["model"]): row["value"] for row in all_rows(table(folder, "metrics", TODAY))}
    for each in data.auc_up:
        assert each.auc_metric == "auc(digits=2)"  # of the same bins
        assert each.auc == values["auc(digits=2)", each.model]
        assert each.auc_up == values["auc_up(digits=2)", each.model]
        assert each.gap == pytest.approx(each.auc_up - each.auc, abs=1e-12)
        blocks = [
            row for row in all_rows(table(folder, "blocks", TODAY))
            if (row["rule"], row["model"]) == ("digits=2", each.model)
        ]  # fmt: skip
        by_score = {row["score"]: row for row in blocks}
        assert each.n_bins == len(blocks)
        lost = _lost_by_pairs([(row["score"], row["pos"], row["neg"]) for row in blocks])
        assert each.n_wrong == sum(value > 1e-12 for value in lost.values())
        for worst in each.worst:
            row = by_score[worst.score]
            assert (worst.pos, worst.neg) == (row["pos"], row["neg"])
            assert worst.rate == row["pos"] / (row["pos"] + row["neg"])
            assert worst.lost == pytest.approx(lost[worst.score], abs=1e-15)
        assert [worst.lost for worst in each.worst] == sorted((worst.lost for worst in each.worst), reverse=True)
        areas = [_area(points) for points in (each.by_score, each.by_rate)]
        assert areas == [pytest.approx(each.auc, abs=1e-3), pytest.approx(each.auc_up, abs=1e-3)]


def _lost_by_pairs(bins: list[tuple[float, int, int]]) -> dict[float, float]:
    """What each bin loses, by its definition: half of every pair that stands in the wrong order, pair by pair."""
    positives, negatives = sum(each[1] for each in bins), sum(each[2] for each in bins)
    lost: dict[float, float] = defaultdict(float)
    for place, (score, pos, neg) in enumerate(bins):
        for other, above, below in bins[place + 1 :]:  # ascending: the other has the higher score
            gained = pos * below - above * neg
            if gained > 0:
                for each in (score, other):
                    lost[each] += gained / positives / negatives / 2
    return lost


def _area(points: Any) -> float:
    return float(sum((b.x - a.x) * (a.y + b.y) / 2 for a, b in itertools.pairwise(points)))


def test_distributions_are_those_of_the_group_table(folder: Path, data: ReportData) -> None:
    groups = table(folder, "groups", TODAY).to_pandas()
    assert [each.metric for each in data.distributions] == ["ndcg@5", "rr", "dcg@5"]
    for each in data.distributions:
        edges = np.array(each.edges)
        assert each.source == "groups"
        for of_model in each.models:
            values = groups.loc[groups["model"] == of_model.model, each.metric]
            expected, _ = np.histogram(values.dropna(), edges)
            assert list(of_model.counts) == expected.tolist()
            assert of_model.n_undefined == values.isna().sum()
    assert data.distributions[0].edges[:2] == (0.0, 0.05)  # ndcg is from 0 to 1
    assert data.distributions[2].edges[0] == groups["dcg@5"].min()  # dcg has no upper end


def test_paired_differences_are_those_of_the_group_table(folder: Path, data: ReportData) -> None:
    groups = table(folder, "groups", TODAY).to_pandas()
    old, new = (groups[groups["model"] == model].set_index("user") for model in MODELS)
    for each in data.paired:
        difference = (new[each.metric] - old[each.metric]).dropna()
        differing = difference[difference.abs() > 1e-9]
        assert (each.candidate, each.baseline) == ("new", "old")
        assert list(each.counts) == np.histogram(differing, np.array(each.edges))[0].tolist()
        assert each.n_equal == len(difference) - len(differing)
        assert each.edges[0] == -each.edges[-1] == -difference.abs().max()
        if each.comparison is not None:
            found = each.comparison
            assert (found.ties, found.wins + found.losses) == (each.n_equal, sum(each.counts))
    assert [each.metric for each in data.paired] == ["ndcg@5", "rr", "dcg@5"]


def test_a_group_is_of_one_model_alone_where_the_other_is_undefined() -> None:
    """Of gauc: a has both classes in each list, b in the list of new alone, c in that of old alone, d in none."""
    log = pa.table(
        {
            "user": [user for user in "abcd" for _ in range(2)],
            "click": [1, 0, 1, 0, 1, 0, 1, 0],
            "old": [0.9, 0.1, 0.9, None, 0.9, 0.1, 0.9, None],
            "new": [0.1, 0.9, 0.9, 0.1, 0.9, None, 0.9, None],
        }
    )
    asked = {"group": "user", "label": "click", "score": {"old": "old", "new": "new"}, "compare": "old"}
    (found,) = sr.evaluate(log, ["gauc"], **asked).report().paired
    assert (sum(found.counts), found.n_equal, found.n_unpaired) == (1, 0, 2)


def test_provenance_and_definitions_are_of_the_tables(folder: Path, data: ReportData) -> None:
    run = table(folder, "runs", TODAY).to_pylist()[0]
    found = data.provenance
    for name in ("run_id", "attempt_id", "status", "lane", "lane_reason", "input", "rows", "buckets", "spec_hash"):
        assert getattr(found, name) == run[name]
    assert found.started_at == run["started_at"].isoformat(timespec="seconds").replace("+00:00", "Z")
    assert json.loads(found.spec or "") == json.loads(run["spec"])
    assert dict(found.stages) == json.loads(run["stages"])
    assert dict(found.versions)["sparkrank"] == sr.__version__
    assert not re.search(r"[{}\"]|null", " ".join(text for _, text in found.versions))  # words, no JSON
    assert [(file.table, file.name, file.checksum) for file in found.files] == [
        (file["table"], file["name"], file["checksum"]) for file in run["files"]
    ]
    texts = {row["metric"]: row["definition"] for row in table(folder, "metrics", TODAY).to_pylist()}
    assert {each.metric: each.definition for each in data.definitions} == texts
    ndcg = data.definitions[0]
    assert (ndcg.metric, ndcg.higher_is_better) == ("ndcg@5", True)
    assert ndcg.link is not None
    assert ndcg.link.endswith("docs/definitions.md#ndcg-ndcgk")


def test_every_link_to_a_definition_leads_somewhere() -> None:

    from sparkrank.metrics import CATALOG
    from tests.project.test_pages import DOCS, anchors

    there = anchors((DOCS / "definitions.md").read_text(encoding="utf-8"))
    links = {declaration.name: link_of(declaration) for declaration in CATALOG.values()}
    assert {name for name, link in links.items() if link is not None and link.partition("#")[2] not in there} == set()
    assert links["ndcg"] is not None


def test_the_trend_has_each_stored_day_with_its_band(folder: Path, data: ReportData) -> None:
    assert data.trend.days == DAYS
    values = {
        day: {(row["metric"], row["model"]): row for row in all_rows(table(folder, "metrics", day))} for day in DAYS
    }
    for series in data.trend.series:
        for point in series.points:
            row = values[point.day][series.metric, series.model]
            assert point.state == "value"
            assert all(same(getattr(point, name), row[name]) for name in ("value", "ci_low", "ci_high"))
    auc = next(each for each in data.trend.series if (each.metric, each.model) == ("auc", "old"))
    gates = {row["gate"]: row for row in table(folder, "gates", TODAY).to_pylist()}
    judged = gates["as before"]
    assert [point.band_low is None for point in auc.points] == [True, True, False]  # two days are needed before
    assert [point.verdict for point in auc.points] == ["undecided", "undecided", "pass"]
    assert judged["bound"] in (auc.points[-1].band_low, auc.points[-1].band_high)
    assert auc.points[-1].band_low < auc.points[-1].band_high


def test_bands_are_read_off_the_table() -> None:
    row = GateRow(gate="g", kind="history", metric="auc", verdict="pass")
    for against, bound, band in (
        ("median 0.5 of 7 days, band 0.4 to 0.6", 0.4000001, (0.4000001, 0.6)),
        ("median 0.5 of 7 days, band 0.4 to 0.6", 0.6000001, (0.4, 0.6000001)),
        ("median -1e-05 of 2 days, band -2.5e-05 to 5e-06", -2.5e-05, (-2.5e-05, 5e-06)),
        (None, None, None),
        ("production 0.4", 0.1, None),
        ("band x to y", 0.1, None),
    ):
        gate = replace(row, against=against, bound=bound)
        assert band_of_gate(gate) == band, against
        assert band_of_gate(replace(gate, kind="min")) is None


def test_the_same_tables_make_equal_data(folder: Path, data: ReportData) -> None:
    assert stored(conf_of(folder), TODAY) == data
    assert data.missing == {}
    assert stored(conf_of(folder), DAYS[1]) != data


def test_nothing_in_it_is_of_arrow_or_undefined(data: ReportData) -> None:
    def walk(value: Any, path: str) -> None:
        if isinstance(value, tuple):
            for each in value:
                walk(each, path)
        elif isinstance(value, dict):
            walk(tuple(value.items()), path)
        elif type(value).__module__ == "sparkrank.report.data":
            for each in fields(value):
                walk(getattr(value, each.name), f"{path}.{each.name}")
        else:
            assert value is None or type(value) in (str, int, float, bool), (path, type(value))
            assert not isinstance(value, float) or math.isfinite(value), path

    walk(data, "data")


def test_a_window_has_its_own_tables_and_the_trend_of_its_days(folder: Path) -> None:
    spec = spec_of(folder)
    data = report_stored(spec, of_window(spec, DAYS[0], TODAY))
    rows = pq.read_table(folder / f"out/windows/metrics/window={DAYS[0]}..{TODAY}", partitioning=None)
    by_key = {(row["metric"], row["model"]): row for row in all_rows(rows)}
    assert (data.kind, data.name) == ("window", f"{DAYS[0]}..{TODAY}")
    for each in data.headline.rows:
        assert_is_row(each.row, by_key[each.row.metric, each.row.model])
        assert each.row.n_days == 3
    assert data.trend.days == DAYS
    assert data.provenance.days == DAYS
    assert [(each.metric, each.source) for each in data.distributions] == [("rr", "distributions")]
    of_rr = data.distributions[0].models[0]
    assert sum(of_rr.counts) + of_rr.n_undefined == data.headline.rows[0].row.n_groups
    assert set(data.missing) == {"paired"}
    assert "A window has no group table" in data.missing["paired"]
    assert {row.verdict for row in data.gates} <= {"pass", "undecided"}


def test_a_window_that_is_not_merged_has_a_trend_and_says_what_to_run(folder: Path) -> None:
    spec = spec_of(folder)
    data = report_stored(spec, of_window(spec, DAYS[0], DAYS[1]))
    assert data.headline is None
    assert data.missing["headline"] == f"The window is not merged: run sparkrank merge --from {DAYS[0]} --to {DAYS[1]}."
    assert (data.trend.days, data.models, data.metrics) == (DAYS[:2], MODELS, METRICS)
    assert set(data.missing) == {section.name for section in sections()} - {"trend"}


def test_without_tables_there_is_no_report(folder: Path) -> None:
    spec = spec_of(folder)
    for target in (of_day(spec, "2025-01-01"), of_window(spec, "2025-01-01", "2025-01-02")):
        with pytest.raises(InputError, match=r"2025-01-01.* has tables under|2025-01-01 has no tables under"):
            report_stored(spec, target)


BARE = {"metrics": ["rr"], "slices": [], "output": {"blocks": False, "curves": False, "groups": False}}
ASKED = {
    "verdict": "gates:", "trend": "second", "comparisons": "score column", "slices": "slices:", "roc": "metric auc",
    "pr": "pr_auc", "calibration": "ece", "histograms": "output.blocks", "auc_up": "auc_up",
    "distributions": "output.groups", "paired": "score column", "gates": "gates:",
}  # fmt: skip


def test_each_section_that_is_missing_says_what_to_ask_for(tmp_path: Path) -> None:
    write_log(tmp_path, TODAY, rows_of(0).select(["user", "old", "click"]))
    document = document_of(tmp_path, **BARE)
    document["output"] = {**BARE["output"], "path": f"{tmp_path}/out"}
    document["input"]["columns"]["score"] = "old"
    for name in ("compare", "gates", "history"):
        del document[name]
    conf = tmp_path / "bare.yaml"
    conf.write_text(json.dumps(document), encoding="utf-8")
    assert exit_code("evaluate", "--quiet", "--conf", str(conf), "--date", TODAY) == 0
    data = stored(str(conf), TODAY)
    assert set(data.missing) == set(ASKED)
    for name, words in ASKED.items():
        assert words in data.missing[name]
        assert data.missing[name].endswith(".")
    assert data.quality
    # what is asked for in the last run of a window or an evaluation is told in its own words
    told = sr.evaluate(rows_of(0), ["rr"], group="user", score="old", label="click", group_table=False).report()
    assert "curve_points" in told.missing["roc"]
    assert "group_table=True" in told.missing["distributions"]
    assert set(told.missing) == set(ASKED)


def test_scores_that_are_no_probabilities_have_no_calibration(tmp_path: Path) -> None:
    rows = rows_of(0)
    rows = rows.set_column(1, "old", pa.array(rows["old"].to_numpy() * 9 - 3))
    ev = sr.evaluate(rows, ["auc", "ece"], group="user", score={"old": "old", "new": "new"}, label="click")
    data = ev.report()
    assert [each.model for each in data.calibration] == ["new"]
    assert [each.model for each in data.histograms] == ["old", "new"]
    alone = sr.evaluate(rows, ["auc", "ece"], group="user", score="old", label="click").report()
    assert alone.calibration == ()
    assert "no probabilities" in alone.missing["calibration"]


def test_scores_without_bins_of_their_own_are_calibrated_by_equal_shares() -> None:
    """Click rates of a per cent or less would all stand in one bin of equal width."""
    draw = np.random.default_rng(0)
    score = draw.random(3000) / 100
    rows = pa.table({"user": draw.integers(0, 50, 3000), "score": score, "click": (draw.random(3000) < score) * 1})
    data = sr.evaluate(rows, ["auc"], group="user", score="score", label="click").report()
    (found,) = data.calibration
    assert found.rule == "bits=12"
    assert len(found.bins) == 15
    assert sum(each.pos + each.neg for each in found.bins) == 3000
    assert sum(each.pos for each in found.bins) == rows["click"].to_numpy().sum()
    means = [each.mean_score for each in found.bins]
    assert means == sorted(means)
    assert all(150 <= each.pos + each.neg <= 250 for each in found.bins)
    total = sum(each.mean_score * (each.pos + each.neg) for each in found.bins)
    assert total == pytest.approx(score.sum(), rel=1e-9 if found.has_means else 1e-3)


# A day that an older version wrote, or another program: fewer columns, and no other table than metrics.
OLD_COLUMNS = ("model", "slice", "slice_value", "metric", "value", "n_groups", "run_id")


def test_a_day_of_an_older_version_is_reported_by_what_it_has(tmp_path: Path) -> None:
    conf = nights.conf_of(tmp_path, [])
    for day, value in (("2026-01-30", 0.4), ("2026-01-31", 0.5)):
        rows = [nights.metric(value), nights.metric(value / 2, slice="country", slice_value="de")]
        nights.store(tmp_path, day, rows)
    older = tmp_path / "tables/metrics/day=2026-01-31"
    file = next(older.iterdir())
    kept = pq.read_table(file, partitioning=None).select(OLD_COLUMNS)
    store_metrics(tmp_path, "2026-01-31", kept)
    data = stored(conf, "2026-01-31")
    (row,) = data.headline.rows
    assert row.row == MetricValue("production", "all", "all", "ndcg@10", 0.5)
    assert data.level is None
    assert [each.slice_value for each in data.slices.rows] == ["de"]
    assert [point.value for point in data.trend.series[0].points] == [0.4, 0.5]
    assert data.definitions[0].definition is None
    assert {"verdict", "comparisons", "quality", "calibration", "distributions"} <= set(data.missing)
    assert data.provenance.lane is None


def test_an_empty_and_a_failed_day(tmp_path: Path) -> None:
    """Nothing is defined on the first; on the second a gate fails, and a person lets it in."""
    conf = nights.conf_of(tmp_path, [{"metric": "ndcg@10", "model": "production", "min": 0.9}])
    nothing = {"n_groups": 0, "n_undefined": 0, "n_rows": 0, "weight": 0.0}
    nights.store(tmp_path, "2026-01-30", [nights.metric(math.nan, **nothing)])
    nights.store(tmp_path, "2026-01-31", [nights.metric(0.5, 0.1)])
    assert exit_code("accept", "--quiet", "--conf", conf, "--date", "2026-01-31", "--reason", "a <b>holiday</b>") == 0
    empty = stored(conf, "2026-01-30")
    assert empty.headline.rows[0].row.value is None
    assert empty.headline.rows[0].row.n_groups == 0
    failed = stored(conf, "2026-01-31")
    verdict = failed.verdict
    assert (verdict.state, verdict.n_fail, verdict.is_accepted) == ("fail", 1, True)
    assert verdict.accepted_reason == "a <b>holiday</b>"
    assert verdict.sentence == "The gate fails, and a person has let it in."
    states = [(point.state, point.verdict, point.is_accepted) for point in failed.trend.series[0].points]
    assert states == [("undefined", None, False), ("value", "fail", True)]
    assert failed.trend.series[0].points[-1].accepted_reason == "a <b>holiday</b>"
    assert (failed.headline.rows[0].before, failed.headline.rows[0].change) == (None, None)
    assert failed.headline.rows[0].verdicts[0].verdict == "fail"


def test_days_that_are_missing_or_cannot_be_read_are_said_in_the_trend(tmp_path: Path) -> None:
    conf = nights.conf_of(tmp_path, [])
    for day in ("2026-01-26", "2026-01-28", "2026-01-29", "2026-01-30", "2026-01-31"):
        rows = [nights.metric(0.4), nights.metric(0.6, model="candidate")]
        if day == "2026-01-28":
            rows = rows[:1]
        if day == "2026-01-30":
            rows[0]["definition"] = "otherwise"
        nights.store(tmp_path, day, rows)
    file = next((tmp_path / "tables/metrics/day=2026-01-29").iterdir())
    file.write_bytes(b"no Parquet")
    data = stored(conf, "2026-01-31")
    assert data.trend.days == tuple(f"2026-01-{day}" for day in range(26, 32))
    by_model = {each.model: each.points for each in data.trend.series}
    assert [point.state for point in by_model["candidate"]] == [
        "value", "missing", "absent", "unreadable", "value", "value",
    ]  # fmt: skip
    assert "2026-01-29" in (by_model["production"][3].told or "")
    assert [point.is_same_definition for point in by_model["production"]] == [True, True, True, True, False, True]
    # nothing is said of a change where the definition is another
    assert data.previous == "2026-01-30"
    assert [each.before for each in data.headline.rows] == [None, 0.6]


def test_a_new_beginning_of_a_history_is_marked_in_the_trend(tmp_path: Path) -> None:
    conf = nights.conf_of(tmp_path, [{"metric": "ndcg@10", "not_worse_than": "history"}])
    for day in ("2026-01-29", "2026-01-30", "2026-01-31"):
        nights.store(tmp_path, day, [nights.metric(0.4), nights.metric(0.4, model="candidate")])
    words = ("--date", "2026-01-30", "--reason", "a new ranker", "--from-now-on", "--model", "candidate")
    assert exit_code("accept", "--conf", conf, *words) == 0
    data = stored(conf, "2026-01-31")
    anew = {each.model: [point.begins_anew for point in each.points] for each in data.trend.series}
    assert anew == {"production": [False] * 3, "candidate": [False, True, False]}
    assert page(data).count("<small>history begins anew</small>") == 1


MANY_MODELS = tuple(f"model {number:02}" for number in range(20))
MANY_VALUES = 1000


def test_a_table_of_the_day_that_cannot_be_read_is_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each table that a report reads: one sentence with the table and exit code 4, and nothing is written."""
    write_log(tmp_path, TODAY, rows_of(1, 200))
    conf = ["--conf", conf_of(tmp_path), "--date", TODAY]
    assert exit_code("evaluate", "--quiet", *conf) == 0
    for name in ("metrics", "comparisons", "gates", "curves", "blocks", "groups", "quality", "runs"):
        (file,) = (tmp_path / "out" / name / f"day={TODAY}").resolve().glob("*.parquet")
        whole = file.read_bytes()
        file.write_bytes(b"PAR1" + whole[4 : len(whole) // 2])
        capsys.readouterr()
        assert exit_code("report", *conf, "--out", str(tmp_path / "report.json")) == 4, name
        told = capsys.readouterr().err
        assert name.removesuffix("s") in told
        assert not re.search(r"\b(\w+ \w+) the \1\b|\b(the [\w ]+ table) \2\b", told), told
        assert not (tmp_path / "report.json").exists()
        file.write_bytes(whole)
    assert exit_code("report", *conf, "--out", str(tmp_path / "report.json")) == 0


def test_many_models_and_values_stay_quick_and_bounded(tmp_path: Path) -> None:
    conf = nights.conf_of(tmp_path, [])
    metrics = ["ndcg@10", "logloss", "copc"]
    cells = list(itertools.product(MANY_MODELS, range(MANY_VALUES), metrics))
    models, values, names = zip(*cells, strict=True)
    count, run_id = len(cells), "2026-01-31-0123456789ab"
    own = {
        "model": models,
        "slice": ["country"] * count,
        "slice_value": [f"v{value}" for value in values],
        "metric": names,
        "value": [0.25] * count,
        "n_rows": [10 * (MANY_VALUES - value) for value in values],
        "run_id": [run_id] * count,
    }
    pairs = itertools.product(MANY_MODELS, metrics)
    whole = [nights.metric(0.5, model=model, metric=metric, run_id=run_id) for model, metric in pairs]
    schema = tables.METRICS.schema
    columns = [pa.array(own.get(field.name, [None] * count), field.type) for field in schema]
    sliced = pa.Table.from_arrays(columns, schema=schema)
    store_metrics(tmp_path, "2026-01-31", pa.concat_tables([pa.Table.from_pylist(whole, schema), sliced]))
    started = time.process_time()
    data = stored(conf, "2026-01-31")
    assert time.process_time() - started < 5
    assert data.slices.metrics == ("ndcg@10",)
    assert sum(len(row.cells) for row in data.slices.rows) == slice_values.MOST_CELLS
    assert data.slices.n_left_out == count - slice_values.MOST_CELLS
    assert [row.slice_value for row in data.slices.rows[:3]] == ["v0", "v1", "v2"]  # the most rows first
    assert len(data.headline.rows) == 60


def test_values_with_the_most_rows_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_values, "MOST_CELLS", 4)
    monkeypatch.setattr(model_comparisons, "MOST_CELLS", 4)
    data = stored(conf_of(folder), TODAY)
    whole = {row["slice_value"]: row["n_rows"] for row in table(folder, "metrics", TODAY).to_pylist()
             if (row["slice"], row["metric"], row["model"]) == ("country", METRICS[0], "old")}  # fmt: skip
    kept = sorted(whole, key=lambda value: -whole[value])[:2]
    assert [row.slice_value for row in data.slices.rows] == kept
    assert data.slices.n_left_out == 3 * 2 * len(METRICS) - 4
    assert data.comparisons.n_left_out == 3 * len(METRICS) - 3


def test_exact_bins_beyond_what_is_held_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_bins, "MOST_BINS", 200)
    rows = rows_of(0)
    ev = sr.evaluate(rows, ["auc(exact)", "auc_up(exact)"], group="user", score="old", label="click")
    data = ev.report()
    (histogram,) = data.histograms
    total = sum(each.pos + each.neg for each in histogram.bins) + sum(histogram.below) + sum(histogram.above)
    assert total == rows.num_rows
    assert data.auc_up == ()
    assert "too many score bins" in data.missing["auc_up"]


def test_weights_are_what_bins_hold() -> None:
    draw = np.random.default_rng(5)
    rows = rows_of(0).append_column("w", pa.array(draw.integers(1, 4, 1500) / 2))
    ev = sr.evaluate(
        rows, ["auc(digits=2)", "auc_up(digits=2)", "ece"], group="user", score="old", label="click", weight="w"
    )
    data = ev.report()
    (histogram,) = data.histograms
    weights = rows["w"].to_numpy()
    of_positives = weights[rows["click"].to_numpy() > 0].sum()
    inside = sum(each.pos for each in histogram.bins) + histogram.below[0] + histogram.above[0]
    assert inside == pytest.approx(of_positives, abs=1e-9)
    (order,) = data.auc_up
    assert order.gap == pytest.approx(order.auc_up - order.auc, abs=1e-12)


def test_auc_up_joins_bins_by_min_rows() -> None:
    rows = rows_of(0)
    metrics = ["auc(digits=2)", "auc_up(digits=2,min_rows=100)"]
    data = sr.evaluate(rows, metrics, group="user", score="old", label="click").report()
    (order,) = data.auc_up
    # by hand: rows by rounded score from the highest down, joined until there are 100
    scores, clicks = np.round(rows["old"].to_numpy(), 2), rows["click"].to_numpy()
    bins: list[list[int]] = []
    for score in sorted(set(scores), reverse=True):
        own = clicks[scores == score]
        if bins and sum(bins[-1]) < 100:
            bins[-1] = [bins[-1][0] + int(own.sum()), bins[-1][1] + int((1 - own).sum())]
        else:
            bins.append([int(own.sum()), int((1 - own).sum())])
    if sum(bins[-1]) < 100:
        last = bins.pop()
        bins[-1] = [one + other for one, other in zip(bins[-1], last, strict=True)]
    assert order.n_bins == len(bins)
    positives, negatives = sum(each[0] for each in bins), sum(each[1] for each in bins)

    def area(ordered: list[list[int]]) -> float:
        total, taken = 0.0, 0
        for pos, neg in ordered:
            total += neg * (taken + pos / 2)
            taken += pos
        return total / positives / negatives

    best = sorted(bins, key=lambda each: -each[0] / (each[0] + each[1]))
    assert order.auc_up == pytest.approx(area(best), abs=1e-12)
    assert order.gap == pytest.approx(area(best) - area(bins), abs=1e-12)


def test_quality_without_codes_is_read() -> None:
    """Tables of older releases have no such column."""
    ev = sr.evaluate(rows_of(0, 4), ["auc"], score="old", label="click")
    given = ReportTables("day", "2026-01-31", ev.table, quality=ev.quality.drop_columns(["code"]))
    assert report_data(given).quality[0] == QualityRow("rows read", None, 4.0)
