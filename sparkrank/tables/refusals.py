"""What stops an evaluation once all is counted: an input that cannot be used, values that were asked to be there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank import checks
from sparkrank.bucket import slicing
from sparkrank.errors import InputError, listed
from sparkrank.metrics import Plan
from sparkrank.metrics.declaration import GroupMetric
from sparkrank.metrics.slices import ALL, slice_name
from sparkrank.states import Partials
from sparkrank.tables.quality import rejected_fraction


def refuse_unusable(partials: Partials, plan: Plan, max_bad_fraction: float) -> None:
    """Raise :class:`InputError`: no rows, too many bad ones, a slice of too many values, or duplicates where
    ``duplicates`` is ``error``.
    """
    if not partials.counts.get((checks.ROWS_READ, ""), 0):
        raise InputError("the input has no rows")
    fraction = rejected_fraction(partials)
    if fraction > max_bad_fraction:
        reasons = [(name, partials.counts.get((name, ""), 0)) for name in checks.REJECTIONS]
        found = ", ".join(f"{count} {name.removeprefix('rejected: ')}" for name, count in reasons if count)
        of_scores = ", and a null score means not retrieved" if partials.counts.get((checks.NAN_SCORE, "")) else ""
        raise InputError(
            f"{fraction:.4%} of the rows cannot be evaluated ({found}): max_bad_fraction allows {max_bad_fraction:.4%}"
            f"{of_scores}"
        )
    for model in plan.models if plan.group_weights else ():
        if count := partials.counts.get((checks.WEIGHTLESS_GROUPS, model), 0):
            weights = listed(f"weight={column}" for column in plan.group_weights)
            raise InputError(
                f"{count} groups of {model} have no row in the lists, and so no weight, which {weights} of a metric "
                f"needs: population=lists leaves them out"
            )
    for name in map(slice_name, plan.slices):  # no bucket may have had as many: the refusal would depend on these
        count = len(partials.slice_values(name))
        if count > slicing.MOST_VALUES:
            slicing.refuse_many_values(name, count)
    if plan.definitions.duplicates == "error":
        _refuse_duplicates(partials)


def _refuse_duplicates(partials: Partials) -> None:
    """Raise :class:`InputError` where an item stands twice in a list or in the truth of its group."""
    for (check, model), count in sorted(partials.counts.items()):
        if count and check in (checks.REPEATED_ROWS, checks.TRUTH_REPEATED):
            of = f"{check} of {model}" if model else check
            raise InputError(f"duplicates=error, and there are duplicates ({of}: {count})")


def refuse_undefined(metrics: pa.Table, plan: Plan) -> None:
    """Raise :class:`InputError` where ``undefined`` is ``error`` and some row of the table ``metrics`` is, or some
    group of it; a slice's rows too.
    """
    if plan.definitions.undefined != "error":
        return
    of_groups = {str(metric) for metric in plan.metrics if isinstance(metric.declaration, GroupMetric)}
    reasons = {str(metric): metric.declaration.undefined for metric in plan.metrics}
    for row in metrics.filter(pc.greater(metrics["n_undefined"], 0)).to_pylist():
        name, where = row["metric"], "" if row["slice"] == ALL else f" where {row['slice']} is {row['slice_value']}"
        how = f" in {row['n_undefined']} of {row['n_groups']} groups" if name in of_groups else f": {reasons[name]}"
        raise InputError(f"{name} of {row['model']}{where} is undefined{how}, and undefined=error")
