"""Slices as they are asked for: a column, or several, by whose values everything is evaluated again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from sparkrank.base.errors import SpecError, quote, shorten

ALL = "all"  # the slice, and its value, that holds the whole day
# A column without a value, in a combination of which others have one. A backslash of a text is written twice there.
NO_PART = r"\N"
Slices: TypeAlias = "Sequence[str | Sequence[str]]"


def named_slices(slices: Any) -> tuple[tuple[str, ...], ...]:
    """The columns of each of :data:`Slices`, be it one column or several.

    Raises :class:`SpecError` where a slice has none or a reserved name, or is there twice.
    """
    if isinstance(slices, str):
        raise SpecError(
            f'slices is "{shorten(slices)}", one text: a list of columns is needed, for example ["country"]'
        )
    if not isinstance(slices, Iterable):
        raise SpecError(f'slices is {quote(slices)}: a list of columns is needed, for example ["country"]')
    given = list(slices)
    for index, named in enumerate(given):
        if not isinstance(named, str) and not (
            isinstance(named, Iterable) and all(isinstance(column, str) for column in named)
        ):
            raise SpecError(f"slices[{index}] is {quote(named)}: a column or several different ones are needed")
    named_columns = tuple((named,) if isinstance(named, str) else tuple(named) for named in given)
    for index, columns in enumerate(named_columns):
        if not columns or len(set(columns)) < len(columns):
            raise SpecError(f"slices[{index}] is {quote(list(columns))}: a column or several different ones are needed")
        if slice_name(columns) == ALL:
            raise SpecError(f'slices[{index}] is "{ALL}", which names the whole day: rename the column')
    names = [slice_name(columns) for columns in named_columns]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SpecError(f'slices[{index}] is "{shorten(name)}" again: a slice is named once')
    return named_columns


def slice_name(columns: Sequence[str]) -> str:
    """The slice that ``columns`` make, as the tables name it."""
    return ",".join(columns)


def shown_value(value: str | None, slice_: str = "") -> str:
    """A value of a slice in a sentence: ``(null)`` where rows have none, and a text that looks so in quotes.

    ``slice_`` is the slice; of one of several columns, each part of the value is shown so.

    Examples
    --------
    >>> shown_value("\\\\N,de", "device,country")
    '(null),de'
    """
    if value is None:
        return "(null)"
    commas = slice_.count(",")
    if commas and re.sub(r"\\.", "", value, flags=re.DOTALL).count(",") == commas:  # else one column has one
        parts = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", value, re.DOTALL)[: commas + 1]
        return ",".join(shown_value(None if part == NO_PART else part) for part in parts)
    return json.dumps(value, ensure_ascii=False) if value in ("", "(null)") else value


def columns_of_slices(slices: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The columns that slices are made of, each once."""
    return tuple(dict.fromkeys(column for columns in slices for column in columns))
