"""Whether tables would stand among the rows that they are made from."""

from __future__ import annotations

import os
import posixpath

from sparkrank.day_marks import on_any_day, on_day
from sparkrank.engines.arrow.files import SCHEMES, Listing, alternatives

_A_DAY = "2026-12-31"  # of two digits each, which the pattern of any day asks for


def among(output: str, rows: str) -> bool:
    """Whether a table below ``output`` would be read as rows at ``rows``, a file, a folder or a pattern.

    Both are as a spec names them: absolute or not, with a scheme or without, with marks for the day or for
    others.
    """
    table = _text(f"{on_day(output, _A_DAY)}/metrics/day={_A_DAY}/part-0.parquet")
    return bool(Listing.of({table: 1}, alternatives(_text(on_any_day(rows)))).files)


def _text(path: str) -> str:
    """``path`` as one text, whatever its scheme."""
    scheme, separator, rest = path.partition("://")
    if separator and scheme != "file":
        return f"{SCHEMES.get(scheme, scheme)}/{posixpath.normpath(rest)}"
    return os.path.realpath(rest if separator else path.removeprefix("file:"))
