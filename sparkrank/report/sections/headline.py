"""The report section with the metrics over all rows, with comparisons, gate verdicts and the previous day's values."""

from __future__ import annotations

from sparkrank.report.changes import changes_since, changes_text
from sparkrank.report.data import Headline, HeadlineRow
from sparkrank.report.report_tables import (
    ReportTables,
    by_cell,
    defined,
    definitions_of,
    parsed,
    plain_texts,
    whole_day,
)
from sparkrank.report.section import Made, ReportSection
from sparkrank.text.text import unlisted_sentences

_WITHOUT = {"R = 0": "without a relevant row", "the ideal list has no gain": "without a relevant row"}


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
    since = "" if tables.before is None else changes_text(changes_since(tables.before, tables.metrics))
    unlisted = [] if tables.quality is None else [f"{one}." for one in unlisted_sentences(tables.quality)]
    groups = " ".join(filter(None, [_groups_text(tables), *unlisted]))
    return Headline(metrics, models, tuple(rows), groups, since), None


def _groups_text(tables: ReportTables) -> str:
    """Return a sentence on how many groups count towards the first metric that is a mean, or ``""``."""
    known = ((row, parsed(row.metric)) for row in tables.values)
    means = [(row, metric) for row, metric in known if metric is not None and metric.declaration.is_averaged]
    if not means or not tables.keys or means[0][0].n_groups is None:
        return ""
    row, metric = means[0]
    skips, without, columns = tables.undefined == "skip", row.n_undefined or 0, ", ".join(tables.keys)
    sentence = f"{row.n_groups - without * skips:,} groups ({columns}) count in {row.metric}"
    if without:
        where = _WITHOUT.get(metric.declaration.undefined, "where it is undefined")
        how = "left out; other libraries count them as 0" if skips else f"counted by undefined={tables.undefined}"
        sentence += f"; {without:,} {where} {'is' if without == 1 else 'are'} {how}"
    if len({(other.n_groups, other.n_undefined) for other in tables.values if other.metric == row.metric}) > 1:
        sentence += f". These are the groups of {row.model}: models differ"
    return f"{sentence}."


def _earlier(tables: ReportTables) -> dict[tuple[str, str], float | None]:
    """Return the previous day's values by metric and model, without metrics whose definition has changed."""
    if tables.before is None:
        return {}
    now, then = definitions_of(whole_day(tables.metrics)), definitions_of(tables.before.metrics)
    rows = plain_texts(tables.before.metrics.select(["metric", "model", "value"])).to_pylist()
    values = {(row["metric"], row["model"]): defined(row["value"]) for row in rows}
    return {key: value for key, value in values.items() if now.get(key) == then.get(key)}


HEADLINE = ReportSection("headline", "Headline", _headline, "The table metrics has no row over all rows.")
