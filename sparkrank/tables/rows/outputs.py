"""The tables of the output: the register that both jobs write from, and that the page of tables is printed from.

A new table is a module with its schema and a function, and one line in :data:`OUTPUTS`.
"""

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
    DISTRIBUTIONS,
    GATES,
    GROUPS,
    ITEMS,
    METRICS,
    PARTS,
    QUALITY,
    RUNS,
    STATES,
    TableSchema,
)
from sparkrank.states.distributions import distributions_table
from sparkrank.states.items import items_table
from sparkrank.tables.rows.blocks import all_blocks
from sparkrank.tables.rows.curves import curves_table
from sparkrank.tables.rows.finished import Finished
from sparkrank.tables.rows.states import states_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class OutputTable:
    """A table of the output: its ``schema``, and ``make``, which makes it of a finished evaluation.

    ``make`` returns None where the table is not asked for. A table without it is made of other tables, and so after
    them: ``gates`` and ``runs`` by the job, ``decomposition`` by a command.
    """

    schema: TableSchema
    make: Callable[[Finished], pa.Table | DataFrame | None] | None = None


def output_tables(finished: Finished) -> dict[str, pa.Table | DataFrame]:
    """The tables of ``finished`` that are asked for, by name."""
    made = {output.schema.name: output.make(finished) for output in OUTPUTS if output.make is not None}
    return {name: table for name, table in made.items() if table is not None}


def table_names() -> list[str]:
    """The names of all tables, those that a command alone prints too."""
    return [output.schema.name for output in OUTPUTS]


def _blocks(finished: Finished) -> pa.Table | DataFrame | None:
    return all_blocks(finished.solved, finished.plan) if finished.has_blocks else None


def _curves(finished: Finished) -> pa.Table | None:
    solved = finished.solved
    sketches = {} if solved.exact is None else solved.exact.sketches
    return curves_table(solved.partials, finished.plan, sketches) if finished.plan.curve_points else None


def _distributions(finished: Finished) -> pa.Table | None:
    return distributions_table(finished.solved.partials.distributions) if finished.plan.distributions else None


def _items(finished: Finished) -> pa.Table | None:
    return items_table(finished.solved.partials.items) if finished.plan.exposures else None


def _parts(finished: Finished) -> pa.Table | None:
    """Of a day: those of a window are those of its days."""
    plan = finished.plan
    if finished.source is None or not plan.has_parts or not plan.part_bins:
        return None
    return finished.solved.partials.parts.histograms.rows(weighted=plan.weighted)


def _states(finished: Finished) -> pa.Table | None:
    if finished.source is None:
        return None
    return states_table(
        finished.solved.partials,
        finished.plan,
        finished.source,
        blocks=finished.has_blocks,
        exact=finished.solved.exact,
        run_id=finished.origin.run_id,
    )


# In the order of the page.
OUTPUTS: list[OutputTable] = [
    OutputTable(METRICS, lambda finished: finished.metrics),
    OutputTable(COMPARISONS, lambda finished: finished.comparisons),
    OutputTable(GROUPS, lambda finished: finished.solved.groups),
    OutputTable(BLOCKS, _blocks),
    OutputTable(CURVES, _curves),
    OutputTable(DISTRIBUTIONS, _distributions),
    OutputTable(ITEMS, _items),
    OutputTable(PARTS, _parts),
    OutputTable(QUALITY, lambda finished: finished.quality),
    OutputTable(GATES),
    OutputTable(STATES, _states),
    OutputTable(RUNS),
    OutputTable(DECOMPOSITION),
]
