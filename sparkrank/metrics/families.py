"""The register :data:`CATALOG` with the declarations of all families, in the order in which they are documented."""

from __future__ import annotations

from sparkrank.metrics import (
    calibration,
    classification,
    discrimination,
    diversity,
    exposure,
    fairness,
    gain,
    group_auc,
    list_length,
    overlap,
    positions,
    precision,
    rank_comparison,
    retrieval,
    shown_values,
    unseen,
)
from sparkrank.metrics.metric import CATALOG

__all__ = ["CATALOG"]

for family in (
    precision,
    gain,
    retrieval,
    positions,
    rank_comparison,
    overlap,
    list_length,
    group_auc,
    discrimination,
    classification,
    calibration,
    shown_values,
    diversity,
    fairness,
    exposure,
    unseen,
):
    CATALOG.fill(*family.DECLARATIONS)
