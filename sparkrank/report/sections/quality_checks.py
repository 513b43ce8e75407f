"""The report section with the checks from the table ``quality``."""

from __future__ import annotations

from sparkrank.report.data import QualityRow
from sparkrank.report.report_tables import rows_of
from sparkrank.report.section import ReportSection

QUALITY_CHECKS = ReportSection(
    "quality",
    "Quality",
    lambda tables: (tuple(rows_of(tables.quality, QualityRow)), None),
    "There is no table quality.",
)
