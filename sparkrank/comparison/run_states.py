"""The states of one side of a comparison: of results in memory, or of a stored day or window."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sparkrank.base import checks
from sparkrank.base.errors import InputError, MetricError, SparkrankError, StateError, listed, shortened
from sparkrank.comparison.group_tables import day_at, model_among
from sparkrank.inputs.window import Window, spans
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.slices import ALL, slice_name
from sparkrank.results.evaluation import Evaluation
from sparkrank.sources.files import without_password
from sparkrank.sources.in_memory import is_path
from sparkrank.states.keys import Subject
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.stored.stored_days import StoredDay, find_days, merge_stored
from sparkrank.tables.stored.stored_results import whole_run
from sparkrank.uncertainty.differences import Sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.comparison.group_tables import GroupRows

# What a stored spec says of its states. The other sections may be of another version, and have nothing to do with them.
_SECTIONS = ("input", "truth", "metrics", "slices", "definitions", "uncertainty", "output", "engine")
DOTS = ".."  # between the ends of a window


@dataclass(frozen=True)
class LoadedStates:
    """The states of a side, by ``plan``, with the sentences that are to be said of them.

    ``clustered``: a group may have come on several days, or groups have clusters.
    """

    merged: Merged
    plan: Plan
    clustered: bool
    told: tuple[str, ...] = ()

    def sample(self, model: str, slice_: str = ALL, value: str | None = ALL) -> Sample:
        """Those of ``model`` on one value of a slice."""
        subject = Subject(model, slice_, value)
        return Sample(self.merged, subject, self.plan.parted_slices(slice_), self.clustered)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.merged.partials.counts.get((checks.GROUPS, ""), 0)


@dataclass(frozen=True)
class RunStates:
    """Where the states of the side ``what``, left or right, are, and the plan by which they were made.

    They are ``held`` in memory, or those of stored ``days`` of one ``source``. ``place`` is how sentences call them,
    ``told`` has sentences about metrics that they do not have.
    """

    what: str
    place: str
    plan: Plan
    held: Merged | None = None
    days: tuple[StoredDay, ...] = ()
    source: str = ""
    told: tuple[str, ...] = ()
    spec_hash: str | None = None
    run_id: str | None = None

    @classmethod
    def of(cls, what: str, rows: GroupRows, day: str | None, spark: SparkSession | None) -> RunStates | str:
        """The states of ``rows``, or the sentence that says why there are none."""
        if isinstance(rows, Evaluation):
            return cls(what, f"the {what} evaluation", rows.plan, rows.solved.merged, spec_hash=rows.origin.spec_hash)
        if not is_path(rows):
            return f"the {what} rows are a group table, which has no states"
        return cls.stored(what, os.fspath(rows), day, spark)  # type: ignore[arg-type]

    @classmethod
    def stored(cls, what: str, path: str, day: str | None, spark: SparkSession | None) -> RunStates | str:
        """Those of a day or of a window, ``first..last``, below an output path.

        Raises :class:`InputError` where a day of a window has none, or the spec of its run cannot be read.
        """
        window = None if day is None or DOTS not in day else Window.of(*day.split(DOTS, 1))
        if window is None:
            try:
                path, only = day_at(what, path, day)
            except SparkrankError:
                return f"{without_password(path)} is no day of an output, so that it has no states"
            days: tuple[str, ...] = (only,)
        else:
            days = window.days
        place = without_password(f"{path.rstrip('/')}/states/{DAY}={days[0] if window is None else window}")
        found = find_days(path, days, spark)
        missing = [each for each in days if each not in {stored.day for stored in found}]
        if missing and window is not None:
            raise InputError(f"there are no states of {shortened(spans(missing))} under {without_password(path)}")
        if missing:
            return f"there are no states at {place}"
        return cls._of_run(what, place, tuple(found))

    @classmethod
    def _of_run(cls, what: str, place: str, days: tuple[StoredDay, ...]) -> RunStates:
        """The last of ``days`` says what they hold; the others are held against it where they are read."""
        from sparkrank.config import Spec  # which loads slowly

        run = whole_run(days[-1].files, days[-1].day)
        try:
            document: dict[str, Any] = {
                name: value for name, value in json.loads(run["spec"]).items() if name in _SECTIONS
            }
            known, unknown = _registered(document["metrics"])
            spec = Spec.model_validate({**document, "metrics": known})
            plan = spec.plan()
        except (ValueError, KeyError, TypeError, AttributeError, SparkrankError) as error:
            raise InputError(f"the spec of the run at {place} cannot be read: {shortened(error)}") from error
        told = [f"{name} is a metric that nobody here has registered: it is not compared" for name in unknown]
        if not spec.output.blocks and plan.histogram_metrics:
            binned = [metric for metric, _ in plan.histogram_metrics]
            plan = replace(plan, metrics=tuple(metric for metric in plan.metrics if metric not in binned))
            told.append(
                f"{place} has no score bins (output.blocks), from which {listed(map(str, binned))} would be read"
            )
        return cls(what, place, plan, None, days, spec.source(), tuple(told), run["spec_hash"], run["run_id"])

    @property
    def models(self) -> list[str]:
        return sorted(self.plan.models)

    @property
    def metrics(self) -> dict[str, Metric]:
        """Each metric by its text."""
        return {str(metric): metric for metric in self.plan.metrics}

    @property
    def definitions(self) -> dict[str, str]:
        """What each metric means, by its text."""
        return {text: self.plan.definition(metric) for text, metric in self.metrics.items()}

    def model(self, asked: str | None, option: str) -> str:
        """The model that is asked for, or the only one. Raises :class:`SpecError` where there is no such model."""
        return model_among(self.place, self.models, asked, option)

    def loaded(self, metrics: Sequence[str], by: str | None = None) -> LoadedStates:
        """The states of ``metrics`` on the whole day, and by a slice, read where they are stored.

        They are without parts where these are of another version.
        """
        if self.held is not None:
            return LoadedStates(self.held, self.plan, self.plan.cluster is not None, self.told)
        clustered = len(self.days) > 1 or self.plan.cluster is not None
        slices = tuple(each for each in self.plan.slices if slice_name(each) == by)
        plan = replace(self.plan, metrics=tuple(self.metrics[text] for text in metrics), slices=slices)
        try:
            merged = Merged(merge_stored(self.days, plan, self.source)[0])
            return LoadedStates(merged, plan, clustered, self.told)
        except StateError as error:
            if not plan.has_parts:
                raise
            without = replace(plan, uncertainty=replace(plan.uncertainty, off=True))
            merged = Merged(merge_stored(self.days, without, self.source)[0])
            return LoadedStates(merged, without, clustered, (*self.told, str(error)))


def _registered(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The metrics among ``texts`` that are known here, and the others: plugins are not imported for a stored spec."""
    known, unknown = [], []
    for text in texts:
        try:
            Metric.parse(text)
        except MetricError:
            unknown.append(text)
        else:
            known.append(text)
    return known, unknown
