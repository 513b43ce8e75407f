"""A/A splits of stored nights: what a gate compares in one half of a night's groups against the other half.

Nothing differs between the halves but noise, and half of their difference has the spread of the whole night's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sparkrank.base.errors import InputError, StateError
from sparkrank.gates.verdicts import Judged, VerdictKey
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.slices import slice_name
from sparkrank.states import Partials
from sparkrank.states.keys import Subject
from sparkrank.tables.stored.stored_days import StoredDay, find_days, merge_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec


def noise_of_splits(
    spec: Spec, nights: Sequence[tuple[str, Sequence[Judged]]], spark: SparkSession | None = None
) -> dict[str, dict[VerdictKey, list[float]]]:
    """Half of the difference of two halves of the groups, of every verdict of ``nights``, in each of 15 splits.

    Nights without states that the spec can read are left out, and so are verdicts on what does not come from parts.
    """
    plan, judge = spec.plan(), spec.judge(spec.plan())
    if judge is None or not plan.has_parts:
        return {}
    cells = {each.key.cell for _, of_night in nights for each in of_night}
    asked = {cell.metric for cell in cells}, {cell.slice for cell in cells}
    plan = replace(
        plan,
        metrics=tuple(metric for metric in plan.metrics if str(metric) in asked[0]),
        slices=tuple(each for each in plan.slices if slice_name(each) in asked[1]),
    )
    against = {(rule.gate, rule.kind): rule.against for rule in judge.rules}
    judged = dict(nights)
    found = {}
    for day in find_days(spec.output.path, list(judged), spark):
        halves = _halves(day, plan, spec.source())
        if halves is not None:
            found[day.day] = dict(_noise(halves, plan, judged[day.day], against))
    return found


def _halves(day: StoredDay, plan: Plan, source: str) -> list[Merged] | None:
    try:
        partials, _ = merge_stored([day], plan, source)
    except (InputError, StateError):  # of another spec, or damaged: the night has its verdicts all the same
        return None
    return [Merged(Partials(parts=parts)) for parts in partials.parts.halves()]


def _noise(
    halves: Sequence[Merged], plan: Plan, judged: Sequence[Judged], against: Mapping[tuple[str, str], str | None]
) -> Iterable[tuple[VerdictKey, list[float]]]:
    metrics = {str(metric): metric for metric in plan.metrics}
    for key in (each.key for each in judged):
        metric, baseline = metrics.get(key.cell.metric), against.get((key.gate, key.kind))
        if metric is None:
            continue
        subject = Subject(key.cell.model, key.cell.slice, key.cell.slice_value)
        noise = np.array([_half_of_difference(each, subject, metric) for each in halves])
        if baseline is not None:
            other = subject._replace(model=baseline)
            noise = noise - np.array([_half_of_difference(each, other, metric) for each in halves])
        if np.isfinite(noise).all():
            yield key, noise.tolist()


def _half_of_difference(halves: Merged, subject: Subject, metric: Metric) -> float:
    found = halves.without_parts(subject, metric)
    if found is None or len(found.without) != 2:
        return np.nan
    one, other = map(float, found.without)
    return (one - other) / 2
