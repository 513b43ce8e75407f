"""The groups that changed most between two sides, gains and losses apart: examples to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sparkrank.base.errors import MetricError, SpecError, without_secrets
from sparkrank.bucket.group_rows import GROUP_COUNTS
from sparkrank.comparison.group_pairs import Pairs, Side, common_keys, paired_groups
from sparkrank.comparison.group_tables import GroupTable, chosen_models
from sparkrank.comparison.runs import (
    CompareLane,
    asked_metric,
    counted_undefined,
    definitions_told,
    is_for_spark,
)
from sparkrank.metrics import Metric
from sparkrank.numeric.array_types import Floats, Ints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.comparison.group_tables import GroupRows

COUNTS = (GROUP_COUNTS[0], GROUP_COUNTS[2])  # rows, and relevant ones
GAIN, LOSS = "gain", "loss"
TOP, MOST_TOP = 20, 10_000


@without_secrets()
def movers(
    left: GroupRows,
    right: GroupRows,
    metric: str,
    *,
    left_model: str | None = None,
    right_model: str | None = None,
    left_day: str | None = None,
    right_day: str | None = None,
    top: int = TOP,
    other_definitions: bool = False,
    spark: SparkSession | None = None,
    lane: CompareLane = "auto",
) -> pa.Table:
    """The groups whose value of ``metric`` changed most from left to right, gains and losses apart.

    Memory is bounded by the keys and two columns of the group tables. Equal differences are in the order of the key,
    so that the answer is the same for any order of the rows, and in either lane.

    Parameters
    ----------
    left : Evaluation, pyarrow Table or Dataset, Spark DataFrame, or path
        The baseline, as :func:`sparkrank.compare_runs` takes it. Two models of one run are twice the same table.
    right : Evaluation, pyarrow Table or Dataset, Spark DataFrame, or path
        What is compared with it.
    metric : str
        The metric, by its column.
    left_model, right_model : str, optional
        The model of each side, which may be left out where there is one.
    left_day, right_day : str, optional
        The day, YYYY-MM-DD, where a path has many.
    top : int
        How many gains, and how many losses.
    other_definitions : bool
        Whether to compare a metric that the two runs define otherwise.
    spark : SparkSession, optional
        Pairs the groups where there are very many, and reads where Arrow cannot.
    lane : str
        ``local`` pairs the groups in this process, ``frame`` by Spark; ``auto`` chooses by size.

    Returns
    -------
    pyarrow.Table
        The largest first: ``change`` (``gain`` is better by the metric's direction, above where it has none), the
        columns of the key, ``baseline_value``, ``value``, ``difference``, and ``n_rows`` and ``n_relevant`` of both.

    Raises
    ------
    SpecError
        Where a model, the metric or a day is not there or left open.
    InputError
        Where there is no group table, the keys of the two differ, or a key stands on several rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b", "b"], "old": [0.9, 0.5, 0.7, 0.1], "new": [0.1, 0.5, 0.7, 0.1],
    ...                 "click": [0, 1, 1, 0]})
    >>> ev = sr.evaluate(log, ["rr"], group="user", score={"old": "old", "new": "new"}, label="click")
    >>> found = sr.movers(ev, ev, "rr", left_model="old", right_model="new")
    >>> found.select(["change", "user", "baseline_value", "value", "n_rows"]).to_pylist()
    [{'change': 'gain', 'user': 'a', 'baseline_value': 0.5, 'value': 1.0, 'n_rows': 2}]
    """
    tables = (GroupTable.of("left", left, left_day, spark), GroupTable.of("right", right, right_day, spark))
    models = chosen_models(*tables, left_model, right_model)
    sides = Side(tables[0], models[0]), Side(tables[1], models[1])
    session = None if spark is None else lambda: spark
    return largest_changes(*sides, metric, top, other_definitions=other_definitions, session=session, lane=lane)


def largest_changes(
    left: Side,
    right: Side,
    metric: str,
    top: int,
    *,
    other_definitions: bool,
    session: Callable[[], SparkSession] | None,
    lane: CompareLane,
) -> pa.Table:
    """The ``top`` gains and the ``top`` losses. ``session`` gives the Spark session; None where there is none."""
    if not 1 <= top <= MOST_TOP:
        raise SpecError(f"top is {top}: a whole number from 1 to {MOST_TOP} is needed")
    keys = common_keys(left.table, right.table)
    metric = asked_metric(left.table, right.table, metric)
    definitions_told(left.table, right.table, [metric], other_definitions)
    counted_as = counted_undefined(right.table.definitions.get(metric))
    signs = {GAIN: 1.0, LOSS: -1.0} if is_higher_better(metric) else {GAIN: -1.0, LOSS: 1.0}
    schema = _schema(keys)
    if is_for_spark(left, right, session, lane):
        from sparkrank.comparison.spark_pairs import session_of, spark_changes

        spark = session_of(left, right, session)
        found = spark_changes(left, right, metric, counted_as, signs, top, spark)
        return pa.concat_tables([schema.empty_table(), *(each.cast(schema) for each in found)])
    pairs = paired_groups(left, right)
    values = [_counted(side.values(metric), counted_as) for side in (left, right)]
    difference = np.empty(len(pairs.of_left))
    start = 0
    for ours, theirs in pairs.parts():
        difference[start : start + len(ours)] = values[1][theirs] - values[0][ours]
        start += len(ours)
    tables = []
    for change, sign in signs.items():
        gain = difference * sign
        with np.errstate(invalid="ignore"):
            chosen = largest_first(left, pairs.of_left, gain, np.flatnonzero(gain > 0), keys, top)
        tables.append(_rows(change, left, right, pairs, chosen, values, keys))
    return pa.concat_tables([schema.empty_table(), *tables])


def _schema(keys: pa.Schema) -> pa.Schema:
    numbers = [(name, pa.float64()) for name in ("baseline_value", "value", "difference")]
    counts = [(name, pa.int64()) for name in (*COUNTS, *(f"baseline_{name}" for name in COUNTS))]
    return pa.schema([("change", pa.string()), *keys, *numbers, *counts])


def is_higher_better(metric: str) -> bool:
    """Whether a higher value of the metric with this text is the better one, as far as anybody knows here."""
    try:
        return Metric.parse(metric).declaration.higher_is_better is not False
    except MetricError:  # registered where it was evaluated
        return True


def _counted(values: Floats, counted_as: float | None) -> Floats:
    return values if counted_as is None else np.where(np.isnan(values), counted_as, values)


def largest_first(side: Side, of_side: Ints, gain: Floats, places: Ints, keys: pa.Schema, top: int) -> Ints:
    """Those of ``places`` that have the ``top`` largest of ``gain``, largest first, equal ones by key.

    Place i is row ``of_side[i]`` of ``side``. ``gain`` has no NaN at ``places``.
    """
    if not len(places):
        return places
    least = np.partition(gain[places], -top)[-top] if len(places) > top else gain[places].min()
    beyond, tied = places[gain[places] > least], places[gain[places] == least]
    rows = _keys_of(side, of_side[beyond], keys).append_column("place", pa.array(beyond))
    rows = pa.concat_tables([rows, _first_by_key(side, of_side, tied, keys, top - len(beyond))])
    rows = rows.append_column("gain", pa.array(-gain[rows["place"].to_numpy()]))
    order = rows.sort_by([(name, "ascending") for name in ("gain", *keys.names)])
    chosen: Ints = order["place"].to_numpy()
    return chosen


def _keys_of(side: Side, numbers: Ints, keys: pa.Schema) -> pa.Table:
    return side.rows_at(numbers, keys.names).cast(keys)


def _first_by_key(left: Side, of_left: Ints, tied: Ints, keys: pa.Schema, most: int) -> pa.Table:
    """The ``most`` of the pairs at the places ``tied`` whose keys are the first, of which a batch is held at a time."""
    kept = pa.schema([*keys, pa.field("place", pa.int64())]).empty_table()
    by_row = tied[np.argsort(of_left[tied], kind="stable")]
    for batch, places in _batches_at(left, of_left[by_row], by_row, keys.names):
        found = pa.Table.from_batches([batch]).cast(keys).append_column("place", pa.array(places))
        kept = pa.concat_tables([kept, found]).sort_by([(name, "ascending") for name in keys.names])[:most]
    return kept


def _batches_at(
    side: Side, numbers: Ints, places: Ints, columns: Sequence[str]
) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """The rows of these ``numbers``, ascending, batch by batch, with their ``places``."""
    start = 0
    for batch in side.batches(columns):
        first, last = np.searchsorted(numbers, (start, start + batch.num_rows))
        if last > first:
            yield batch.take(pa.array(numbers[first:last] - start)), places[first:last]
        start += batch.num_rows


def _rows(
    change: str, left: Side, right: Side, pairs: Pairs, chosen: Ints, values: Sequence[Floats], keys: pa.Schema
) -> pa.Table:
    of_left, of_right = pairs.of_left[chosen], pairs.of_right[chosen]
    ours, theirs = values[0][of_left], values[1][of_right]
    baseline, candidate = left.rows_at(of_left, [*keys.names, *COUNTS]), right.rows_at(of_right, COUNTS)
    columns = {
        "change": pa.array([change] * len(chosen), pa.string()),
        **{name: baseline[name] for name in keys.names},
        "baseline_value": ours,
        "value": theirs,
        "difference": theirs - ours,
        **{name: candidate[name] for name in COUNTS},
        **{f"baseline_{name}": baseline[name] for name in COUNTS},
    }
    return pa.table(columns).cast(_schema(keys))
