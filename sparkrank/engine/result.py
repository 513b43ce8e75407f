"""What a pass over a day's rows leaves, whichever lane made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.states import Partials

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _nothing() -> None:
    """There is nothing to release."""


@dataclass(frozen=True)
class Solved:
    """The states of the day, and its group table if the plan asks for one: a Spark DataFrame, or a table in memory.

    ``release`` gives back the memory that a Spark group table is read from.
    """

    partials: Partials
    groups: DataFrame | pa.Table | None
    release: Callable[[], object] = _nothing
