"""The values of pooled metrics over Arrow batches of rows, reduced to score bins and sums to bound memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError
from sparkrank.bucket.evaluate import evaluate_bucket
from sparkrank.bucket.impressions import LABEL, score_column
from sparkrank.functions.column_plans import ColumnPlan
from sparkrank.functions.list_values import ROLES, lists_of, read_column
from sparkrank.inputs.role_table import rejections
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.slices import ALL
from sparkrank.sources.types import plain_array
from sparkrank.states import Partials
from sparkrank.states.keys import Subject

FOLDED_ROWS = 1 << 19  # rows held before they are reduced to score bins and sums


class PooledRows:
    """The rows of all groups together, added in batches: the latest rows, and sums and score bins of earlier rows."""

    def __init__(self, column_plan: ColumnPlan) -> None:
        self._column_plan = column_plan
        self._states: Partials | None = None
        self._batches: list[pa.Table] = []
        self._rows = 0

    def add(self, arrays: Sequence[pa.Array]) -> None:
        """Add a batch of rows, with one array for each role of the column plan, in order."""
        columns = {}
        for key, array in zip(self._column_plan.roles, arrays, strict=True):
            column = read_column(plain_array(array), ROLES[key])
            name = score_column(0) if key in ("score", "rank") else key
            columns[name] = pc.negate(column) if key == "rank" else column
        rows = pa.table(columns)
        if LABEL not in columns:
            rows = rows.append_column(LABEL, pa.nulls(len(rows), pa.int8()))
        self._batches.append(rows)
        self._rows += rows.num_rows
        if self._rows >= FOLDED_ROWS:
            self._fold()

    def _fold(self) -> None:
        states = evaluate_bucket(pa.concat_tables(self._batches), self._column_plan.plan).partials
        self._states = states if self._states is None else Partials.merged([self._states, states])
        self._batches, self._rows = [], 0

    def values(self) -> list[float | None]:
        """Return the value of each metric: None if undefined, and NaN for all metrics if a row cannot be evaluated."""
        if self._batches:
            self._fold()
        if self._states is None:  # there were no rows
            return [self._value(math.nan, name) for name in self._column_plan.names]
        counts, merged = self._states.counts, Merged(self._states)
        subject = Subject(self._column_plan.plan.models[0], ALL, ALL)
        if any(counts.get((reason, ""), 0) for reason in rejections()):
            return [math.nan for _ in self._column_plan.names]
        return [
            self._value(merged.row(subject, metric).value, str(metric)) for metric in self._column_plan.plan.metrics
        ]

    def _value(self, value: float, name: str) -> float | None:
        """Return ``value`` or, if it is NaN, the value or None that the definition ``undefined`` puts in its place."""
        definitions = self._column_plan.plan.definitions
        if not math.isnan(value):
            return float(value)
        if definitions.undefined == "error":
            raise InputError(f"{name} is undefined, and undefined=error")
        return definitions.counts_undefined_as


def pooled_values_of_lists(arrays: Sequence[pa.Array], column_plan: ColumnPlan) -> list[pa.Array]:
    """Return one array of values per list for each pooled metric: null if the value is undefined or the list null."""
    lists = lists_of(arrays, column_plan.roles)
    values: list[list[float | None]] = []
    for place, null in enumerate(lists.null.tolist()):
        low, high = lists.ends[place : place + 2].tolist()
        rows = PooledRows(column_plan)
        if high > low:
            rows.add([lists.columns[key].slice(low, high - low) for key in column_plan.roles])
        values.append([None] * len(column_plan.names) if null else rows.values())
    return [pa.array([of_list[index] for of_list in values], pa.float64()) for index in range(len(column_plan.names))]
