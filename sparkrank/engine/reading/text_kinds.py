"""What the columns of a text format are: the types of its schema, and those that roles ask for.

A group, an item and a slice are the texts that stand in the file, so that ``007`` is not ``7``, unless the schema says
otherwise; also where types are to be inferred. A label, score, rank or weight is the number that its text is. A row in
which such a text is no number is rejected and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkrank.engine.reading.ddl import NUMBERS, Field
from sparkrank.engine.reading.text_values import LABEL_KIND
from sparkrank.errors import SpecError, shortened
from sparkrank.roles import SLICE, Roles

TEXT_FORMATS = ("csv", "json")
NAMES = (
    "group",
    "item",
    SLICE,
)  # the roles whose values are names: what they are called matters, not how much they are
NO_NUMBER = "sparkrank: no number"  # the column that says so of a row; no name that a file has
# What a reader of texts does with rows that it cannot make out: none is dropped, and none becomes null.
STRICT = {"mode": "FAILFAST"}


def number_kinds(roles: Roles, fields: Sequence[Field] | None) -> dict[str, str]:
    """The columns of ``roles`` that are numbers, and the kind of each: that of the schema, or a number of any kind.

    Raises :class:`SpecError` where a column is a name as well, and no schema says what it is.
    """
    if roles.true_items is not None:
        return {}
    declared = {field.name: field.kind for field in fields or () if field.kind in (*NUMBERS, "boolean")}
    names = {column for role, column in roles.columns() if role in NAMES}
    kinds: dict[str, str] = {}
    for role, column in roles.columns():
        if role in NAMES:
            continue
        if column in names and column not in declared:
            raise SpecError(
                f'the {role} column "{shortened(column)}" is also a name, as a text is: input.schema says which it is'
            )
        kinds[column] = declared.get(column, LABEL_KIND if role == "label" else "double")
    return kinds


def typed_columns(
    names: Sequence[str], roles: Roles, fields: Sequence[Field] | None, others: Mapping[str, str]
) -> dict[str, str]:
    """The kind of each of the columns ``names``, which is ``others``' where neither schema nor role says it."""
    numbers = number_kinds(roles, fields)
    declared = {field.name: field.kind for field in fields or ()}
    return {name: numbers.get(name) or declared.get(name) or others.get(name, "string") for name in names}


def is_set(options: Mapping[str, str], name: str) -> bool:
    """Whether a reader's option is true; upper and lower case do not matter to Spark."""
    return option(options, name).lower() == "true"


def option(options: Mapping[str, str], name: str, usual: str = "") -> str:
    return next((value for key, value in options.items() if key.lower() == name.lower()), usual)
