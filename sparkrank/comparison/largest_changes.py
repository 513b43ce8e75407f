"""The groups that changed most between the left and the right run, as examples to look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import MetricError, SpecError
from sparkrank.bucket.group_rows import GROUP_COUNTS
from sparkrank.comparison.group_moments import with_counted
from sparkrank.comparison.group_pairs import ModelGroups, Pairs, common_keys, paired_groups
from sparkrank.comparison.group_tables import metric_among
from sparkrank.comparison.runs import counted_undefined, definition_notes
from sparkrank.metrics import Metric
from sparkrank.numeric.array_types import Floats, Ints

GAIN, LOSS = "gain", "loss"
TOP, MOST_TOP = 20, 10_000


def largest_changes(
    left: ModelGroups, right: ModelGroups, metric: str, top: int, *, other_definitions: bool
) -> pa.Table:
    """Return up to ``top`` gains, then up to ``top`` losses, as the table described at :func:`sparkrank.movers`.

    Each of the two lists begins with the largest change.
    """
    if not 1 <= top <= MOST_TOP:
        raise SpecError(f"top is {top}: a whole number from 1 to {MOST_TOP} is needed")
    keys = common_keys(left.table, right.table)
    common = [name for name in right.table.metrics if name in left.table.metrics]
    presets = right.table.preset, left.table.preset
    metric = metric_among(common, metric, *presets, of_rows=right.table.definitions)
    definition_notes(left.table, right.table, [metric], other_definitions)
    counted_as = counted_undefined(right.table.definitions.get(metric))
    signs = {GAIN: 1.0, LOSS: -1.0} if is_higher_better(metric) else {GAIN: -1.0, LOSS: 1.0}
    left, right = left.here([metric]), right.here([metric])
    pairs = paired_groups(left, right)
    values = [with_counted(side.values(metric), counted_as) for side in (left, right)]
    difference = values[1][pairs.right_rows] - values[0][pairs.left_rows]
    tables = []
    for change, sign in signs.items():
        gain = difference * sign
        with np.errstate(invalid="ignore"):
            chosen = largest_first(left, pairs.left_rows, gain, np.flatnonzero(gain > 0), keys, top)
        tables.append(change_rows(change, left, right, pairs, chosen, values, keys))
    return pa.concat_tables(tables)


def largest_of_all(left: ModelGroups, right: ModelGroups, metric: str, top: int) -> pa.Table:
    """Return the ``top`` groups whose metric changed most, with gains and losses together, largest change first."""
    changes = largest_changes(left, right, metric, top, other_definitions=True)
    keys = common_keys(left.table, right.table).names
    order = [("size of it", "ascending"), *((name, "ascending") for name in keys)]
    ranked = changes.append_column("size of it", pc.negate(pc.abs(changes["difference"]))).sort_by(order)
    return ranked[:top].drop_columns(["size of it"])


def is_higher_better(metric: str) -> bool:
    """Return whether a higher value of ``metric`` is better; true for an unregistered metric."""
    try:
        return Metric.parse(metric).declaration.higher_is_better is not False
    except MetricError:  # the metric is registered only where it was evaluated
        return True


def largest_first(side: ModelGroups, of_side: Ints, gain: Floats, places: Ints, keys: pa.Schema, top: int) -> Ints:
    """Return the ``top`` indices from ``places`` with the largest ``gain``, largest first. Ties are ordered by key.

    Index i means the row ``of_side[i]`` of ``side``, which is the left or the right run. ``gain`` is not NaN at any
    index in ``places``.
    """
    if not len(places):
        return places
    least = np.partition(gain[places], -top)[-top] if len(places) > top else gain[places].min()
    beyond, tied = places[gain[places] > least], places[gain[places] == least]
    rows = side.rows_at(of_side[beyond], keys.names).cast(keys).append_column("place", pa.array(beyond))
    rows = pa.concat_tables([rows, _first_by_key(side, of_side, tied, keys, top - len(beyond))])
    rows = rows.append_column("gain", pa.array(-gain[rows["place"].to_numpy()]))
    order = rows.sort_by([(name, "ascending") for name in ("gain", *keys.names)])
    chosen: Ints = order["place"].to_numpy()
    return chosen


def _first_by_key(left: ModelGroups, left_rows: Ints, tied: Ints, keys: pa.Schema, most: int) -> pa.Table:
    """Return the first ``most`` pairs by key among the indices ``tied``. One batch of rows is in memory at a time."""
    kept = pa.schema([*keys, pa.field("place", pa.int64())]).empty_table()
    by_row = tied[np.argsort(left_rows[tied], kind="stable")]
    for batch, taken in left.batches_at(left_rows[by_row], keys.names):
        rows = pa.Table.from_batches([batch]).cast(keys).append_column("place", pa.array(by_row[taken]))
        kept = pa.concat_tables([kept, rows]).sort_by([(name, "ascending") for name in keys.names])[:most]
    return kept


def change_rows(
    change: str,
    left: ModelGroups,
    right: ModelGroups,
    pairs: Pairs,
    chosen: Ints,
    values: Sequence[Floats],
    keys: pa.Schema,
) -> pa.Table:
    """Return one row for each of the ``chosen`` pairs, with the columns described at :func:`sparkrank.movers`."""
    left_rows, right_rows = pairs.left_rows[chosen], pairs.right_rows[chosen]
    ours, theirs = values[0][left_rows], values[1][right_rows]
    baseline, candidate = left.rows_at(left_rows, [*keys.names, *GROUP_COUNTS]), right.rows_at(right_rows, GROUP_COUNTS)
    columns = {
        "change": pa.array([change] * len(chosen), pa.string()),
        **{key.name: baseline[key.name].cast(key.type) for key in keys},
        "baseline_value": ours,
        "value": theirs,
        "difference": theirs - ours,
        **{name: candidate[name].cast(pa.int64()) for name in GROUP_COUNTS},
        **{f"baseline_{name}": baseline[name].cast(pa.int64()) for name in GROUP_COUNTS},
    }
    return pa.table(columns)
