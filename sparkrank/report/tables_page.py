"""docs/tables.md: every table that a run writes, column by column, printed from the schemas."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from sparkrank.schemas.tables import Column, TableSchema
from sparkrank.tables.rows.outputs import OUTPUTS

_HEAD = r"""# Tables

Every column of the tables that a job writes: its type, its unit, and when it is null. The day, or the window, is the
folder (`day=2026-11-19`, `window=2026-11-13..2026-11-19`) and a column for whoever reads the folders.
`sparkrank tables` prints this page.

Three columns stand in most tables. `model` is a score column by its name in the spec. `slice` is `all` for the whole
day, else the columns of a slice, joined by commas, and `slice_value` their values as text, or `all`. It is null for
rows without a value: texts such as `null` or the empty one are values of their own. Values of several columns are
joined by commas, with a backslash before every comma and backslash inside of them, and `\N` for a column without a
value; null where none has one."""


def tables_page() -> str:
    """The page of all tables in Markdown."""
    return "\n\n".join([_HEAD, *itertools.chain.from_iterable(_sections(each.schema) for each in OUTPUTS)])


def table_text(table: TableSchema) -> str:
    """One table in Markdown."""
    return "\n\n".join(_sections(table))


def _sections(table: TableSchema) -> Iterator[str]:
    yield f"## `{table.name}`"
    yield table.about
    if table.columns:
        yield _rows(table.columns)
    if table.more is not None:
        when, columns = table.more
        yield when
        yield _rows(columns)
    if table.notes:
        yield table.notes


def _rows(columns: Iterable[Column]) -> str:
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *map(_row, columns)])


def _row(column: Column) -> str:
    names = [field.name for field in column.fields]
    name = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` to `{names[-1]}`"
    return f"| {name} | {column.type} | {column.meaning}{' ' if column.meaning else ''}|"
