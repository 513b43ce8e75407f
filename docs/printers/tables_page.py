"""docs/tables.md: every table that a run writes, column by column, printed from the schemas."""

from __future__ import annotations

from sparkrank.tables.rows.outputs import OUTPUTS
from sparkrank.text.text import table_text

_HEAD = r"""# Tables

Every column of the tables that a job writes: its type, its unit, and when it is null. The day, or the window, is the
folder (`day=2026-11-19`, `window=2026-11-13..2026-11-19`) and a column for whoever reads the folders.
`sparkrank tables` prints the same, or the tables that are named.

Three columns stand in most tables. `model` is a score column by its name in the spec. `slice` is `all` for the whole
day, else the columns of a slice, joined by commas, and `slice_value` their values as text, or `all`. It is null for
rows without a value: texts such as `null` or the empty one are values of their own. Values of several columns are
joined by commas, with a backslash before every comma and backslash inside of them, and `\N` for a column without a
value; null where none has one."""


def tables_page() -> str:
    """The page of all tables in Markdown."""
    return "\n\n".join([_HEAD, *(table_text(output.schema) for output in OUTPUTS)])
