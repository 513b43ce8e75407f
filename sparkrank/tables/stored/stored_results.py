"""The results of a stored day or window: its metrics, comparisons and gate verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.gates.facts import APART, COMPARED, DayOutcome
from sparkrank.gates.register import KINDS
from sparkrank.gates.rules import Cell
from sparkrank.gates.verdicts import VerdictKey
from sparkrank.schemas.tables import ACCEPTED, FROM_NOW_ON, GATES, METRICS, RUN_ID, RUNS, WINDOW_RUNS
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.stored.day_files import DayFiles, day_files
from sparkrank.tables.stored.validation import validate_required, validate_results, validate_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLES = ("metrics", "comparisons", "disparities", "gates", "runs")
ACCEPTED_NAMES = tuple(column.name for column in ACCEPTED)
# The columns that are read for an earlier day, to compare with: its values, failed gates and accepted verdicts.
_NUMBERS = ("value", "ci_low", "ci_high", "stderr", "interval", "n_groups", "n_undefined", "definition")
_VALUES = pa.schema([METRICS.schema.field(name) for name in (*Cell._fields, *_NUMBERS, RUN_ID)])
_VERDICTS = pa.schema(
    [GATES.schema.field(name) for name in ("gate", "kind", *Cell._fields, "verdict", "accepted", FROM_NOW_ON, RUN_ID)]
)
_OWN = ("spec_hash", RUN_ID)  # columns that may differ between runs with the same result


@dataclass(frozen=True)
class StoredResult:
    """The stored tables, None if missing, of the day or window ``name``, and its row of ``runs``."""

    name: str
    metrics: pa.Table
    comparisons: pa.Table | None
    gates: pa.Table | None
    run: dict[str, Any]
    disparities: pa.Table | None = None

    @cached_property
    def outcome(self) -> DayOutcome:
        """The cells (metric, model, slice value) of failed gates, of accepted failures, and of new histories."""
        fails, accepted = pc.equal(self._verdicts["verdict"], "fail"), self._flags("accepted")
        let_in = pc.and_(fails, accepted)
        of_history = [name for name, kind in KINDS.items() if kind.reads_history]
        levels = pc.and_(let_in, pc.is_in(self._verdicts["kind"].cast(pa.string()), pa.array(of_history)))
        masks = (pc.and_not(fails, accepted), let_in, levels, self._flags(FROM_NOW_ON))
        cells = (frozenset(key.cell for key in self._keys(mask)) for mask in masks)
        fields = ("failed", "let_in", "levels", "anew")
        return DayOutcome(**dict(zip(fields, cells, strict=True)), is_new=bool(self.run.get(FROM_NOW_ON)))

    @property
    def beginnings(self) -> frozenset[VerdictKey]:
        return frozenset(self._keys(self._flags(FROM_NOW_ON)))

    @property
    def _verdicts(self) -> pa.Table:
        return GATES.schema.empty_table() if self.gates is None else self.gates

    def _flags(self, name: str) -> pa.ChunkedArray:
        """Return the boolean column ``name`` of the verdicts; all false if it is missing, as in earlier releases."""
        if name not in self._verdicts.column_names:
            return pa.array([False] * self._verdicts.num_rows, pa.bool_())
        return pc.fill_null(self._verdicts[name], False)

    def _keys(self, mask: pa.ChunkedArray) -> list[VerdictKey]:
        return [_key(row) for row in self._verdicts.filter(mask).to_pylist()]

    @property
    def acceptance(self) -> dict[str, Any]:
        """The time and the reason of a person's acceptance of the day, by column of ``runs``, or an empty dict."""
        values = {name: self.run.get(name) for name in ACCEPTED_NAMES}
        return {} if None in (values["accepted_at"], values["accepted_reason"]) else values

    @property
    def acceptances(self) -> dict[VerdictKey, tuple[tuple[float | None, ...], str]]:
        """The verdicts that a person has accepted: a mapping from each verdict's key to its numbers and the reason."""
        return {
            _key(row): ((row["value"], row["ci_low"], row["ci_high"]), row["accepted_reason"])
            for row in self._verdicts.filter(self._flags("accepted")).to_pylist()
        }

    def has_same(self, metrics: pa.Table) -> bool:
        """Return whether ``metrics`` equals the stored table bit for bit, apart from the spec hash and the run ID."""
        names = [name for name in self.metrics.column_names if name not in _OWN and name in metrics.column_names]
        if self.metrics.num_rows != metrics.num_rows:
            return False
        return all(_same(self.metrics[name], metrics[name]) for name in names)


def _key(row: dict[str, Any]) -> VerdictKey:
    return VerdictKey(row["gate"], row["kind"], Cell(row["metric"], row["model"], row["slice"], row["slice_value"]))


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(left.type):
        one, other = (column.combine_chunks().to_numpy(zero_copy_only=False) for column in (left, right))
        return left.null_count == right.null_count and np.array_equal(one, other, equal_nan=True)
    return bool(left.to_pylist() == right.to_pylist())


def stored_result(
    output: str, name: str, spark: SparkSession | None = None, column: str = DAY, *, is_past: bool = False
) -> StoredResult | None:
    """Read the tables of the day or window ``name`` under ``output``; None if the table ``metrics`` is missing.

    If ``is_past``, only the columns needed for comparison with a later day are read. Raise :class:`InputError` if the
    files cannot be read or do not belong to one run.
    """
    files = day_files(output, name, _TABLES, spark, column)
    if not files.has("metrics"):
        return None
    return result_in(files, name, files.run, is_past=is_past)


def result_in(files: DayFiles, name: str, run: dict[str, Any], *, is_past: bool = False) -> StoredResult:
    """Read the tables of ``name`` from ``files``. Raise :class:`InputError` if ``run`` did not write them."""
    schemas = {"metrics": METRICS.whole_schema, "comparisons": COMPARED, "disparities": APART, "gates": GATES.schema}
    if is_past:
        schemas = {"metrics": _VALUES, "gates": _VERDICTS}
    tables = {table: files.read(table, schema) for table, schema in schemas.items() if files.has(table)}
    for table, rows in tables.items():
        validate_required(rows.column_names, table, name)
        validate_results(rows, table, name)
    for table in ("metrics", "gates"):
        if table in tables and RUN_ID in tables[table].column_names:
            validate_run(run, pc.unique(tables[table][RUN_ID]).to_pylist(), name, table)
    others = tables.get("comparisons"), tables.get("gates"), run, tables.get("disparities")
    return StoredResult(name, tables["metrics"], *others)


def run_row(output: str, name: str, spark: SparkSession | None = None, column: str = DAY) -> dict[str, Any]:
    """Read all columns of the row of ``runs`` for the stored day or window ``name``."""
    return whole_run(day_files(output, name, (), spark, column), column)


def whole_run(files: DayFiles, column: str = DAY) -> dict[str, Any]:
    """Read all columns of ``runs`` from ``files``. Raise :class:`InputError` unless there is exactly one row."""
    return files.run_row((RUNS if column == DAY else WINDOW_RUNS).schema)
