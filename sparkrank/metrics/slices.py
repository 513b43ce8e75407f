"""Slices: combinations of one or several columns. All metrics are evaluated again for each value of a slice."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from sparkrank.base.errors import SpecError, hint, quote, shorten, validate_names
from sparkrank.metrics.parameters import format_number

ALL = "all"  # the name of the slice that is the whole day, and of the only value of this slice
# A null in a slice value that combines several columns. A backslash in a string is doubled in such slice values.
NO_PART = r"\N"
# What a caller passes: for each slice, a column or several. A column is a name, or a mapping such as
# {"column": "age", "edges": [18, 25]}.
Slices: TypeAlias = "Sequence[str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]]"


SlicedRowsWord: TypeAlias = Literal["rows", "relevant"]
SLICED_ROWS: tuple[str, ...] = get_args(SlicedRowsWord)
OF_RELEVANT = " of relevant"  # the end of the name of a column whose relevant rows are sliced
OTHER = "(other)"  # the value that pools all values of a slice except the top ones
MOST_TOP = 1_000  # the largest number of top values, as of the values of any slice
_LIKE_NULL = re.compile(r'["\\]*(\(null\))?["\\]*')  # null, an empty string, and these in quotes


@dataclass(frozen=True)
class SliceColumn:
    """A column that divides rows by its values, or by the intervals between ``edges`` (ascending numbers).

    With ``top``, only this many values, those with the most groups, have rows of their own. The other values are pooled
    (:data:`OTHER`). If ``of`` is ``relevant``, each value has whole lists; relevant rows of other values count as not
    relevant.
    """

    column: str
    edges: tuple[float, ...] = ()
    top: int | None = None
    of: SlicedRowsWord = "rows"

    @property
    def name(self) -> str:
        """The name of the column in the tables. A slice of relevant rows has a name that differs from the column's."""
        return self.column if self.of == "rows" else f"{self.column}{OF_RELEVANT}"

    @property
    def intervals(self) -> tuple[str, ...]:
        """The intervals between the ``edges``, ascending. The first has no lower end, and the last has no upper end.

        Examples
        --------
        >>> SliceColumn("age", (18.0, 25.0)).intervals
        ('(-inf, 18)', '[18, 25)', '[25, inf)')
        """
        edges = [*map(format_number, self.edges)]
        inner = (f"[{low}, {high})" for low, high in itertools.pairwise(edges))
        return (f"(-inf, {edges[0]})", *inner, f"[{edges[-1]}, inf)") if edges else ()

    @property
    def rule(self) -> str:
        """The meaning of the slice's values, if they are not the column's values, for stored states."""
        return f"{self.name} by edges {', '.join(map(format_number, self.edges))}" if self.edges else ""

    @property
    def written(self) -> str | dict[str, Any]:
        """The column in the form for a spec."""
        settings: dict[str, Any] = {"edges": list(self.edges)} if self.edges else {}
        settings |= {} if self.top is None else {"top": self.top}
        settings |= {} if self.of == "rows" else {"of": self.of}
        return {"column": self.column, **settings} if settings else self.column


Slice: TypeAlias = "tuple[SliceColumn, ...]"


class SliceSource(NamedTuple):
    """A column from which a slice is read: as numbers if ``is_number`` is true, otherwise as strings."""

    column: str
    is_number: bool


def named_slices(slices: Any) -> tuple[Slice, ...]:
    """Return the columns of each of ``slices``. A slice may be given as one column or as several columns.

    Raise :class:`SpecError` if a slice has no columns, a reserved name or invalid settings, or occurs twice.
    """
    if isinstance(slices, (str, Mapping)) or not isinstance(slices, Iterable):
        shown = f'"{shorten(slices)}", one text' if isinstance(slices, str) else quote(slices)
        raise SpecError(f'slices is {shown}: a list of columns is needed, for example ["country"]')
    by_name: dict[str, Slice] = {}
    for index, given in enumerate(slices):
        where = f"slices[{index}]"
        is_one = isinstance(given, (str, Mapping, SliceColumn))
        several = (given,) if is_one else tuple(given) if isinstance(given, Iterable) else ()
        if not several or not all(isinstance(part, (str, Mapping, SliceColumn)) for part in several):
            raise SpecError(f"{where} is {quote(given)}: a column or several different ones are needed")
        columns = tuple(_slice_column(part, where) for part in several)
        if len({part.column for part in columns}) < len(columns):
            raise SpecError(f"{where} is {quote(given)}: a column or several different ones are needed")
        for word, is_given in (("top", pools(columns)), ("of=relevant", is_of_relevant(columns))):
            if len(columns) > 1 and is_given:
                raise SpecError(f"{where} has {word} with several columns: it is for a slice of one column")
        name = slice_name(columns)
        if name == ALL:
            raise SpecError(f'{where} is "{ALL}", which names the whole day: rename the column')
        if name in by_name:
            raise SpecError(f'{where} is "{shorten(name)}" again: a slice is named once')
        by_name[name] = columns
    return tuple(by_name.values())


def _slice_column(given: str | Mapping[str, Any] | SliceColumn, where: str) -> SliceColumn:
    if isinstance(given, SliceColumn):
        return given
    if isinstance(given, str):
        return SliceColumn(given)
    known = [field.name for field in fields(SliceColumn)]
    validate_names(f"{where} has the key", given, known)
    column = given.get("column")
    if not isinstance(column, str):
        raise SpecError(f"{where}.column is {quote(column)}: the name of a column is needed")
    edges, top = _edges(given.get("edges"), where), given.get("top")
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= MOST_TOP):
        raise SpecError(f"{where}.top is {quote(top)}: a whole number from 1 to {MOST_TOP:,} is needed")
    if top is not None and edges:
        raise SpecError(f"{where} has edges and top: give one of the two, as all intervals have rows")
    of = given.get("of", "rows")
    if of not in SLICED_ROWS:
        raise SpecError(f"{where}.of is {quote(of)}{hint(of, SLICED_ROWS)}")
    return SliceColumn(column, edges, top, of)


def _edges(given: Any, where: str) -> tuple[float, ...]:
    """Return the edges as floats. Raise :class:`SpecError` unless they are finite numbers in ascending order."""
    if given is None:
        return ()
    values = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, Mapping)) else []
    numbers = [float(value) for value in values if not isinstance(value, bool) and isinstance(value, Real)]
    is_ascending = all(low < high for low, high in itertools.pairwise(numbers))
    if not numbers or len(numbers) < len(values) or not is_ascending or not all(map(math.isfinite, numbers)):
        raise SpecError(f"{where}.edges is {quote(given)}: different numbers in ascending order are needed")
    return tuple(numbers)


def slice_name(columns: Sequence[SliceColumn]) -> str:
    return ",".join(names_of(columns))


def names_of(columns: Sequence[SliceColumn]) -> tuple[str, ...]:
    """Return the name of each column of a slice in the tables."""
    return tuple(part.name for part in columns)


def pools(columns: Sequence[SliceColumn]) -> bool:
    """Return whether only the top values of a slice have rows of their own."""
    return any(part.top is not None for part in columns)


def is_of_relevant(columns: Sequence[SliceColumn]) -> bool:
    return any(part.of == "relevant" for part in columns)


def rules_of(slices: Sequence[Slice]) -> dict[str, str]:
    """Return the meaning of the values of slices, by slice, if they are not the values of the columns."""
    rules = {slice_name(columns): ", ".join(filter(None, (part.rule for part in columns))) for columns in slices}
    return {name: rule for name, rule in rules.items() if rule}


def written_slices(slices: Sequence[Slice]) -> list[list[str | dict[str, Any]]]:
    """Return ``slices`` in the form for a spec."""
    return [[part.written for part in columns] for columns in slices]


def source_of(part: SliceColumn) -> SliceSource:
    return SliceSource(part.column, bool(part.edges))


def sources_of(slices: Sequence[Slice]) -> tuple[SliceSource, ...]:
    """Return the columns from which ``slices`` are read, each once."""
    return tuple(dict.fromkeys(source_of(part) for columns in slices for part in columns))


def shown_value(value: str | None, slice_: str = "") -> str:
    """Return a slice value in the form for messages: null as ``(null)``, and the string ``(null)`` in quotes.

    An empty string, and strings that look like one of these in quotes, are put in quotes too.

    ``slice_`` is the name of the slice. If the slice has several columns, each column's value has this form.

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
    return json.dumps(value, ensure_ascii=False) if _LIKE_NULL.fullmatch(value) else value
