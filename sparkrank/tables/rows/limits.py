"""Requested limits on checks (counts in the table ``quality``), and the checks that a run counts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import InputError, SpecError, did_you_mean, itemize, quote, shorten
from sparkrank.bucket import bucket_columns, evaluate_bucket
from sparkrank.bucket.impressions import PAST, TIME, TRUTH, slice_column, value_column
from sparkrank.bucket.item_columns import item_columns
from sparkrank.inputs.role_table import row_roles
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.ranking.value_columns import CATALOG, POPULARITY, ValueKind
from sparkrank.tables.rows.quality import few_rows, is_least, quality_table

# The types of columns of values in a bucket; arrays of texts are joined to one text.
_TYPES: dict[ValueKind, pa.DataType] = {
    "number": pa.float64(),
    "text": pa.string(),
    "category": pa.string(),
    "texts": pa.string(),
    "numbers": pa.list_(pa.float64()),
}


def limits_of(
    plan: Plan, max_bad_fraction: float, given: Any, where: str = "limits", also: Iterable[str] = ()
) -> checks.Limits:
    """Return the limits in ``given``, a mapping of check names to numbers, together with ``max_bad_fraction``.

    ``also`` names further checks, which are shares of the rows read and are counted before the evaluation. Raise
    :class:`SpecError` about the setting ``where`` for a name that is not a check of ``plan``, and for an invalid limit.
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise SpecError(f"{where} is {quote(given)}: a mapping of checks to numbers is needed")
    if not given:
        return checks.Limits(max_bad_fraction)
    counted = checks_of(plan) | dict.fromkeys(also, True)
    for name, limit in given.items():
        if name not in counted:
            near = did_you_mean(name, counted)
            problem, names = f'{where} names "{shorten(name)}"', itemize(f'"{check}"' for check in counted)
            if name in checks.CODES:
                raise SpecError(f"{problem}, which this run does not count (it counts {names})")
            raise SpecError(f"{problem}{near} (checks of this run: {names})")
        most = 1.0 if counted[name] else sys.float_info.max
        is_number = isinstance(limit, Real) and not isinstance(limit, bool)
        if not (is_number and 0 <= limit <= most):
            needed = "a share from 0 to 1" if counted[name] else "a count from 0"
            raise SpecError(f'{where} of "{shorten(name)}" is {quote(limit)}: {needed} is needed')
    if checks.ROWS_REJECTED in given and max_bad_fraction:
        raise SpecError(
            f'{where} of "{checks.ROWS_REJECTED}" and max_bad_fraction set the same limit: give only one of them'
        )
    limits = {name: float(limit) for name, limit in given.items()}
    return checks.Limits(limits.get(checks.ROWS_REJECTED, max_bad_fraction), limits)


def checks_of(plan: Plan) -> dict[str, bool]:
    """Return the checks that ``plan`` counts in an empty bucket. The value is true if a check is a share of a total."""
    kinds = {TRUTH: pa.bool_(), PAST: pa.int8(), TIME: pa.int64()}
    kinds |= {role.key: pa.string() for role in row_roles() if role.reads == "item"}
    sources = enumerate(plan.slice_sources)
    kinds |= {slice_column(index): pa.string() for index, source in sources if not source.is_number}
    kinds |= {value_column(index): _TYPES[value.kind] for index, value in enumerate(plan.value_columns)}
    columns = [*bucket_columns(plan, len(plan.keys)), *item_columns(plan)]
    rows = pa.table({name: pa.array([], kinds.get(name, pa.float64())) for name in columns})
    partials = evaluate_bucket(rows, replace(plan, group_table=False)).partials
    counted = {
        row["check"]: row["of"] is not None for row in quality_table(partials, plan, checks.NO_LIMITS).to_pylist()
    }
    counted |= {few_rows(metric): False for metric, declared in plan.histogram_metrics if declared.by_rate}
    counted |= {checks.LACKING_ITEMS[CATALOG]: True, checks.CATALOG_ITEMS: False} if plan.has_catalog else {}
    if plan.reads_popularity:
        counted |= {checks.PAST_ROWS[INTERACTIONS]: False, checks.LACKING_ITEMS[POPULARITY]: True}
        of_rows = {checks.PAST_WITHOUT_PAIR[INTERACTIONS]: True, checks.PAST_GROUPS: False}
        counted |= {checks.DAYS_WITHOUT_POPULARITY: False} if plan.popularity_days else of_rows
    unread = {bad.check: not role.needed(plan) for role in row_roles() for bad in role.bad}
    return {name: share for name, share in counted.items() if not unread.get(name)}


def _number(value: float) -> str:
    """Format ``value`` with thousands separators: with all digits if whole, and otherwise with six digits."""
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.6g}"


def validate_quality(quality: pa.Table, limits: checks.Limits) -> None:
    """Raise :class:`InputError` if a check in the table ``quality`` violates the limit requested for the check."""
    if not limits.by_check:
        return
    for row in quality.to_pylist():
        if row["check"] not in limits.by_check or row["ok"] is not False:
            continue
        model = "" if row["model"] is None else f" of {row['model']}"
        if row["of"] is None:
            least = "at least " if is_least(row["check"]) else ""
            count, allowed = _number(row["count"]), f"{least}{_number(row['limit'])}"
        else:
            count = f"{row['fraction']:.4%} ({row['count']:,.0f}) of {row['of']}"
            allowed = f"{row['limit']:.4%}"
        example = f": {row['example']}" if row["example"] else ""
        raise InputError(f'"{row["check"]}"{model} is {count}, and limits allows {allowed}{example}')
