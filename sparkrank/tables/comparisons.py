"""The table ``comparisons``: each candidate against the baseline, by metric and value of a slice.

Both are evaluated on the same groups. The difference of two means of one day is the mean of the differences of its
groups, whose exact moments are a state. All other differences are resampled by part, as intervals of values are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Measured, Merged, MetricRow, WithoutParts, subjects_of
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.states import Partials
from sparkrank.states.keys import StateKey, Subject
from sparkrank.states.part_states import PAIR_COUNTS
from sparkrank.stats.corrections import adjusted
from sparkrank.stats.intervals import NONE, Interval, t_interval
from sparkrank.stats.paired import two_sided_p
from sparkrank.stats.power import smallest_detectable
from sparkrank.tables.results import NO_ORIGIN, Origin
from sparkrank.tables.schemas import COMPARISONS
from sparkrank.tables.standard_errors import jackknifed

PAIRED = "paired t"


def comparisons_table(
    partials: Partials,
    plan: Plan,
    comparison: Comparison,
    origin: Origin = NO_ORIGIN,
    measured: Mapping[StateKey, Measured] | None = None,
    *,
    clustered: bool = False,
) -> pa.Table:
    """A row per candidate, value of a slice and metric, in the order of models, slices and metrics.

    ``clustered``: a group may have come on several days, and pairs of groups are not independent.
    """
    merged = Merged(partials, measured or {})
    rows = [
        {**_row(merged, plan, subject, baseline, metric, clustered=clustered), "definition": plan.definition(metric)}
        for subject, baseline in _pairs(partials, plan, comparison)
        for metric in plan.metrics
    ]
    _correct(rows, comparison)
    for row in rows:
        row.update(spec_hash=origin.spec_hash, run_id=origin.run_id)
    return pa.Table.from_pylist(rows, schema=COMPARISONS.schema)


def _pairs(partials: Partials, plan: Plan, comparison: Comparison) -> Iterator[tuple[Subject, Subject]]:
    """Every candidate with the baseline in the same value of a slice, where both have states."""
    there = subjects_of(partials, plan)
    known = set(there)
    for subject in there:
        baseline = subject._replace(model=comparison.baseline)
        if subject.model != comparison.baseline and baseline in known:
            yield subject, baseline


def _row(
    merged: Merged, plan: Plan, subject: Subject, baseline: Subject, metric: Metric, *, clustered: bool
) -> dict[str, Any]:
    ours, theirs = merged.row(subject, metric), merged.row(baseline, metric)
    counts, moments = _moments(merged, plan, subject, baseline.model, metric)
    level = plan.uncertainty.level
    if moments is not None and not clustered:
        difference, interval, degrees = _of_moments(counts["n_pairs"], *moments, level)
    else:
        difference = ours.value - theirs.value
        interval, degrees = _of_parts(merged, plan, subject, baseline, metric, difference)
    up = metric.declaration.higher_is_better
    above, below = counts.get("n_above"), counts.get("n_below")
    return {
        "candidate": subject.model,
        "baseline": baseline.model,
        "slice": subject.slice,
        "slice_value": subject.slice_value,
        "metric": str(metric),
        "difference": difference,
        "relative": difference / abs(theirs.value) if theirs.value and not math.isnan(theirs.value) else None,
        "stderr": interval.stderr,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "interval": interval.method,
        "p": None if interval.stderr is None else two_sided_p(difference, interval.stderr, degrees),
        "wins": None if up is None else above if up else below,
        "ties": None if up is None else counts.get("n_equal"),
        "losses": None if up is None else below if up else above,
        "smallest_detectable": None
        if interval.stderr is None
        else smallest_detectable(interval.stderr, degrees, level=level),
        "n_groups": counts.get("n_pairs", _groups(merged, subject, ours)),
        "n_unpaired": counts.get("n_unpaired"),
    }


def _moments(
    merged: Merged, plan: Plan, subject: Subject, baseline: str, metric: Metric
) -> tuple[dict[str, int], tuple[Any, Any] | None]:
    """The counts of pairs of groups, and the limbs of the sums of differences and of their squares, where known."""
    if plan.compare is None or plan.compare.baseline != baseline or metric not in plan.paired_metrics:
        return {}, None
    found = merged.partials.parts.pairs.of(subject, metric)
    if found is None:
        return {}, None
    numbers = found[0]
    counts = {name: int(numbers[place]) for place, name in enumerate(PAIR_COUNTS)}
    first = len(PAIR_COUNTS)
    return counts, (numbers[first : first + LIMBS], numbers[first + LIMBS : first + 2 * LIMBS])


def _of_moments(n: int, limbs: Any, limbs_of_squares: Any, level: float) -> tuple[float, Interval, float]:
    """The mean difference of ``n`` pairs with its interval and degrees of freedom, from the exact sums."""
    if n == 0:
        return math.nan, NONE, math.nan
    added, squares = (sum(map(Fraction, each.tolist()), Fraction()) for each in (limbs, limbs_of_squares))
    mean = added / n
    deviations = max(float(squares - added * mean), 0.0)
    stderr = math.sqrt(deviations / (n - 1) / n) if n > 1 else math.nan
    interval = t_interval(float(mean), stderr, n - 1, level)
    return float(mean), interval if interval.method is None else interval._replace(method=PAIRED), float(n - 1)


def _of_parts(
    merged: Merged, plan: Plan, subject: Subject, baseline: Subject, metric: Metric, difference: float
) -> tuple[Interval, float]:
    """The interval of ``difference`` by what it is without each part of the groups, and its degrees of freedom."""
    ours, theirs = (merged.without_parts(each, metric) if plan.has_parts else None for each in (subject, baseline))
    if ours is None or theirs is None:
        return NONE, math.nan
    found = WithoutParts(ours.value - theirs.value, ours.without - theirs.without, np.maximum(ours.sizes, theirs.sizes))
    return jackknifed(difference, found, plan.uncertainty.level)


def _groups(merged: Merged, subject: Subject, row: MetricRow) -> int | None:
    if row.n_groups is not None:
        return row.n_groups
    sizes = merged.sizes_of_parts(subject)
    return None if sizes is None else int(sizes.sum())


def _correct(rows: list[dict[str, Any]], comparison: Comparison) -> None:
    """Add to ``rows`` what their p-values are within the family of each."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault(_family(row, comparison), []).append(row)
    for name, of_family in families.items():
        p = np.array([np.nan if row["p"] is None else row["p"] for row in of_family])
        for row, value in zip(of_family, adjusted(p, comparison.correction).tolist(), strict=True):
            row["p_adjusted"] = None if row["p"] is None else value
            row["correction"], row["family"] = comparison.correction, name


def _family(row: dict[str, Any], comparison: Comparison) -> str:
    if comparison.family == "slice":
        return f"slice {row['slice']}={row['slice_value']}"
    return f"{comparison.family} {row[comparison.family]}"
