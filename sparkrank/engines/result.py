"""The result of a pass over a day's rows, the same for every lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.metrics.merged import Measured, Merged
from sparkrank.states import Partials, ScoreHistogram, Series
from sparkrank.states.keys import StateKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _release_nothing() -> None:
    """Do nothing: there is nothing to release."""


@dataclass(frozen=True)
class ExactBins:
    """Exact bins that are too many for one process.

    ``measured`` are the metrics that read them, and ``table`` has the bins as rows of the table ``blocks``. ``sizes``
    is the number of bins of each series. ``sketches`` are coarser histograms for curves, where these are requested.
    """

    measured: Mapping[StateKey, Measured]
    table: DataFrame
    sizes: Mapping[Series, int]
    sketches: Mapping[Series, ScoreHistogram]


@dataclass(frozen=True)
class Solved:
    """The states of the day, and its group table as a Spark DataFrame or a table in memory.

    ``groups`` is None where the plan requests no group table or it was written to files. ``exact`` are the exact bins
    where the states lack them, and None otherwise. ``release`` frees the memory and the disk behind Spark's tables.
    """

    partials: Partials
    groups: DataFrame | pa.Table | None
    exact: ExactBins | None = None
    release: Callable[[], object] = _release_nothing

    def releasing(self, more: Callable[[], object]) -> Solved:
        """The same result, which also calls ``more`` first when it is released."""

        def release() -> None:
            more()
            self.release()

        return replace(self, release=release)

    @cached_property
    def merged(self) -> Merged:
        """The states, with the metrics that they lack the bins of, as the tables read them."""
        return Merged(self.partials, self.measured)

    @property
    def measured(self) -> Mapping[StateKey, Measured]:
        """The metrics whose bins the states lack."""
        return {} if self.exact is None else self.exact.measured
