"""The comparison of the models of stored days: from their states, without reading an impression."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.errors import InputError, SpecError, shortened
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.run.window import Window, spans
from sparkrank.tables.comparisons import comparisons_table
from sparkrank.tables.stored_days import find_days, merge_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec


def compare_days(
    spec: Spec, window: Window, asked: Comparison | None, spark: SparkSession | None, *, allow_missing: bool = False
) -> tuple[pa.Table, tuple[str, ...]]:
    """The table ``comparisons`` of the days of ``window``, and those of them that are missing.

    ``asked`` stands in place of what the spec says; with another baseline than its, models are compared by their parts.

    Raises
    ------
    SpecError
        Where neither names a baseline, or there is no such model.
    InputError
        Where days lack states, without ``allow_missing`` or all of them, or their files cannot be read.
    StateError
        Where states are not those that ``spec`` asks for.
    """
    plan = spec.plan()
    comparison = plan.compare if asked is None else asked
    if comparison is None:
        raise SpecError("no baseline is named: name it with --baseline MODEL or as compare.baseline in the spec")
    comparison.refuse_unknown(plan.models)
    if plan.compare is not None and plan.compare.baseline != comparison.baseline:
        plan = replace(plan, compare=None)
    days = find_days(spec.output.path, window.days, spark)
    there = {each.day for each in days}
    missing = tuple(day for day in window.days if day not in there)
    if not days or (missing and not allow_missing):
        remedy = "evaluate them first" if not days else "evaluate them, or compare the others with --allow-missing"
        raise InputError(
            f"there are no states of {shortened(spans(missing))} under {shortened(spec.output.path)}: {remedy}"
        )
    partials, _ = merge_stored(days, plan, spec.source())
    return comparisons_table(Merged(partials), plan, comparison, clustered=len(days) > 1), missing
