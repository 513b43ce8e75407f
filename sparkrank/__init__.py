"""sparkrank: offline evaluation of recommenders, search and ads, on Spark.

Importing it imports no pyspark and starts nothing.
"""

from sparkrank._version import __version__
from sparkrank.base.errors import (
    InputError,
    MetricError,
    SparkrankError,
    SpecError,
    StateError,
    StoreError,
    UnknownResultError,
)
from sparkrank.comparison.largest_changes import movers
from sparkrank.comparison.mix_and_rate import decompose
from sparkrank.comparison.run_comparison import RunComparison
from sparkrank.comparison.runs import compare_runs
from sparkrank.doors.api import evaluate
from sparkrank.doors.explain_api import explain
from sparkrank.metrics import (
    CatalogueMetric,
    Definitions,
    GroupMetric,
    HistogramMetric,
    Metric,
    PooledMetric,
    register,
)
from sparkrank.results.evaluation import Evaluation
from sparkrank.results.explanation import Explanation

__all__ = [
    "CatalogueMetric",
    "Definitions",
    "Evaluation",
    "Explanation",
    "GroupMetric",
    "HistogramMetric",
    "InputError",
    "Metric",
    "MetricError",
    "PooledMetric",
    "RunComparison",
    "SparkrankError",
    "SpecError",
    "StateError",
    "StoreError",
    "UnknownResultError",
    "__version__",
    "compare_runs",
    "decompose",
    "evaluate",
    "explain",
    "movers",
    "register",
]


def __dir__() -> list[str]:
    """The public names alone: modules that the package is made of are none."""
    return __all__
