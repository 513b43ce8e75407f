"""The functions of metrics from outside the package, called so that what is wrong with them becomes one sentence.

Those of the package's own metrics are called as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from sparkrank.base.errors import MOST_LISTED, MetricError, SparkrankError, first_line, listed, shortened, shown
from sparkrank.histogram.bins import MOST_BINS, BinRule
from sparkrank.histogram.scored_rows import AT_THRESHOLD, ROW_SUMS, RowSum
from sparkrank.histogram.threshold_sweep import Terms
from sparkrank.numeric.ordered_integers import MANTISSA_BITS

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric

T = TypeVar("T")
MOST_DIGITS = 15  # a float64 holds no more
_SIZES = {"bits": (1, MANTISSA_BITS), "digits": (0, MOST_DIGITS), "bins": (1, MOST_BINS), "exact": (0, 0)}


def called(metric: Metric, what: str, function: Callable[..., T], *given: object) -> T:
    """What ``function``, which is the field ``what`` of the declaration of ``metric``, makes of ``given``.

    Raises :class:`MetricError` where a function from outside raises an exception. It names the metric, and the type and
    text of the exception; that of Spark's tasks is found again by its sentence
    (:func:`sparkrank.engines.spark.failures.task_errors`).
    """
    if metric.outside is None:
        return function(*given)
    try:
        return function(*given)
    except (SparkrankError, MemoryError):
        raise
    except Exception as error:
        text = first_line(error)
        kind = type(error).__name__
        reason = shortened(kind if text == kind else f"{kind}: {text}", MOST_LISTED)
        raise MetricError(f"{what}, a function of the metric {metric}, raised {reason}") from error


def row_sums(metric: Metric, sums: Callable[[Metric], tuple[RowSum, ...]]) -> tuple[RowSum, ...]:
    """The sums over rows that ``metric`` reads; raises :class:`MetricError` where they are none."""
    found = called(metric, "sums", sums, metric)
    if metric.outside is None:
        return found
    if not isinstance(found, (tuple, list)):
        raise MetricError(f"the sums of {metric} are {shown(found)}: a tuple of RowSum is needed")
    for each in found:
        if not isinstance(each, RowSum):
            raise MetricError(f"a sum of {metric} is {shown(each)}: a RowSum is needed")
        if each.name not in ROW_SUMS:
            raise MetricError(f"a sum of {metric} is of {shown(each.name)} (allowed: {listed(ROW_SUMS)})")
        if not (each.rel is None or _is_number(each.rel)):
            raise MetricError(f"a sum of {metric} has rel {shown(each.rel)}: a number or None is needed")
        if not (_is_number(each.threshold) if each.name in AT_THRESHOLD else each.threshold is None):
            needed = "a number" if each.name in AT_THRESHOLD else "None"
            raise MetricError(
                f"a sum of {metric}, {each.name}, has threshold {shown(each.threshold)}: {needed} is needed"
            )
    return tuple(found)


def bin_rule(metric: Metric, rule: Callable[[Metric], BinRule]) -> BinRule:
    """The rule of the bins that ``metric`` reads; raises :class:`MetricError` where it is none."""
    found = called(metric, "rule", rule, metric)
    if metric.outside is None:
        return found
    if not isinstance(found, BinRule):
        raise MetricError(f"the rule of {metric} is {shown(found)}: a BinRule is needed")
    if found.kind not in tuple(_SIZES):  # a list is none of them
        raise MetricError(f"the rule of {metric} is of the kind {shown(found.kind)} (allowed: {listed(_SIZES)})")
    least, most = _SIZES[found.kind]
    if type(found.size) is not int or not least <= found.size <= most:
        raise MetricError(
            f"the rule of {metric}, {found.kind}, has size {shown(found.size)}: a whole number from {least} to {most} "
            "is needed"
        )
    if not (found.rel is None or _is_number(found.rel)):
        raise MetricError(f"the rule of {metric} has rel {shown(found.rel)}: a number or None is needed")
    return found


def terms_of_bins(metric: Metric, terms: Callable[..., Terms], sweep: object) -> Terms:
    """The terms of the bins of ``sweep`` for ``metric``; raises :class:`MetricError` where they are none."""
    found = called(metric, "terms", terms, sweep)
    if metric.outside is not None and not isinstance(found, Terms):
        raise MetricError(f"the terms of {metric} are {shown(found)}: Terms.of(...) is needed")
    return found


def number(metric: Metric, what: str, found: float) -> float:
    """``found``, the ``what`` of ``metric``; raises :class:`MetricError` where it is no number."""
    if metric.outside is not None and not _is_real(found):
        raise MetricError(f"the {what} of {metric} is {shown(found)}: a number is needed")
    return found


def _is_number(found: Any) -> bool:
    return _is_real(found) and math.isfinite(found)


def _is_real(found: Any) -> bool:
    return isinstance(found, Real) and not isinstance(found, bool)
