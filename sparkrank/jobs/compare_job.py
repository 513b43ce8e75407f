"""The comparison of the models of stored days from the days' states, without reading impressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base.checks import Limits
from sparkrank.base.errors import CodedSentence, InputError, SpecError, shorten
from sparkrank.inputs.window import Window, spans
from sparkrank.metrics import Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.plan_validation import validate_comparison
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.states import Partials
from sparkrank.tables.rows.comparisons import comparisons_table
from sparkrank.tables.rows.quality import quality_table
from sparkrank.tables.rows.results import NO_ORIGIN, Origin
from sparkrank.tables.stored.required_states import DayCoverage
from sparkrank.tables.stored.stored_days import StoredDay, find_days, merge_stored
from sparkrank.text.text import unlisted_sentences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec


@dataclass(frozen=True)
class DayComparisons:
    """The table ``comparisons`` of stored days.

    ``missing`` contains the days without states. ``unlisted`` contains a sentence for each model without lists for some
    groups, and ``warnings`` one for each model missing on some days.
    """

    comparisons: pa.Table
    missing: tuple[str, ...]
    unlisted: list[str]
    warnings: list[str]


def compare_days(
    spec: Spec,
    window: Window,
    comparison: Comparison | None,
    spark: SparkSession | None,
    *,
    allow_missing: bool = False,
) -> DayComparisons:
    """Compare the models of the stored days in ``window``, with warnings about models missing on some days.

    ``comparison`` replaces the comparison of the spec unless it is None. If the baseline differs from the spec's,
    models are compared by parts (64 fixed subsets of the groups). Raise :class:`SpecError` if no baseline is named or
    the named model does not exist, and the errors of :func:`find_window`.
    """
    plan = replace(spec.plan(), score_sums=False)  # a comparison reads only the sums that metrics need
    comparison = plan.compare if comparison is None else comparison
    if comparison is None:
        raise SpecError("no baseline is named: name it with --baseline MODEL or as compare.baseline in the spec")
    validate_comparison(plan, comparison)
    if plan.compare is not None and plan.compare.baseline != comparison.baseline:
        plan = replace(plan, compare=None)
    days, missing = find_window(spec, window, spark, "compare", allow_missing=allow_missing)
    source = spec.source()
    partials, coverage = merge_stored(days, plan, source)
    table, warnings = compare_merged(days, coverage, Merged(partials), plan, comparison, source)
    unlisted = unlisted_sentences(quality_table(partials, plan, Limits()))
    return DayComparisons(table, missing, unlisted, warnings)


def find_window(
    spec: Spec, window: Window, spark: SparkSession | None, verb: str, *, allow_missing: bool
) -> tuple[list[StoredDay], tuple[str, ...]]:
    """Return the days of ``window`` with states, and the names of the missing days (without states).

    Raise :class:`InputError` if no day has states, or if a day is missing and ``allow_missing`` is False. In the
    message, the caller's operation is called ``verb``, such as "merge".
    """
    days = find_days(spec.output.path, window.days, spark)
    names = {stored.day for stored in days}
    missing = tuple(day for day in window.days if day not in names)
    if not days or (missing and not allow_missing):
        remedy = "evaluate them first" if not days else f"evaluate them, or {verb} the others with --allow-missing"
        raise InputError(
            f"there are no states of {shorten(spans(missing))} under {shorten(spec.output.path)}: {remedy}"
        )
    return days, missing


def compare_merged(
    days: Sequence[StoredDay],
    coverage: Sequence[DayCoverage],
    merged: Merged,
    plan: Plan,
    comparison: Comparison,
    source: str,
    origin: Origin = NO_ORIGIN,
) -> tuple[pa.Table, list[str]]:
    """Return the table ``comparisons`` for ``days`` from their ``merged`` states, and warnings about missing models.

    Each candidate is compared with the baseline over the days with both models.
    """
    own: dict[str, tuple[Merged, bool]] = {}
    by_days: dict[tuple[str, ...], tuple[Merged, bool]] = {}
    warnings: list[str] = []
    for model in plan.models:
        common = tuple(day.day for day in coverage if {model, comparison.baseline} <= day.models)
        if model == comparison.baseline or len(common) == len(coverage):
            continue
        pair = f"{shorten(model)} is compared with {shorten(comparison.baseline)}"
        where = f"over {len(common)} of {len(coverage)} days, those that have both"
        where = where if common else "on no day: none has both"
        warnings.append(CodedSentence("candidate_lacks_days", f"{pair} {where}"))
        if common not in by_days:
            chosen = [stored for stored in days if stored.day in common]
            partials = merge_stored(chosen, plan, source)[0] if chosen else Partials()
            by_days[common] = Merged(partials), len(common) > 1
        own[model] = by_days[common]
    return comparisons_table(merged, plan, comparison, origin, clustered=len(days) > 1, of_candidates=own), warnings
