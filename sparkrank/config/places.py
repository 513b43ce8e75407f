"""Checks of paths: no tables may be written among rows, and no rows may be read among tables."""

from __future__ import annotations

import os
import posixpath

from sparkrank.inputs.day_marks import on_any_day, on_day
from sparkrank.sources.files import SCHEMES, Listing, alternatives
from sparkrank.tables.commit.output_folder import DAYS_FOLDER, RUNS_FOLDER
from sparkrank.tables.rows.outputs import table_names

_A_DAY = "2026-12-31"  # month and day have two digits, as the pattern for any day requires


def among(output: str, rows: str) -> bool:
    """Return whether a table below ``output`` would be read as rows from ``rows``, a file, a folder or a pattern.

    Both paths have the form in a spec: absolute or relative, with or without a scheme, perhaps with ``{date}``.
    """
    place, name = on_day(output, _A_DAY), f"part-0-{'0' * 12}.parquet"
    tables = {_text(f"{place}/{table}/day={_A_DAY}/{name}"): 1 for table in table_names()}
    return bool(Listing.of(tables, alternatives(_text(on_any_day(rows)))).files)


def in_place_of(output: str, rows: str) -> str | None:
    """Return the name of sparkrank's folder below ``output`` that contains ``rows``; None if ``rows`` is elsewhere."""
    folder, place = f"{_text(on_day(output, _A_DAY))}/", _text(on_day(rows, _A_DAY))
    first = place.removeprefix(folder).partition("/")[0]
    return first if place.startswith(folder) and first in (*table_names(), RUNS_FOLDER, DAYS_FOLDER) else None


def is_within(path: str, folder: str) -> bool:
    """Return whether ``path`` is ``folder`` or below it. Both may contain placeholders."""
    return f"{_text(on_day(path, _A_DAY))}/".startswith(f"{_text(on_day(folder, _A_DAY))}/")


def _text(path: str) -> str:
    """Return ``path`` in a normalized form. Different spellings of one place become equal."""
    scheme, separator, rest = path.partition("://")
    if separator and scheme != "file":
        return f"{SCHEMES.get(scheme, scheme)}/{posixpath.normpath(rest)}"
    return os.path.realpath(rest if separator else path.removeprefix("file:"))
