"""Marks in a spec, such as ``{date}``, for which a day is substituted, and the parsing and formatting of days.

A mark is ``{date}``, the day as ``2026-01-31``; ``{date_nodash}``, the day as ``20260131``; or ``{date:FORMAT}``, where
FORMAT has parts from :data:`PARTS` and any other characters, including slashes. ``{date-1}`` is one day earlier,
``{date+7}`` is seven days later, and both may have a format after a colon. In a path, ``{date}..{date+7}`` means all
days from the first to the last.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass

from sparkrank.base.errors import SpecError, did_you_mean, itemize, shorten

_DASHED, _UNDASHED = "%Y-%m-%d", "%Y%m%d"
WORDS = {"date": _DASHED, "date_nodash": _UNDASHED}
ALLOWED = "allowed: {date}, {date_nodash}, {date-1}, {date+7}, {date:%Y%m%d}, and in paths {date}..{date+7}"
# These functions replace strftime, whose parts depend on the platform and whose words depend on the language.
PARTS: dict[str, Callable[[dt.date], str]] = {
    "%Y": lambda day: f"{day.year:04}",
    "%y": lambda day: f"{day.year % 100:02}",
    "%m": lambda day: f"{day.month:02}",
    "%-m": lambda day: str(day.month),
    "%d": lambda day: f"{day.day:02}",
    "%-d": lambda day: str(day.day),
    "%j": lambda day: f"{day.timetuple().tm_yday:03}",
    "%-j": lambda day: str(day.timetuple().tm_yday),
    "%G": lambda day: f"{day.isocalendar()[0]:04}",
    "%V": lambda day: f"{day.isocalendar()[1]:02}",
    "%u": lambda day: str(day.isoweekday()),
    "%F": lambda day: day.isoformat(),
    "%%": lambda _: "%",
}
MOST_DAYS = 1_000  # in a range in a path; each of these days is looked up
_WHOLE_DAYS = ({"%F"}, {"%Y", "%m", "%d"}, {"%Y", "%j"}, {"%G", "%V", "%u"})
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PART = re.compile(r"%-?.|%$", re.DOTALL)
MOST_AROUND = 40  # characters of a string that a message shows
# In a path other braces enclose alternatives, such as dt={a,b}, also with marks. In SQL they belong to regular
# expressions, such as [a-z]{2} or \p{L}.
_BRACES = re.compile(r"\\.|[{},]", re.DOTALL)  # a brace after a backslash is an ordinary letter
_BEGINS_AS_MARK = re.compile(r"\{date(?:_nodash)?[-+:][^{}]*\}")
_IN_NAMES = re.compile(r"\{[^{}]*\}?|\}")
_UNCLOSED = re.compile(r"\{date(?:_nodash)?(?![A-Za-z0-9_])[^{}]*(?:\{|$)")
_DOUBLE = re.compile(r"\{\{\s*date[^{}]*\}\}")
_IN_SQL = re.compile(r"(?<!\\[pP])\{(?:[A-Za-z_][^{},]*|date(?:_nodash)?[-+:][^{}]*)\}")
_MARK = re.compile(r"\{(date|date_nodash)([-+]\d{1,5})?(?::([^{}]*))?\}", re.ASCII)
_RANGE = re.compile(r"(\{date[^{}]*\})\.\.(\{date[^{}]*\})")
# The text before the dots is matched from its start only: starting at each letter would take quadratic time.
_END_OF_RANGE = re.compile(r"(?<![^/{}])[^/{}]*\.\.\{date[^{}]*\}|\{date[^{}]*\}\.\.[^/{}]*")


@dataclass(frozen=True)
class Mark:
    """A mark such as ``{date+1}``, for the day ``offset`` days after the evaluated day, in the format ``form``."""

    offset: int
    form: str

    @classmethod
    def of(cls, text: str) -> Mark:
        """Return the mark ``text``, braces included.

        Raise a ``ValueError`` with what is allowed if ``text`` is not a mark.
        """
        match = _MARK.fullmatch(text)
        if match is None:
            raise ValueError(f"{text} is not a mark{_near(text)} ({ALLOWED})")
        word, offset, form = match.groups()
        if form is None:
            return cls(int(offset or 0), WORDS[word])
        if word != "date":
            raise ValueError(f"{text} has two formats: {{{word}}} is {{date:{WORDS[word]}}}")
        parts = _PART.findall(form)
        if unknown := [part for part in parts if part not in PARTS]:
            raise ValueError(f"{text} has the unknown part {unknown[0]}: a format of a day takes {itemize(PARTS)}")
        if not set(parts) - {"%%"}:
            raise ValueError(f"{text} has a format without a part of a day: it takes {itemize(PARTS)}")
        return cls(int(offset or 0), form)

    @property
    def is_whole(self) -> bool:
        """Whether the format identifies a day: two different days never have the same text."""
        parts = {part.replace("-", "") for part in _PART.findall(self.form)}
        return any(day <= parts for day in _WHOLE_DAYS)

    def on(self, day: dt.date) -> str:
        try:
            shifted = day + dt.timedelta(self.offset)
        except OverflowError:
            raise SpecError(f"{{date{self.offset:+}}} of {day} is beyond the calendar") from None
        return _PART.sub(lambda part: PARTS[part[0]](shifted), self.form)

    def pattern(self) -> str:
        """Return a wildcard pattern that matches any day written in this format."""
        longest = dt.date(2026, 12, 31)

        def wild(part: re.Match[str]) -> str:
            return "[0-9]*" if "-" in part[0] else re.sub(r"\d", "[0-9]", PARTS[part[0]](longest))

        return _PART.sub(wild, self.form)


def _near(text: str) -> str:
    near = did_you_mean(re.split("[-+:]", text.strip("{}"))[0], WORDS)
    return re.sub(r'"(\w+)"', r'"{\1}"', near)


def day_of(text: str) -> dt.date | None:
    """Return the day ``text``, or None if ``text`` is not a day in the form YYYY-MM-DD."""
    try:
        return dt.date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def check_path(path: str) -> None:
    """Raise a ``ValueError`` for braces in ``path`` that do not match or enclose no valid mark or alternatives."""
    opened: list[list[int]] = []  # for each open brace, its position and the number of commas directly inside
    for brace in _BRACES.finditer(path):
        if brace[0] == "{":
            opened.append([brace.start(), 0])
        elif brace[0] == "," and opened:
            opened[-1][1] += 1
        elif brace[0] == "}":
            if not opened:
                raise ValueError(f"{_around(path, brace.start())} closes a brace that is not open ({ALLOWED})")
            start, commas = opened.pop()
            group = path[start : brace.end()]
            if not commas or _BEGINS_AS_MARK.match(group):
                Mark.of(group)
    if opened:
        raise ValueError(f"{_around(path, opened[-1][0])} opens a brace that is not closed ({ALLOWED})")
    _range_in(path)


def check_sql(text: str) -> None:
    """Raise a ``ValueError`` for a bad mark in an SQL condition. Other braces, as in ``[a-z]{2}``, belong to SQL."""
    if match := _UNCLOSED.search(text):
        raise ValueError(f"{_around(text, match.start())} opens a brace that is not closed ({ALLOWED})")
    for mark in _DOUBLE.findall(text) + _IN_SQL.findall(text):
        Mark.of(mark)
    _validate_no_range(text)


def check_name(name: str) -> None:
    """Raise a ``ValueError`` if braces in ``name``, such as a table or an output folder, are not marks."""
    for mark in _IN_NAMES.findall(name):
        Mark.of(mark)
    _validate_no_range(name)


def _around(text: str, place: int) -> str:
    return shorten(text[place : place + MOST_AROUND])


def on_day(text: str, day: str) -> str:
    """Return ``text`` with each mark replaced with its day, if the evaluated day is ``day``."""
    return _marks(text, lambda mark: mark.on(dt.date.fromisoformat(day)))


def on_days(path: str, day: str) -> list[str]:
    """Return the paths that ``path`` names on ``day``: one path or, for a range of days, one path per day."""
    days = _range_in(path)
    if days is None:
        return [on_day(path, day)]
    before, marks, after = days
    return [on_day(before, day) + mark.on(dt.date.fromisoformat(day)) + on_day(after, day) for mark in marks]


def as_pattern(path: str, day: str) -> str:
    """Return ``path`` on ``day`` as one string. The days of a range are alternatives in braces."""
    parts = _range_in(path)
    if parts is None or len(parts[1]) == 1:
        return on_days(path, day)[0]
    before, marks, after = parts
    days = ",".join(mark.on(dt.date.fromisoformat(day)) for mark in marks)
    return f"{on_day(before, day)}{{{days}}}{on_day(after, day)}"


def in_window(text: str, first: str, last: str) -> str:
    """Return ``text`` with each mark replaced with ``first..last``, in the format of the mark."""
    days = [dt.date.fromisoformat(day) for day in (first, last)]
    return _marks(text, lambda mark: "..".join(map(mark.on, days)))


def on_any_day(path: str) -> str:
    """Return ``path`` with wildcards in place of its marks and its range of days."""
    return _marks(_RANGE.sub(r"\1", path), Mark.pattern)


def _marks(text: str, written: Callable[[Mark], str]) -> str:
    return _MARK.sub(lambda mark: written(Mark.of(mark[0])), text)


def _validate_no_range(text: str) -> None:
    if match := _RANGE.search(text):
        raise ValueError(f"{match[0]} is a range of days, which is allowed only in the path of an input or of a truth")
    _validate_whole_ranges(text)


def _validate_whole_ranges(text: str) -> None:
    if match := _END_OF_RANGE.search(text):
        raise ValueError(
            f"{shorten(match[0])} is not a range of days: it has a mark at both ends, as {{date}}..{{date+7}}"
        )


def _range_in(path: str) -> tuple[str, list[Mark], str] | None:
    """Return the text before the range of days in ``path``, one mark per day, and the text after.

    None without a range.
    """
    ranges = list(_RANGE.finditer(path))
    if len(ranges) > 1:
        raise ValueError(f"{ranges[1][0]} is a second range of days: a path takes one")
    _validate_whole_ranges(_RANGE.sub("", path))
    if not ranges:
        return None
    match = ranges[0]
    first, last = (Mark.of(mark) for mark in match.groups())
    if first.form != last.form:
        raise ValueError(f"{match[0]} has ends in two formats: one is needed")
    if not first.is_whole:
        raise ValueError(
            f"{match[0]} has ends that are not whole days: write the whole day in one placeholder, as in "
            f"{{date:year=%Y/month=%m/day=%d}}"
        )
    count = last.offset - first.offset + 1
    if not 1 <= count <= MOST_DAYS:
        raise ValueError(
            f"{match[0]} is a range of {max(count, 0)} days: 1 to {MOST_DAYS} days are allowed, the earliest first"
        )
    marks = [Mark(offset, first.form) for offset in range(first.offset, last.offset + 1)]
    return path[: match.start()], marks, path[match.end() :]
