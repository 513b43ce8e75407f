"""The report section with the meaning of each metric, and links to ``docs/definitions.md``."""

from __future__ import annotations

import re

from sparkrank.metrics.metric import CATALOG, Declaration
from sparkrank.report.data import Definition
from sparkrank.report.report_tables import ReportTables, definitions_of, parsed
from sparkrank.report.section import Made, ReportSection

DEFINITIONS_PAGE = "https://github.com/sparkrank/sparkrank/blob/main/docs/definitions.md"


def _definitions(tables: ReportTables) -> Made:
    by_key = definitions_of(tables.metrics)
    texts = {metric: text for (metric, _), text in reversed(by_key.items())}
    names = tables.metric_names if tables.metrics.num_rows else ()
    return tuple(_definition(name, texts.get(name)) for name in names), None


def _definition(text: str, definition: str | None) -> Definition:
    metric = parsed(text)
    if metric is None:
        return Definition(text, definition)
    own = metric.declaration
    texts = (own.title, own.formula, own.undefined, own.reference)
    return Definition(text, definition, *texts, own.higher_is_better, link_of(own))


def link_of(declaration: Declaration) -> str | None:
    """Return the link to the documentation of a declared metric, or None if the metric is not built in."""
    if not CATALOG.is_built_in(declaration):
        return None
    name = declaration.written
    heading = name if declaration.cutoff == "none" else f"{name}, {name}@k"
    # The anchor that GitHub generates for a heading.
    return f"{DEFINITIONS_PAGE}#{re.sub(r'[^a-z0-9_ -]', '', heading.lower()).replace(' ', '-')}"


METRIC_DEFINITIONS = ReportSection("definitions", "Definitions", _definitions, "The table metrics names no metric.")
