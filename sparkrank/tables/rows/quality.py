"""The rows of the table ``quality``: all counts of an evaluation, and their limits."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import CodedSentence, escape
from sparkrank.inputs.role_table import rejections
from sparkrank.metrics import Plan
from sparkrank.metrics.calibration import OUTSIDE
from sparkrank.metrics.labels import level_text
from sparkrank.metrics.merged import MeasuredTerms, Merged
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.needs import INTERACTIONS, ROWS_AND_WEIGHT
from sparkrank.metrics.slices import ALL
from sparkrank.metrics.subjects import small_slices
from sparkrank.schemas.tables import QUALITY
from sparkrank.states import Partials
from sparkrank.states.keys import StateKey, Subject
from sparkrank.tables.rows.warnings import as_shown, example_text, heaviest_shares, key_text, unlisted_limit
from sparkrank.tables.rows.weight_checks import weight_checks

# With fewer rows per block, auc_up approaches 1 whatever the scores; with one row per block it is 1 (docs/auc_up.md).
FEW_ROWS_PER_BLOCK = 20
_FEW_ROWS = "rows per block"


def quality_table(
    partials: Partials, plan: Plan, limits: checks.Limits, measured: Mapping[StateKey, MeasuredTerms] | None = None
) -> pa.Table:
    """Return the table ``quality``: a row per check, with its count, share of a total, limit, and a flag ``ok``."""
    counts = partials.counts

    def count(name: str, model: str = "") -> int:
        return counts.get((name, model), 0)

    read, evaluated, groups = map(count, (checks.ROWS_READ, checks.ROWS_EVALUATED, checks.GROUPS))
    rows = [_check(checks.ROWS_READ, "", read)]
    if plan.joins:
        rows.append(_check(checks.TRUTH_ROWS, "", count(checks.TRUTH_ROWS), checks.ROWS_READ, read))
    rows += _looked_for(rejections(), counts, checks.ROWS_READ, read)
    rejected = sum(map(count, rejections()))
    rows.append(_check(checks.ROWS_REJECTED, "", rejected, checks.ROWS_READ, read, limits.bad))
    rows.append(_check(checks.ROWS_EVALUATED, "", evaluated, checks.ROWS_READ, read))
    of_rows = (
        checks.NAN_OF_PANDAS,
        checks.UNJUDGED_ROWS,
        checks.UNJUDGED_DROPPED,
        checks.NAN_LABELS,
        checks.NAN_REFERENCE_OF_PANDAS,
    )
    rows += _looked_for((checks.ROWS_JOINED, checks.LABELS_DIFFER), counts, checks.ROWS_READ, read)
    rows += _looked_for((*of_rows, checks.NULL_CLUSTER), counts, checks.ROWS_READ, read)
    rows += _of_other_tables(counts, plan)
    gainless = (checks.without_gain(column.name) for column in plan.gain_columns)
    rows += _looked_for((checks.ITEMLESS_ROWS, *gainless), counts, checks.ROWS_EVALUATED, evaluated)
    rows += [*_truth(partials, read), *_relevant_truth(partials, plan)] if plan.joins else []
    rows += [_check(checks.GROUPS, "", groups)] if plan.keys else []
    rows += _largest(partials, plan)
    rows += _looked_for((checks.SEVERAL_LISTS,), counts, None, 0)
    if plan.least_groups > 1:
        rows.append(_check(checks.SMALL_SLICES, "", len(small_slices(partials, plan))))
    rows += _looked_for((checks.GROUPS_WITHOUT_TRUTH, checks.GROUPS_JOINED), counts, checks.GROUPS, groups)
    for model in plan.models:
        # In a window, a model may have fewer days than other models, and then its own counts of rows and groups.
        evaluated, groups = (counts.get((name, model), count(name)) for name in (checks.ROWS_EVALUATED, checks.GROUPS))
        scored = count(checks.SCORED_ROWS, model)
        rows += _looked_for((checks.MODEL_ROWS,), counts, checks.ROWS_READ, read, model)
        rows.append(_check(checks.SCORED_ROWS, model, scored, checks.ROWS_EVALUATED, evaluated))
        rows += _looked_for((checks.NAN_OF_PANDAS, checks.NAN_RATINGS), counts, checks.ROWS_READ, read, model)
        rows += _looked_for((checks.ROWS_IN_TRUTH,), counts, checks.SCORED_ROWS, scored, model)
        tied = _check(checks.TIED_ROWS, model, count(checks.TIED_ROWS, model), checks.SCORED_ROWS, scored)
        rows += [tied] if plan.keys else []
        rows += _repeated(partials, plan, model)
        valueless = dict.fromkeys(checks.without_value(column.name) for column in plan.listed_values)
        rows += _looked_for(valueless, counts, checks.SCORED_ROWS, scored, model)
        one_class = (checks.one_class_groups(level_text(level)) for level in plan.levels)
        for name in (checks.UNRETRIEVED_GROUPS, *one_class) if plan.keys else ():
            rows.append(_check(name, model, count(name, model), checks.GROUPS, groups))
        of_groups = (checks.WEIGHTLESS_GROUPS, checks.CLUSTERLESS_GROUPS, checks.GROUPS_LEFT_OUT)
        rows += _looked_for(of_groups, counts, checks.GROUPS, groups, model)
        rows += _impossible(partials, plan, model, groups)
        of_lists = (
            *map(checks.checked_groups, plan.checking_labels),
            *map(checks.decided_by_ties, plan.ordered),
            *map(checks.short_lists, plan.full_lengths),
        )
        rows += _looked_for(of_lists, counts, checks.GROUPS, groups, model)
        rows += _heaviest(partials, model)
        rows += [*_outside(partials, plan, model), *_weighed(partials, plan, model)]
        rows += _fine_blocks(partials, plan, model, measured or {})
    rows = [_limited(row, limits) for row in rows]
    unlisted = {checks.TRUTH_UNLISTED, *(checks.relevant_unlisted(level_text(level)) for level in plan.levels)}
    for row in rows:
        row["code"] = checks.code_of(row["check"])
        if row["check"] in unlisted and row["ok"] is False:
            row["example"] = example_text(partials.unmatched, plan) or None
    return pa.Table.from_pylist(rows, schema=QUALITY.schema)


def _of_other_tables(counts: Mapping[tuple[str, str], int], plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the rows about several labels, the catalog, and the tables of the past (what groups had before)."""
    read, truth = (counts.get((name, ""), 0) for name in (checks.ROWS_READ, checks.TRUTH_ROWS))
    for of_label in (checks.with_label, checks.among_label):
        yield from _looked_for(map(of_label, plan.labels), counts, checks.ROWS_READ, read)
    yield from _looked_for((checks.CATALOG_ITEMS,), counts, None, 0)
    yield from _looked_for(checks.LACKING_ITEMS.values(), counts, checks.ROWS_READ, read)
    for name in dict.fromkeys([*plan.past, *([INTERACTIONS] if plan.reads_popularity else [])]):
        rows = checks.PAST_ROWS[name]
        yield from _looked_for((rows,), counts, None, 0)
        yield from _looked_for((checks.PAST_WITHOUT_PAIR[name],), counts, rows, counts.get((rows, ""), 0))
    yield from _looked_for((checks.PAST_GROUPS, checks.DAYS_WITHOUT_POPULARITY), counts, None, 0)
    yield from _looked_for((checks.ROWS_IN_PAST, checks.EXCLUDED_ROWS), counts, checks.ROWS_READ, read)
    of_truth = (checks.EXCLUDED_TRUTH, checks.TRUTH_IN_PAST, checks.EARLY_TRUTH)
    yield from _looked_for(of_truth, counts, checks.TRUTH_ROWS, truth)
    yield from _looked_for((checks.LIST_TIMES,), counts, checks.ROWS_READ, read)
    timed = counts.get((checks.LIST_TIMES, ""), 0)
    yield from _looked_for((checks.EARLY_ITEMS,), counts, checks.LIST_TIMES, timed)
    rows = checks.PAST_ROWS[INTERACTIONS]
    yield from _looked_for((checks.LATE_PAST,), counts, rows, counts.get((rows, ""), 0))


def _largest(partials: Partials, plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the rows for the largest groups, with their keys. Merged states of stored days give no rows."""
    rows = partials.counts.get((checks.ROWS_EVALUATED, ""), 0)
    for name, group in zip(checks.LARGEST_GROUPS, partials.largest, strict=False):
        yield {**_check(name, "", group.rows), "example": key_text(plan.keys, group.key) or None}
    if partials.largest:
        yield _check(checks.MOST_ROWS, "", partials.largest[0].rows, checks.ROWS_EVALUATED, rows)


def _heaviest(partials: Partials, model: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each weighted mean: the largest weight of a single group. Stored states have no such weights."""
    for (metric, heaviest_model), share in heaviest_shares(partials).items():
        if heaviest_model == model:
            check = _check(checks.most_weight(metric), model, 0, "weight")
            yield {**check, "count": share.weight, "fraction": share.fraction}


def doubts_of(partials: Partials, plan: Plan, limits: checks.Limits) -> Iterator[CodedSentence]:
    """Yield a message for each check of impossible or meaningless values that exceeds its limit.

    The check ``rows per block`` is left out, because a count of the rows of score bins needs another pass.
    """
    groups = partials.counts.get((checks.GROUPS, ""), 0)
    for model in plan.models:
        rows = (_impossible(partials, plan, model, groups), _repeated(partials, plan, model))
        for row in itertools.chain(*rows, _outside(partials, plan, model)):
            if _limited(row, limits)["ok"] is False:
                share = f"{row['fraction']:.4%} of {row['of']}"
                sentence = f"{as_shown(model)}: {row['count']:,.0f} {escape(row['check'])} ({share})"
                yield CodedSentence(checks.code_of(row["check"]) or "over_limit", sentence)


def _impossible(partials: Partials, plan: Plan, model: str, groups: int) -> Iterator[dict[str, Any]]:
    """Yield the checks that count groups where a metric is outside its range, or above the metric's ideal value."""
    names = [checks.outside_range(*bounds) for bounds in plan.ranges]
    names += [checks.above_ideal(*bounds) for bounds in plan.beatable]
    yield from _looked_for(names, partials.counts, checks.GROUPS, groups, model, 0.0)


def _repeated(partials: Partials, plan: Plan, model: str) -> Iterator[dict[str, Any]]:
    """Yield the check that counts rows which repeat an item of their list. Its limit is 0 under ``duplicates=keep``."""
    scored = partials.counts.get((checks.SCORED_ROWS, model), 0)
    limit = 0.0 if plan.definitions.duplicates == "keep" else None
    yield from _looked_for((checks.REPEATED_ROWS,), partials.counts, checks.SCORED_ROWS, scored, model, limit)


def _truth(partials: Partials, read: int) -> Iterator[dict[str, Any]]:
    """Yield the checks that count rows and items of the truth, where ``read`` is the number of all rows read."""
    counts = partials.counts
    names = (checks.TRUTH_ROWS, checks.TRUTH_LISTED, checks.TRUTH_UNLISTED)
    given, listed, unlisted = (counts.get((name, ""), 0) for name in names)
    yield _check(checks.TRUTH_ITEMS, "", listed + unlisted, checks.TRUTH_ROWS, given)
    of_items = (checks.TRUTH_LISTED, checks.TRUTH_UNLISTED, checks.TRUTH_ROOM)
    whole: dict[str, tuple[str | None, int]] = dict.fromkeys(of_items, (checks.TRUTH_ITEMS, listed + unlisted))
    whole[checks.TRUTH_PAIRS] = None, 0
    whole[checks.GROUP_ONLY] = checks.ROWS_READ, read
    for name in checks.JOINED:
        limit = unlisted_limit(partials) if name == checks.TRUTH_UNLISTED else None
        yield from _looked_for((name,), counts, *whole.get(name, (checks.TRUTH_ROWS, given)), limit=limit)


def _relevant_truth(partials: Partials, plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield two checks for each relevance level: the number of relevant truth items, and how many are in no list.

    Days that earlier releases wrote lack these counts, and yield no checks.
    """
    counts = partials.counts
    whole = counts.get((checks.TRUTH_LISTED, ""), 0) + counts.get((checks.TRUTH_UNLISTED, ""), 0)
    for level in map(level_text, plan.levels):
        relevant = checks.relevant_truth(level)
        total = counts.get((relevant, ""), 0)
        yield from _looked_for((relevant,), counts, checks.TRUTH_ITEMS, whole)
        limit = unlisted_limit(partials) if total < whole else None
        yield from _looked_for((checks.relevant_unlisted(level),), counts, relevant, total, limit=limit)


def _limited(row: dict[str, Any], limits: checks.Limits) -> dict[str, Any]:
    """Return ``row`` with ``limit`` and ``ok`` from the requested limit or the check's default, if there is a limit."""
    limit = limits.by_check.get(row["check"], checks.LIMITS.get(row["check"]))
    if limit is None:
        return row
    if row.get("of") is None:
        ok = row["count"] >= limit if is_least(row["check"]) else row["count"] <= limit
    else:
        ok = (row["fraction"] or 0.0) <= limit
    return {**row, "limit": limit, "ok": ok}


def few_rows(metric: Metric) -> str:
    """Return the name of the check on the average number of rows in a score bin (block) of ``metric``."""
    return f"{_FEW_ROWS} of {metric}: few mean a value near 1 by construction"


def is_least(check: str) -> bool:
    """Return whether the limit of ``check`` is a minimum instead of a maximum."""
    return check.startswith(_FEW_ROWS) or check == checks.EFFECTIVE_SIZE


def rejected_fraction(partials: Partials) -> float:
    """Return the number of rejected rows divided by the number of rows read; 0 if the input has no rows."""
    read = partials.counts.get((checks.ROWS_READ, ""), 0)
    rejected = sum(partials.counts.get((name, ""), 0) for name in rejections())
    return rejected / read if read else 0.0


def _outside(partials: Partials, plan: Plan, model: str) -> Iterator[dict[str, Any]]:
    """Yield the check of scores outside [0, 1] if a metric reads probabilities; one such score makes it undefined."""
    counted = next((total for total in plan.row_sums if total.name == OUTSIDE.name), None)
    if counted is not None:
        sums = partials.sums.results()
        all_rows = Subject(model, ALL, ALL)
        states = counted, replace(ROWS_AND_WEIGHT[0], judging=counted.judging)
        outside, scored = (int(sums.get(all_rows.state(state), 0)) for state in states)
        yield _check(checks.OUTSIDE_ROWS, model, outside, checks.SCORED_IN_GROUPS, scored)


def _weighed(partials: Partials, plan: Plan, model: str) -> Iterator[dict[str, Any]]:
    for check, numbers in weight_checks(partials, plan, model):
        yield {**_check(check, model, 0), **numbers}


def _fine_blocks(
    partials: Partials, plan: Plan, model: str, measured: Mapping[StateKey, MeasuredTerms]
) -> Iterator[dict[str, Any]]:
    """Yield a check of the rows per block for each metric ``auc_up``, which is near 1 if blocks have few rows."""
    all_rows = Subject(model, ALL, ALL)
    for metric, declaration in plan.histogram_metrics:
        if not declaration.by_rate:
            continue
        day = Merged(partials, measured).row(all_rows, metric)
        if day.blocks:
            rows_per_block = day.n_rows / day.blocks
            yield {
                "check": few_rows(metric),
                "model": model,
                "count": rows_per_block,
                "limit": float(FEW_ROWS_PER_BLOCK),
                "ok": rows_per_block >= FEW_ROWS_PER_BLOCK,
            }


def _looked_for(
    names: Iterable[str],
    counts: Mapping[tuple[str, str], int],
    whole: str | None,
    total: int,
    model: str = "",
    limit: float | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each of the checks ``names`` that this evaluation has counted for ``model``."""
    for name in names:
        if (name, model) in counts:
            yield _check(name, model, counts[name, model], whole, total, limit)


def _check(
    name: str, model: str, count: int, whole: str | None = None, total: int = 0, limit: float | None = None
) -> dict[str, Any]:
    fraction = count / total if whole and total else None
    return {
        "check": name,
        "model": model or None,
        "count": float(count),
        "of": whole,
        "fraction": fraction,
        "limit": limit,
        "ok": None if limit is None else (fraction or 0.0) <= limit,
    }
