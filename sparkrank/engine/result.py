"""What a pass over a day's rows leaves, whichever lane made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.day import Key, Measured
from sparkrank.states import Partials, ScoreBlocks, Series

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _nothing() -> None:
    """There is nothing to release."""


@dataclass(frozen=True)
class Solved:
    """The states of the day, and its group table if the plan asks for one: a Spark DataFrame, or a table in memory.

    Where there are too many exact blocks for one process, the states lack them: ``measured`` are the metrics that read
    them, ``exact_blocks`` are they, as rows of the table ``blocks``, and ``sketches`` are coarser ones. ``release``
    gives back the memory that Spark tables are read from.
    """

    partials: Partials
    groups: DataFrame | pa.Table | None
    measured: Mapping[Key, Measured] = field(default_factory=dict)
    exact_blocks: DataFrame | None = None
    sketches: Mapping[Series, ScoreBlocks] = field(default_factory=dict)
    release: Callable[[], object] = _nothing
