"""From the states of a day to the rows of its small tables: ``metrics`` and ``quality``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkrank import checks
from sparkrank.bucket import ALL
from sparkrank.day import Key, Measured, day_row, groups_evaluated, list_row
from sparkrank.engine.result import ExactBlocks
from sparkrank.metrics import Plan
from sparkrank.metrics.calibration import OUTSIDE
from sparkrank.metrics.declaration import DayMetric, ListMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.plan import ROWS_AND_WEIGHT
from sparkrank.states import Partials
from sparkrank.states.blocks import blocks_table
from sparkrank.states.distributions import distributions_table
from sparkrank.states.items import items_table
from sparkrank.states.means import Mean
from sparkrank.tables.curves import curves_table

# Two-sided 95 % of the normal distribution: means over many groups are near normal.
Z_95 = 1.959963984540054
# With fewer rows a block, auc_up comes near 1 whatever the scores: with one row per block it is 1 (docs/design.md).
FEW_ROWS_PER_BLOCK = 20

METRICS = pa.schema(
    [
        ("model", pa.string()),
        ("slice", pa.string()),
        ("slice_value", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("stderr", pa.float64()),
        ("n_groups", pa.int64()),
        ("n_undefined", pa.int64()),
        ("n_rows", pa.int64()),
        ("weight", pa.float64()),
        ("error_bound", pa.float64()),
        ("definition", pa.string()),
        ("spec_hash", pa.string()),
        ("run_id", pa.string()),
    ]
)
QUALITY = pa.schema(
    [
        ("check", pa.string()),
        ("model", pa.string()),
        ("count", pa.float64()),
        ("of", pa.string()),
        ("fraction", pa.float64()),
        ("limit", pa.float64()),
        ("ok", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class Origin:
    """What the rows of a table say of where they come from."""

    spec_hash: str | None = None
    run_id: str | None = None


def result_tables(
    partials: Partials,
    plan: Plan,
    origin: Origin,
    max_bad_fraction: float,
    blocks: bool,
    exact: ExactBlocks | None = None,
) -> dict[str, pa.Table]:
    """The small tables of a day or a window; ``blocks`` asks for the score blocks too, without those of ``exact``."""
    measured = {} if exact is None else exact.measured
    tables = {
        "metrics": metrics_table(partials, plan, origin, measured),
        "quality": quality_table(partials, plan, max_bad_fraction, measured),
    }
    if blocks:
        tables["blocks"] = blocks_table(partials.blocks, weighted=plan.weighted)
    if plan.curve_points:
        tables["curves"] = curves_table(partials, plan, {} if exact is None else exact.sketches)
    if plan.distributions:
        tables["distributions"] = distributions_table(partials.distributions)
    if plan.exposures:
        tables["items"] = items_table(partials.items)
    return tables


def metrics_table(
    partials: Partials, plan: Plan, origin: Origin = Origin(), measured: Mapping[Key, Measured] | None = None
) -> pa.Table:
    """One row per model, slice and metric, in the order in which the metrics were asked for.

    ``measured`` are metrics of blocks that are not among the ``partials``.
    """
    means = partials.means.results()
    rows = [
        {**row, "spec_hash": origin.spec_hash, "run_id": origin.run_id}
        for model in plan.models
        for metric in plan.metrics
        for row in _metric_rows(partials, means, plan, model, metric, measured or {})
    ]
    return pa.Table.from_pylist(rows, schema=METRICS)


def _metric_rows(
    partials: Partials,
    means: Mapping[Key, Mean],
    plan: Plan,
    model: str,
    metric: Metric,
    measured: Mapping[Key, Measured],
) -> Iterator[dict[str, Any]]:
    declaration = metric.declaration
    key = {"model": model, "slice": ALL, "slice_value": ALL, "metric": str(metric)}
    definition = {"definition": plan.definition(metric)}
    if isinstance(declaration, (DayMetric, ListMetric)):
        of_lists = isinstance(declaration, ListMetric)
        whose = (model, ALL, ALL)
        far = measured.get((*whose, str(metric)))
        day = list_row(partials, whose, metric) if of_lists else day_row(partials, whose, metric, far)
        bound = day.value.error_bound
        yield {
            **key,
            "value": day.value.value,
            "n_groups": groups_evaluated(partials, model) if of_lists else None,
            "n_undefined": int(math.isnan(day.value.value)),
            "n_rows": day.rows,
            "weight": day.weight,
            "error_bound": None if math.isnan(bound) else bound,
            **definition,
        }
        return
    mean = means.get((model, ALL, ALL, str(metric.of_groups)))
    if mean is not None and metric.percentile is not None:
        groups = partials.distributions[model, ALL, ALL, str(metric.of_groups)]
        value, bound = groups.quantile(metric.percentile / 100)
        yield {
            **key,
            "value": value,
            "n_groups": mean.n_groups,
            "n_undefined": mean.n_undefined,
            "n_rows": mean.n_rows,
            "weight": float(groups.blocks.neg.sum()),
            "error_bound": bound,
            **definition,
        }
    elif mean is not None:
        known = not math.isnan(mean.stderr)
        yield {
            **key,
            "value": mean.value,
            "ci_low": mean.value - Z_95 * mean.stderr if known else None,
            "ci_high": mean.value + Z_95 * mean.stderr if known else None,
            "stderr": mean.stderr if known else None,
            "n_groups": mean.n_groups,
            "n_undefined": mean.n_undefined,
            "n_rows": mean.n_rows,
            "weight": mean.weight,
            **definition,
        }


def quality_table(
    partials: Partials, plan: Plan, max_bad_fraction: float, measured: Mapping[Key, Measured] | None = None
) -> pa.Table:
    """One row per check: what was counted, as a share of what, and whether it is within its limit."""
    counts = partials.counts
    read = counts.get((checks.ROWS_READ, ""), 0)
    rows = [_check(checks.ROWS_READ, "", read)]
    if plan.joins:
        rows.append(_check(checks.TRUTH_ROWS, "", counts.get((checks.TRUTH_ROWS, ""), 0), checks.ROWS_READ, read))
    rows += _looked_for(checks.REJECTIONS, counts, checks.ROWS_READ, read)
    rejected = sum(counts.get((name, ""), 0) for name in checks.REJECTIONS)
    rows.append(_check(checks.ROWS_REJECTED, "", rejected, checks.ROWS_READ, read, max_bad_fraction))
    rows.append(_check(checks.ROWS_EVALUATED, "", counts.get((checks.ROWS_EVALUATED, ""), 0), checks.ROWS_READ, read))
    rows += _looked_for((checks.UNJUDGED_ROWS, checks.UNJUDGED_DROPPED), counts, checks.ROWS_READ, read)
    rows += _looked_for(checks.JOINED, counts, checks.TRUTH_ROWS, counts.get((checks.TRUTH_ROWS, ""), 0))
    groups = counts.get((checks.GROUPS, ""), 0)
    rows.append(_check(checks.GROUPS, "", groups))
    rows += _looked_for((checks.GROUPS_WITHOUT_TRUTH,), counts, checks.GROUPS, groups)
    evaluated = counts.get((checks.ROWS_EVALUATED, ""), 0)
    for model in plan.models:
        scored = counts.get((checks.SCORED_ROWS, model), 0)
        rows.append(_check(checks.SCORED_ROWS, model, scored, checks.ROWS_EVALUATED, evaluated))
        rows.append(
            _check(checks.TIED_ROWS, model, counts.get((checks.TIED_ROWS, model), 0), checks.SCORED_ROWS, scored)
        )
        rows += _looked_for((checks.REPEATED_ROWS,), counts, checks.SCORED_ROWS, scored, model)
        for name in (checks.UNRETRIEVED_GROUPS, checks.ONE_CLASS_GROUPS):
            rows.append(_check(name, model, counts.get((name, model), 0), checks.GROUPS, groups))
        rows += _looked_for((checks.GROUPS_LEFT_OUT,), counts, checks.GROUPS, groups, model)
        rows += _outside(partials, plan, model)
        rows += _fine_blocks(partials, plan, model, measured or {})
    return pa.Table.from_pylist(rows, schema=QUALITY)


def rejected_fraction(partials: Partials) -> float:
    """The share of the rows read that were rejected, 0 where no row was read."""
    read = partials.counts.get((checks.ROWS_READ, ""), 0)
    rejected = sum(partials.counts.get((name, ""), 0) for name in checks.REJECTIONS)
    return rejected / read if read else 0.0


def _outside(partials: Partials, plan: Plan, model: str) -> Iterator[dict[str, Any]]:
    """Where a metric takes scores for probabilities: how many are none. A single one leaves it undefined."""
    if OUTSIDE in plan.row_sums:
        sums = partials.sums.results()
        outside, scored = (int(sums.get((model, ALL, ALL, str(each)), 0)) for each in (OUTSIDE, ROWS_AND_WEIGHT[0]))
        yield _check(checks.OUTSIDE_ROWS, model, outside, checks.SCORED_ROWS, scored, 0.0)


def _fine_blocks(
    partials: Partials, plan: Plan, model: str, measured: Mapping[Key, Measured]
) -> Iterator[dict[str, Any]]:
    """For each auc_up: rows per block, which must not be few, or the value is near 1 by construction."""
    for metric, declaration in plan.block_metrics:
        if not declaration.by_rate:
            continue
        day = day_row(partials, (model, ALL, ALL), metric, measured.get((model, ALL, ALL, str(metric))))
        if day.blocks:
            rows_per_block = day.rows / day.blocks
            yield {
                "check": f"rows per block of {metric}: few mean a value near 1 by construction",
                "model": model,
                "count": rows_per_block,
                "limit": float(FEW_ROWS_PER_BLOCK),
                "ok": rows_per_block >= FEW_ROWS_PER_BLOCK,
            }


def _looked_for(
    names: Iterable[str], counts: Mapping[tuple[str, str], int], of: str, total: int, model: str = ""
) -> Iterator[dict[str, Any]]:
    """The checks among ``names`` that the definitions of the evaluation made the buckets look for."""
    for name in names:
        if (name, model) in counts:
            yield _check(name, model, counts[name, model], of, total)


def _check(
    name: str, model: str, count: int, of: str | None = None, total: int = 0, limit: float | None = None
) -> dict[str, Any]:
    fraction = count / total if of and total else None
    return {
        "check": name,
        "model": model or None,
        "count": float(count),
        "of": of,
        "fraction": fraction,
        "limit": limit,
        "ok": None if limit is None else (fraction or 0.0) <= limit,
    }
