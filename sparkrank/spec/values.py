"""The values of the document that YAML or pydantic would take for something else than a person means by them.

Each takes what was given and gives what is meant, or raises ``ValueError`` with what is needed.
"""

from __future__ import annotations

import datetime as dt
import re

DATE = "{date}"  # stands for the day in a path or a condition
# What a value may be where a key takes several kinds; no name that a person would give.
COLUMN, MODELS, POINTS, NOTHING = KINDS = ("<column>", "<models>", "<points>", "<nothing>")
_MARK = re.compile(r"{\w*}")
_PASSWORD = re.compile(r"[A-Za-z][\w+.-]*://[^/@]*:[^/@]*@")
_SECRET = re.compile("secret|password|token|access.?key", re.IGNORECASE)  # as Spark redacts (spark.redaction.regex)
_SECRET_IN_URL = re.compile(rf"((?:{_SECRET.pattern})\w*=|://[^/@:]*:(?=[^/@]*@))[^;&/@\s]*", re.IGNORECASE)
NOT_SHOWN = "(not shown)"


def as_filled(value: str) -> str:
    if not value.strip():
        raise ValueError("a text that is not empty is needed")
    return value


def as_list(value: object) -> object:
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)) or value is None:
        return value
    raise ValueError("a text or a list of texts is needed")


def kind_of(value: object) -> str | None:
    """Which of :data:`KINDS` a value is of, where a key takes several."""
    return NOTHING if value is False else {str: COLUMN, dict: MODELS, int: POINTS}.get(type(value))


def as_keys(value: object) -> object:
    """A key with nothing below it, or comments alone, gives no keys."""
    return {} if value is None else value


def as_path(path: str) -> str:
    """A path on this machine as a whole: what stands for a host would be taken for none, or for a folder."""
    if path.startswith("file://") and not path.startswith("file:///"):
        raise ValueError("a file has no host, and its path begins with a slash: file:///folder")
    return path


def as_rows(path: str) -> str:
    """Where braces hold alternatives, as in ``dt={a,b}``; a single word in them was meant to be replaced."""
    for mark in _MARK.findall(path):
        if mark != DATE:
            raise ValueError(f"{mark} stands for nothing: {DATE} is the day, and nothing else is put in")
    return as_path(path)


def as_output(path: str) -> str:
    """Where the operating system would make folders of marks that are there to be replaced."""
    if path.startswith("~"):
        raise ValueError("~ is written out by a shell alone: name the folder in full")
    if marks := set("{}") & set(path.replace(DATE, "")):
        raise ValueError(f"{min(marks)} stands for nothing: {DATE} is the day, and nothing else is put in")
    return as_path(path)


def refuse_password(path: str | None) -> None:
    """The table ``runs`` holds the spec, for all who read it. The sentence does not repeat the password."""
    if path is not None and _PASSWORD.match(path):
        raise ValueError("has a path with a password, which runs would show: give it by the environment")


def without_secrets(options: dict[str, str]) -> dict[str, str]:
    """``options`` as others may see them: the table ``runs`` holds the spec, and logs do. Of a URL the rest stays."""
    return {
        name: NOT_SHOWN if _SECRET.search(name) else _SECRET_IN_URL.sub(rf"\1{NOT_SHOWN}", value)
        for name, value in options.items()
    }


def as_number(value: object) -> object:
    if isinstance(value, bool):  # which would count as 0 or 1
        raise ValueError("a number is needed")
    return value


def as_day(value: object) -> object:
    """A day, or its text; a number would be taken for seconds since 1970."""
    if (isinstance(value, (str, dt.date)) and not isinstance(value, dt.datetime)) or value is None:
        try:
            return dt.date.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            pass
    raise ValueError("a day of the form YYYY-MM-DD is needed")
