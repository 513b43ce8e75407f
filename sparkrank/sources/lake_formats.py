"""The register of lake formats: functions that read a table's versions and files from its log, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from sparkrank.base.errors import SpecError, UnappliedFeatureError
from sparkrank.sources import delta_log, iceberg_files, iceberg_metadata
from sparkrank.sources.delta import kept_files, last_addition
from sparkrank.sources.lakes import DELTA, ICEBERG
from sparkrank.sources.side_rows import SideRows


class LakeFormat(NamedTuple):
    """The functions of a format: an input at one version of its table, its number of files, and the time of its newest
    rows.

    ``kept_files`` returns the number of files that the condition of the input does not rule out, and of all files.
    ``last_addition`` returns the time of the newest commit with new rows that it does not rule out, or None.
    """

    library: str
    is_installed: Callable[[], bool]
    at_version: Callable[[SideRows], SideRows]
    kept_files: Callable[[SideRows], tuple[int, int]]
    last_addition: Callable[[SideRows], datetime | None]


LAKES: dict[str, LakeFormat] = {
    DELTA: LakeFormat("deltalake", delta_log.reads_delta, delta_log.at_version, kept_files, last_addition),
    ICEBERG: LakeFormat(
        "pyiceberg",
        iceberg_metadata.reads_iceberg,
        iceberg_metadata.at_snapshot,
        iceberg_files.kept_files,
        iceberg_files.last_addition,
    ),
}


def at_version(side: SideRows) -> SideRows:
    """Return an input at one version of its lake table, or unchanged if no log can be read without Spark."""
    lake = LAKES.get(side.format)
    try:
        return side if lake is None else lake.at_version(side)
    except UnappliedFeatureError:  # only Spark can read the table, and it finds the version itself
        return side


def installed_lake(side: SideRows, key: str) -> LakeFormat:
    """Return the lake format of an input. Raise :class:`SpecError` if ``key`` of a spec needs a missing library."""
    lake = LAKES[side.format]
    if lake.is_installed():
        return lake
    raise SpecError(f"{key} needs {lake.library}: pip install 'sparkrank[{side.format}]'")
