"""The table ``comparisons``: each candidate against the baseline on the same groups, by metric and slice value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.slices import ALL
from sparkrank.metrics.subjects import subjects_of
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.schemas.tables import COMPARISONS
from sparkrank.states.keys import Subject
from sparkrank.stats.corrections import adjusted
from sparkrank.stats.intervals import TOO_FEW
from sparkrank.stats.power import smallest_detectable
from sparkrank.stats.sequential import LEAST_EVENTS, LEAST_GROUPS, always_valid_p, confidence_sequence, radius
from sparkrank.tables.rows.results import NO_ORIGIN, Origin
from sparkrank.uncertainty.differences import Compared, PairSums, Sample, compared


def comparisons_table(
    merged: Merged,
    plan: Plan,
    comparison: Comparison,
    origin: Origin = NO_ORIGIN,
    *,
    clustered: bool = False,
    of_candidates: Mapping[str, tuple[Merged, bool]] | None = None,
) -> pa.Table:
    """A row per candidate, slice value and metric, in the order of models, slices and metrics.

    ``clustered`` means that a group may occur on several days, so that pairs of groups are not independent. For
    candidates that lack some of the baseline's days, ``of_candidates`` has the merged states of the common days and
    their ``clustered``.
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
    """Pairs of a candidate and the baseline in every slice value that has both, among the subjects ``there``."""
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
    has_parts, level = plan.parted_slices(subject.slice), plan.uncertainty.look_level
    pairs = _pair_sums(merged, plan, subject, baseline.model, metric)
    ours, theirs = (Sample(merged, side, has_parts, clustered) for side in (subject, baseline))
    comparison = compared(ours, theirs, metric, level, None if clustered else pairs)
    numbers = comparison.columns(level)
    if plan.uncertainty.sequential:
        numbers |= _at_all_looks(comparison, level, pairs)
    elif numbers["p"] is not None:
        numbers["p"] = min(1.0, numbers["p"] * plan.uncertainty.nights)
    return {
        "candidate": subject.model,
        "baseline": baseline.model,
        "slice": subject.slice,
        "slice_value": subject.slice_value,
        "metric": str(metric),
        "definition": plan.definition(metric),
        **numbers,
        **_wins(pairs, metric),
    }


def _wins(pairs: PairSums | None, metric: Metric) -> dict[str, int | None]:
    """The numbers of wins, ties and losses over pairs of groups, which cannot be computed from the 64 parts."""
    if pairs is None:
        return {}
    up = metric.declaration.higher_is_better
    if up is None:
        return {"n_unpaired": pairs.n_unpaired}
    wins, losses = (pairs.n_above, pairs.n_below) if up else (pairs.n_below, pairs.n_above)
    return {"n_unpaired": pairs.n_unpaired, "wins": wins, "ties": pairs.n_equal, "losses": losses}


def _at_all_looks(comparison: Compared, level: float, pairs: PairSums | None) -> dict[str, Any]:
    """Interval, p-value and detectable difference that are valid over all looks; nulls before looks begin."""
    test, groups = comparison.test, comparison.n_groups or 0
    of_one_look: dict[str, Any] = {"relative_low": None, "relative_high": None}
    if test.stderr is None:
        return of_one_look
    if groups < LEAST_GROUPS or (pairs is not None and pairs.n_above + pairs.n_below < LEAST_EVENTS):
        numbers = dict.fromkeys(("stderr", "ci_low", "ci_high", "degrees", "p", "smallest_detectable"))
        return {**of_one_look, **numbers, "interval": TOO_FEW.method}
    interval = confidence_sequence(comparison.difference, test.stderr, groups, level)
    half = radius(test.stderr, groups, level)
    return {
        **of_one_look,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "interval": interval.method,
        "p": always_valid_p(comparison.difference, test.stderr, groups, level),
        "smallest_detectable": smallest_detectable(test.stderr, test.degrees or 0, level, half=half),
    }


def _pair_sums(merged: Merged, plan: Plan, subject: Subject, baseline: str, metric: Metric) -> PairSums | None:
    """The sums over pairs of groups of both models, if the states have them."""
    if plan.compare is None or plan.compare.baseline != baseline or metric not in plan.paired_metrics:
        return None
    numbers = merged.partials.parts.pairs.of(subject, metric)
    return None if numbers is None else PairSums.of(numbers[0])


def _correct(rows: list[dict[str, Any]], comparison: Comparison) -> None:
    """Add to ``rows`` the p-values adjusted within their families."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault(_family(row, comparison), []).append(row)
    for name, of_family in families.items():
        p = np.array([np.nan if row["p"] is None else row["p"] for row in of_family])
        for row, value in zip(of_family, adjusted(p, comparison.correction).tolist(), strict=True):
            row["p_adjusted"] = None if row["p"] is None else value
            row["correction"], row["family"] = comparison.correction, name


def _family(row: dict[str, Any], comparison: Comparison) -> str:
    if comparison.family == "slice_column":
        return "whole day" if row["slice"] == ALL else f"slice {row['slice']}"
    if comparison.family == "slice":
        return f"slice {row['slice']}={row['slice_value']}"
    return f"{comparison.family} {row[comparison.family]}"
