"""What a comparison could have found."""

from __future__ import annotations

from sparkrank.stats.intervals import t_quantile


def smallest_detectable(stderr: float, degrees: float, level: float = 0.95, power: float = 0.8) -> float:
    """The difference that is found with probability ``power`` by a two-sided test."""
    return (t_quantile(degrees, 0.5 + level / 2) + t_quantile(degrees, power)) * stderr
