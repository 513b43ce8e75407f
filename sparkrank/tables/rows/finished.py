"""A finished evaluation of a day or a window, from which all tables of the output are made."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sparkrank.engines.result import Solved
from sparkrank.metrics import Plan
from sparkrank.tables.rows.results import Origin


@dataclass(frozen=True)
class Finished:
    """A finished evaluation of a day or a window, by whatever lane.

    Parameters
    ----------
    plan : Plan
        What was asked for.
    solved : Solved
        The states, and the group table of a day where it was not written on the way.
    origin : Origin
        The run that its rows are of.
    metrics, quality : pyarrow.Table
        These tables, which warnings and verdicts read, too.
    comparisons : pyarrow.Table, optional
        The same, where a baseline was named.
    has_blocks : bool
        Whether the spec asks for the table ``blocks``.
    source : str, optional
        What makes a row, a group and a label. None of a window, which stores no states.
    """

    plan: Plan
    solved: Solved
    origin: Origin
    metrics: pa.Table
    quality: pa.Table
    comparisons: pa.Table | None = None
    has_blocks: bool = False
    source: str | None = None
