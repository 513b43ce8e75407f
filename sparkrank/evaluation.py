"""``sr.evaluate``: one call from impressions to their metrics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from sparkrank import checks
from sparkrank.engine.buckets import bucket_count
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.lanes import LANES, FrameLane, Lane, LocalLane, lane_for_path
from sparkrank.engine.result import Solved
from sparkrank.errors import InputError, SpecError, did_you_mean, listed
from sparkrank.metrics import Definitions, Metric, Plan
from sparkrank.roles import Roles
from sparkrank.states import Partials
from sparkrank.states.blocks import blocks_table
from sparkrank.tables.curves import CURVES, curves_table
from sparkrank.tables.results import metrics_table, quality_table, rejected_fraction

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    Impressions: TypeAlias = DataFrame | pd.DataFrame | pa.Table | str | os.PathLike[str]


@dataclass(frozen=True)
class Evaluation:
    """The results of one evaluation.

    ``metrics`` has one row per model, slice and metric; ``groups`` one row per model and group, with its counts and
    the value of every group metric (NaN where it is undefined), absent where it was not asked for or is in files.
    Both are Spark DataFrames, or tables in memory where the ``lane`` is local. A Spark ``groups`` is read off cached
    results of the pass: :meth:`release` gives that memory back, as does leaving a ``with`` block.
    """

    plan: Plan
    solved: Solved
    lane: str
    metrics: DataFrame | pa.Table

    @property
    def partials(self) -> Partials:
        """The states under the metrics."""
        return self.solved.partials

    @property
    def groups(self) -> DataFrame | pa.Table | None:
        """One row per model and group."""
        return self.solved.groups

    def to_pandas(self) -> pd.DataFrame:
        """The metrics, small, as a pandas DataFrame."""
        small: pd.DataFrame = metrics_table(self.partials, self.plan, measured=self.solved.measured).to_pandas()
        return small

    @property
    def blocks(self) -> DataFrame | pa.Table:
        """The score blocks under the metrics of the whole day: a Spark DataFrame where exact ones are too many."""
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
        return quality_table(self.partials, self.plan, 1.0, self.solved.measured)

    def release(self) -> None:
        """Give back the memory that holds Spark tables; :attr:`groups` costs a new pass after that."""
        self.solved.release()

    def __enter__(self) -> Evaluation:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def evaluate(
    impressions: Impressions,
    metrics: Sequence[str | Metric],
    *,
    group: str | Sequence[str],
    score: str | Mapping[str, str],
    label: str,
    item: str | None = None,
    reference_rank: str | None = None,
    weight: str | None = None,
    ties: str = "expected",
    undefined: str = "skip",
    group_table: bool | str = True,
    curve_points: int = 0,
    max_bad_fraction: float = 0.0,
    buckets: int | None = None,
    spark: SparkSession | None = None,
    lane: str = "auto",
) -> Evaluation:
    """Evaluate the rankings that ``score`` gives the rows of ``impressions``, by ``group``, against ``label``.

    ``impressions`` is a Spark DataFrame; a path to Parquet, which Spark's tasks read if ``spark`` is given and this
    process reads otherwise; or, without Spark, a pyarrow Table or a pandas DataFrame. ``lane`` overrides that choice.

    ``score`` is a column, or a mapping of model names to columns that are evaluated in one pass; higher is better,
    null means judged but not retrieved. ``label`` is a number; null means not judged, which counts as not relevant.
    ``item`` is needed for ``ties="item"`` and to count items, ``reference_rank`` for metrics that compare with it: a
    number, the lowest first, null where that order lacks the row. ``weight`` is a number from 0 that multiplies what a
    row counts in the metrics of the whole day; the metrics of groups do not know it. ``group_table=False`` spares the
    group table, and the sending of long keys; as a path it is where those who solve the buckets write the group table,
    so that nobody holds it. ``curve_points`` asks for about that many points of each ROC and PR curve. ``buckets``
    spares the count of a DataFrame's rows, which sets it otherwise; results do not depend on it.

    Raises :class:`SpecError` when what is asked makes no sense, and :class:`InputError` when a column is missing or
    of the wrong type, there is no row, or more than ``max_bad_fraction`` of the rows cannot be evaluated (null
    group key, NaN score, label NaN or infinite, weight null, NaN, infinite or negative).
    """
    roles = Roles.of(group, label, score, item, reference_rank, weight)
    plan = Plan.of(
        metrics,
        tuple(roles.scores),
        roles.group,
        Definitions(ties, undefined),
        group_table=bool(group_table),
        score_sums=True,
        weighted=weight is not None,
        curve_points=curve_points,
    )
    chosen = _choose(impressions, roles, plan, spark, lane)
    chosen.check(roles, plan)
    files = GroupFiles.at(group_table) if isinstance(group_table, str) else None
    result = chosen.evaluate(roles, plan, bucket_count(chosen.rows()) if buckets is None else buckets, files)
    try:
        refuse_unusable(result.partials, plan, max_bad_fraction)
    except InputError:
        result.release()
        raise
    table = metrics_table(result.partials, plan, measured=result.measured)
    session = getattr(impressions, "sparkSession", spark)
    shown = table if chosen.name == "local" or session is None else session.createDataFrame(table)
    return Evaluation(plan, result, chosen.name, shown)


def _choose(impressions: Any, roles: Roles, plan: Plan, spark: SparkSession | None, lane: str) -> Lane:
    """The lane for what was given; raises :class:`SpecError` where ``lane`` asks for one that cannot take it."""
    if lane not in LANES:
        raise SpecError(f'lane is "{lane}"{did_you_mean(lane, LANES)} (allowed: {listed(LANES)})')
    chosen: Lane
    if isinstance(impressions, (str, os.PathLike)):
        path = os.fspath(impressions)
        if lane == "frame" and spark is not None:
            chosen = FrameLane(spark.read.parquet(path))
        else:
            chosen = lane_for_path(path, None, roles, plan, None if lane == "local" else spark)
    elif hasattr(impressions, "sparkSession"):
        chosen = FrameLane(impressions)
    elif isinstance(impressions, pa.Table):
        chosen = LocalLane(impressions, reason="the input is a table in memory")
    elif hasattr(impressions, "iloc"):
        table = pa.Table.from_pandas(impressions, preserve_index=False)
        chosen = LocalLane(table, reason="the input is a table in memory")
    else:
        kind = type(impressions).__name__
        raise SpecError(f"the impressions are a {kind}: a DataFrame, a pyarrow Table or a path to Parquet is needed")
    if lane not in ("auto", chosen.name):
        needs = {"frame": "a Spark DataFrame, or a path and spark", "scan": "a path and spark"}
        raise SpecError(f'lane="{lane}" needs {needs.get(lane, "a path or a table in memory")} ({chosen.reason})')
    return chosen


def all_blocks(solved: Solved, plan: Plan) -> DataFrame | pa.Table:
    """The table ``blocks``: in memory, or of Spark where it has more exact blocks than one process should hold."""
    table = blocks_table(solved.partials.blocks, weighted=plan.weighted)
    if solved.exact is None:
        return table
    exact = solved.exact.table
    return exact.union(exact.sparkSession.createDataFrame(table.combine_chunks())) if table.num_rows else exact


def refuse_unusable(partials: Partials, plan: Plan, max_bad_fraction: float) -> None:
    """Raise :class:`InputError`: no rows, too many bad ones, or a metric undefined where ``undefined`` is ``error``."""
    if not partials.counts.get((checks.ROWS_READ, ""), 0):
        raise InputError("the input has no rows")
    fraction = rejected_fraction(partials)
    if fraction > max_bad_fraction:
        reasons = [(name, partials.counts.get((name, ""), 0)) for name in checks.REJECTIONS]
        found = ", ".join(f"{count} {name.removeprefix('rejected: ')}" for name, count in reasons if count)
        raise InputError(
            f"{fraction:.4%} of the rows cannot be evaluated ({found}): quality.max_bad_fraction allows "
            f"{max_bad_fraction:.4%}"
        )
    if plan.definitions.undefined == "error":
        for (model, _, _, metric), mean in sorted(partials.means.results().items()):
            if mean.n_undefined:
                raise InputError(f"{metric} of {model} is undefined in {mean.n_undefined} groups, and undefined=error")
