"""Reports that no evaluation has made: all sections, any size, any names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from sparkrank.report import data as d
from sparkrank.report.data import ComparisonRow, GateRow, MetricValue, ReportData
from sparkrank.report.sections.verdict import stopped_gates

METRICS = tuple(f"{name}@{k}" for name in ("ndcg", "p", "r", "hit") for k in (5, 10, 20))
METRICS += ("ap", "rr", "gauc", "auc(exact)", "auc_up(digits=5)", "logloss")
DAY = "2026-01-31"


def wave(*seeds: int) -> float:
    """A number from 0 to 1 that has all of its digits, the same on every machine."""
    return math.modf(abs(sum((at + 1) * 0.7548776662466927 * (seed + 1) for at, seed in enumerate(seeds))))[0]


def value(model: int, metric: int, at: int, names: tuple[str, str, str | None, str]) -> MetricValue:
    middle, half = 0.2 + 0.5 * wave(metric, 3) + 0.04 * wave(model, metric, at), 0.004 + 0.01 * wave(at, 7)
    counts = (1000 + at, at % 3, 20_000 - 13 * at, 1000.0)
    return MetricValue(*names, middle, middle - half, middle + half, half / 1.96, "t", *counts, None)


def comparison(candidate: MetricValue, baseline: MetricValue, at: int) -> ComparisonRow:
    difference, half = candidate.value - baseline.value, 0.003 + 0.01 * wave(at, 5)
    p = wave(at, 11) if abs(difference) < half else wave(at, 13) / 30
    names = (candidate.model, baseline.model, candidate.slice, candidate.slice_value, candidate.metric)
    numbers = (difference, difference / baseline.value, half / 2, difference - half, difference + half)
    tested = ("paired t", p, min(1.0, 2 * p), "holm", f"candidate {candidate.model}")
    return ComparisonRow(*names, *numbers, *tested, 400 + at, 100, 300, half * 1.4, 1000, 3)


def gate(name: str, metric: str, model: str, verdict: str, reason: str) -> GateRow:
    numbers = (0.4321, "a 0.4", 0.0, -0.001234567, 0.0234)
    return GateRow(name, "not_worse_than", metric, model, "all", "all", *numbers, verdict, reason, accepted=False)


def report(
    models: Sequence[str] = ("popularity", "als", "two-tower"),
    metrics: Sequence[str] = METRICS,
    values: Sequence[str | None] = (),
    slice_name: str = "country",
    days: int = 30,
    state: str = "pass",
) -> ReportData:
    """A report with every section; the first of ``models`` is the baseline."""
    models, metrics, numbered = tuple(models), tuple(metrics), list(enumerate(models))
    whole = {
        (metric, model): value(number, at, 0, (model, "all", "all", metric))
        for at, metric in enumerate(metrics)
        for number, model in numbered
    }
    by_pair = {
        (metric, model): comparison(whole[metric, model], whole[metric, models[0]], at + number)
        for number, model in numbered[1:]
        for at, metric in enumerate(metrics)
    }
    gates = tuple(
        gate(f"gate {model}", metrics[0], model, state, f"{model} is {state}") for model in models[1:] or models
    )
    rows, sliced = [], []
    for at, metric in enumerate(metrics):
        for place, text in enumerate(values):
            cells = tuple(value(number, at, place + 1, (model, slice_name, text, metric)) for number, model in numbered)
            rows.append(d.SliceRow(slice_name, text, metric, cells[0].n_groups, cells[0].n_rows, cells))
            sliced += [comparison(cell, cells[0], place + at) for cell in cells[1:]]
    dated = [(date.fromisoformat(DAY) - timedelta(days=days - 1 - at)).isoformat() for at in range(days)]
    series = tuple(
        d.TrendSeries(metric, model, tuple(_point(number, at, place, day) for place, day in enumerate(dated)))
        for at, metric in enumerate(metrics)
        for number, model in numbered
    )
    headline = tuple(
        d.HeadlineRow(row, by_pair.get(key), row.value - 0.001, 0.001, gates if key[0] == metrics[0] else ())
        for key, row in whole.items()
    )
    return ReportData(
        kind="day",
        name=DAY,
        models=models,
        metrics=metrics,
        baseline=models[0] if len(models) > 1 else None,
        level=0.95,
        previous=dated[-2] if days > 1 else None,
        verdict=d.OverallVerdict(
            state,
            len(gates),
            0,
            0,
            False,
            None,
            None,
            f"{len(gates)} gates: {state}.",
            stopped=stopped_gates(gates, [row.gate for row in gates]),
        ),
        headline=d.Headline(metrics, models, headline),
        trend=d.Trend(tuple(dated), series) if days > 1 else None,
        comparisons=d.Comparisons(models[0], (*by_pair.values(), *sliced)) if len(models) > 1 else None,
        slices=d.SliceTable(models, metrics, tuple(rows)) if values else None,
        roc=tuple(_curve("roc", model, number) for number, model in numbered),
        pr=tuple(_curve("pr", model, number) for number, model in numbered),
        calibration=tuple(_calibration(model, number) for number, model in numbered),
        more={"calibration_of_values": _of_values(numbered, slice_name, values[:6])} if values else {},
        histograms=tuple(_histogram(model, number) for number, model in numbered),
        auc_up=tuple(_auc_up(model, number) for number, model in numbered),
        distributions=tuple(_distribution(metric, models, at) for at, metric in enumerate(metrics[:4])),
        paired=tuple(
            _paired(metrics[0], model, models[0], number, by_pair[metrics[0], model]) for number, model in numbered[1:]
        ),
        gates=gates,
        quality=tuple(d.QualityRow(*row) for row in _quality(models)),
        definitions=tuple(_definition(metric) for metric in metrics),
        provenance=PROVENANCE,
    )


PROVENANCE = d.Provenance(
    run_id=f"{DAY}-0123456789ab", attempt_id="a1", status="done", started_at="2026-02-01T00:10:11Z",
    lane="scan", lane_reason="the input is Parquet", input="demo/impressions", rows=280_000, buckets=64,
    stages=(("read", 1.25), ("evaluate", 3.5)), versions=(("sparkrank", "0.9"), ("python", "3.11.9")),
    spec_hash="0123456789ab", spec='{\n  "metrics": ["ndcg@10"]\n}',
    files=(d.FileRow("metrics", "metrics-a1.parquet", 54, 4096, "ab" * 32),),
)  # fmt: skip


def _quality(models: Sequence[str]) -> list[tuple]:
    return [
        ("rows read", None, 280_000.0, None, None, None, None, None, "rows_read"),
        ("rejected: NaN score", None, 12.0, "rows read", 12 / 280_000, None, None, None, "rejected_nan_score"),
        ("scored rows in tie blocks", models[0], 81.0, "rows with a score", 81 / 9000, 0.5, True, None, "ties"),
        ("truth in no list", models[-1], 812.0, "truth", 0.812, 0.5, False, "list (1) truth (1.0)", "unmatched"),
    ]


def _definition(metric: str) -> d.Definition:
    texts = (
        f"{metric}, ties=expected, gain=exponential",
        "A metric",
        "sum of gain / log2(1 + rank)",
        "no relevant row",
    )
    link = "https://example.org/definitions.html#ndcg"
    return d.Definition(metric, *texts, "Järvelin and Kekäläinen 2002", metric != "logloss", link)


def _paired(metric: str, model: str, baseline: str, number: int, row: ComparisonRow) -> d.PairedDistribution:
    edges, counts = (-1 + at / 10 for at in range(21)), (round(300 * wave(at, number)) for at in range(20))
    return d.PairedDistribution(metric, model, baseline, tuple(edges), tuple(counts), 120, 3, row)


def _point(number: int, at: int, place: int, day: str) -> d.TrendPoint:
    if place == 5:
        return d.TrendPoint(day, "missing")
    middle, accepted = 0.2 + 0.5 * wave(at, 3) + 0.04 * wave(number, at, place), place == 9
    ends = (middle - 0.01, middle + 0.01, middle - 0.03, middle + 0.03)
    judged = ("fail", True, "a holiday") if accepted else ("pass", False, None)
    return d.TrendPoint(day, "value", middle, *ends, *judged, is_same_definition=place > 14)


def _curve(kind: str, model: str, number: int) -> d.Curve:
    shares, bent = [at / 400 for at in range(401)], number % 6
    name, least = ("auc(exact)", 0.8) if kind == "roc" else ("pr_auc(exact)", 0.6)
    heights = [x ** (0.3 + 0.1 * bent) if kind == "roc" else 1 - (0.6 + 0.05 * bent) * x for x in shares]
    points = tuple(d.Point(x, y, 1 - x) for x, y in zip(shares, heights, strict=True))
    return d.Curve(kind, model, name, least + wave(number) / 10, points, 5000)


def _calibration(model: str, number: int) -> d.Calibration:
    shown = [(at, (at + 0.4) / 15) for at in range(15)]
    bins = tuple(
        d.CalibrationBin(at / 15, (at + 1) / 15, mean, min(1.0, mean * (0.8 + 0.1 * number % 1)), *counts)
        for at, mean in shown
        for counts in [(10.0 + at, 900.0 - at, 910.0)]
    )
    return d.Calibration(model, "bins=15", has_means=True, bins=bins, errors=(("ece", 0.0123456789), ("brier", None)))


def _of_values(
    numbered: Sequence[tuple[int, str]], slice_name: str, values: Sequence[str | None]
) -> tuple[d.Calibration, ...]:
    every = [(at, text, number, model) for at, text in enumerate(values) for number, model in numbered]
    return tuple(
        replace(_calibration(model, number + at), slice=slice_name, slice_value=text)
        for at, text, number, model in every
    )


def _histogram(model: str, number: int) -> d.Histogram:
    counts = [(round(90 * wave(at, number)), round(9000 * wave(at, 2) * math.exp(-at / 9))) for at in range(30)]
    bins = tuple(d.HistogramBin(at / 30, (at + 1) / 30, *own) for at, own in enumerate(counts))
    return d.Histogram(model, "digits=5", bins, below=(0, 12.0))


def _auc_up(model: str, number: int) -> d.AucUp:
    curves = [tuple(d.Point(at / 50, (at / 50) ** power) for at in range(51)) for power in (0.5, 0.35)]
    worst = tuple(d.AucUpBin(0.1 * at, 10.0, 90.0, 0.1, at + 1, at + 3, 0.0012345 / (at + 1)) for at in range(5))
    areas = (0.85 + wave(number) / 20, "auc(exact)", 0.8 + wave(number) / 20)
    return d.AucUp(model, "auc_up(digits=5)", "digits=5", *areas, 0.05, 400, 37, worst, *curves)


def _distribution(metric: str, models: Sequence[str], at: int) -> d.GroupDistribution:
    edges = tuple(place / 20 for place in range(21))
    counts = tuple(
        d.ModelCounts(model, tuple(round(200 * wave(at, number, place)) for place in range(20)), number)
        for number, model in enumerate(models)
    )
    return d.GroupDistribution(metric, edges, counts, "groups")
