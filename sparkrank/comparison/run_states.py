"""The states (mergeable partial results) of one run in a comparison, in memory or from a stored day or window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparkrank.base import checks
from sparkrank.base.errors import StateError
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.slices import ALL, slice_name
from sparkrank.states.keys import Subject
from sparkrank.tables.stored.stored_days import StoredDay, merge_stored
from sparkrank.uncertainty.samples import Sample


@dataclass(frozen=True)
class LoadedStates:
    """The merged states of one run. ``clustered`` is true if groups form clusters or may occur on several days.

    ``notes`` are messages about missing states.
    """

    merged: Merged
    plan: Plan
    clustered: bool
    notes: tuple[str, ...] = ()

    def sample(self, model: str, slice_: str = ALL, value: str | None = ALL) -> Sample:
        """Return the states of ``model`` for one slice value, by default for the whole day."""
        subject = Subject(model, slice_, value)
        return Sample(self.merged, subject, self.plan.parted_slices(slice_), self.clustered)

    @property
    def groups(self) -> int:
        """The number of groups that the states cover."""
        return self.merged.partials.counts.get((checks.GROUPS, ""), 0)


@dataclass(frozen=True)
class RunStates:
    """The states of one run in a comparison, either in memory (``held``) or read from the stored ``days``.

    ``what`` is ``left`` or ``right``. The states were computed by ``plan``, whose metric names were parsed under
    ``preset``. ``place`` is the name of the run in messages, and ``notes`` name the metrics without states.
    """

    what: str
    place: str
    plan: Plan
    held: Merged | None = None
    days: tuple[StoredDay, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    spec_hash: str | None = None
    run_id: str | None = None
    preset: Preset | None = None

    @property
    def models(self) -> list[str]:
        return sorted(self.plan.models)

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics of the plan, keyed by metric name."""
        return {str(metric): metric for metric in self.plan.metrics}

    @property
    def definitions(self) -> dict[str, str]:
        """The definition of each metric, keyed by metric name."""
        return {text: self.plan.definition(metric) for text, metric in self.metrics.items()}

    def loaded(self, metrics: Sequence[str], by: str | None = None) -> LoadedStates:
        """Return the states of ``metrics`` over all rows and by the slice ``by``, without parts that cannot be merged.

        Parts are fixed subsets of the groups.
        """
        if self.held is not None:
            return LoadedStates(self.held, self.plan, self.plan.cluster is not None, self.notes)
        clustered = len(self.days) > 1 or self.plan.cluster is not None
        slices = tuple(columns for columns in self.plan.slices if slice_name(columns) == by)
        plan = replace(self.plan, metrics=tuple(self.metrics[text] for text in metrics), slices=slices)
        notes = self.notes
        try:
            partials = merge_stored(self.days, plan, self.source)[0]
        except StateError as error:
            if not plan.has_parts:
                raise
            plan, notes = replace(plan, uncertainty=replace(plan.uncertainty, off=True)), (*notes, str(error))
            partials = merge_stored(self.days, plan, self.source)[0]
        return LoadedStates(Merged(partials), plan, clustered, notes)
