"""Reading the stored states of days, and merging them: Arrow alone, a few days at a time, in one process."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from sparkrank.engine.parquet import file_system, visible_files
from sparkrank.errors import InputError
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from sparkrank.states.stored import KEY, SMALL, Form, large_forms
from sparkrank.tables.days import run_folders
from sparkrank.tables.states import N_BLOCKS, STATES, asked_of

# Days read ahead and merged at once. With 40,000 states a day they take 170 MB, and merging 640,000 rows 0.15 s.
DAYS_AT_ONCE = 16
READING_THREADS = 8  # half of a read waits for the disk or the store
_TEXTS = [field.name for field in STATES if field.type == pa.string()]
_LARGE = [form.kind for form in large_forms(weighted=False)]


@dataclass(frozen=True)
class StoredDay:
    """A day that has stored states: their files, and those of the states that have tables of their own, by kind."""

    day: str
    store: fs.FileSystem
    states: tuple[str, ...]
    large: Mapping[str, tuple[str, ...]]

    def read(self, plan: Plan, source: str) -> dict[str, pa.Table]:
        """The states that ``plan`` asks for, by kind.

        Raises :class:`sparkrank.errors.StateError` where they are not those asked for, and :class:`InputError` where
        the files cannot be read or are not whole.
        """
        states = self._table("states", self.states, STATES.names, _TEXTS)
        rows = asked_of(self._with(states, [*_TEXTS, "version"], "states"), self.day, plan, source)
        kinds = {}
        for form in SMALL:
            of_kind = rows.filter(pc.equal(rows["kind"], form.kind))
            if of_kind.num_rows:  # what an older day has none of, its table may have no columns for
                kinds[form.kind] = self._with(of_kind, form.columns, "states").select(form.columns)
        for form in large_forms(weighted=plan.weighted):
            sizes = rows.filter(pc.equal(rows["kind"], form.kind))
            expected = pc.sum(self._with(sizes, N_BLOCKS.names, "states")["n_blocks"]).as_py() if sizes.num_rows else 0
            if expected:
                kinds[form.kind] = self._large(form, plan, sizes["name"].unique().to_pylist(), expected)
        return kinds

    def _large(self, form: Form, plan: Plan, names: list[str], expected: int) -> pa.Table:
        """The ``expected`` rows of a state's own table that are of the plan's models and of ``names``."""
        files = self.large[form.kind]
        if not files:
            raise InputError(f"{self.day} has lost its table {form.kind}: evaluate that day again")
        texts = [name for name in form.key if name != "block"]
        rows = self._with(self._table(form.kind, files, form.columns, texts), form.columns, form.kind)
        for column, asked in (("model", plan.models), (form.key[KEY.index("name")], names)):
            # most days hold nothing else, and asking every row costs as much as reading it
            if set(rows[column].unique().to_pylist()) - set(asked):
                rows = rows.filter(pc.field(column).isin(asked))
        if rows.num_rows != expected:
            raise InputError(
                f"{self.day} has {rows.num_rows} rows of {form.kind} where its states tell of {expected}: evaluate "
                f"that day again"
            )
        return rows

    def _table(self, name: str, files: Sequence[str], columns: list[str], texts: list[str]) -> pa.Table:
        """Those of ``columns`` that the table ``name`` has, ``texts`` as dictionaries."""
        tables = []
        for file in files:
            try:
                # ParquetFile reads this one file; read_table would look for partitions in its path
                with self.store.open_input_file(file) as opened:
                    tables.append(pq.ParquetFile(opened, read_dictionary=texts).read(columns))
            except KeyError as error:  # raised for one of the texts
                column = error.args[0].decode()
                raise InputError(f"the table {name} of {self.day} lacks {column}: evaluate that day again") from None
            except FileNotFoundError:
                raise InputError(f"{self.day} was evaluated again while it was read: merge once more") from None
            except (pa.ArrowException, OSError) as error:
                reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
                raise InputError(
                    f"the table {name} of {self.day} cannot be read ({file}: {reason}): evaluate that day again"
                ) from error
        return pa.concat_tables(tables).unify_dictionaries()

    def _with(self, table: pa.Table, columns: Sequence[str], name: str) -> pa.Table:
        """``table``, which must have ``columns``, and no null in them."""
        lacking = [each for each in columns if each not in table.column_names or table[each].null_count]
        if lacking:
            raise InputError(f"the table {name} of {self.day} lacks {', '.join(lacking)}: evaluate that day again")
        return table


def find_days(output: str, days: Sequence[str]) -> list[StoredDay]:
    """Those of ``days`` that have states under ``output``, in which ``{date}`` stands for the day."""
    with ThreadPoolExecutor(READING_THREADS) as pool:
        found = pool.map(functools.partial(_stored_day, output), days)
        return [day for day in found if day is not None]


def _stored_day(output: str, day: str) -> StoredDay | None:
    folders = run_folders(output.replace("{date}", day), day, ("states", *_LARGE))
    try:
        store, states = file_system(folders["states"])
        large = {kind: file_system(folders[kind])[1] for kind in _LARGE}
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"the states under {output} cannot be opened: {error}") from error
    files = _files(store, states)
    if not files:
        return None
    return StoredDay(day, store, files, {kind: _files(store, folder) for kind, folder in large.items()})


def _files(store: fs.FileSystem, folder: str) -> tuple[str, ...]:
    try:
        return tuple(visible_files(store, folder, folder.count("/") + 1))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def merge_stored(days: Sequence[StoredDay], plan: Plan, source: str) -> Partials:
    """The states of all ``days`` together: those of their groups, each on its day a group of its own.

    Raises what :meth:`StoredDay.read` raises.
    """
    forms = {form.kind: form for form in (*SMALL, *large_forms(weighted=plan.weighted))}
    merged: dict[str, pa.Table] = {}

    def read(day: StoredDay) -> dict[str, pa.Table]:
        return day.read(plan, source)

    with ThreadPoolExecutor(READING_THREADS) as pool:
        for start in range(0, len(days), DAYS_AT_ONCE):
            tables: dict[str, list[pa.Table]] = {kind: [table] for kind, table in merged.items()}
            for kinds in pool.map(read, days[start : start + DAYS_AT_ONCE]):
                for kind, table in kinds.items():
                    tables.setdefault(kind, []).append(table)
            merged = {kind: forms[kind].merged(parts) for kind, parts in tables.items()}
    return Partials.merged(forms[kind].from_table(table) for kind, table in merged.items())
