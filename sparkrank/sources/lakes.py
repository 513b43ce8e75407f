"""Detection of Delta, Hudi and Iceberg tables. Only the log of such a table lists its current files.

A folder ``metadata`` belongs to an Iceberg table only if it contains a file named by Iceberg's rule. Beside a folder
``data``, a similar file name is enough.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from sparkrank.base.errors import StoreError, unreadable

DELTA, ICEBERG, HUDI = "delta", "iceberg", "hudi"
LAKE_FORMATS = (DELTA, HUDI, ICEBERG)
_MARKS = {"_delta_log": DELTA, ".hoodie": HUDI, ".hoodie_partition_metadata": HUDI}
_METADATA, _HINT, _DATA = "metadata", "version-hint.text", "data"
_OF_ICEBERG = re.compile(r"(v\d+|\d{5}-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})(\.\w+)?\.metadata\.json(\.gz)?")
_MAY_BE_OF_ICEBERG = re.compile(r".+\.metadata\.json(\.gz)?")
_MARK = re.compile(rf"/(?:{'|'.join(map(re.escape, _MARKS))})(?=/|\.parquet$|$)|/{_METADATA}/[^/]+$")


@dataclass(frozen=True)
class LakeTable:
    """A lake table in a ``folder``. ``mark`` is the path in the folder that identifies the ``format``."""

    folder: str
    format: str
    mark: str


def tables_among(files: Collection[str]) -> list[LakeTable]:
    """Return the lake tables recognized by the paths in ``files``, which must include hidden files."""
    tables: dict[str, LakeTable] = {}
    metadata: dict[str, set[str]] = {}
    for file in files:
        mark = _MARK.search(file)
        if mark is None:
            continue
        folder, name = file[: mark.start()] or "/", mark[0][1:]
        if name.startswith(f"{_METADATA}/"):
            metadata.setdefault(folder, set()).add(name.partition("/")[2])
        else:
            tables[folder] = LakeTable(folder, _MARKS[name], name)
    for folder, names in metadata.items():
        if (table := _iceberg(folder, names, any(file.startswith(f"{folder}/{_DATA}/") for file in files))) is not None:
            tables.setdefault(folder, table)
    return list(tables.values())


def tables_above(store: fs.FileSystem, path: str) -> list[LakeTable]:
    """Return the nearest lake table above ``path``, if any. A folder that cannot be listed ends the search."""
    local = isinstance(store, fs.LocalFileSystem)
    for place in dict.fromkeys([path, os.path.realpath(path)] if local else [path]):
        for folder in ways_of(place.rpartition("/")[0]):
            try:
                if (table := _table_at(store, folder, local)) is not None:
                    return [table]
            except OSError as error:
                if isinstance(unreadable(folder, error), StoreError):
                    raise
                break
    return []


def ways_of(path: str) -> Iterator[str]:
    """Yield ``path`` and then each folder that contains ``path``, from the nearest up."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _table_at(store: fs.FileSystem, folder: str, local: bool) -> LakeTable | None:
    if local:
        names = {name for name in (*_MARKS, _DATA) if Path(folder, name).exists()}
        names |= {_METADATA} if Path(folder, _METADATA).is_dir() else set()
    else:
        names = _names(store, folder)
    for mark, kind in _MARKS.items():
        if mark in names:
            return LakeTable(folder, kind, mark)
    if _METADATA not in names:
        return None
    return _iceberg(folder, _names(store, f"{folder}/{_METADATA}"), _DATA in names)


def _names(store: fs.FileSystem, folder: str) -> set[str]:
    infos = store.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return {info.base_name for info in infos if info.base_name != _METADATA or info.type == fs.FileType.Directory}


def _iceberg(folder: str, names: Iterable[str], beside_data: bool) -> LakeTable | None:
    for name in sorted(names):
        if _OF_ICEBERG.fullmatch(name) or (beside_data and (name == _HINT or _MAY_BE_OF_ICEBERG.fullmatch(name))):
            return LakeTable(folder, ICEBERG, f"{_METADATA}/{name}")
    return None
