"""The section ``track`` of the spec document: the trackers for each stored day."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from sparkrank.base.time_limits import TIMEOUT
from sparkrank.config.sections import Label, Section
from sparkrank.config.validators import as_list, as_number, as_tracker
from sparkrank.tables.trackers.mlflow_tracker import TRACKERS, MlflowTracker


class TrackSettings(Section):
    """A tracker of stored days, and the ``slices`` whose values are logged.

    ``to`` is the kind of tracker. ``experiment`` is the name of the tracker's collection of runs, by default the
    tracker's own. If ``series`` is true, days are steps of one run. A tracker that fails, or does not answer within
    ``timeout`` seconds, causes a warning, or exit code 1 if it is ``required``.
    """

    to: Annotated[str, BeforeValidator(as_tracker)]
    experiment: Label | None = None
    slices: Annotated[list[str], BeforeValidator(as_list)] = Field(default_factory=list)
    series: bool = False
    required: bool = False
    timeout: Annotated[float, BeforeValidator(as_number)] = Field(default=TIMEOUT, gt=0, le=3600)

    @property
    def tracker(self) -> MlflowTracker:
        """The tracker that logs the days."""
        return TRACKERS[self.to](self.experiment, self.series)
