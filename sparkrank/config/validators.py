"""Validators for values whose reading by YAML or pydantic differs from what people mean.

The argument of a validator is a value as read by YAML. The validator returns the intended value, or raises a
``ValueError`` with the valid values.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Callable, Collection
from decimal import Decimal

from pydantic_core import PydanticCustomError

from sparkrank.base.errors import SpecError, did_you_mean, itemize, quote
from sparkrank.base.redaction import has_secret
from sparkrank.engines.lanes import lane_words
from sparkrank.engines.spark.files import FILE_FORMATS, OTHER_FORMATS
from sparkrank.inputs.age import age_of
from sparkrank.inputs.day_marks import check_name, check_path, check_sql, day_of
from sparkrank.inputs.popularity_days import window_of
from sparkrank.sources.condition_syntax import validate_condition
from sparkrank.sources.formats import SOURCES
from sparkrank.sources.text_schema import fields_of
from sparkrank.tables.copies.day_copies import PUBLISHERS
from sparkrank.tables.trackers.mlflow_tracker import TRACKERS

# The kinds of value for keys that take several kinds. Nobody would use one of these words as a name.
KINDS = ("<column>", "<models>", "<points>", "<nothing>", "<switch>", "<nights>", "<names>", "<settings>")
COLUMN, MODELS, POINTS, NOTHING, SWITCH, NIGHTS, NAMES, SETTINGS = KINDS
_BLANK = re.compile(r"<[^<>/]+>")  # as sparkrank init writes it
MOST_LABEL = 80  # characters of a title
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", re.ASCII)
_OFFSET = re.compile(r"[+-](?:0\d|1[0-7]):[0-5]\d|[+-]18:00", re.ASCII)
_UNITS = {"": 1, "b": 1} | {
    unit: base**power
    for power, letter in enumerate("kmgtp", start=1)
    for unit, base in ((letter, 1000), (f"{letter}b", 1000), (f"{letter}ib", 1024))
}


def as_filled(value: str) -> str:
    if not value.strip():
        raise ValueError("a text that is not empty is needed")
    return value


def as_label(value: str) -> str:
    if not value.strip() or len(value) > MOST_LABEL:
        raise ValueError(f"a text of 1 to {MOST_LABEL} characters is needed")
    return value


def as_list(value: object) -> object:
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)) or value is None:
        return value
    raise ValueError("a text or a list of texts is needed")


def as_slice(value: object) -> object:
    """Return the columns of a slice as a list. A slice of one column may be a text or a mapping."""
    return [value] if isinstance(value, dict) else as_list(value)


def column_kind_of(value: object) -> str | None:
    """Return the kind (one of :data:`KINDS`) of a slice's column or a model's scores; None for a number."""
    return COLUMN if isinstance(value, str) else None if isinstance(value, (bool, int, float)) else SETTINGS


def kind_of(value: object) -> str | None:
    """Return the kind (one of :data:`KINDS`) of the value of a key with several kinds; None for other values."""
    return NOTHING if value is False else {str: COLUMN, dict: MODELS, int: POINTS, list: NAMES}.get(type(value))


def depth_of(value: object) -> str | None:
    """Return the kind (one of :data:`KINDS`) of a value of the key ``positions``; None for other values."""
    return SWITCH if isinstance(value, bool) else POINTS if isinstance(value, int) else None


def looks_of(value: object) -> str | None:
    """Return the kind (one of :data:`KINDS`) of a value of the key ``sequential``; None for a string or a number."""
    return SWITCH if isinstance(value, bool) else NIGHTS if not isinstance(value, (str, int, float)) else None


def as_keys(value: object) -> object:
    """Return an empty mapping for None (in YAML, a key without content), and any other ``value`` unchanged."""
    return {} if value is None else value


def _as_path(path: str) -> str:
    """Return ``path``. A path with an unfilled ``<blank>`` is refused, and so is a file URL with a host.

    The host would be ignored or misread.
    """
    if blank := _BLANK.search(path):
        raise ValueError(f"{blank[0]} is a placeholder: write the name of the folder")
    if path.startswith("file://") and not path.startswith("file:///"):
        raise ValueError("a file has no host, and its path begins with a slash: file:///folder")
    return path


def as_marked(check: Callable[[str], None]) -> Callable[[str], str]:
    """Return a validator that refuses, by ``check``, a string with invalid placeholders, such as ``{dat}``."""

    def checked(text: str) -> str:
        check(text)
        return text

    return checked


def as_rows(path: str) -> str:
    """Return a valid path to rows.

    Braces contain alternatives, as in ``dt={a,b}``, or a placeholder such as ``{date}``.
    """
    check_path(path)
    return _as_path(path)


def as_condition(condition: str) -> str:
    """Return a valid SQL condition. It may contain placeholders for days, such as ``{date}``."""
    check_sql(condition)
    validate_condition(condition)
    return condition


def as_output(path: str) -> str:
    """Return a valid path to tables.

    Unknown placeholders are refused, because they would become parts of folder names.
    """
    if path.startswith("~"):
        raise ValueError("only a shell replaces ~: write the full path of the folder")
    check_name(path)
    return _as_path(path)


def as_size(value: object) -> object:
    """Return a number of bytes from a whole number, or from a number with a unit, such as ``2.5GB`` or ``500MiB``."""
    if value is None:
        return value
    value = value if isinstance(value, bool) else as_whole(value)
    is_size = isinstance(value, (int, str)) and not isinstance(value, bool)
    match = _SIZE.fullmatch(str(value).strip()) if is_size else None
    unit = None if match is None else _UNITS.get(match[2].lower())
    if match is None or unit is None or (not match[2] and "." in match[1]):
        raise ValueError("a size is needed, such as 2.5GB, 500MiB or a whole number of bytes")
    size = Decimal(match[1]) * unit
    if size >= 1 << 63:
        raise ValueError("a size below 8 EiB is needed")
    return int(size)


def as_age(text: str | None) -> str | None:
    """Return ``text`` unchanged if it is a number of minutes, hours or days."""
    if text is not None and age_of(text) is None:
        raise ValueError(f"{quote(text)} is not an age: minutes, hours or days are needed, such as 90m, 6h or 2d")
    return text


def as_zone(name: str | None) -> str | None:
    """Return a valid time zone: a name in the IANA database, or an offset from UTC, such as ``+02:00``."""
    if name is None or _OFFSET.fullmatch(name):
        return name
    known = zoneinfo.available_timezones() | {"UTC"}
    if name not in known and len(known) > 1:  # without a time zone database, every name is accepted
        raise ValueError(f"a time zone is needed, such as UTC, Europe/Berlin or +02:00{did_you_mean(name, known)}")
    return name


def as_lane(word: object) -> str:
    return _word_of(lane_words(), word)


def as_publisher(word: object) -> str:
    return _word_of(PUBLISHERS, word)


def as_tracker(word: object) -> str:
    return _word_of(TRACKERS, word)


def _word_of(register: Collection[str], word: object) -> str:
    if not isinstance(word, str) or word not in register:
        named = " or ".join(f"'{known}'" for known in register)
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": named})
    return word


def as_options(options: object) -> object:
    """Return reader options with booleans and numbers as strings, because options of Spark are strings."""
    if not isinstance(options, dict):
        return as_keys(options)
    texts = {True: "true", False: "false"}
    return {
        name: texts[value] if isinstance(value, bool) else str(value) if isinstance(value, (int, float)) else value
        for name, value in options.items()
    }


def as_format(name: str) -> str:
    """Return the valid name of a format in lower case, or unchanged if it is the name of a class."""
    known = list(dict.fromkeys((*SOURCES, *FILE_FORMATS, *OTHER_FORMATS)))
    if "." in name or (name := name.lower()) in known:
        return name
    raise ValueError(
        f"no such format is known{did_you_mean(name, known)} (allowed: {itemize(known)}, or the class of a source)"
    )


def as_schema(text: str | None) -> str | None:
    """Return the schema of a text format unchanged if it can be parsed."""
    if text is not None:
        fields_of(text)
    return text


def validate_no_password(path: str | None) -> None:
    """Raise a ``ValueError``, without the path, for a path with a password, which the table ``runs`` would show."""
    if path is not None and has_secret(path):
        raise ValueError("has a path with a password, which the table runs would show: put it into the environment")


def value_of(value: object) -> object:
    """Return a string with a number, such as ``1e-3`` from YAML, as a float, and any other value unchanged."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def as_number(value: object) -> object:
    if isinstance(value, bool):  # otherwise, it would count as 0 or 1
        raise ValueError("a number is needed")
    return value


def as_whole(value: object) -> object:
    """Return a whole number, also if it is written as ``1e6``, which YAML reads as a string."""
    number = value_of(value)
    return as_number(int(number) if isinstance(number, float) and number.is_integer() else number)


def as_window(text: str) -> str:
    """Return ``text`` unchanged if it is a window of days, ``first..last``."""
    try:
        return str(window_of(text))
    except SpecError as error:
        raise ValueError(str(error)) from None


def as_points(value: object) -> object:
    """Return a boolean unchanged, and for any other value the result of :func:`as_whole`."""
    return value if isinstance(value, bool) else as_whole(value)


def as_day(value: object) -> object:
    """Return a day from a date or a string.

    Numbers are refused, because pydantic would read them as seconds since 1970.
    """
    day = day_of(value) if isinstance(value, str) else value
    if (isinstance(day, dt.date) and not isinstance(day, dt.datetime)) or value is None:
        return day
    raise ValueError("a day of the form YYYY-MM-DD is needed")
