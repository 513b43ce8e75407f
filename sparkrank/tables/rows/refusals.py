"""Checks that stop an evaluation after counting, because the input is unusable or a required value is undefined."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import InputError, NoInputError, RejectedRowsError, itemize, shorten
from sparkrank.bucket import slicing
from sparkrank.inputs.role_table import rejections
from sparkrank.metrics import Plan
from sparkrank.metrics.parameters import NEED_AN_ORDER
from sparkrank.metrics.plan_validation import unexpected
from sparkrank.metrics.sampled_metric import SampledMetric
from sparkrank.metrics.slices import ALL, shown_value, slice_name
from sparkrank.states import Partials
from sparkrank.tables.rows.quality import rejected_fraction


def validate_partials(partials: Partials, plan: Plan, max_bad_fraction: float, elements: Sequence[str] = ()) -> None:
    """Raise :class:`InputError` if the counts in ``partials`` show that the input is unusable.

    ``elements`` names columns that are elements of arrays or vectors, for advice in the message.
    """
    if not partials.counts.get((checks.ROWS_READ, ""), 0):
        raise NoInputError("the input has no rows")
    fraction = rejected_fraction(partials)
    if fraction > max_bad_fraction:
        raise RejectedRowsError(
            f"{fraction:.4%} of the rows cannot be evaluated ({_reasons(partials)}): max_bad_fraction allows "
            f"{max_bad_fraction:.4%}{''.join(_remedies(partials, plan, elements))}",
            [name for name in rejections() if partials.counts.get((name, ""))],
        )
    _validate_not_empty(partials, plan)
    if plan.cluster is not None:
        _validate_clusters(partials, plan, f'the cluster column "{shorten(plan.cluster)}"')
    for model in plan.models if plan.group_weights else ():
        if count := partials.counts.get((checks.WEIGHTLESS_GROUPS, model), 0):
            weights = itemize(f"weight={column}" for column in plan.group_weights)
            raise InputError(
                f"{count} groups of {model} have no row in the lists, and so no weight, which {weights} of a metric "
                f"needs: population=lists leaves them out"
            )
    # Checked again after the merge, because no single bucket may have seen that many values.
    for columns in plan.slices:
        slicing.validate_count(columns, len(partials.slice_values(slice_name(columns))), plan)
    for (check, model), count in sorted(partials.counts.items()) if plan.definitions.duplicates == "error" else ():
        if count and check in (checks.REPEATED_ROWS, checks.TRUTH_REPEATED):
            source = f"{check} of {shorten(model)}" if model else check
            raise InputError(f"duplicates=error, and there are duplicates ({source}: {count})")
    for (metric, reason), model in itertools.product(unexpected(plan) if plan.by_rank else (), plan.models):
        if tied := partials.counts.get((checks.TIED_ROWS, model), 0):
            raise InputError(
                f"{metric} is not computed under ties=expected ({reason}), and {tied} rows of {model} share their "
                f"rank with another: set ties to {NEED_AN_ORDER}"
            )


def validate_past(names: Iterable[str], partials: Partials) -> None:
    """Raise :class:`InputError` if one of ``names``, the tables of the past, has no pair of a group and an item."""
    for name in names:
        read, without = (partials.counts.get((of[name], ""), 0) for of in (checks.PAST_ROWS, checks.PAST_WITHOUT_PAIR))
        if read == without:
            unusable = f": none of {read:,} has a group and an item" if read else ""
            raise InputError(f"the table {name} has no rows{unusable} (in a spec, optional: true allows it)")


def _validate_clusters(partials: Partials, plan: Plan, column: str) -> None:
    if count := partials.counts.get((checks.NULL_CLUSTER, ""), 0):
        raise InputError(
            f"{column} is null or NaN in {count:,} rows: give each row a value of its own, such as its group, if its "
            f"cluster is unknown"
        )
    for model in plan.models:
        if count := partials.counts.get((checks.CLUSTERLESS_GROUPS, model), 0):
            raise InputError(
                f"{count:,} groups of {shorten(model)} have no row in the lists, and so no value of {column}: name "
                f"the column of the truth that has it, or leave them out by population=lists"
            )


def _remedies(partials: Partials, plan: Plan, elements: Sequence[str]) -> Iterator[str]:
    """Yield advice on rejected rows, as clauses to append to an error message."""

    def rejected(*names: str) -> bool:
        return any(partials.counts.get((name, "")) for name in names)

    if rejected(checks.SMALL_WEIGHT, checks.SMALL_GROUP_WEIGHT):
        yield ", and all weights may be multiplied by one number, or be 0"
    if rejected(checks.SMALL_LABEL):
        yield ", and all labels may be multiplied by one number, or be 0"
    if rejected(checks.NAN_SCORE):
        yield ", and a null score means not retrieved"
    if elements and rejected(*rejections()):
        yield f", and an array or a vector that has no element at its place in {itemize(elements)} gives NaN"
    if plan.definitions.positions == "given" and rejected(checks.BAD_RANK):
        yield ", and ranks that begin with 0 are positions=given_from_0"


def _reasons(partials: Partials) -> str:
    """Describe how many rows were rejected for each reason, for example ``3 null item, 1 NaN score``."""
    reasons = [(name, partials.counts.get((name, ""), 0)) for name in rejections()]
    return ", ".join(f"{count} {name.removeprefix('rejected: ')}" for name, count in reasons if count)


def _validate_not_empty(partials: Partials, plan: Plan) -> None:
    """Raise :class:`InputError` if no usable row or group is left (without any list, recall would be 0.0)."""

    def count(check: str, model: str = "") -> int:
        return partials.counts.get((check, model), 0)

    if plan.joins:
        unlisted = count(checks.TRUTH_UNLISTED)
        listed = sum(map(count, (checks.ROWS_EVALUATED, checks.UNJUDGED_DROPPED, checks.EXCLUDED_ROWS))) - unlisted
        lists_read = count(checks.ROWS_READ) - count(checks.TRUTH_ROWS)
        _validate_side("lists", listed, lists_read, partials)
        of_truth = (checks.TRUTH_LISTED, checks.TRUTH_REPEATED, checks.TRUTH_UNLABELLED, checks.EXCLUDED_TRUTH)
        given = sum(map(count, of_truth), unlisted)
        _validate_side("truth", given, count(checks.TRUTH_ROWS), partials)
        if not count(checks.GROUPS_JOINED) and not count(checks.EXCLUDED_ROWS):
            raise InputError(
                f"lists and truth have no group in common: each of the {count(checks.GROUPS):,} groups "
                f"({', '.join(plan.keys)}) is in only one of them"
            )
    if not count(checks.ROWS_EVALUATED):
        dropped = f"{count(checks.UNJUDGED_DROPPED)} without a label, which unjudged=drop drops"
        excluded = f"{count(checks.EXCLUDED_ROWS)} that the group had before, which exclude leaves out"
        reasons = [_reasons(partials), dropped if count(checks.UNJUDGED_DROPPED) else ""]
        reasons += [excluded] if count(checks.EXCLUDED_ROWS) else []
        raise InputError(f"no row is left to evaluate ({', '.join(filter(None, reasons))})")
    groups, definitions = count(checks.GROUPS), plan.definitions
    if definitions.chooses_groups and all(count(checks.GROUPS_LEFT_OUT, model) == groups for model in plan.models):
        skips = ", unretrieved=skip" if definitions.unretrieved == "skip" else ""
        raise InputError(
            f"no group is left to evaluate: population={definitions.population}{skips} leaves out all {groups:,}"
        )


def _validate_side(side: str, usable: int, read: int, partials: Partials) -> None:
    """Raise :class:`InputError` if the side (lists or truth) has no rows, or no ``usable`` rows with an item."""
    if not read:
        raise InputError(f"the {side} {'have' if side == 'lists' else 'has'} no rows")
    if not usable:
        rejected = _reasons(partials)
        of_both = f", rejected of both sides: {rejected}" if rejected else ""
        raise InputError(f"no row of the {side} has an item and can be evaluated (rows read: {read:,}{of_both})")


def validate_defined(metrics: pa.Table, plan: Plan) -> None:
    """Raise :class:`InputError` if no group has the candidates of a sampled metric, or for ``undefined=error``."""
    _validate_sampled(metrics, plan)
    if plan.definitions.undefined != "error":
        return
    of_groups = {str(metric) for metric in plan.metrics if metric.is_over_groups}
    reasons = {str(metric): metric.declaration.undefined for metric in plan.metrics}
    for row in metrics.filter(pc.greater(metrics["n_undefined"], 0)).to_pylist():
        name, value = row["metric"], shown_value(row["slice_value"], row["slice"])
        where = "" if row["slice"] == ALL else f" where {row['slice']} is {value}"
        how = f" in {row['n_undefined']} of {row['n_groups']} groups" if name in of_groups else f": {reasons[name]}"
        raise InputError(f"{shorten(name)} of {shorten(row['model'])}{where} is undefined{how}, and undefined=error")


def _validate_sampled(metrics: pa.Table, plan: Plan) -> None:
    whole = metrics.filter(pc.equal(metrics["slice"], ALL))
    for metric in plan.metrics:
        if not isinstance(metric.declaration, SampledMetric):
            continue
        rows = whole.filter(pc.equal(whole["metric"], str(metric))).to_pylist()
        if rows and all(row["n_undefined"] == row["n_groups"] for row in rows):
            raise InputError(
                f"{shorten(metric)}: none of {rows[0]['n_groups']:,} groups has a list of one relevant row and "
                f"{metric['sampled']} others"
            )
