"""Versions (snapshots) of Iceberg tables. The library pyiceberg reads them from the metadata of a table."""

from __future__ import annotations

import importlib.util
import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyarrow import fs

from sparkrank.base.errors import (
    InputError,
    NoInputError,
    SparkrankError,
    SpecError,
    StoreError,
    UnappliedFeatureError,
    first_line,
    itemize,
    shorten,
)
from sparkrank.base.time_limits import TIMEOUT, within
from sparkrank.sources.files import file_system, settings_of, without_password
from sparkrank.sources.types import stored_schema

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from sparkrank.sources.side_rows import SideRows

_T = TypeVar("_T")
PACKAGE = "pyiceberg"
METADATA_FILE = ".metadata.json"
_INVALID = re.compile(r"^ +(?P<reason>.+?) \[type=(?P<kind>\w+)", re.MULTILINE)  # the first fault of a document
_NUMBERED = re.compile(r"(?:v(\d+)|(\d+)-[\w-]+)(?:\.\w+)?\.metadata\.json")
_SETTINGS = {  # the settings in a path of S3 (after the question mark), by their names in pyiceberg
    "endpoint_override": "s3.endpoint",
    "region": "s3.region",
    "anonymous": "s3.anonymous",
}


def reads_iceberg() -> bool:
    """Return whether the library that reads the metadata of Iceberg tables is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


def at_snapshot(side: SideRows) -> SideRows:
    """Return an input at the requested snapshot of its table, or else the current one. Its name includes the snapshot.

    Without pyiceberg, Spark finds the snapshot, and the input is returned unchanged.
    """
    if not reads_iceberg():
        return side
    table = iceberg_table(side)
    snapshot = snapshot_of(side, table)
    version = None if snapshot is None else snapshot.snapshot_id
    at = "without a version" if version is None else f"at version {version}"
    return replace(side, version=version, as_of=None, name=f"{side.name} {at} of table {table.metadata.table_uuid}")


def iceberg_table(side: SideRows) -> Table:
    """Open the table of an input: a table of a catalog, or that of the newest metadata file in the folder ``path``."""
    with metadata_errors(side):
        if side.path is None:
            return _of_catalog(side)
        properties = {_SETTINGS[name]: value for name, value in settings_of(side.path).items() if name in _SETTINGS}
        store, inside = file_system(side.path)
        place = inside if isinstance(store, fs.LocalFileSystem) else side.path.partition("?")[0].rstrip("/")
        is_file = place.endswith(METADATA_FILE)
        location = place if is_file else f"{place}/metadata/{_newest(side, store, inside)}"
        with metadata_errors(side, lambda: location):
            return table_at(location, properties)


def table_at(location: str, properties: dict[str, str]) -> Table:
    """Open the table described by the metadata file at ``location``."""
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(location, properties)


def place_of(side: SideRows) -> str:
    """Return the name of the table of an input in messages."""
    return f"the {side.what} {shorten(str(side.table)) if side.path is None else without_password(side.path)}"


@contextmanager
def metadata_errors(side: SideRows, file: Callable[[], str] = str) -> Iterator[None]:
    """Convert errors of the library or of a catalog to a :class:`StoreError` that names the table of the input.

    The message also names the unreadable file, which ``file`` returns. Readable metadata with a feature unknown to the
    library raises :class:`UnappliedFeatureError`.
    """
    from pyiceberg import exceptions

    try:
        yield
    except SparkrankError:
        raise
    except (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError):
        raise NoInputError(f"there is no iceberg {side.what} {shorten(str(side.table))}") from None
    except Exception as error:  # each catalog raises errors of the library that it stands on
        invalid = _INVALID.search(str(error)) if isinstance(error, exceptions.ValidationError) else None
        if invalid is not None and invalid["kind"] != "json_invalid":
            raise UnappliedFeatureError(
                f"{place_of(side)} cannot be read by pyiceberg ({shorten(invalid['reason'])}): read it by Spark "
                "(format: iceberg, with its package)"
            ) from error
        named = f"{shorten(found)}: " if (found := file()) else ""
        reason = shorten(first_line(error) if invalid is None else invalid["reason"])
        raise StoreError(f"{place_of(side)} cannot be read as iceberg: {named}{reason}") from error


def ask_catalog(name: str, call: Callable[[], _T]) -> _T:
    """Return the answer of the catalog ``name`` to ``call``. Raise :class:`StoreError` if there is none in time.

    pyiceberg itself waits without a limit for a server that accepts a connection and does not answer.
    """
    return within(f"the catalog {shorten(name)}", TIMEOUT, call)


def plan_scan(table: Table, asked: str, plan: Callable[[], _T]) -> _T:
    """Return the result of ``plan``, which scans ``table``. A catalog that plans scans by itself must answer in time.

    ``asked`` is the name of such a catalog in the message of the :class:`StoreError`. Otherwise this process reads the
    metadata files, without a time limit.
    """
    return ask_catalog(asked, plan) if table.catalog.supports_server_side_planning() else plan()


def _of_catalog(side: SideRows) -> Table:
    """Load a table by its name, ``namespace.table`` or ``catalog.namespace.table``."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    catalog, *names = str(side.table).split(".")
    if not names:
        raise SpecError(
            f"{side.what}.table is {shorten(catalog)}: catalog.namespace.table or namespace.table is needed"
        )
    own = Config()
    if len(names) == 1:
        catalog, names = own.get_default_catalog_name(), [catalog, *names]
    if catalog not in (known := own.get_known_catalogs()):
        raise SpecError(
            f"{side.what}.table is {shorten(str(side.table))}, but the configuration of pyiceberg has no catalog "
            f"{shorten(catalog)}: it has {itemize(known) or 'none'}"
        )
    return ask_catalog(f"{catalog} of {place_of(side)}", lambda: load_catalog(catalog).load_table(tuple(names)))


def _newest(side: SideRows, store: fs.FileSystem, folder: str) -> str:
    """Return the name of the metadata file with the highest number. If two files have it, no one can say which counts.

    A commit that failed may leave such a file, as only a catalog knows which of two writers came first.
    """
    infos = store.get_file_info(fs.FileSelector(f"{folder}/metadata", allow_not_found=True))
    numbered: dict[int, list[str]] = {}
    for name in (posixpath.basename(info.path) for info in infos):
        if (match := _NUMBERED.fullmatch(name)) is not None:
            numbered.setdefault(int(match[1] or match[2]), []).append(name)
    if not numbered:
        raise NoInputError(f"there is no iceberg {side.what} at {without_password(str(side.path))}")
    newest, *others = sorted(numbered[max(numbered)])
    if others:
        raise InputError(
            f"{place_of(side)} has two newest metadata files, {newest} and {others[0]}: name one of them as path, or "
            f"the table of the catalog as table"
        )
    return newest


def snapshot_of(side: SideRows, table: Table) -> Snapshot | None:
    """Return the snapshot that an input requests, or None if the table was never written to."""
    place, snapshots = place_of(side), sorted(table.snapshots(), key=lambda one: one.timestamp_ms)
    if side.version is None and side.as_of is None:
        return table.current_snapshot()
    if side.version is not None:
        version, snapshot = f"version {side.version}", table.snapshot_by_id(side.version)
    else:
        assert side.as_of is not None  # noqa: S101 - see above
        time = side.as_of if side.as_of.tzinfo is not None else side.as_of.replace(tzinfo=timezone.utc)
        version = f"version as of {time.isoformat()}"
        snapshot = table.snapshot_as_of_timestamp(int(time.timestamp() * 1000))
    if snapshot is not None:
        return snapshot
    if not snapshots:
        raise InputError(f"{place} has no {version}: nothing was ever written into it")
    oldest, newest = (f"{one.snapshot_id} of {time_of(one).isoformat()}" for one in (snapshots[0], snapshots[-1]))
    raise InputError(f"{place} has no {version}: its oldest is {oldest}, and its newest {newest}")


def time_of(snapshot: Snapshot) -> datetime:
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, timezone.utc)


def schema_at(table: Table, snapshot: Snapshot | None) -> Schema:
    """Return the schema of the table at ``snapshot``. The current snapshot has the current schema of the table."""
    if snapshot is None or snapshot.snapshot_id == table.metadata.current_snapshot_id or snapshot.schema_id is None:
        return table.schema()
    return table.schemas()[snapshot.schema_id]


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return ``schema`` with the types in which Arrow reads its columns from Parquet files."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return stored_schema(schema_to_pyarrow(schema, include_field_ids=False))
