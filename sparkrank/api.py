"""``sr.evaluate``: one call from impressions to their metrics."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.checks import Limits
from sparkrank.engines.arrow.joined_types import refuse_unnamed
from sparkrank.engines.buckets import bucket_count, refuse_buckets
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import Solved
from sparkrank.errors import SpecError
from sparkrank.evaluation import Evaluation
from sparkrank.metrics import Definitions, Metric, Plan, find_preset
from sparkrank.metrics.slices import Slices
from sparkrank.roles import Roles, TruthColumns
from sparkrank.run.request import choose_lane, nan_scores, refuse_numbers, refuse_others
from sparkrank.tables.limits import limits_of, refuse_over_limits
from sparkrank.tables.quality import quality_table
from sparkrank.tables.refusals import refuse_undefined, refuse_unusable
from sparkrank.tables.results import metrics_table
from sparkrank.tables.warnings import warnings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.engines.arrow.folders import PartitionTypes
    from sparkrank.engines.lanes import Lane, LaneName
    from sparkrank.metrics.definitions import Duplicates, Population, Undefined, Unjudged, Unretrieved
    from sparkrank.metrics.presets import PresetName
    from sparkrank.ranking.ranking import Positions, Ties
    from sparkrank.roles import Relevance
    from sparkrank.run.request import Rows


def evaluate(
    impressions: Rows,
    metrics: Sequence[str | Metric],
    *,
    group: str | Sequence[str] | None = None,
    score: str | Mapping[str, str] | None = None,
    rank: str | Mapping[str, str] | None = None,
    label: str | None = None,
    item: str | None = None,
    reference_rank: str | None = None,
    weight: str | None = None,
    truth: Rows | None = None,
    truth_columns: Mapping[str, str | Sequence[str]] | None = None,
    items: str | Mapping[str, str] | None = None,
    true_items: str | None = None,
    relevance: Relevance = "membership",
    slices: Slices = (),
    preset: PresetName | None = None,
    ties: Ties | None = None,
    undefined: Undefined | None = None,
    unretrieved: Unretrieved | None = None,
    unjudged: Unjudged | None = None,
    duplicates: Duplicates | None = None,
    population: Population | None = None,
    positions: Positions | None = None,
    group_table: bool | str | os.PathLike[str] = True,
    score_sums: bool = False,
    curve_points: int = 0,
    max_bad_fraction: float = 0.0,
    limits: Mapping[str, float] | None = None,
    buckets: int | None = None,
    row_memory: int | None = None,
    spark: SparkSession | None = None,
    lane: LaneName = "auto",
    partition_types: PartitionTypes = "inferred",
) -> Evaluation:
    """Evaluate the rankings that ``score`` gives the rows of ``impressions``, by ``group``, against ``label``.

    ``impressions`` is a Spark DataFrame; a path to Parquet, which Spark's tasks read if ``spark`` is given and this
    process reads otherwise; or, without Spark, a table or dataset of pyarrow, a DataFrame of pandas (whose NaN are
    nulls, of which ``quality`` counts the scores) or polars, a LazyFrame, or whatever else hands out Arrow. ``lane``
    overrides that choice: ``frame``, ``scan`` or ``local``. Folders of a path that are named ``key=value`` give
    columns, whose types are inferred from all values, or with ``partition_types="text"`` texts.

    A role names a column, a level of pandas' index, or what lies inside of a column: ``m.prob``, ``scores[2]``,
    ``probability[1]`` of a vector of Spark ML; a vector of two stands for its second element. Recommendations of ALS
    are arrays of items, the highest rating first.

    ``metrics`` are texts, ``name(parameter=value)@k``, as ``["ndcg@10", "ap(over=min_k_relevant)@10", "auc"]``;
    ``sparkrank metrics`` prints all of them. ``group`` is the column, or columns, whose equal values make a group: a
    user, a query, a session. Metrics of the whole day need none: without it all rows are together.

    ``score`` is a column, or a mapping of model names to columns that are evaluated in one pass; higher is better,
    null means judged but not retrieved. ``rank`` stands in its place where lower is better. ``label`` is a number;
    null means not judged, which counts as not relevant; metrics that compare with another order alone need none.
    ``reference_rank`` is for metrics that compare with it: a
    number, the lowest first, null where that order lacks the row. ``weight`` is a number from 0 that multiplies what a
    row counts in the metrics of the whole day. In the mean of a metric of groups, groups weigh by what its parameter
    ``weight`` says, which may name a column: ``ndcg(weight=revenue)@10``.

    With ``truth``, another table, ``impressions`` are lists and ``label`` is the truth's: the two are joined by
    ``group`` and ``item``, and truth that is in no list counts in the ideal and in R. Without ``label`` every row of
    the truth has label 1. ``truth_columns`` maps ``group``, ``item`` or ``label`` to its column where the truth names
    it otherwise. A row without an item, and with neither score nor label, only names its group.

    With ``items`` and ``true_items``, a row of ``impressions`` is a list and a group of its own, also where others
    have its key: arrays of what each model put first, second and so on, and of what is true. ``label`` may name an
    array of labels beside the latter; without it they are 1 (``relevance="membership"``) or 1 / place
    (``"reciprocal_rank"``).

    Everything is evaluated for the whole day, and again for every value of each of ``slices``, a column or a sequence
    of columns: what stands under a value is what the rows with that value alone would give. Where the rows of a group
    have several values, those of one are a group of their own. A truth has the columns too. Values are
    texts, whole numbers, booleans or dates; rows without one are under None.

    ``ties``, ``undefined``, ``unretrieved``, ``unjudged``, ``duplicates``, ``population`` and ``positions`` are those
    of :class:`sparkrank.Definitions`. ``preset`` names a library (:data:`sparkrank.metrics.PRESETS`): it sets those
    that are not given, and the parameters that the texts of ``metrics`` do not give. Where neither says, ``duplicates``
    is ``once`` where lists are joined with a truth, in arrays too, and else ``keep``. ``item`` is needed for a truth,
    ``ties="item"``, ``duplicates`` other than ``keep``, and to count items.

    ``group_table=False`` spares the group table, and the sending of long keys; as a path it is where those who solve
    the buckets write the group table, so that nobody holds it; an evaluation that fails leaves no file there.
    ``score_sums`` asks for the sum of the scores of each block in :attr:`Evaluation.blocks`. ``curve_points`` asks for
    about that many points of each ROC and PR curve.
    ``limits`` maps checks of :attr:`Evaluation.quality` to the most that each may be, as ``{"truth in no list": 0.8}``:
    a share of its whole from 0 to 1, or a count where it has none (of rows per block the least). Over it nothing is
    given. What most likely comes of an input that does not fit is logged as a warning.
    ``buckets`` spares the count of a DataFrame's rows, which sets it otherwise. ``row_memory`` is how many bytes of
    rows the local lane holds before they go to disk, 328 MiB otherwise. Results depend on neither.

    Returns an :class:`Evaluation`: :attr:`Evaluation.metrics` has a row per model, slice and metric, and
    :attr:`Evaluation.groups` one per model and group, in Spark DataFrames or pyarrow Tables; ``to_pandas()`` the former
    in memory.

    Raises :class:`SpecError` when what is asked makes no sense; :class:`InputError` when the input cannot be read, a
    column is missing or of the wrong type, there is no row (or none on one side, no group on both, none left), more
    than ``max_bad_fraction`` of the rows cannot be evaluated (null group key, NaN score, label NaN or infinite, weight
    null, NaN, negative, above 1e288, or above 0 and below 1e-15; null item, or rank that is no position, where that
    matters), a check is over its limit, ``undefined`` or ``duplicates`` is ``error`` and there are some, or the folder
    of the group table is not empty; :class:`StoreError` when the store of the input fails; and
    :class:`SparkrankError`, of which the others are kinds, when the group table, or what outgrows memory, cannot be
    written.
    """
    columns = {
        "score": score,
        "rank": rank,
        "item": item,
        "reference_rank": reference_rank,
        "weight": weight,
        "items": items,
        "true_items": true_items,
    }
    refuse_numbers(buckets, curve_points, max_bad_fraction, row_memory)
    refuse_others(group_table, spark)
    beside = None if truth is None else TruthColumns.of(label, truth_columns)
    if truth_columns is not None and truth is None:
        raise SpecError("truth_columns names columns of a truth, but there is no truth")
    roles = Roles.named(columns, group, label if truth is None else None, beside, relevance, slices)
    library = find_preset(preset)
    settings = {
        "ties": ties,
        "undefined": undefined,
        "unretrieved": unretrieved,
        "unjudged": unjudged,
        "duplicates": duplicates,
        "population": population,
        "positions": positions,
    }
    definitions = Definitions.of(library, settings, joins=roles.joins)
    plan = Plan.of(
        metrics,
        tuple(roles.scores),
        roles.group,
        definitions,
        group_table=bool(group_table),
        score_sums=score_sums,
        weighted=weight is not None,
        joins=roles.joins,
        preset=library,
        curve_points=curve_points,
        slices=roles.slices,
        item=roles.item,
        arrays=roles.true_items is not None,
        by_rank=roles.by_rank,
    )
    roles = replace(roles, group_weights=plan.group_weights)
    roles.refuse_positions(definitions.positions)
    roles.refuse_idle_weight(bool(plan.pooled_metrics))
    refuse_unnamed(roles, plan)
    refuse_buckets(buckets, plan)
    if not plan.keys and isinstance(group_table, (str, os.PathLike)):
        raise SpecError(f"group_table is {os.fspath(group_table)}, but no group column is named")
    allowed = limits_of(plan, max_bad_fraction, limits)
    chosen = choose_lane(impressions, truth, roles, plan, spark, lane, row_memory, partition_types)
    chosen.check(plan)
    files = GroupFiles.at(os.fspath(group_table)) if isinstance(group_table, (str, os.PathLike)) else None
    try:
        buckets = (bucket_count(chosen.rows()) if plan.keys else 1) if buckets is None else buckets
        told = nan_scores(impressions, roles)
        result, table = _evaluated(chosen, plan, buckets, files, allowed, told)
    except BaseException:  # an interrupt too, after which a notebook goes on
        if files is not None:
            files.keep(())
        raise
    session = getattr(impressions, "sparkSession", getattr(truth, "sparkSession", spark))
    session = None if chosen.name == "local" else session
    return Evaluation(plan, result, chosen.name, table, allowed, session, library)


def _evaluated(
    lane: Lane,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None,
    limits: Limits,
    told: dict[tuple[str, str], int],
) -> tuple[Solved, pa.Table]:
    """What a pass leaves, with what was ``told`` before it, and the metrics; logs what is to be doubted.

    Raises :class:`InputError` where the input cannot be used.
    """
    result = lane.evaluate(plan, buckets, files)
    result = replace(result, partials=replace(result.partials, counts={**result.partials.counts, **told}))
    try:
        refuse_unusable(result.partials, plan, limits.bad)
        table = metrics_table(result.partials, plan, measured=result.measured)
        refuse_undefined(table, plan)
        if limits.of:
            refuse_over_limits(quality_table(result.partials, plan, limits, result.measured), limits)
    except BaseException:
        result.release()
        raise
    for sentence in warnings_of(result.partials, plan, table, limits):
        logging.getLogger(__name__).warning("%s", sentence)
    return result, table
