"""Arrow arrays that come in memory: what they refer to is there.

Their makers may be any program, and what reads them trusts their offsets: offsets that go down end the process. Parquet
is made into arrays by Arrow itself.
"""

from __future__ import annotations

import pyarrow as pa

from sparkrank.engine.reading.nested import columns_of
from sparkrank.errors import InputError, first_line, shortened
from sparkrank.roles import Roles


def validated(table: pa.Table, roles: Roles, what: str) -> pa.Table:
    """``table``, that of ``what``, whose columns with a role, or with one inside, are as Arrow's format says.

    Offsets, sizes, places in dictionaries and UTF-8 are looked at: 5 ns for a text of 16 bytes (0.05 s for 10 million
    rows), 1 ns for a place in a dictionary, and nothing for numbers, of which any bits are one. Raises
    :class:`InputError` naming the column.
    """
    role_of = {column: f"{role} column" for role, column in roles.columns()}
    names = table.column_names
    for column in columns_of(roles, names):
        if names.count(column) > 1:  # which is refused by its name
            continue
        try:
            table[column].validate(full=True)
        except (pa.ArrowException, ValueError, IndexError) as error:
            told = f'the {role_of.get(column, "column")} "{shortened(column)}" of the {what} is not valid Arrow'
            raise InputError(f"{told}: {shortened(first_line(error))}") from error
    return table
