"""Slices as they are asked for: a column, or several, by whose values everything is evaluated again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from sparkrank.base.errors import SpecError, shortened, shown

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
            f'slices is "{shortened(slices)}", one text: a list of columns is needed, for example ["country"]'
        )
    if not isinstance(slices, Iterable):
        raise SpecError(f'slices is {shown(slices)}: a list of columns is needed, for example ["country"]')
    given = list(slices)
    for index, each in enumerate(given):
        if not isinstance(each, str) and not (isinstance(each, Iterable) and all(isinstance(of, str) for of in each)):
            raise SpecError(f"slices[{index}] is {shown(each)}: a column or several different ones are needed")
    found = tuple((each,) if isinstance(each, str) else tuple(each) for each in given)
    for index, columns in enumerate(found):
        if not columns or len(set(columns)) < len(columns):
            raise SpecError(f"slices[{index}] is {shown(list(columns))}: a column or several different ones are needed")
        if slice_name(columns) == ALL:
            raise SpecError(f'slices[{index}] is "{ALL}", which names the whole day: rename the column')
    names = [slice_name(columns) for columns in found]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SpecError(f'slices[{index}] is "{shortened(name)}" again: a slice is named once')
    return found


def slice_name(columns: Sequence[str]) -> str:
    """The slice that ``columns`` make, as the tables name it."""
    return ",".join(columns)


def shown_value(value: str | None, of: str = "") -> str:
    """A value of a slice in a sentence: ``(null)`` where rows have none, and a text that looks so in quotes.

    ``of`` is the slice; of one of several columns, each part of the value is shown so.

    Examples
    --------
    >>> shown_value("\\\\N,de", "device,country")
    '(null),de'
    """
    if value is None:
        return "(null)"
    if "," in of and re.sub(r"\\.", "", value, flags=re.DOTALL).count(",") == of.count(","):  # else one column has one
        parts = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", value, re.DOTALL)[: of.count(",") + 1]
        return ",".join(shown_value(None if part == NO_PART else part) for part in parts)
    return json.dumps(value, ensure_ascii=False) if value in ("", "(null)") else value


def columns_of_slices(slices: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The columns that slices are made of, each once."""
    return tuple(dict.fromkeys(column for columns in slices for column in columns))
