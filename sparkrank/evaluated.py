"""What an evaluation gives: the metrics, and the tables behind them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from sparkrank.checks import Limits
from sparkrank.engine.result import Solved
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from sparkrank.states.block_rows import blocks_table
from sparkrank.tables.curves import CURVES, curves_table
from sparkrank.tables.quality import quality_table

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

# A Spark DataFrame or a pyarrow Table, by the lane. Of a union type checkers would refuse what only one of them has.
LaneTable: TypeAlias = Any


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The results of one evaluation.

    :attr:`metrics` has one row per model, slice and metric; :attr:`groups` one row per model and group, with its counts
    and the value of every group metric (NaN where it is undefined), absent where it was not asked for or is in files.
    Both are Spark DataFrames of ``session``, or tables in memory where there is none: the ``lane`` is local. A Spark
    ``groups`` is read off cached results of the pass: :meth:`release` gives that memory back, as does leaving a
    ``with`` block. ``table`` has the metrics in memory in any case. ``limits`` are those of checks that were allowed.
    """

    plan: Plan
    solved: Solved
    lane: str
    table: pa.Table
    limits: Limits
    session: SparkSession | None = None

    def __repr__(self) -> str:
        asked = ", ".join(map(str, self.plan.metrics))
        return f"<Evaluation of {', '.join(self.plan.models)} in the lane {self.lane}: {asked}>"

    @property
    def partials(self) -> Partials:
        """The states under the metrics."""
        return self.solved.partials

    @cached_property
    def metrics(self) -> LaneTable:
        """One row per model, slice and metric."""
        return self.table if self.session is None else self.session.createDataFrame(self.table)

    @property
    def groups(self) -> LaneTable | None:
        """One row per model and group."""
        return self.solved.groups

    def to_pandas(self) -> pd.DataFrame:
        """The metrics, small, as a pandas DataFrame."""
        small: pd.DataFrame = self.table.to_pandas()
        return small

    @property
    def blocks(self) -> LaneTable:
        """The score blocks under the metrics of the whole day: a Spark DataFrame where exact ones are too many.

        The sums of their scores are null unless a metric reads them, or ``score_sums`` asked for them.
        """
        return all_blocks(self.solved, self.plan)

    @property
    def curves(self) -> pa.Table:
        """The points of the ROC and PR curves, none where ``curve_points`` was 0."""
        if not self.plan.curve_points:
            return CURVES.empty_table()
        exact = self.solved.exact
        return curves_table(self.partials, self.plan, {} if exact is None else exact.sketches)

    @property
    def quality(self) -> pa.Table:
        """What was counted on the way: rows read and rejected by reason, groups of one class, ties."""
        return quality_table(self.partials, self.plan, self.limits, self.solved.measured)

    def release(self) -> None:
        """Give back the memory and the disk that hold Spark tables; :attr:`groups` costs a new pass after that."""
        self.solved.release()

    def __enter__(self) -> Evaluation:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def all_blocks(solved: Solved, plan: Plan) -> LaneTable:
    """The table ``blocks``: in memory, or of Spark where it has more exact blocks than one process should hold."""
    table = blocks_table(solved.partials.blocks, weighted=plan.weighted, unsummed=plan.unsummed_rules)
    if solved.exact is None:
        return table
    exact = solved.exact.table
    return exact.union(exact.sparkSession.createDataFrame(table.combine_chunks())) if table.num_rows else exact
