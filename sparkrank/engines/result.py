"""What a pass over a day's rows leaves, whichever lane made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.metrics.merged import Measured
from sparkrank.states import Partials, ScoreHistogram, Series
from sparkrank.states.keys import StateKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _nothing() -> None:
    """There is nothing to release."""


@dataclass(frozen=True)
class ExactBins:
    """Exact blocks that are too many for one process.

    ``measured`` are the metrics that read them, ``table`` are they, as rows of the table ``blocks``, ``sizes`` how many
    each series has, and ``sketches`` coarser blocks to draw curves from, where these are asked for.
    """

    measured: Mapping[StateKey, Measured]
    table: DataFrame
    sizes: Mapping[Series, int]
    sketches: Mapping[Series, ScoreHistogram]


@dataclass(frozen=True)
class Solved:
    """The states of the day, and its group table if the plan asks for one: a Spark DataFrame, or a table in memory.

    ``exact`` are the exact blocks where the states lack them. ``release`` gives back the memory and the disk that Spark
    tables are read from.
    """

    partials: Partials
    groups: DataFrame | pa.Table | None
    exact: ExactBins | None = None
    release: Callable[[], object] = _nothing

    def releasing(self, more: Callable[[], object]) -> Solved:
        """The same, which releases ``more`` first."""

        def release() -> None:
            more()
            self.release()

        return replace(self, release=release)

    @property
    def measured(self) -> Mapping[StateKey, Measured]:
        """The metrics whose blocks the states lack."""
        return {} if self.exact is None else self.exact.measured
