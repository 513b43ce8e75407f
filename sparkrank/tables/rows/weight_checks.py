"""Checks of weights by propensity: the effective number of rows, the largest weight, and the share that is clipped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from sparkrank.base import checks
from sparkrank.base.errors import CodedSentence, shorten
from sparkrank.metrics import Plan
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.exact_sums import rounded
from sparkrank.states import Partials
from sparkrank.states.keys import Subject

WEIGHTS = "weights"
ROUNDING = 1e-9  # smaller distances of a mean from 1 are rounding errors
EQUAL = 1e-14  # a smaller variance of weights, relative to their squared mean, is a rounding error of equal weights


def weight_checks(partials: Partials, plan: Plan, model: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the checks of weights with their numbers. If rows have several weights, the worst weight counts."""
    if not plan.weight_states:
        return
    sums, all_rows = partials.sums.results(), Subject(model, ALL, ALL)
    effective, clipped = [], []
    for states in plan.weight_states:
        rows, weights, squares, cut = (sums.get(all_rows.state(name), 0.0) for name in states[:4])
        effective.append(weights**2 / squares if squares else 0.0)
        clipped.append((cut / rows if rows else 0.0, cut))
    yield checks.EFFECTIVE_SIZE, {"count": min(effective)}
    if model in partials.largest_weights:
        yield checks.LARGEST_WEIGHT, {"count": partials.largest_weights[model]}
    share, count = max(clipped)
    yield checks.CLIPPED_WEIGHTS, {"count": count, "of": WEIGHTS, "fraction": share}
    if (mean := mean_weight(partials, plan, model)) is not None:
        yield checks.MEAN_WEIGHT, {"count": mean.value}
        yield checks.ERRORS_FROM_ONE, {"count": mean.errors}


class MeanWeight(NamedTuple):
    """The mean of score / propensity over logged actions, and its distance from 1 in standard errors (``errors``).

    Both are 0 without actions. ``errors`` is 0 for a single action, which has no standard error, and infinite if all
    weights are equal and not 1.
    """

    value: float
    errors: float


def mean_weight(partials: Partials, plan: Plan, model: str) -> MeanWeight | None:
    """Return the mean unclipped weight of the logged actions of ``model``; None if no metric reads weights.

    The mean is near 1 if the propensities are those of the policy that took the actions. Its standard error is computed
    from parts of the groups if there are any, and otherwise from rows.
    """
    states = next((own for own in plan.weight_states if own.unclipped is not None), None)
    if states is None or states.unclipped is None:
        return None
    sums, all_rows = partials.sums.results(), Subject(model, ALL, ALL)
    rows, weights, squares = (sums.get(all_rows.state(name), 0.0) for name in (states.rows, *states.unclipped))
    if not rows:
        return MeanWeight(0.0, 0.0)
    mean = weights / rows
    parts = [partials.parts.sums.of(all_rows, name) for name in (states.rows, states.unclipped[0])]
    variance, count = squares / rows - mean**2, rows
    if parts[0] is not None and parts[1] is not None:
        rows_of_parts, weights_of_parts = rounded(parts[0]), rounded(parts[1])
        there = rows_of_parts > 0
        count = float(np.count_nonzero(there))
        variance = float(np.square((weights_of_parts - mean * rows_of_parts)[there] * count / rows).sum()) / count
    if count < 2:
        return MeanWeight(mean, 0.0)
    variance = 0.0 if variance <= EQUAL * mean**2 else variance
    error, difference = math.sqrt(variance / (count - 1)), abs(mean - 1)
    return MeanWeight(mean, 0.0 if difference < ROUNDING else difference / error if error else math.inf)


def warnings_of_weights(partials: Partials, plan: Plan, limits: checks.Limits) -> Iterator[CodedSentence]:
    """Yield a warning for each model whose mean weight of logged actions is too far from 1 for right propensities."""
    most = limits.by_check.get(checks.ERRORS_FROM_ONE, checks.LIMITS[checks.ERRORS_FROM_ONE])
    for model in plan.models:
        mean = mean_weight(partials, plan, model)
        if mean is not None and mean.errors > most:
            far = "as each of them" if math.isinf(mean.errors) else f"{mean.errors:.3g} standard errors from 1"
            yield CodedSentence(
                "weights_not_one",
                f"the mean weight of the logged actions of {shorten(model)} is {mean.value:.4g}, {far}: are the "
                "propensities those of the policy that took the actions, and the scores the probabilities of the same "
                "actions?",
            )
