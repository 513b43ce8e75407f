"""The making of a :class:`~sparkrank.report.data.ReportData` from the tables of a day, a window or an evaluation."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sparkrank.report.data import ReportData
from sparkrank.report.report_tables import ReportTables
from sparkrank.report.section_register import sections

_FIELDS = frozenset(field.name for field in fields(ReportData))


def report_data(tables: ReportTables) -> ReportData:
    """Return the report on ``tables``. Equal tables give equal reports."""
    tables = tables if tables.shows_keys else tables.without_examples
    made: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for section in sections():
        made[section.name], reason = section.make(tables)
        if not made[section.name]:
            missing[section.name] = section.why_missing(tables, reason)
        elif reason is not None:
            missing[section.name] = reason
    compared = made["comparisons"]
    return ReportData(
        tables.kind,
        tables.name,
        tables.models,
        tables.metric_names,
        tables.baseline if compared is None else compared.baseline,
        tables.level,
        None if tables.before is None else tables.before.name,
        tables.subject,
        tables.owner,
        **{name: section for name, section in made.items() if name in _FIELDS},
        missing=missing,
        more={name: section for name, section in made.items() if name not in _FIELDS and section},
    )
