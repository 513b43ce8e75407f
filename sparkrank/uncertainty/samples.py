"""Samples: the groups of one model and one slice value.

Metrics of many samples are read as columns from the merged states of a day or window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.labels import Judging
from sparkrank.metrics.merged import Merged, MetricColumns, MetricRow, SubjectStates, WithoutParts, kind_of
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.states.keys import Subject
from sparkrank.states.means import MeanColumns


@dataclass(frozen=True)
class Sample:
    """The groups of one model and one slice value (``subject``), in the ``merged`` states of a day or window.

    ``has_parts`` is true if there are states for each part (fixed subset) of the groups. ``clustered`` is true if the
    groups belong to clusters, or if the same group may occur on several days.
    """

    merged: Merged
    subject: Subject
    has_parts: bool = True
    clustered: bool = False

    def row(self, metric: Metric) -> MetricRow:
        return self.merged.row(self.subject, metric)

    def without_parts(self, metric: Metric) -> WithoutParts | None:
        """Return the values of ``metric`` without each part (fixed subset) of the groups; None without parts."""
        return self.merged.without_parts(self.subject, metric) if self.has_parts else None

    @property
    def alone(self) -> Samples:
        return Samples(self.merged, (self.subject,), np.array([self.has_parts]), self.clustered)


@dataclass(frozen=True, eq=False)
class Samples:
    """Several samples of one day or window. ``subjects`` and ``has_parts`` have one entry per sample.

    The other fields are as in :class:`Sample`.
    """

    merged: Merged
    subjects: tuple[Subject, ...]
    has_parts: NDArray[np.bool_]
    clustered: bool = False

    @classmethod
    def of(cls, merged: Merged, subjects: Sequence[Subject], plan: Plan, *, clustered: bool) -> Samples:
        has_parts = np.array([plan.parted_slices(subject.slice) for subject in subjects], bool)
        return cls(merged, tuple(subjects), has_parts, clustered)

    def by_pooling(
        self, pooled: NDArray[np.bool_], columns_of: Callable[[Samples], dict[str, NDArray[Any]]]
    ) -> dict[str, NDArray[Any]]:
        """Return the columns computed by ``columns_of`` from these samples.

        In rows flagged ``pooled``, a group counts once for each of its pooled values, so it may count several times.
        The errors of these rows are therefore computed as for clusters.
        """
        columns = columns_of(self)
        if self.clustered or not pooled.any():
            return columns
        clustered = columns_of(replace(self, clustered=True))
        return {name: np.where(pooled, clustered[name], column) for name, column in columns.items()}

    def side(self, place: int) -> SubjectStates:
        return SubjectStates(self.merged, self.subjects[place])

    @cached
    def rows(self, metric: Metric) -> MetricColumns:
        return self.merged.rows(self.subjects, metric)

    @cached
    def _groups(self, judging: Judging) -> Floats:
        """Return the number of groups in all parts of each sample, or NaN for a sample without parts."""
        sizes = (self.merged.sizes_of_parts(subject, judging) for subject in self.subjects)
        return np.array([np.nan if own is None else own.sum() for own in sizes], np.float64)

    def groups(self, metric: Metric) -> Floats:
        """Return the number of groups behind each value; NaN for rows without groups and for uncounted groups."""
        counted = self.rows(metric).n_groups
        return np.where(np.isnan(counted), self._groups(metric.judging), counted)

    @cached
    def n_effective(self, metric: Metric) -> Floats:
        """Return the effective number of groups, at most their number, behind each value; NaN if unknown."""
        numbers = kind_of(metric).effective_numbers(self.merged, self.subjects, metric, clustered=self.clustered)
        groups = self._groups(metric.judging)
        return np.where(groups > 0, np.where(groups < numbers, groups, numbers), numbers)

    def means(self, metric: Metric) -> MeanColumns:
        """Return the mean over groups for each sample, with the standard error for independent groups."""
        return self.merged.partials.means.of_subjects(self.subjects, str(metric))

    def without_parts(self, metric: Metric, places: Ints) -> list[WithoutParts | None]:
        """Return, for each sample at ``places``, the values without each part (fixed subset) of the groups, or None."""
        return [self.merged.without_parts(self.subjects[place], metric) for place in places.tolist()]


def padded(without: Sequence[WithoutParts]) -> tuple[Floats, Floats, Floats]:
    """Return n values, the values without each part (fixed subset of groups), and the numbers of groups in parts.

    Shapes: (n,), (n, parts), (n, parts). A sample with fewer parts has parts of size 0 at the end.
    """
    parts = max((len(own.sizes) for own in without), default=0)
    values, sizes = np.zeros((2, len(without), parts))  # a missing part has size 0
    for place, own in enumerate(without):
        values[place, : len(own.sizes)], sizes[place, : len(own.sizes)] = own.without, own.sizes
    return np.array([own.value for own in without], np.float64), values, sizes
