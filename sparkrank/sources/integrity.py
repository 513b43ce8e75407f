"""Checks of files: page checksums, and detection of files that changed after the plan was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from sparkrank.base.errors import InputError, shorten

# Options of pyarrow.parquet.ParquetFile: a page with a wrong checksum is an error.
CHECKED = {"page_checksum_verification": True}
SPARK_CHECKED = {"parquet.page.verify-checksum.enabled": "true"}  # for Spark's reader; its writer adds checksums anyway
# The size of a file in bytes, and the time of its last change in nanoseconds.
Stamp: TypeAlias = tuple[int, int]
_SECOND = 10**9


def read_checked(rows: ds.Dataset, columns: list[str]) -> pa.Table:
    """Read ``columns`` of the dataset ``rows`` and verify page checksums. The dataset's other settings are kept."""
    if not (isinstance(rows, ds.FileSystemDataset) and isinstance(rows.format, ds.ParquetFileFormat)):
        return rows.to_table(columns)
    options = rows.format.default_fragment_scan_options  # a view of the dataset's options
    before, options.page_checksum_verification = options.page_checksum_verification, True
    try:
        return rows.to_table(columns, fragment_scan_options=options)
    finally:
        options.page_checksum_verification = before


def stamp_of(info: fs.FileInfo, store: fs.FileSystem) -> Stamp:
    """Return the stamp (size, time) of a file. Object stores often omit fractions of a second, so these are cut off."""
    changed = info.mtime_ns or 0
    return info.size, changed if isinstance(store, fs.LocalFileSystem) else changed // _SECOND * _SECOND


def stamps_of(infos: Iterable[fs.FileInfo], store: fs.FileSystem) -> dict[str, Stamp]:
    """Return a mapping from the path of each file among ``infos`` to the stamp (size, time) of the file."""
    return {info.path: stamp_of(info, store) for info in infos if info.type == fs.FileType.File}


@contextmanager
def unchanged(store: fs.FileSystem, path: str, stamp: Stamp | None) -> Iterator[None]:
    """Context manager for reading a file. Raise :class:`InputError` at the end if the file's ``stamp`` changed."""
    failure: Exception | None = None
    try:
        yield
    except Exception as error:  # noqa: BLE001 - raised again, unless the file says why
        failure = error
    info = store.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        raise InputError(f"{shorten(path)} was deleted while the job ran") from failure
    if stamp is not None and stamp_of(info, store) != stamp:
        raise InputError(f"{shorten(path)} was written anew while the job ran") from failure
    if failure is not None:
        raise failure
