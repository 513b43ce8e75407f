"""The register of report sections. A new section needs a module and an entry in :data:`_BUILT_IN`."""

from __future__ import annotations

from sparkrank.report.section import ReportSection
from sparkrank.report.sections.auc_up_gap import AUC_UP_GAP
from sparkrank.report.sections.closer_look import CLOSER_LOOK
from sparkrank.report.sections.disparity_rows import DISPARITY_ROWS
from sparkrank.report.sections.exposure_rows import EXPOSURE_ROWS
from sparkrank.report.sections.group_distributions import GROUP_DISTRIBUTIONS
from sparkrank.report.sections.headline import HEADLINE
from sparkrank.report.sections.metric_definitions import METRIC_DEFINITIONS
from sparkrank.report.sections.model_comparisons import MODEL_COMPARISONS
from sparkrank.report.sections.paired_differences import PAIRED_DIFFERENCES
from sparkrank.report.sections.quality_checks import QUALITY_CHECKS
from sparkrank.report.sections.rate_by_position import RATE_BY_POSITION
from sparkrank.report.sections.roc_and_pr import OPERATING_POINTS, PRECISION_RECALL, ROC
from sparkrank.report.sections.run_provenance import RUN_PROVENANCE
from sparkrank.report.sections.score_calibration import CALIBRATION_OF_VALUES, SCORE_CALIBRATION
from sparkrank.report.sections.score_histograms import SCORE_HISTOGRAMS
from sparkrank.report.sections.slice_values import SLICE_VALUES
from sparkrank.report.sections.trend import TREND
from sparkrank.report.sections.verdict import GATE_CHECKS, VERDICT

_BUILT_IN = (
    VERDICT,
    HEADLINE,
    TREND,
    MODEL_COMPARISONS,
    SLICE_VALUES,
    DISPARITY_ROWS,
    EXPOSURE_ROWS,
    RATE_BY_POSITION,
    CLOSER_LOOK,
    ROC,
    PRECISION_RECALL,
    OPERATING_POINTS,
    SCORE_CALIBRATION,
    CALIBRATION_OF_VALUES,
    SCORE_HISTOGRAMS,
    AUC_UP_GAP,
    GROUP_DISTRIBUTIONS,
    PAIRED_DIFFERENCES,
    GATE_CHECKS,
    QUALITY_CHECKS,
    METRIC_DEFINITIONS,
    RUN_PROVENANCE,
)
_SECTIONS: dict[str, ReportSection] = {section.name: section for section in _BUILT_IN}


def sections() -> tuple[ReportSection, ...]:
    """Return all sections, in the order of the page."""
    return tuple(_SECTIONS.values())


def section_of(name: str) -> ReportSection | None:
    """Return the section called ``name``, or None if there is no such section."""
    return _SECTIONS.get(name)


def register(section: ReportSection) -> None:
    """Register a section after all others, or in place of the section with the same name."""
    _SECTIONS[section.name] = section


def unregister(name: str) -> None:
    """Remove the section called ``name`` from the register."""
    del _SECTIONS[name]
