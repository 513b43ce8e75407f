"""The subjects (model, slice, slice value) of a day or a window with rows in the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparkrank.metrics.needs import GROUPS
from sparkrank.metrics.plan import Plan
from sparkrank.metrics.slices import ALL, OTHER, pools, slice_name
from sparkrank.numeric.exact_sums import rounded
from sparkrank.states import Partials
from sparkrank.states.keys import Subject


def slices_of(partials: Partials, plan: Plan) -> list[tuple[str, str | None]]:
    names = map(slice_name, plan.slices)
    return [(ALL, ALL), *((name, value) for name in names for value in partials.slice_values(name))]


def subjects_of(partials: Partials, plan: Plan) -> list[Subject]:
    """Return the subjects with states, except those with a slice value in :func:`small_slices`."""
    there = {subject for states in (partials.means, partials.sums) for subject in states.subjects()}
    small = small_slices(partials, plan)
    values = [value for value in slices_of(partials, plan) if value not in small]
    every = (Subject(model, *value) for model in plan.models for value in values)
    return [subject for subject in every if subject in there]


def small_slices(partials: Partials, plan: Plan) -> set[tuple[str, str | None]]:
    """Return the (slice, value) pairs with fewer than ``plan.least_groups`` groups, if counted, in every model."""
    if plan.least_groups <= 1:
        return set()
    most = groups_of_values(partials)
    return {value for value, groups in most.items() if value[0] != ALL and groups < plan.least_groups}


def are_pooled(subjects: Sequence[Subject], plan: Plan) -> NDArray[np.bool_]:
    """Return flags of the subjects that pool values of a slice.

    A group with several of these values counts several times.
    """
    tops = {slice_name(columns) for columns in plan.slices if pools(columns)}
    return np.array([own.slice in tops and own.slice_value == OTHER for own in subjects], np.bool_)


def groups_of_values(partials: Partials) -> dict[tuple[str, str | None], int]:
    """Return the number of groups of each (slice, value) pair, in the model with the most such groups."""
    sums = partials.sums.results()
    known = [(key.subject, mean.n_groups) for key, mean in partials.means.results().items()]
    known += [(key.subject, int(total)) for key, total in sums.items() if key.name == GROUPS]
    of_parts = ((subject, partials.parts.sums.of(subject, GROUPS)) for subject in {key.subject for key in sums})
    known += [(subject, int(rounded(groups).sum())) for subject, groups in of_parts if groups is not None]
    most: dict[tuple[str, str | None], int] = {}
    for subject, groups in known:
        most[subject[1:]] = max(groups, most.get(subject[1:], 0))
    return most
