"""Rules that decide whether a difference between models is clear, and reasons for doubt in misleading numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sparkrank.report.data import ComparisonRow

SURE = 0.05  # a difference with a smaller adjusted p-value is called better or worse


def adjusted_p(row: ComparisonRow) -> float | None:
    """Return the adjusted p-value of a comparison, or the unadjusted p-value if no adjusted p-value is stored."""
    p: float | None = row.p if row.p_adjusted is None else row.p_adjusted
    return p


def is_sure(row: ComparisonRow) -> bool:
    """Return whether a difference is significant after correction, with both models measured on the same groups."""
    p = adjusted_p(row)
    return p is not None and p < SURE and not row.is_of_other_groups


def with_doubts(rows: Iterable[ComparisonRow], tests: dict[str, int], most_unpaired: float) -> list[ComparisonRow]:
    """Return ``rows`` with reasons for doubt.

    ``tests`` maps each family (p-values that are corrected together) to its number of p-values.
    """
    doubts = ((row, _doubt(row, tests.get(row.family, 0), most_unpaired)) for row in rows)
    return [replace(row, **doubt) if doubt else row for row, doubt in doubts]  # type: ignore[type-var]


def _doubt(row: ComparisonRow, tests: int, most_unpaired: float) -> dict[str, Any]:
    unpaired = row.n_unpaired or 0
    groups = (row.n_groups or 0) + unpaired
    if unpaired > most_unpaired * groups:
        sentence = f"in {unpaired:,} of {groups:,} groups only one of the two has a value"
        return {"doubt": f"{sentence}: the two values are of different groups", "is_of_other_groups": True}
    p = adjusted_p(row)
    excludes_0 = row.ci_low is not None and row.ci_high is not None and not row.ci_low <= 0 <= row.ci_high
    if not excludes_0 or p is None or p < SURE:
        return {}
    if row.p < SURE:
        return {"doubt": f"clear by itself; not after correction for {tests:,} comparisons"}
    return {"doubt": f"clear by its interval; p by itself is not below {SURE:g}"}
