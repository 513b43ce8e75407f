"""The headline: the metrics over all rows, with their comparisons, gate verdicts and values on the previous day."""

from __future__ import annotations

from sparkrank.report.data import Headline, HeadlineRow
from sparkrank.report.report_tables import ReportTables, by_cell, defined, definitions_of, plain_texts, whole_day
from sparkrank.report.section import Made, ReportSection


def _headline(tables: ReportTables) -> Made:
    if not tables.values:
        return None, None
    compared = {(row.metric, row.candidate): row for row in tables.compared}
    verdicts, earlier = by_cell(tables.verdicts), _earlier(tables)
    models, metrics = tables.models, tables.metric_names
    rows = []
    for row in sorted(tables.values, key=lambda row: (metrics.index(row.metric), models.index(row.model))):
        key = (row.metric, row.model)
        before = earlier.get(key)
        change = None if before is None or row.value is None else row.value - before
        rows.append(HeadlineRow(row, compared.get(key), before, change, verdicts.get(key, ())))
    return Headline(metrics, models, tuple(rows)), None


def _earlier(tables: ReportTables) -> dict[tuple[str, str], float | None]:
    """The previous day's values by metric and model, if their definitions have not changed."""
    if tables.before is None:
        return {}
    now, then = definitions_of(whole_day(tables.metrics)), definitions_of(tables.before.metrics)
    rows = plain_texts(tables.before.metrics.select(["metric", "model", "value"])).to_pylist()
    values = {(row["metric"], row["model"]): defined(row["value"]) for row in rows}
    return {key: value for key, value in values.items() if now.get(key) == then.get(key)}


HEADLINE = ReportSection("headline", "Headline", _headline, "The table metrics has no row over all rows.")
