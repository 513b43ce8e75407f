"""sparkrank: offline evaluation of recommenders, search and ads, on Spark.

An import of the package does not start Spark. The first use of a name imports its module (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sparkrank._version import __version__

if TYPE_CHECKING:
    from sparkrank.base.errors import (
        InputError,
        MetricError,
        SparkrankError,
        SpecError,
        StateError,
        StoreError,
        UnknownResultError,
    )
    from sparkrank.comparison.run_comparison import RunComparison
    from sparkrank.doors.api import evaluate
    from sparkrank.doors.compare_api import compare_runs, decompose, movers
    from sparkrank.doors.explain_api import explain
    from sparkrank.doors.track_api import track
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
    "track",
]

_NAMES = {
    "sparkrank.base.errors": (
        *("InputError", "MetricError", "SparkrankError", "SpecError", "StateError", "StoreError", "UnknownResultError"),
    ),
    "sparkrank.comparison.run_comparison": ("RunComparison",),
    "sparkrank.doors.api": ("evaluate",),
    "sparkrank.doors.compare_api": ("compare_runs", "decompose", "movers"),
    "sparkrank.doors.explain_api": ("explain",),
    "sparkrank.doors.track_api": ("track",),
    "sparkrank.metrics": (
        *("CatalogueMetric", "Definitions", "GroupMetric", "HistogramMetric", "Metric", "PooledMetric", "register"),
    ),
    "sparkrank.results.evaluation": ("Evaluation",),
    "sparkrank.results.explanation": ("Explanation",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

if not TYPE_CHECKING:  # otherwise a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value


def __dir__() -> list[str]:
    """Return the public names, without the submodules of the package."""
    return __all__
