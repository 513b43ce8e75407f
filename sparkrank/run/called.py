"""From the arguments of a call to a request: what ``sr.evaluate`` and ``sr.explain`` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError
from sparkrank.engines.request import Request, Side
from sparkrank.inputs.roles import Roles, TruthColumns, planned
from sparkrank.metrics import Definitions, Metric
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.slices import Slices
from sparkrank.metrics.uncertainty import DEFAULT, Comparison, Uncertainty
from sparkrank.run.arguments import validate_argument_words
from sparkrank.sources.in_memory import accepted, is_path
from sparkrank.sources.pandas_rows import out_of_pandas
from sparkrank.tables.rows.limits import limits_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.sources.folders import PartitionTypes


def request_called(
    impressions: Any,
    metrics: Sequence[str | Metric],
    columns: Mapping[str, Any],
    *,
    group: str | Sequence[str] | None,
    label: str | None,
    truth: Any,
    truth_columns: Mapping[str, str | Sequence[str]] | None,
    relevance: str,
    settings: Mapping[str, Any],
    library: Preset | None,
    spark: SparkSession | None,
    lane: str,
    partition_types: PartitionTypes,
    slices: Slices = (),
    group_table: bool = True,
    score_sums: bool = False,
    curve_points: int = 0,
    max_bad_fraction: float = 0.0,
    limits: Mapping[str, float] | None = None,
    buckets: int | None = None,
    row_memory: int | None = None,
    uncertainty: Uncertainty = DEFAULT,
    compare: Comparison | None = None,
    shows_items: bool = False,
) -> tuple[Request, TruthColumns | None]:
    """What is asked of ``impressions``, and the columns of the truth as the caller named them.

    ``columns`` are the roles of rows and arrays by name, ``settings`` the definitions that are given, ``library`` the
    preset. Raises :class:`SpecError` where the arguments make no sense.
    """
    validate_argument_words(lane, partition_types, is_path(impressions) or is_path(truth))
    beside = None if truth is None else TruthColumns.of(label, truth_columns)
    if truth_columns is not None and truth is None:
        raise SpecError("truth_columns names columns of a truth, but there is no truth")
    named = Roles.named(columns, group, label if truth is None else None, beside, relevance, slices)
    roles, plan = planned(
        named,
        metrics,
        Definitions.of(library, settings, joins=named.joins),
        library,
        group_table=group_table,
        score_sums=score_sums,
        curve_points=curve_points,
        buckets=buckets,
        uncertainty=uncertainty,
        compare=compare,
    )
    plan = replace(plan, shows_items=True) if shows_items else plan
    lists = accepted("the impressions are", impressions, roles)
    true = None if truth is None else accepted("the truth is", truth, roles.truth or roles)
    given = out_of_pandas(lists, true, roles, plan)
    request = Request(
        Side.of("input", given.impressions, partition_types),
        None if truth is None else Side.of("truth", given.truth, partition_types),
        roles,
        plan,
        limits_of(plan, max_bad_fraction, limits, also={check for check, _ in given.counts}),
        lane,
        spark,
        buckets,
        row_memory=row_memory,
        counts=given.counts,
    )
    return request, beside
