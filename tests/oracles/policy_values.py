"""The value of a policy from logged actions, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.oracles.values import Value


class Action(NamedTuple):
    """A logged action: the group, the policy's probability of it, its reward, its propensity, and what is expected."""

    group: str
    score: float | None
    reward: float | None
    propensity: float
    estimate: float
    policy_estimate: float


def policy_value(
    actions: Sequence[Action],
    by: str = "ips",
    clip: float | None = None,
    per: str = "row",
    min_effective: float | None = None,
) -> Value:
    known = [action for action in actions if action.score is not None and action.reward is not None]
    if not known or any(not 0 <= action.score <= 1 for action in actions if action.score is not None):
        return None
    weights = [action.score / action.propensity for action in known]
    weights = weights if clip is None else [min(weight, clip) for weight in weights]
    if min_effective is not None:
        squares = sum(weight**2 for weight in weights)
        if not squares or sum(weights) ** 2 / squares < min_effective:
            return None
    units = len(known) if per == "row" else len({action.group for action in known})
    pairs = list(zip(weights, known, strict=True))
    if by == "dr":
        corrected = (own.policy_estimate + weight * (own.reward - own.estimate) for weight, own in pairs)
        return sum(corrected) / units
    earned = sum(weight * own.reward for weight, own in pairs)
    if by == "ips":
        return earned / units
    mean = sum(weights) / len(weights)
    return earned / mean / units if mean else None
