"""Ages of rows, in minutes, hours or days, in the forms for a spec and for messages."""

from __future__ import annotations

import datetime as dt
import re

_AGE = re.compile(r"([1-9]\d{0,5})(m|h|d)", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def age_of(text: str) -> dt.timedelta | None:
    """Return the age in ``text``, or None for any other text.

    Examples
    --------
    >>> age_of("6h"), age_of("six hours")
    (datetime.timedelta(seconds=21600), None)
    """
    match = _AGE.fullmatch(text)
    return None if match is None else dt.timedelta(**{_UNITS[match[2]]: int(match[1])})


def age_text(age: dt.timedelta) -> str:
    """Return ``age`` in its two largest units.

    Examples
    --------
    >>> age_text(dt.timedelta(hours=7, minutes=12)), age_text(dt.timedelta(days=2, seconds=5))
    ('7 h 12 min', '2 d 0 h')
    """
    hours, minutes = divmod(max(0, int(age.total_seconds())) // 60, 60)
    days, of_day = divmod(hours, 24)
    return f"{days} d {of_day} h" if days else f"{hours} h {minutes} min"
