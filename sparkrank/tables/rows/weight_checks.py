"""What the weights of rows by propensity do: how many rows they leave, the largest, and the share that is clipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sparkrank.base import checks
from sparkrank.metrics import Plan
from sparkrank.metrics.slices import ALL
from sparkrank.states import Partials
from sparkrank.states.keys import Subject

WEIGHTS = "weights"


def weight_checks(partials: Partials, plan: Plan, model: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the checks of weights, each with its numbers; of several weights of the same rows, the worst."""
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
