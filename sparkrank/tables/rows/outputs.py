"""The register of output tables. A new table needs a schema, a function that makes it, and a line in ``OUTPUTS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.schemas.tables import (
    BLOCKS,
    COMPARISONS,
    CURVES,
    DECOMPOSITION,
    DISPARITIES,
    DISTRIBUTIONS,
    EXPOSURES,
    GATES,
    GROUPS,
    ITEMS,
    METRICS,
    PARTS,
    POSITIONS,
    QUALITY,
    RUNS,
    STATES,
    TableSchema,
)
from sparkrank.states.distributions import distributions_table
from sparkrank.states.items import items_table
from sparkrank.tables.rows.blocks import all_blocks
from sparkrank.tables.rows.curves import curves_table
from sparkrank.tables.rows.disparities import finished_disparities
from sparkrank.tables.rows.exposures import exposures_table
from sparkrank.tables.rows.finished import FinishedEvaluation
from sparkrank.tables.rows.gains import GAINS, gains_table
from sparkrank.tables.rows.rows_by_position import positions_table
from sparkrank.tables.rows.states import states_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class OutputTable:
    """An output table. ``make`` returns the table of a finished evaluation, or None if the table is not requested.

    Tables without ``make`` are made from other tables: the job makes ``gates`` and ``runs``, and a command makes
    ``decomposition``.
    """

    schema: TableSchema
    make: Callable[[FinishedEvaluation], pa.Table | DataFrame | None] | None = None


def output_tables(finished: FinishedEvaluation) -> dict[str, pa.Table | DataFrame]:
    """Return the tables that the plan of ``finished`` requests, by name."""
    made = {output.schema.name: output.make(finished) for output in OUTPUTS if output.make is not None}
    return {name: table for name, table in made.items() if table is not None}


def table_names() -> list[str]:
    """Return the names of all tables, including tables that a command prints and no run writes."""
    return [output.schema.name for output in OUTPUTS]


def written_tables() -> list[str]:
    """Return the names of the tables that a run may write."""
    return [name for name in table_names() if name != DECOMPOSITION.name]


def _states(finished: FinishedEvaluation) -> pa.Table:
    solved, run_id = finished.solved.stored, finished.origin.run_id
    source, blocks = str(finished.source), finished.has_blocks
    return states_table(solved.partials, finished.plan, source, blocks=blocks, exact=solved.exact, run_id=run_id)


def _has_parts(finished: FinishedEvaluation) -> bool:
    """Return whether to make the table ``parts``, which only days have: a window can use the tables of its days."""
    return finished.source is not None and finished.plan.has_parts and bool(finished.plan.part_bins)


def _has_items(finished: FinishedEvaluation) -> bool:
    """Return whether to make the table ``items``, in which days, but no windows, also have the popularity of items."""
    of_day = finished.source is not None and finished.plan.stores_popularity
    return finished.plan.has_item_counts or of_day


# In the order of the documentation page.
OUTPUTS: list[OutputTable] = [
    OutputTable(METRICS, lambda finished: finished.metrics),
    OutputTable(COMPARISONS, lambda finished: finished.comparisons),
    OutputTable(DISPARITIES, finished_disparities),
    OutputTable(GROUPS, lambda finished: finished.solved.groups),
    OutputTable(BLOCKS, lambda ev: all_blocks(ev.solved.stored, ev.plan) if ev.has_blocks else None),
    OutputTable(CURVES, lambda ev: curves_table(ev.solved, ev.plan) if ev.plan.curve_points else None),
    OutputTable(GAINS, lambda ev: gains_table(ev.solved, ev.plan) if ev.plan.gains else None),
    OutputTable(POSITIONS, lambda ev: positions_table(ev.solved.partials, ev.plan) if ev.plan.position_depth else None),
    OutputTable(
        DISTRIBUTIONS,
        lambda ev: distributions_table(ev.solved.stored.partials.distributions) if ev.plan.distributions else None,
    ),
    OutputTable(ITEMS, lambda ev: items_table(ev.solved.stored.partials.items) if _has_items(ev) else None),
    OutputTable(
        EXPOSURES,
        lambda ev: (
            exposures_table(ev.solved.merged, ev.plan, clustered=ev.source is None)
            if ev.plan.attention_metrics
            else None
        ),
    ),
    OutputTable(
        PARTS,
        lambda ev: (
            ev.solved.stored.partials.parts.histograms.rows(weighted=ev.plan.weighted) if _has_parts(ev) else None
        ),
    ),
    OutputTable(QUALITY, lambda ev: ev.quality),
    OutputTable(GATES),
    OutputTable(STATES, lambda ev: None if ev.source is None else _states(ev)),
    OutputTable(RUNS),
    OutputTable(DECOMPOSITION),
]
