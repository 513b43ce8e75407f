"""Slices, which are one or several columns; everything is evaluated again for each combination of their values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from sparkrank.base.errors import SpecError, quote, shorten

ALL = "all"  # the name of the slice that is the whole day, and of the only value of this slice
# A null in a slice value that combines several columns. A backslash in a string is doubled in such slice values.
NO_PART = r"\N"
Slices: TypeAlias = "Sequence[str | Sequence[str]]"


def named_slices(slices: Any) -> tuple[tuple[str, ...], ...]:
    """Return the columns of each slice as tuples, for slices that are given as one column or as several columns.

    Raises :class:`SpecError` if a slice has no columns or a reserved name, or occurs twice.
    """
    if isinstance(slices, str) or not isinstance(slices, Iterable):
        shown = f'"{shorten(slices)}", one text' if isinstance(slices, str) else quote(slices)
        raise SpecError(f'slices is {shown}: a list of columns is needed, for example ["country"]')
    columns_by_name: dict[str, tuple[str, ...]] = {}
    for index, named in enumerate(slices):
        columns = (named,) if isinstance(named, str) else tuple(named) if isinstance(named, Iterable) else ()
        if not columns or not all(isinstance(column, str) for column in columns) or len(set(columns)) < len(columns):
            raise SpecError(f"slices[{index}] is {quote(named)}: a column or several different ones are needed")
        name = slice_name(columns)
        if name == ALL:
            raise SpecError(f'slices[{index}] is "{ALL}", which names the whole day: rename the column')
        if name in columns_by_name:
            raise SpecError(f'slices[{index}] is "{shorten(name)}" again: a slice is named once')
        columns_by_name[name] = columns
    return tuple(columns_by_name.values())


def slice_name(columns: Sequence[str]) -> str:
    return ",".join(columns)


def shown_value(value: str | None, slice_: str = "") -> str:
    """Return a slice value as messages show it: null as ``(null)``, an empty string or the string "(null)" in quotes.

    ``slice_`` is the name of the slice. If the slice has several columns, each column's value is shown in this way.

    Examples
    --------
    >>> shown_value("\\\\N,de", "device,country")
    '(null),de'
    """
    if value is None:
        return "(null)"
    commas = slice_.count(",")
    if commas and re.sub(r"\\.", "", value, flags=re.DOTALL).count(",") == commas:  # else a column name has commas
        parts = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", value, re.DOTALL)[: commas + 1]
        return ",".join(shown_value(None if part == NO_PART else part) for part in parts)
    return json.dumps(value, ensure_ascii=False) if value in ("", "(null)") else value


def columns_of_slices(slices: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column for columns in slices for column in columns))
