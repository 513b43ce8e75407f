"""Calls to the functions of declarations, with clear errors if a user's function returns a wrong type or value."""

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

MOST_DIGITS = 15  # a float64 has no more decimal digits
_SIZES = {"bits": (1, MANTISSA_BITS), "digits": (0, MOST_DIGITS), "bins": (1, MOST_BINS), "exact": (0, 0)}


def row_sums(metric: Metric, sums: Callable[[Metric], tuple[RowSum, ...]]) -> tuple[RowSum, ...]:
    totals = metric.call("sums", sums, metric)
    if metric.outside is None:
        return totals
    _require(
        isinstance(totals, (tuple, list)), f"the sums of {metric} are {quote(totals)}: a tuple of RowSum is needed"
    )
    for total in totals:
        _require(isinstance(total, RowSum), f"a sum of {metric} is {quote(total)}: a RowSum is needed")
        allowed = f"a sum of {metric} is of {quote(total.name)} (allowed: {itemize(ROW_SUMS)})"
        _require(total.name in ROW_SUMS, allowed)
        _require_rel(f"a sum of {metric}", total.rel)
        at_threshold = total.name in AT_THRESHOLD
        _require(
            _is_number(total.threshold) if at_threshold else total.threshold is None,
            f"a sum of {metric}, {total.name}, has threshold {quote(total.threshold)}: "
            f"{'a number' if at_threshold else 'None'} is needed",
        )
    return tuple(totals)


def bin_rule(metric: Metric, rule: Callable[[Metric], BinRule]) -> BinRule:
    given = metric.call("rule", rule, metric)
    if metric.outside is None:
        return given
    _require(isinstance(given, BinRule), f"the rule of {metric} is {quote(given)}: a BinRule is needed")
    allowed = f"the rule of {metric} is of the kind {quote(given.kind)} (allowed: {itemize(_SIZES)})"
    _require(given.kind in tuple(_SIZES), allowed)  # a tuple, as a wrong kind may have no hash
    least, most = _SIZES[given.kind]
    _require(
        type(given.size) is int and least <= given.size <= most,
        f"the rule of {metric}, {given.kind}, has size {quote(given.size)}: a whole number from {least} to {most} is "
        "needed",
    )
    _require_rel(f"the rule of {metric}", given.rel)
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


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise MetricError(sentence)


def _require_rel(what: str, rel: object) -> None:
    _require(rel is None or _is_number(rel), f"{what} has rel {quote(rel)}: a number or None is needed")


def _is_number(value: Any) -> bool:
    return _is_real(value) and math.isfinite(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
