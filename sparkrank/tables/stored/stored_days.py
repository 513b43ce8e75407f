"""Functions that read and merge the stored states of days, with Arrow in one process, a few days at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, StateError
from sparkrank.inputs.day_marks import on_day
from sparkrank.metrics import Plan
from sparkrank.schemas.tables import PART, RUN_ID, SIZE_NUMBERS, STATES, schema_of
from sparkrank.states import Partials
from sparkrank.states.distributions import COARSE, EXACT
from sparkrank.states.forms import COUNT_FORM, DISTRIBUTION_FORM, SMALL_FORMS, STATE_KEY, StateForm, large_forms
from sparkrank.states.histogram_table import SUMS_OF_SCORES
from sparkrank.tables.rows.top_values import with_top_values
from sparkrank.tables.stored.day_files import DayFiles, day_files
from sparkrank.tables.stored.required_states import DayCoverage, needed_slices, required_states
from sparkrank.tables.stored.validation import ADVICE, validate_run, validate_unique_keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The number of days read and merged at a time. With 40,000 states a day, they take 170 MB, and the merge takes 0.15 s.
DAYS_AT_ONCE = 16
READING_THREADS = 8  # reading spends half of its time waiting for the disk or the store
_TABLES = ("states", "runs", *(form.kind for form in large_forms(weighted=False)))
SLICE_VALUE = "slice_value"
DISTRIBUTION_RULES = {str(EXACT), str(COARSE)}  # the valid bin rules in the table distributions
_TEXTS = [field.name for field in STATES.schema if field.type == pa.string() and field.name != RUN_ID]


@dataclass(frozen=True)
class StoredDay:
    """A day with stored states, which are read from its ``files``."""

    day: str
    files: DayFiles

    def read(self, plan: Plan, source: str) -> tuple[dict[str, pa.Table], DayCoverage]:
        """Read the states that ``plan`` requires, as one table per kind, and the day's coverage.

        Raise :class:`StateError` if the day's states do not match ``plan`` and ``source``, and :class:`InputError` if
        files are incomplete or damaged.
        """
        states = self.states()
        self._with(states.filter(pc.equal(states["kind"], COUNT_FORM.kind)), COUNT_FORM.columns, "states")
        rows, covered = required_states(states, self.day, plan, source)
        kinds = {}
        for form in SMALL_FORMS:
            of_kind = rows.filter(pc.equal(rows["kind"], form.kind))
            if of_kind.num_rows:  # an older table may lack the columns of a kind of state without rows
                kinds[form.kind] = self._with(of_kind, form.columns, "states").select(form.columns)
        sizes = schema_of(SIZE_NUMBERS).names
        for form in large_forms(weighted=plan.weighted):
            series = rows.filter(pc.equal(rows["kind"], form.kind))
            if series.num_rows:
                expected = pc.sum(self._with(series, sizes, "states")["n_blocks"]).as_py()
                if expected:
                    names = series["name"].unique().to_pylist()
                    kinds[form.kind] = self._large(form, plan, names, expected)
        return kinds, covered

    def states(self) -> pa.Table:
        """Read the table ``states``. Raise :class:`InputError` if it is incomplete or damaged."""
        run = self.files.run
        states = self.files.read("states", STATES.schema)
        run_ids = pc.unique(states[RUN_ID]).to_pylist() if RUN_ID in states.column_names else []
        validate_run(run, run_ids, self.day)
        self._with(states, [*_TEXTS, "version"], "states")
        part = [PART.name] if PART.name in states.column_names else []
        validate_unique_keys(states, ("kind", *STATE_KEY, *part), "states", self.day)
        return states

    def rows(
        self, form: StateForm, keys: Mapping[str, Sequence[str]], expected: int, plan: Plan | None = None
    ) -> pa.Table:
        """Read the rows of ``form`` with the key values ``keys``, by column. ``plan`` decides if sums may be missing.

        Raise :class:`InputError` if the number of rows is not ``expected``.
        """
        if not self.files.has(form.kind):
            raise InputError(f"{self.day} has lost its table {form.kind}: {ADVICE}")
        rows = self.files.read(form.kind, form.schema)
        run_id = (rows.schema.metadata or {}).get(RUN_ID.encode())  # earlier releases did not record the run
        validate_run(self.files.run, [] if run_id is None else [run_id.decode(errors="replace")], self.day, form.kind)
        rows = self._with(rows if plan is None else _summed(rows, plan), form.columns, form.kind)
        for column, requested in keys.items():
            # Most days have only requested rows, and filtering would cost as much as reading.
            if set(rows[column].unique().to_pylist()) - set(requested):
                rows = rows.filter(pc.field(column).isin(requested))
        if rows.num_rows != expected:
            raise InputError(
                f"{self.day} has {rows.num_rows} rows of {form.kind} where its states say {expected}: {ADVICE}"
            )
        validate_unique_keys(rows, form.key, form.kind, self.day)
        return rows.select(form.columns)

    def _large(self, form: StateForm, plan: Plan, names: list[str], expected: int) -> pa.Table:
        """Read the rows of ``form`` for the states ``names`` and for the models and slices of ``plan``."""
        named = form.key[STATE_KEY.index("name")]
        rows = self.rows(form, {"model": plan.models, "slice": needed_slices(plan), named: names}, expected, plan)
        if form is DISTRIBUTION_FORM and (others := set(rows["rule"].unique().to_pylist()) - DISTRIBUTION_RULES):
            raise InputError(f"{form.kind} of {self.day} are by the rule {min(others):.200}: {ADVICE}")
        return rows

    def _with(self, table: pa.Table, columns: Sequence[str], name: str) -> pa.Table:
        """Return ``table`` after checking that it has ``columns``, and that only slice values are null."""
        lacking = [
            column
            for column in columns
            if column not in table.column_names or (table[column].null_count and column != SLICE_VALUE)
        ]
        if lacking:
            raise InputError(f"the table {name} of {self.day} lacks {', '.join(lacking)}: {ADVICE}")
        return table


def _summed(rows: pa.Table, plan: Plan) -> pa.Table:
    """Replace null sums of scores in ``rows`` with 0 for the bin rules whose sums ``plan`` does not need."""
    rules = pa.array(map(str, plan.unsummed_rules), pa.string())
    for index, name in enumerate(rows.column_names):
        if name in SUMS_OF_SCORES and len(rules):
            lacking = pc.and_(pc.is_null(rows[name]), pc.is_in(rows["rule"], rules))
            zeros = pa.scalar(0).cast(rows[name].type)
            rows = rows.set_column(index, rows.schema.field(name), pc.if_else(lacking, zeros, rows[name]))
    return rows


def find_days(output: str, days: Sequence[str], spark: SparkSession | None = None) -> list[StoredDay]:
    """Return those of ``days`` with states under ``output``, a path that may contain day placeholders.

    ``spark`` is used for file systems that Arrow cannot open.
    """

    def stored(day: str) -> StoredDay:
        return StoredDay(day, day_files(on_day(output, day), day, _TABLES, spark))

    with ThreadPoolExecutor(READING_THREADS) as pool:
        candidates = list(pool.map(stored, days))
        there = pool.map(lambda day: day.files.has("states"), candidates)
        return [day for day, has in zip(candidates, there, strict=True) if has]


def agreed_session(covered: Sequence[DayCoverage]) -> dict[str, str]:
    """Return the Spark settings with which all days were read. Raise :class:`StateError` if two days differ."""
    agreed: dict[str, tuple[str, str]] = {}
    for day in covered:
        for name, value in day.session.items():
            first, first_day = agreed.setdefault(name, (value, day.day))
            if first != value:
                raise StateError(
                    f"{first_day} was read with {name} {first}, and {day.day} with {value}: evaluate one of them again"
                )
    return {name: value for name, (value, _) in agreed.items()}


def merge_stored(days: Sequence[StoredDay], plan: Plan, source: str) -> tuple[Partials, list[DayCoverage]]:
    """Return the merged states of all ``days``, and each day's coverage. A group on two days counts as two groups."""
    forms = {form.kind: form for form in (*SMALL_FORMS, *large_forms(weighted=plan.weighted))}
    merged: dict[str, pa.Table] = {}
    covered: list[DayCoverage] = []
    with ThreadPoolExecutor(READING_THREADS) as pool:
        for start in range(0, len(days), DAYS_AT_ONCE):
            tables: dict[str, list[pa.Table]] = {kind: [table] for kind, table in merged.items()}
            for kinds, of_day in pool.map(lambda day: day.read(plan, source), days[start : start + DAYS_AT_ONCE]):
                covered.append(of_day)
                for kind, table in kinds.items():
                    tables.setdefault(kind, []).append(table)
            merged = {kind: forms[kind].merged(parts) for kind, parts in tables.items()}
    partials = Partials.merged(forms[kind].from_table(table) for kind, table in merged.items())
    return with_top_values(partials, plan), covered
