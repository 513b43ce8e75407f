"""Whether tables would stand among the rows that they are made from, or rows among tables."""

from __future__ import annotations

import os
import posixpath

from sparkrank.inputs.day_marks import on_any_day, on_day
from sparkrank.sources.files import SCHEMES, Listing, alternatives
from sparkrank.tables.commit.output_folder import DAYS_FOLDER, RUNS_FOLDER
from sparkrank.tables.rows.outputs import table_names

_A_DAY = "2026-12-31"  # of two digits each, which the pattern of any day asks for


def among(output: str, rows: str) -> bool:
    """Whether a table below ``output`` would be read as rows at ``rows``, a file, a folder or a pattern.

    Both are as a spec names them: absolute or not, with a scheme or without, with marks for the day or for
    others.
    """
    place, name = on_day(output, _A_DAY), f"part-0-{'0' * 12}.parquet"
    tables = {_text(f"{place}/{table}/day={_A_DAY}/{name}"): 1 for table in table_names()}
    return bool(Listing.of(tables, alternatives(_text(on_any_day(rows)))).files)


def in_place_of(output: str, rows: str) -> str | None:
    """The folder of sparkrank's below ``output`` in which ``rows`` are, so that tables would be written beside them."""
    folder, place = f"{_text(on_day(output, _A_DAY))}/", _text(on_day(rows, _A_DAY))
    first = place.removeprefix(folder).partition("/")[0]
    return first if place.startswith(folder) and first in (*table_names(), RUNS_FOLDER, DAYS_FOLDER) else None


def _text(path: str) -> str:
    """``path`` as one text, whatever its scheme."""
    scheme, separator, rest = path.partition("://")
    if separator and scheme != "file":
        return f"{SCHEMES.get(scheme, scheme)}/{posixpath.normpath(rest)}"
    return os.path.realpath(rest if separator else path.removeprefix("file:"))
