"""A finished evaluation of a day or a window, from which all tables of the output are made."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sparkrank.engines.result import PassResult
from sparkrank.metrics import Plan
from sparkrank.tables.rows.results import Origin


@dataclass(frozen=True)
class FinishedEvaluation:
    """A finished evaluation of a day or a window, with the tables from which warnings and verdicts are made.

    ``has_blocks`` is true if the table ``blocks`` is written. ``source`` is a string that describes what defines a row,
    a group and a label; it is None for a window, which stores no states.
    """

    plan: Plan
    solved: PassResult
    origin: Origin
    metrics: pa.Table
    quality: pa.Table
    comparisons: pa.Table | None = None
    has_blocks: bool = False
    source: str | None = None
