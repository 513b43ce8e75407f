"""The table ``comparisons``: each candidate against the baseline, by metric and value of a slice.

Both are evaluated on the same groups. The difference of two means of one day is the mean of the differences of its
groups, whose exact moments are a state. All other differences are resampled by part, as intervals of values are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged, MetricRow, subjects_of
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.states.keys import Subject
from sparkrank.states.part_states import PAIR_COUNTS
from sparkrank.stats.corrections import adjusted
from sparkrank.stats.intervals import jackknife
from sparkrank.stats.paired import Difference, paired_t, t_test
from sparkrank.stats.power import smallest_detectable
from sparkrank.stats.sequential import always_valid_p, confidence_sequence, radius
from sparkrank.tables.results import NO_ORIGIN, Origin
from sparkrank.tables.schemas import COMPARISONS
from sparkrank.tables.standard_errors import JACKKNIFE


def comparisons_table(
    merged: Merged,
    plan: Plan,
    comparison: Comparison,
    origin: Origin = NO_ORIGIN,
    *,
    clustered: bool = False,
    of_candidates: Mapping[str, tuple[Merged, bool]] | None = None,
) -> pa.Table:
    """A row per candidate, value of a slice and metric, in the order of models, slices and metrics.

    ``clustered``: a group may have come on several days, and pairs of groups are not independent, nor are they where
    groups have clusters. ``of_candidates`` are
    the same two for candidates that do not have all the days of the baseline: those of the days of both.
    """
    rows, there = [], subjects_of(merged.partials, plan)
    for candidate in plan.models:
        own, is_clustered = (of_candidates or {}).get(candidate, (merged, clustered))
        subjects = there if own is merged else subjects_of(own.partials, plan)
        rows += [
            _row(own, plan, subject, baseline, metric, clustered=is_clustered or plan.cluster is not None)
            for subject, baseline in _pairs(subjects, candidate, comparison)
            for metric in plan.metrics
        ]
    _correct(rows, comparison)
    for row in rows:
        row.update(spec_hash=origin.spec_hash, run_id=origin.run_id)
    return pa.Table.from_pylist(rows, schema=COMPARISONS.schema)


def _pairs(there: Sequence[Subject], candidate: str, comparison: Comparison) -> Iterator[tuple[Subject, Subject]]:
    """A candidate with the baseline in every value of a slice where both are ``there``."""
    if candidate == comparison.baseline:
        return
    known = set(there)
    for subject in there:
        baseline = subject._replace(model=comparison.baseline)
        if subject.model == candidate and baseline in known:
            yield subject, baseline


def _row(
    merged: Merged, plan: Plan, subject: Subject, baseline: Subject, metric: Metric, *, clustered: bool
) -> dict[str, Any]:
    ours, theirs = merged.row(subject, metric), merged.row(baseline, metric)
    counts, moments = _moments(merged, plan, subject, baseline.model, metric)
    level = plan.uncertainty.level
    if moments is not None and not clustered:
        found = paired_t(counts["n_pairs"], *moments, level)
    else:
        found = _of_parts(merged, plan, subject, baseline, metric, ours.value - theirs.value)
    n_groups, half = counts.get("n_pairs", _groups(merged, subject, ours)), None
    if plan.uncertainty.sequential and found.stderr is not None and found.difference is not None and n_groups:
        half = radius(found.stderr, n_groups, level)
        found = _at_all_looks(found, found.difference, found.stderr, n_groups, level)
    up = metric.declaration.higher_is_better
    above, below = counts.get("n_above"), counts.get("n_below")
    return {
        "candidate": subject.model,
        "baseline": baseline.model,
        "slice": subject.slice,
        "slice_value": subject.slice_value,
        "metric": str(metric),
        "definition": plan.definition(metric),
        "difference": math.nan if found.difference is None else found.difference,
        "relative": _relative(found.difference, theirs.value),
        "stderr": found.stderr,
        "ci_low": found.low,
        "ci_high": found.high,
        "interval": found.method,
        "p": found.p,
        "wins": None if up is None else above if up else below,
        "ties": None if up is None else counts.get("n_equal"),
        "losses": None if up is None else below if up else above,
        "smallest_detectable": smallest_detectable(found.stderr, found.degrees, level, half=half),
        "n_groups": n_groups,
        "n_unpaired": counts.get("n_unpaired"),
    }


def _relative(difference: float | None, value: float) -> float | None:
    return None if difference is None or math.isnan(difference) or not value else difference / abs(value)


def _at_all_looks(found: Difference, difference: float, stderr: float, groups: int, level: float) -> Difference:
    """``found`` with an interval and a p-value that hold at all looks together."""
    interval = confidence_sequence(difference, stderr, groups, level)
    p = always_valid_p(difference, stderr, groups, level)
    return found._replace(low=interval.low, high=interval.high, method=interval.method, p=p)


def _moments(
    merged: Merged, plan: Plan, subject: Subject, baseline: str, metric: Metric
) -> tuple[dict[str, int], tuple[Fraction, Fraction] | None]:
    """The counts of pairs of groups, and the sums of differences and of their squares, where these are known."""
    if plan.compare is None or plan.compare.baseline != baseline or metric not in plan.paired_metrics:
        return {}, None
    found = merged.partials.parts.pairs.of(subject, metric)
    if found is None:
        return {}, None
    numbers = found[0]
    counts = {name: int(numbers[place]) for place, name in enumerate(PAIR_COUNTS)}
    limbs = numbers[len(PAIR_COUNTS) :].reshape(2, LIMBS).tolist()
    first, second = (sum(map(Fraction, each), Fraction()) for each in limbs)
    return counts, (first, second)


def _of_parts(
    merged: Merged, plan: Plan, subject: Subject, baseline: Subject, metric: Metric, difference: float
) -> Difference:
    """The test of ``difference`` by what it is without each part of the groups."""
    ours, theirs = (merged.without_parts(each, metric) if plan.has_parts else None for each in (subject, baseline))
    if ours is None or theirs is None:
        return t_test(difference, math.nan, 0, plan.uncertainty.level)._replace(difference=difference)
    stderr, degrees = jackknife(
        [ours.value - theirs.value], [ours.without - theirs.without], np.maximum(ours.sizes, theirs.sizes)
    )
    return t_test(difference, float(stderr[0]), int(degrees[0]), plan.uncertainty.level, JACKKNIFE)


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
