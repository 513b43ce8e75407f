"""Checks of what functions of metrics from outside the package return, so that a fault becomes one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

from sparkrank.base.errors import MetricError, itemize, quote
from sparkrank.histogram.bins import MOST_BINS, BinRule
from sparkrank.histogram.scored_rows import AT_THRESHOLD, ROW_SUMS, RowSum
from sparkrank.histogram.threshold_sweep import Terms
from sparkrank.metrics.metric import Metric
from sparkrank.numeric.ordered_integers import MANTISSA_BITS

MOST_DIGITS = 15  # a float64 has no more
_SIZES = {"bits": (1, MANTISSA_BITS), "digits": (0, MOST_DIGITS), "bins": (1, MOST_BINS), "exact": (0, 0)}


def row_sums(metric: Metric, sums: Callable[[Metric], tuple[RowSum, ...]]) -> tuple[RowSum, ...]:
    totals = metric.call("sums", sums, metric)
    if metric.outside is None:
        return totals
    if not isinstance(totals, (tuple, list)):
        raise MetricError(f"the sums of {metric} are {quote(totals)}: a tuple of RowSum is needed")
    for total in totals:
        if not isinstance(total, RowSum):
            raise MetricError(f"a sum of {metric} is {quote(total)}: a RowSum is needed")
        if total.name not in ROW_SUMS:
            raise MetricError(f"a sum of {metric} is of {quote(total.name)} (allowed: {itemize(ROW_SUMS)})")
        if not (total.rel is None or _is_number(total.rel)):
            raise MetricError(f"a sum of {metric} has rel {quote(total.rel)}: a number or None is needed")
        if not (_is_number(total.threshold) if total.name in AT_THRESHOLD else total.threshold is None):
            needed = "a number" if total.name in AT_THRESHOLD else "None"
            raise MetricError(
                f"a sum of {metric}, {total.name}, has threshold {quote(total.threshold)}: {needed} is needed"
            )
    return tuple(totals)


def bin_rule(metric: Metric, rule: Callable[[Metric], BinRule]) -> BinRule:
    given = metric.call("rule", rule, metric)
    if metric.outside is None:
        return given
    if not isinstance(given, BinRule):
        raise MetricError(f"the rule of {metric} is {quote(given)}: a BinRule is needed")
    if given.kind not in tuple(_SIZES):  # a list is none of them
        raise MetricError(f"the rule of {metric} is of the kind {quote(given.kind)} (allowed: {itemize(_SIZES)})")
    least, most = _SIZES[given.kind]
    if type(given.size) is not int or not least <= given.size <= most:
        raise MetricError(
            f"the rule of {metric}, {given.kind}, has size {quote(given.size)}: a whole number from {least} to {most} "
            "is needed"
        )
    if not (given.rel is None or _is_number(given.rel)):
        raise MetricError(f"the rule of {metric} has rel {quote(given.rel)}: a number or None is needed")
    return given


def terms_of_bins(metric: Metric, terms: Callable[..., Terms], sweep: object) -> Terms:
    given = metric.call("terms", terms, sweep)
    if metric.outside is not None and not isinstance(given, Terms):
        raise MetricError(f"the terms of {metric} are {quote(given)}: Terms.of(...) is needed")
    return given


def number(metric: Metric, what: str, value: float) -> float:
    if metric.outside is not None and not _is_real(value):
        raise MetricError(f"the {what} of {metric} is {quote(value)}: a number is needed")
    return value


def _is_number(value: Any) -> bool:
    return _is_real(value) and math.isfinite(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
