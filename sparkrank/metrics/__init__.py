"""Declarations of metrics, the grammar of their strings, and the plan of the computation of requested metrics.

Metrics of your own (see :func:`register`) are declared by the classes of metrics and of parameters in this package. The
functions of a declaration receive the other classes as arguments: a ranking, sums over the hits of a ranking, or the
totals of all rows.
"""

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.histogram.threshold_sweep import Sweep, Terms
from sparkrank.metrics.arithmetic import Arithmetic, Step, TermTable
from sparkrank.metrics.attention_metric import AttentionMetric
from sparkrank.metrics.catalogue_metric import CatalogueMetric
from sparkrank.metrics.definitions import Definitions
from sparkrank.metrics.families import CATALOG
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.histogram_metric import HistogramMetric
from sparkrank.metrics.metric import Declaration, Metric, NeedsOrder, Unbounded
from sparkrank.metrics.parameters import Choice, Count, Flag, Name, Number
from sparkrank.metrics.plan import Plan
from sparkrank.metrics.plan_validation import plan_of
from sparkrank.metrics.pooled_metric import PooledMetric, PooledTotals, PooledValue
from sparkrank.metrics.precision import REL
from sparkrank.metrics.presets import PRESETS, find_preset
from sparkrank.metrics.registry import register
from sparkrank.ranking.hit_sums import hit_sums
from sparkrank.ranking.hits import hits_of
from sparkrank.ranking.ranking import Ranking

__all__ = [
    "CATALOG",
    "PRESETS",
    "REL",
    "Arithmetic",
    "AttentionMetric",
    "BinRule",
    "CatalogueMetric",
    "Choice",
    "Count",
    "Declaration",
    "Definitions",
    "Flag",
    "GroupMetric",
    "HistogramMetric",
    "Metric",
    "Name",
    "NeedsOrder",
    "Number",
    "Plan",
    "PooledMetric",
    "PooledTotals",
    "PooledValue",
    "Ranking",
    "RowSum",
    "Step",
    "Sweep",
    "TermTable",
    "Terms",
    "Unbounded",
    "find_preset",
    "hit_sums",
    "hits_of",
    "plan_of",
    "register",
]
