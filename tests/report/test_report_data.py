"""Every number of a report is that of a table; what a table does not hold is left out, with what to ask for."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError
from sparkrank.metrics import CATALOG
from sparkrank.report import score_bins
from sparkrank.report.charts import figures
from sparkrank.report.data import BestPoint, GateRow, MetricValue, Point, ReportData
from sparkrank.report.page import page
from sparkrank.report.section_register import sections
from sparkrank.report.sections import model_comparisons, roc_and_pr, slice_values
from sparkrank.report.sections.metric_definitions import link_of
from sparkrank.report.sections.trend import band_of_gate
from tests.project.test_pages import DOCS, anchors
from tests.support import nights
from tests.support.commands import exit_code
from tests.support.reports import (
    DAYS,
    METRICS,
    MODELS,
    all_rows,
    conf_of,
    document_of,
    rows_of,
    store_metrics,
    stored,
    table,
    write_log,
)
from tests.support.stored_files import list_again, one_file

TODAY = DAYS[-1]
ONE_MODEL = {"group": "user", "score": "old", "label": "click"}


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


def by_key(rows: pa.Table) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows over the whole day, by metric and model."""
    return {(row["metric"], row["model"]): row for row in all_rows(rows)}


def blocks_of(folder: Path, rule: str, model: str) -> list[dict[str, Any]]:
    return [row for row in all_rows(table(folder, "blocks", TODAY)) if (row["rule"], row["model"]) == (rule, model)]


def without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def assert_is_row(value: object, row: dict[str, Any]) -> None:
    """Every field of ``value`` that is a column has the column's value, with None for NaN."""
    own = {field.name: getattr(value, field.name) for field in fields(value) if field.name in row}
    assert own == {name: without_nan(row[name]) for name in own}


# The rows of a section that are those of a table, and the columns that tell them apart.
ROWS = {
    "metrics": (
        lambda data: [
            *(line.row for line in data.headline.rows), *(cell for row in data.slices.rows for cell in row.cells)
        ],
        ("metric", "model", "slice", "slice_value"),
    ),
    "comparisons": (lambda data: data.comparisons.rows, ("candidate", "metric", "slice", "slice_value")),
    "gates": (lambda data: data.gates, ("gate", "kind", "metric", "model")),
    "quality": (lambda data: data.quality, ("check", "model")),
}  # fmt: skip


def test_rows_are_those_of_the_tables(folder: Path, data: ReportData) -> None:
    for name, (section, keys) in ROWS.items():
        rows = {tuple(row[key] for key in keys): row for row in table(folder, name, TODAY).to_pylist()}
        assert len(section(data)) == len(rows) > 0, name
        for value in section(data):
            assert_is_row(value, rows[tuple(getattr(value, key) for key in keys)])
    assert data.comparisons.n_left_out == 0
    assert any(row.p_adjusted is not None for row in data.comparisons.rows)


def test_rows_are_in_order_with_the_day_before_and_verdicts(folder: Path, data: ReportData) -> None:
    before, lines = by_key(table(folder, "metrics", DAYS[1])), data.headline.rows
    assert (data.models, data.metrics, data.baseline, data.level) == (MODELS, METRICS, "old", 0.95)
    assert list(data.headline.cells) == [(metric, model) for metric in METRICS for model in MODELS]
    assert data.previous == DAYS[1]
    for (metric, model), line in data.headline.cells.items():
        value = before[metric, model]["value"]
        assert (line.before, line.change) == (value, line.row.value - value)
    judged = {(line.row.metric, line.row.model): [gate.gate for gate in line.verdicts] for line in lines}
    assert [judged[key] for key in (("rr", "old"), ("auc", "old"), ("auc", "new"))] == [["floor"], ["as before"], []]
    order = [("fail", "undecided", "pass").index(gate.verdict) for gate in data.gates]  # what stops comes first
    assert order == sorted(order)
    first = [row for row in data.slices.rows if row.metric == METRICS[0]]
    worst = {
        row.slice_value: row.difference / row.stderr
        for row in data.comparisons.rows
        if (row.slice, row.metric) == ("country", METRICS[0])
    }
    assert [row.slice_value for row in first] == sorted(worst, key=worst.__getitem__)  # the worst come first
    assert {row.slice_value for row in first} == {"de", "fr", None}


def test_curves_are_points_of_the_table_with_both_ends(folder: Path, data: ReportData) -> None:
    rows, values = all_rows(table(folder, "curves", TODAY)), by_key(table(folder, "metrics", TODAY))
    assert {(curve.metric, curve.model) for curve in (*data.roc, *data.pr)} == {
        (metric, model) for metric in ("auc", "auc(digits=2)", "pr_auc") for model in MODELS
    }
    for curve in (*data.roc, *data.pr):
        own = [row for row in rows if (row["metric"], row["model"]) == (curve.metric, curve.model)]
        there = [(row["x"], row["y"], row["threshold"] if math.isfinite(row["threshold"]) else None) for row in own]
        points = [(point.x, point.y, point.threshold) for point in curve.points]
        assert points == [point for point in there if point in set(points)]
        assert (points[0], points[-1], curve.n_points) == (there[0], there[-1], len(there))
        assert len(points) <= roc_and_pr.MOST_POINTS
        assert curve.area == values[curve.metric, curve.model]["value"]
        assert {row["curve"] for row in own} == {curve.kind}


def test_thresholds_stand_beside_the_curves_and_on_the_page() -> None:
    """Two clicks, a miss and a click; then the miss above the click."""
    rows = pa.table({"user": [1] * 4, "old": [0.9375, 0.875, 0.75, 0.5], "click": [1, 1, 0, 1]})
    asked = {**ONE_MODEL, "curve_points": 10}
    made = sr.evaluate(rows, ["pr_auc", "recall(at_precision=0.8)", "auc"], **asked).report()
    assert [curve.metric for curve in (*made.roc, *made.pr)] == ["auc", "pr_auc"]
    best = BestPoint("pr", "old", "recall_at_precision(precision=0.8)", Point(2 / 3, 1, 0.875))
    assert made.more["operating_points"] == (best,)
    (shown,) = re.findall(r"<h3 id=operating-points>.*?</table>", page(made), re.DOTALL)
    assert "0.875" in shown
    assert "recall 0.6667, precision 1.0000" in shown
    made = sr.evaluate(rows.slice(2), ["tpr(at_fpr=0)"], **asked).report()
    assert made.more["operating_points"] == (BestPoint("roc", "old", "tpr_at_fpr(fpr=0)", Point(0, 0, None)),)
    assert "above all scores" in page(made)


def test_points_and_cells_are_bounded(folder: Path, data: ReportData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of a curve stay, and of slices the values with the most rows."""
    monkeypatch.setattr(roc_and_pr, "MOST_POINTS", 10)
    monkeypatch.setattr(slice_values, "MOST_CELLS", 4)
    monkeypatch.setattr(model_comparisons, "MOST_CELLS", 4)
    few = stored(conf_of(folder), TODAY)
    for one, other in zip(few.roc, data.roc, strict=True):
        assert len(one.points) == 10 < len(other.points)
        assert (one.points[0], one.points[-1]) == (other.points[0], other.points[-1])
    largest = sorted(data.slices.rows[:3], key=lambda row: -row.n_rows)[:2]
    assert {row.slice_value for row in few.slices.rows} == {row.slice_value for row in largest}
    assert few.slices.n_left_out == 3 * 2 * len(METRICS) - 4
    assert few.comparisons.n_left_out == 3 * len(METRICS) - 3


def test_histograms_have_every_row_of_the_score_bins(folder: Path, data: ReportData) -> None:
    assert [histogram.model for histogram in data.histograms] == list(MODELS)
    for histogram in data.histograms:
        own, bins = blocks_of(folder, "bits=12", histogram.model), histogram.bins
        assert all(one.high == other.low for one, other in itertools.pairwise(bins))
        for place, label in enumerate(("pos", "neg")):
            inside = sum(getattr(each_bin, label) for each_bin in bins)
            assert inside + histogram.below[place] + histogram.above[place] == sum(row[label] for row in own)
        for score_bin in bins:
            is_last = score_bin is bins[-1]
            there = [row for row in own if score_bin.low <= row["score"] < score_bin.high + is_last * 1e-9]
            assert (score_bin.pos, score_bin.neg) == (
                sum(row["pos"] for row in there),
                sum(row["neg"] for row in there),
            )
    assert len({tuple((one.low, one.high) for one in histogram.bins) for histogram in data.histograms}) == 1


def test_calibration_is_the_bins_of_ece_and_adds_up_to_it(folder: Path, data: ReportData) -> None:
    values = by_key(table(folder, "metrics", TODAY))
    for one in data.calibration:
        own = blocks_of(folder, "bins=15", one.model)
        assert (one.rule, one.has_means) == ("bins=15", True)
        assert [(b.pos, b.neg, b.low, b.rate, b.mean_score) for b in one.bins] == [
            (row["pos"], row["neg"], row["score"], row["pos"] / rows, row["score_sum"] / rows)
            for row in own
            for rows in [row["pos"] + row["neg"]]
        ]
        # ece by its definition: the gaps, weighted by rows
        gap = sum(abs(b.rate - b.mean_score) * (b.pos + b.neg) for b in one.bins if b.rate is not None)
        rows = sum(b.pos + b.neg for b in one.bins)
        assert gap / rows == pytest.approx(values["ece", one.model]["value"], abs=1e-12)
        assert one.errors == tuple((metric, values[metric, one.model]["value"]) for metric in ("ece", "logloss"))


def test_calibration_of_the_six_largest_values_is_that_of_their_rows_alone() -> None:
    """Of seven values the smallest has none, nor has a slice of relevant rows, which has the scores of whole lists."""
    draw = np.random.default_rng(4)
    kinds = np.repeat([None, "a", "b", "c", "d", "e", "f"], [60, 70, 80, 90, 100, 110, 50])
    columns = {"user": draw.integers(0, 30, 560), "old": draw.random(560), "click": draw.integers(0, 2, 560)}
    rows = pa.table({**columns, "kind": pa.array(kinds.tolist())})
    asked = {**ONE_MODEL, "slices": ["kind", {"column": "kind", "of": "relevant"}]}
    made = sr.evaluate(rows, ["ece", "auc"], **asked).report().more["calibration_of_values"]
    assert [(one.slice, one.slice_value) for one in made] == [
        ("kind", kind) for kind in ["e", "d", "c", "b", "a", None]
    ]
    for one in made:
        of_value = pc.is_null(rows["kind"]) if one.slice_value is None else pc.equal(rows["kind"], one.slice_value)
        (alone,) = sr.evaluate(rows.filter(of_value), ["ece", "auc"], **ONE_MODEL).report().calibration
        assert one == replace(alone, slice="kind", slice_value=one.slice_value, errors=())


def test_the_gap_is_what_both_metrics_say(folder: Path, data: ReportData) -> None:
    values = by_key(table(folder, "metrics", TODAY))
    for gap in data.auc_up:
        assert gap.auc_metric == "auc(digits=2)"  # of the same bins
        assert gap.auc == values["auc(digits=2)", gap.model]["value"]
        assert gap.auc_up == values["auc_up(digits=2)", gap.model]["value"]
        assert gap.gap == pytest.approx(gap.auc_up - gap.auc, abs=1e-12)
        blocks = {row["score"]: (row["pos"], row["neg"]) for row in blocks_of(folder, "digits=2", gap.model)}
        assert gap.n_bins == len(blocks)
        lost = lost_by_pairs([(score, *counts) for score, counts in blocks.items()])
        assert gap.n_wrong == sum(value > 1e-12 for value in lost.values())
        for worst in gap.worst:
            pos, neg = blocks[worst.score]
            assert (worst.pos, worst.neg, worst.rate) == (pos, neg, pos / (pos + neg))
            assert worst.lost == pytest.approx(lost[worst.score], abs=1e-15)
        assert [worst.lost for worst in gap.worst] == sorted((worst.lost for worst in gap.worst), reverse=True)
        areas = [area([(point.x, point.y) for point in points]) for points in (gap.by_score, gap.by_rate)]
        assert areas == [pytest.approx(gap.auc, abs=1e-3), pytest.approx(gap.auc_up, abs=1e-3)]


def lost_by_pairs(bins: list[tuple[float, int, int]]) -> dict[float, float]:
    """What each bin loses, by its definition: half of every pair that stands in the wrong order, pair by pair."""
    positives, negatives = sum(pos for _, pos, _ in bins), sum(neg for _, _, neg in bins)
    lost: dict[float, float] = defaultdict(float)
    for place, (score, pos, neg) in enumerate(bins):
        for other, above, below in bins[place + 1 :]:  # ascending: the other has the higher score
            for one in (score, other):
                lost[one] += max(pos * below - above * neg, 0) / positives / negatives / 2
    return lost


def area(points: Sequence[tuple[float, float]]) -> float:
    return sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in itertools.pairwise(points))


def test_auc_up_joins_bins_by_min_rows() -> None:
    """By hand: rows by rounded score from the highest down, joined until there are 100."""
    rows = rows_of(0)
    (gap,) = sr.evaluate(rows, ["auc(digits=2)", "auc_up(digits=2,min_rows=100)"], **ONE_MODEL).report().auc_up
    scores, clicks = np.round(rows["old"].to_numpy(), 2), rows["click"].to_numpy()
    bins: list[np.ndarray] = []
    for score in sorted(set(scores), reverse=True):
        own = clicks[scores == score]
        counts = np.array([len(own) - own.sum(), own.sum()])
        if bins and bins[-1].sum() < 100:
            bins[-1] = bins[-1] + counts
        else:
            bins.append(counts)
    if bins[-1].sum() < 100:
        last = bins.pop()
        bins[-1] = bins[-1] + last
    curves = [np.cumsum([(0, 0), *ordered], 0) for ordered in (bins, sorted(bins, key=lambda b: -b[1] / b.sum()))]
    by_score, best = (area(curve / curve[-1]) for curve in curves)
    assert gap.n_bins == len(bins)
    assert (gap.auc_up, gap.gap) == pytest.approx((best, best - by_score), abs=1e-12)


def test_distributions_and_paired_differences_are_those_of_the_group_table(folder: Path, data: ReportData) -> None:
    groups = table(folder, "groups", TODAY).to_pandas()
    old, new = (groups[groups["model"] == model].set_index("user") for model in MODELS)
    for section in (data.distributions, data.paired):
        assert [distribution.metric for distribution in section] == ["ndcg@5", "rr", "dcg@5"]
    for distribution in data.distributions:
        assert distribution.source == "groups"
        for counted, rows in zip(distribution.models, (old, new), strict=True):
            values = rows[distribution.metric]
            assert list(counted.counts) == np.histogram(values.dropna(), np.array(distribution.edges))[0].tolist()
            assert counted.n_undefined == values.isna().sum()
    assert data.distributions[0].edges[:2] == (0.0, 0.05)  # ndcg is from 0 to 1
    assert data.distributions[2].edges[0] == groups["dcg@5"].min()  # dcg has no upper end
    for paired in data.paired:
        difference = (new[paired.metric] - old[paired.metric]).dropna()
        differing = difference[difference.abs() > 1e-9]
        assert (paired.candidate, paired.baseline) == ("new", "old")
        assert list(paired.counts) == np.histogram(differing, np.array(paired.edges))[0].tolist()
        assert paired.n_equal == len(difference) - len(differing)
        assert paired.edges[0] == -paired.edges[-1] == -difference.abs().max()
        if (row := paired.comparison) is not None:
            assert (row.ties, row.wins + row.losses) == (paired.n_equal, sum(paired.counts))


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
    asked = {**ONE_MODEL, "score": {"old": "old", "new": "new"}, "compare": "old"}
    (paired,) = sr.evaluate(log, ["gauc"], **asked).report().paired
    assert (sum(paired.counts), paired.n_equal, paired.n_unpaired) == (1, 0, 2)


def test_provenance_and_definitions_are_of_the_tables(folder: Path, data: ReportData) -> None:
    (run,) = table(folder, "runs", TODAY).to_pylist()
    provenance = data.provenance
    for name in ("run_id", "attempt_id", "status", "lane", "lane_reason", "input", "rows", "buckets", "spec_hash"):
        assert getattr(provenance, name) == run[name]
    assert provenance.started_at == run["started_at"].isoformat(timespec="seconds").replace("+00:00", "Z")
    assert json.loads(provenance.spec or "") == json.loads(run["spec"])
    assert dict(provenance.stages) == json.loads(run["stages"])
    assert dict(provenance.versions)["sparkrank"] == sr.__version__
    assert not re.search(r"[{}\"]|null", " ".join(text for _, text in provenance.versions))  # words, no JSON
    for file, row in zip(provenance.files, run["files"], strict=True):
        assert_is_row(file, row)
    texts = {row["metric"]: row["definition"] for row in table(folder, "metrics", TODAY).to_pylist()}
    assert {row.metric: row.definition for row in data.definitions} == texts
    ndcg = data.definitions[0]
    assert (ndcg.metric, ndcg.higher_is_better) == ("ndcg@5", True)
    assert (ndcg.link or "").endswith("docs/definitions.md#ndcg-ndcgk")


def test_every_link_to_a_definition_leads_somewhere() -> None:
    there = anchors((DOCS / "definitions.md").read_text(encoding="utf-8"))
    links = [link for declaration in CATALOG.values() if (link := link_of(declaration)) is not None]
    assert [link for link in links if link.partition("#")[2] not in there] == []
    assert len(links) > 30


def test_the_trend_has_each_stored_day_with_its_band(folder: Path, data: ReportData) -> None:
    assert data.trend.days == DAYS
    values = {day: by_key(table(folder, "metrics", day)) for day in DAYS}
    for series in data.trend.series:
        for point in series.points:
            assert point.state == "value"
            row = values[point.day][series.metric, series.model]
            names = ("value", "ci_low", "ci_high")
            assert [getattr(point, name) for name in names] == [without_nan(row[name]) for name in names]
    auc = next(series for series in data.trend.series if (series.metric, series.model) == ("auc", "old"))
    (bound,) = (row["bound"] for row in table(folder, "gates", TODAY).to_pylist() if row["gate"] == "as before")
    last = auc.points[-1]
    assert [point.band_low is None for point in auc.points] == [True, True, False]  # two days are needed before
    assert [point.verdict for point in auc.points] == ["undecided", "undecided", "pass"]
    assert bound in (last.band_low, last.band_high)
    assert last.band_low < last.band_high


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
    assert set(data.missing) == {"disparities", "exposures", "positions", "operating_points"}  # nobody asked for these
    assert stored(conf_of(folder), DAYS[1]) != data


def test_a_window_has_its_own_tables_and_the_trend_of_its_days(folder: Path) -> None:
    data = stored(conf_of(folder), DAYS[0], TODAY)
    rows = by_key(pq.read_table(folder / f"out/windows/metrics/window={DAYS[0]}..{TODAY}", partitioning=None))
    assert (data.kind, data.name) == ("window", f"{DAYS[0]}..{TODAY}")
    for line in data.headline.rows:
        assert_is_row(line.row, rows[line.row.metric, line.row.model])
        assert line.row.n_days == 3
    assert data.trend.days == data.provenance.days == DAYS
    (rr,) = data.distributions
    assert (rr.metric, rr.source) == ("rr", "distributions")
    assert sum(rr.models[0].counts) + rr.models[0].n_undefined == data.headline.rows[0].row.n_groups
    assert set(data.missing) == {"closer", "paired", "disparities", "exposures", "positions", "operating_points"}
    assert "A window has no group table" in data.missing["paired"]
    assert {row.verdict for row in data.gates} <= {"pass", "undecided"}


def test_a_window_that_is_not_merged_has_a_trend_and_says_what_to_run(folder: Path) -> None:
    data = stored(conf_of(folder), DAYS[0], DAYS[1])
    assert data.missing["headline"] == f"The window is not merged: run sparkrank merge --from {DAYS[0]} --to {DAYS[1]}."
    assert (data.trend.days, data.models, data.metrics) == (DAYS[:2], MODELS, METRICS)
    assert set(data.missing) == {section.name for section in sections()} - {"trend"}


def test_without_tables_there_is_no_report(folder: Path) -> None:
    with pytest.raises(InputError, match="2025-01-01 has no tables under"):
        stored(conf_of(folder), "2025-01-01")
    with pytest.raises(InputError, match=r"no day of 2025-01-01\.\.2025-01-02 has tables under"):
        stored(conf_of(folder), "2025-01-01", "2025-01-02")


ASKED = {
    "verdict": "gates:", "trend": "second", "comparisons": "score column", "slices": "slices:", "roc": "metric auc",
    "pr": "pr_auc", "calibration": "ece", "histograms": "output.blocks", "auc_up": "auc_up",
    "closer": "output.groups", "distributions": "output.groups", "paired": "score column", "gates": "gates:",
    "disparities": "disparities", "exposures": "exposure_gap(by=COLUMN)", "positions": "position",
    "calibration_of_values": "slices", "operating_points": "at_precision",
}  # fmt: skip


def test_each_section_that_is_missing_says_what_to_ask_for(tmp_path: Path) -> None:
    write_log(tmp_path, TODAY, rows_of(0).select(["user", "old", "click"]))
    output = {"path": f"{tmp_path}/out", "blocks": False, "curves": False, "groups": False}
    document = document_of(tmp_path, metrics=["rr"], slices=[], output=output)
    document["input"]["columns"]["score"] = "old"
    for name in ("compare", "gates", "history"):
        del document[name]
    conf = tmp_path / "bare.yaml"
    conf.write_text(json.dumps(document), encoding="utf-8")
    assert exit_code("evaluate", "--quiet", "--conf", str(conf), "--date", TODAY) == 0
    data = stored(str(conf), TODAY)
    assert set(data.missing) == set(ASKED)
    assert [name for name in ASKED if ASKED[name] not in data.missing[name] or data.missing[name][-1] != "."] == []
    assert data.quality
    # an evaluation is told the words of its own arguments
    missing = sr.evaluate(rows_of(0), ["rr"], **ONE_MODEL, group_table=False).report().missing
    assert "curve_points" in missing["roc"]
    assert "group_table=True" in missing["distributions"]
    assert set(missing) == set(ASKED)


def test_scores_that_are_no_probabilities_have_no_calibration() -> None:
    rows = rows_of(0)
    rows = rows.set_column(1, "old", pa.array(rows["old"].to_numpy() * 9 - 3))
    data = sr.evaluate(rows, ["auc", "ece"], **{**ONE_MODEL, "score": {"old": "old", "new": "new"}}).report()
    assert [one.model for one in data.calibration] == ["new"]
    assert [one.model for one in data.histograms] == ["old", "new"]
    alone = sr.evaluate(rows, ["auc", "ece"], **ONE_MODEL).report()
    assert alone.calibration == ()
    assert "no probabilities" in alone.missing["calibration"]


def test_bins_of_few_rows_are_joined_in_the_chart() -> None:
    """20 rows in the first of ten bins and 40 in each of the next two become 60 and 40; the last 4 go with these.

    A model without enough rows for one point has one all the same. Of each bin a quarter of the rows is relevant.
    """
    sizes, few = {0.05: 20, 0.15: 40, 0.25: 40, 0.95: 4}, {0.05: 20, 0.15: 4}
    points = {}
    for name, counts in {"all": sizes, "few": few}.items():
        score = np.repeat([*counts], [*counts.values()])
        rows = pa.table({"user": np.arange(len(score)), "old": score, "click": np.arange(len(score)) % 4 // 3})
        data = sr.evaluate(rows, ["ece(bins=10)"], **ONE_MODEL).report()
        (figure,) = figures(data, "calibration")
        assert "fewer than 30 rows are joined" in figure.about
        assert [one.rows for one in data.calibration[0].bins if one.rows] == [*counts.values()]
        ((line,),) = [figure.chart.lines]
        points[name] = [one for point in line.points for one in point]
    first, last = (20 * 0.05 + 40 * 0.15) / 60, (40 * 0.25 + 4 * 0.95) / 44
    assert points["all"] == pytest.approx([first, 1 / 4, last, 1 / 4])
    assert points["few"] == pytest.approx([(20 * 0.05 + 4 * 0.15) / 24, 1 / 4])


def test_scores_without_bins_of_their_own_are_calibrated_by_equal_shares() -> None:
    """Click rates of a per cent or less would all stand in one bin of equal width."""
    draw = np.random.default_rng(0)
    score = draw.random(3000) / 100
    rows = pa.table({"user": draw.integers(0, 50, 3000), "old": score, "click": (draw.random(3000) < score) * 1})
    (calibration,) = sr.evaluate(rows, ["auc"], **ONE_MODEL).report().calibration
    assert (calibration.rule, len(calibration.bins)) == ("bits=12", 15)
    counts = np.array([(b.pos, b.neg) for b in calibration.bins])
    assert counts.sum(0).tolist() == [rows["click"].to_numpy().sum(), 3000 - rows["click"].to_numpy().sum()]
    assert np.all((counts.sum(1) >= 150) & (counts.sum(1) <= 250))
    means = [b.mean_score for b in calibration.bins]
    assert means == sorted(means)
    assert means @ counts.sum(1) == pytest.approx(score.sum(), rel=1e-9 if calibration.has_means else 1e-3)


def test_a_day_of_an_older_version_is_reported_by_what_it_has(tmp_path: Path) -> None:
    """Or one that another program wrote: fewer columns, and no other table than metrics."""
    conf = nights.conf_of(tmp_path, [])
    for day, value in (("2026-01-30", 0.4), ("2026-01-31", 0.5)):
        rows = [nights.metric(value), nights.metric(value / 2, slice="country", slice_value="de")]
        nights.store(tmp_path, day, rows)
    columns = ["model", "slice", "slice_value", "metric", "value", "n_groups", "run_id"]
    older = pq.read_table(one_file(tmp_path / "tables/metrics/day=2026-01-31"), partitioning=None).select(columns)
    store_metrics(tmp_path, "2026-01-31", older)
    data = stored(conf, "2026-01-31")
    (line,) = data.headline.rows
    assert line.row == MetricValue("production", "all", "all", "ndcg@10", 0.5)
    assert [row.slice_value for row in data.slices.rows] == ["de"]
    assert [point.value for point in data.trend.series[0].points] == [0.4, 0.5]
    assert (data.level, data.definitions[0].definition, data.provenance.lane) == (None, None, None)
    assert {"verdict", "comparisons", "quality", "calibration", "distributions"} <= set(data.missing)


def test_an_undefined_and_a_failed_day(tmp_path: Path) -> None:
    """On the second day a gate fails, and a person lets it in."""
    conf = nights.conf_of(tmp_path, [{"metric": "ndcg@10", "model": "production", "min": 0.9}])
    nights.store(tmp_path, "2026-01-30", [nights.metric(math.nan, n_groups=0, n_undefined=0, n_rows=0, weight=0.0)])
    nights.store(tmp_path, "2026-01-31", [nights.metric(0.5, 0.1)])
    assert exit_code("accept", "--quiet", "--conf", conf, "--date", "2026-01-31", "--reason", "a <b>holiday</b>") == 0
    (line,) = stored(conf, "2026-01-30").headline.rows
    assert (line.row.value, line.row.n_groups) == (None, 0)
    failed = stored(conf, "2026-01-31")
    verdict = failed.verdict
    assert (verdict.state, verdict.n_fail, verdict.is_accepted) == ("fail", 1, True)
    assert verdict.accepted_reason == "a <b>holiday</b>"
    assert verdict.sentence == "The gate fails: a person has accepted it, and it passes (exit 0)."
    points = failed.trend.series[0].points
    assert [(point.state, point.verdict, point.accepted_reason) for point in points] == [
        ("undefined", None, None),
        ("value", "fail", "a <b>holiday</b>"),
    ]
    (line,) = failed.headline.rows
    assert (line.before, line.change, line.verdicts[0].verdict) == (None, None, "fail")


def test_days_that_are_missing_or_cannot_be_read_are_said_in_the_trend(tmp_path: Path) -> None:
    conf = nights.conf_of(tmp_path, [])
    for day in ("2026-01-26", "2026-01-28", "2026-01-29", "2026-01-30", "2026-01-31"):
        rows = [nights.metric(0.4), nights.metric(0.6, model="candidate")]
        if day == "2026-01-30":
            rows[0]["definition"] = "otherwise"
        nights.store(tmp_path, day, rows[:1] if day == "2026-01-28" else rows)
    one_file(tmp_path / "tables/metrics/day=2026-01-29").write_bytes(b"no Parquet")
    data = stored(conf, "2026-01-31")
    assert data.trend.days == tuple(f"2026-01-{day}" for day in range(26, 32))
    points = {series.model: series.points for series in data.trend.series}
    states = [point.state for point in points["candidate"]]
    assert states == ["value", "missing", "absent", "unreadable", "value", "value"]
    assert "2026-01-29" in (points["production"][3].reason or "")
    assert [point.is_same_definition for point in points["production"]] == [True, True, True, True, False, True]
    # nothing is said of a change where the definition is another
    assert data.previous == "2026-01-30"
    assert [line.before for line in data.headline.rows] == [None, 0.6]


def test_a_window_of_many_days_has_all_of_them_in_its_trend(tmp_path: Path) -> None:
    """The report of a day has its last 28."""
    conf = nights.conf_of(tmp_path, [])
    days = [str(dt.date(2026, 1, 1) + dt.timedelta(number)) for number in range(40)]
    for number, day in enumerate(days):
        nights.store(tmp_path, day, [nights.metric(number / 100), nights.metric(0.5, model="candidate")])
    data = stored(conf, days[0], days[-1])
    assert data.trend.days == tuple(days)
    values = {series.model: [point.value for point in series.points] for series in data.trend.series}
    assert values["production"] == [number / 100 for number in range(40)]
    assert stored(conf, days[-1]).trend.days == tuple(days[-28:])


def test_a_new_beginning_of_a_history_is_marked_in_the_trend(tmp_path: Path) -> None:
    conf = nights.conf_of(tmp_path, [{"metric": "ndcg@10", "not_worse_than": "history"}])
    for day in ("2026-01-29", "2026-01-30", "2026-01-31"):
        nights.store(tmp_path, day, [nights.metric(0.4), nights.metric(0.4, model="candidate")])
    words = ("--date", "2026-01-30", "--reason", "a new ranker", "--from-now-on", "--model", "candidate")
    assert exit_code("accept", "--conf", conf, *words) == 0
    data = stored(conf, "2026-01-31")
    anew = {series.model: [point.begins_anew for point in series.points] for series in data.trend.series}
    assert anew == {"production": [False] * 3, "candidate": [False, True, False]}
    assert page(data).count("<small>history begins anew</small>") == 1


# A column of each table without which the report could not be made.
NEEDED = {
    "metrics": "metric", "comparisons": "baseline", "gates": "verdict", "curves": "metric", "blocks": "rule",
    "groups": "model", "quality": None, "runs": None,
}  # fmt: skip


def test_a_damaged_table_of_the_day_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that is cut off, or lacks a column: one sentence with the table, exit code 4, and nothing is written."""
    write_log(tmp_path, TODAY, rows_of(1, 200))
    conf = ["--conf", conf_of(tmp_path), "--date", TODAY]
    out = tmp_path / "report.json"
    assert exit_code("evaluate", "--quiet", *conf) == 0
    runs = one_file(tmp_path / f"out/runs/day={TODAY}")
    for name, column in NEEDED.items():
        file = one_file(tmp_path / f"out/{name}/day={TODAY}")
        rows, whole, run = pq.read_table(file, partitioning=None), file.read_bytes(), runs.read_bytes()
        file.write_bytes(b"PAR1" + whole[4 : len(whole) // 2])
        for problem in [name.removesuffix("s"), *([f" lacks {column}"] if column else [])]:
            capsys.readouterr()
            assert exit_code("report", *conf, "--out", str(out)) == 4, name
            error = capsys.readouterr().err
            assert (problem in error, error.count("\n"), out.exists()) == (True, 1, False), error
            if column:
                pq.write_table(rows.drop_columns([column]), file)
                list_again(tmp_path / "out", TODAY, name)
        file.write_bytes(whole)
        runs.write_bytes(whole if name == "runs" else run)
    assert exit_code("report", *conf, "--out", str(out)) == 0


def test_exact_bins_beyond_what_is_held_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_bins, "MOST_BINS", 200)
    data = sr.evaluate(rows_of(0), ["auc(exact)", "auc_up(exact)"], **ONE_MODEL).report()
    (histogram,) = data.histograms
    inside = sum(b.pos + b.neg for b in histogram.bins)
    assert inside + sum(histogram.below) + sum(histogram.above) == rows_of(0).num_rows
    assert data.auc_up == ()
    assert "too many score bins" in data.missing["auc_up"]


def test_weights_are_what_bins_hold() -> None:
    weights = np.random.default_rng(5).integers(1, 4, 1500) / 2
    rows = rows_of(0).append_column("w", pa.array(weights))
    data = sr.evaluate(rows, ["auc(digits=2)", "auc_up(digits=2)", "ece"], **ONE_MODEL, weight="w").report()
    (histogram,), (gap,) = data.histograms, data.auc_up
    inside = sum(b.pos for b in histogram.bins) + histogram.below[0] + histogram.above[0]
    assert inside == pytest.approx(weights[rows["click"].to_numpy() > 0].sum(), abs=1e-9)
    assert gap.gap == pytest.approx(gap.auc_up - gap.auc, abs=1e-12)
