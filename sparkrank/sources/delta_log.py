"""Versions of Delta tables, read by the library deltalake from the log of a table."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sparkrank.base.errors import (
    MOST_LISTED,
    InputError,
    NoInputError,
    StoreError,
    UnappliedFeatureError,
    first_line,
    shorten,
)
from sparkrank.sources.files import file_system, settings_of, without_password
from sparkrank.sources.lakes import DELTA

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from sparkrank.sources.side_rows import SideRows

PACKAGE = "deltalake"
_COMMIT = re.compile(r"(\d{20})\.json")
_UNKNOWN = re.compile(r"(?:Unsupported|Max catalog version error): (.+)")  # a feature unknown to deltalake
_BRANCH = re.compile(r"\s*(?:\x1b\[31m)?↳(?:\x1b\[0m)?")  # what deltalake writes for a colon, to draw a tree of causes
SETTINGS = {  # the settings in a path of S3 (after the question mark), by their names in deltalake
    "endpoint_override": "AWS_ENDPOINT_URL",
    "region": "AWS_REGION",
    "scheme": "AWS_ALLOW_HTTP",
    "anonymous": "AWS_SKIP_SIGNATURE",
}


def reads_delta() -> bool:
    """Return whether the library that reads Delta's log is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


def at_version(side: SideRows) -> SideRows:
    """Return an input at the requested version of its table, or else the newest. Its name includes the version.

    Without deltalake, Spark finds the version, and the input is returned unchanged.
    """
    if side.format != DELTA or side.path is None or not reads_delta():
        return side
    table = delta_table(side)
    version = table.version()
    name = f"{side.name} at version {version} of table {table.metadata().id}"
    return replace(side, version=version, as_of=None, name=name)


def delta_table(side: SideRows) -> DeltaTable:
    """Open the table of an input at its version. Only the log is read."""
    import deltalake
    from deltalake.exceptions import DeltaError, TableNotFoundError

    path, place = str(side.path), f"the {side.what} {without_password(str(side.path))}"
    try:
        if side.version is not None:
            return _of_version(path, side.version, place)
        newest = table_at(path)
        return newest if side.as_of is None else _as_of(newest, path, side.as_of, place)
    except TableNotFoundError:
        raise NoInputError(f"there is no delta {side.what} at {without_password(path)}") from None
    except deltalake.exceptions.DeltaProtocolError as error:
        raise InputError(f"{place} cannot be read: {shorten(first_line(error))}") from error
    except (DeltaError, OSError) as error:
        if (unknown := _UNKNOWN.search(str(error))) is not None:
            raise UnappliedFeatureError(
                f"{place} cannot be read by deltalake ({shorten(unknown[1])}): read it by Spark "
                "(format: delta, with its package)"
            ) from error
        reason = reason_of_delta(error)
        file = "" if "Generic " in reason else _unreadable_file(path)  # errors of stores begin so, and name the place
        raise StoreError(f"{place} cannot be read as delta: {file}{reason}") from error


def table_at(path: str, version: int | None = None) -> DeltaTable:
    from deltalake import DeltaTable

    address, options = delta_address(path)
    return DeltaTable(address, version=version, storage_options=options)


class LogCommit(NamedTuple):
    """A commit in the log of a table, with its time in milliseconds since 1970."""

    version: int
    time: int
    actions: list[dict[str, Any]]


def commits(table: DeltaTable, folder: tuple[fs.FileSystem, str]) -> Iterator[LogCommit]:
    """Yield the commits up to the version of ``table``, newest first, as far back as the log reaches.

    The history of deltalake numbers commits by counting, and leaves out those without ``commitInfo``, which writers may
    omit. By Delta's protocol, the time of such a commit is that of its file.
    """
    (store, inside), newest = folder, table.version()
    files = store.get_file_info(fs.FileSelector(f"{inside}/_delta_log"))
    numbered = {int(match[1]): file for file in files if (match := _COMMIT.fullmatch(file.base_name)) is not None}
    for version in sorted((number for number in numbered if number <= newest), reverse=True):
        with store.open_input_stream(numbered[version].path) as log:
            actions = [json.loads(line) for line in log.read().splitlines() if line.strip()]
        about: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
        time = about.get("inCommitTimestamp", about.get("timestamp"))
        yield LogCommit(version, numbered[version].mtime_ns // 1_000_000 if time is None else time, actions)


def additions(table: DeltaTable, folder: tuple[fs.FileSystem, str]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the commits of ``table`` that added rows, newest first, as pairs (time in milliseconds, files).

    Commits that only rearrange rows are marked in the log and left out here.
    """
    for commit in commits(table, folder):
        added = [action["add"] for action in commit.actions if "add" in action]
        if added := [file for file in added if file.get("dataChange", True)]:
            yield commit.time, added


def reason_of_delta(error: Exception) -> str:
    """Return the message of an error of deltalake in one line instead of a tree of causes."""
    return shorten(" ".join(_BRANCH.sub(":", str(error)).split()), MOST_LISTED)


def _unreadable_file(path: str) -> str:
    """Return the first unreadable file of the log, from the newest to a checkpoint, as the start of a reason."""
    store, inside = file_system(path)
    with suppress(OSError):
        for info in sorted(
            store.get_file_info(fs.FileSelector(f"{inside}/_delta_log")), key=lambda info: info.path, reverse=True
        ):
            is_checkpoint = info.extension == "parquet"
            try:
                with store.open_input_file(info.path) as file:
                    if is_checkpoint:
                        pq.read_metadata(file)
                    elif info.extension == "json":
                        any(map(json.loads, file.read().splitlines()))
            except (pa.ArrowException, OSError, ValueError):
                return f"{shorten(info.path)}: "
            if is_checkpoint:
                break
    return ""


def delta_address(path: str) -> tuple[str, dict[str, str] | None]:
    """Return ``path`` in the form for deltalake, and the options for the settings in ``path``."""
    options = {SETTINGS[name]: value for name, value in settings_of(path).items() if name in SETTINGS}
    if "AWS_ALLOW_HTTP" in options:
        options["AWS_ALLOW_HTTP"] = str(options["AWS_ALLOW_HTTP"] == "http").lower()
    return path.partition("?")[0].removeprefix("file:"), options or None


def unknown_settings(path: str) -> list[str]:
    """Return the names of the settings of ``path`` that :func:`delta_address` leaves out."""
    return [name for name in settings_of(path) if name not in SETTINGS]


def _of_version(path: str, version: int, place: str) -> DeltaTable:
    """Return the table at ``version``. Versions are listed only if that one is unreadable."""
    from deltalake.exceptions import DeltaError

    try:
        return table_at(path, version)
    except (DeltaError, FileNotFoundError):
        newest = table_at(path)
    raise _absent(f"{place} has no version {version}", newest, path)


def _as_of(table: DeltaTable, path: str, time: datetime, place: str) -> DeltaTable:
    """Return ``table`` as its newest commit up to ``time`` left it."""
    time_in_utc = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
    milliseconds = time_in_utc.timestamp() * 1000
    then = (commit.version for commit in commits(table, file_system(path)) if commit.time <= milliseconds)
    version = next(then, None)
    if version is None:
        raise _absent(f"{place} has no version as of {time_in_utc.isoformat()}", table, path)
    table.load_as_version(version)
    return table


def _absent(sentence: str, table: DeltaTable, path: str) -> InputError:
    stored = [(commit.version, commit.time) for commit in commits(table, file_system(path))]
    oldest, newest = (
        f"{version} of {datetime.fromtimestamp(stamp / 1000, timezone.utc).isoformat()}"
        for version, stamp in (stored[-1], stored[0])
    )
    return InputError(f"{sentence}: its oldest is {oldest}, and its newest {newest}")
