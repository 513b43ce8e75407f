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
    group_errors,
    list_length,
    operating_points,
    overlap,
    policy_value,
    positions,
    precision,
    rank_comparison,
    regression,
    retrieval,
    sampled,
    shown_values,
    subtopics,
    surprise,
    unjudged,
    unseen,
)
from sparkrank.metrics.metric import CATALOG
from sparkrank.metrics.propensity import with_propensity

__all__ = ["CATALOG"]

for family in (
    precision,
    gain,
    retrieval,
    positions,
    sampled,
    rank_comparison,
    overlap,
    list_length,
    unjudged,
    group_auc,
    group_errors,
    discrimination,
    classification,
    operating_points,
    calibration,
    regression,
    policy_value,
    shown_values,
    diversity,
    subtopics,
    fairness,
    exposure,
    unseen,
    surprise,
):
    CATALOG.fill(*map(with_propensity, family.DECLARATIONS))
