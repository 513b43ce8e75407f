"""What is asked: metrics as declarations, their grammar, and the plan that reduces them to what must be computed."""

from sparkrank.metrics.catalog import CATALOG
from sparkrank.metrics.definitions import Definitions
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.plan import Plan
from sparkrank.metrics.presets import PRESETS, find_preset

__all__ = ["CATALOG", "PRESETS", "Definitions", "Metric", "Plan", "find_preset"]
