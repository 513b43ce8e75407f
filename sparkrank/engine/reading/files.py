"""Which files stand at a path, on any file system that Arrow opens."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from pyarrow import fs

_COPIED = "._COPYING_"  # the end of a file's name while Hadoop copies it
_SETTINGS = re.compile(r"\?(?=\w+=)")
_WHO = re.compile("://[^/@]*@")
_WILDCARDS = frozenset("*?[")
# Spark's readers of files leave out those that they cannot read where the session says so: not ours, uncounted.
ALL_FILES = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
SCHEMES = {"s3a": "s3", "s3n": "s3"}  # Hadoop's names for what Arrow calls s3


def file_system(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of ``path`` and the path inside it, which is taken as it is written, as Spark takes it.

    Nothing in it is encoded, and ``#`` begins nothing; ``?`` does where a setting of the file system follows.
    """
    scheme, separator, rest = path.partition("://")
    if not separator or scheme.lower() == "file":
        return fs.LocalFileSystem(), str(Path(rest if separator else path.removeprefix("file:")).absolute())
    place, *settings = _SETTINGS.split(rest, maxsplit=1)
    host, slash, inside = place.partition("/")
    scheme = scheme.lower()
    uri = "?".join([f"{SCHEMES.get(scheme, scheme)}://{host}{slash}{quote(inside)}", *settings])
    store, inside = fs.FileSystem.from_uri(uri)
    return store, inside.rstrip("/")


def without_password(path: str) -> str:
    """``path`` as a sentence may tell it: without who opens the file system."""
    return _WHO.sub("://", path)


def is_pattern(path: str) -> bool:
    """Whether ``path`` stands for all files that match it."""
    return not _WILDCARDS.isdisjoint(path)


def files_at(store: fs.FileSystem, path: str) -> list[str]:
    """The visible files at ``path`` in the order of their names."""
    if not is_pattern(path):
        info = store.get_file_info(path)
        if info.type == fs.FileType.File:
            return [path]
        return visible_files(store, path, path.count("/") + 1)
    pattern = path.split("/")
    fixed = next(index for index, part in enumerate(pattern) if is_pattern(part))
    found = visible_files(store, "/".join(pattern[:fixed]) or "/", fixed)
    return [file for file in found if matches(file.split("/"), pattern)]


def matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a file, or a folder that it is in, matches ``pattern``; a wildcard does not pass a slash."""
    within = parts[: len(pattern)]
    as_python = (part.replace("[^", "[!") for part in pattern)  # Hadoop knows both for "none of these"
    return len(within) == len(pattern) and all(map(fnmatch.fnmatchcase, within, as_python))


def visible_files(store: fs.FileSystem, folder: str, depth: int) -> list[str]:
    """Files below ``folder`` of which no part of the path below ``depth`` is hidden, as Spark skips them.

    None where the folder is missing: Arrow's errors for that differ from store to store.
    """
    infos = store.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
    files = [info.path for info in infos if info.type == fs.FileType.File and info.size]
    return sorted(file for file in files if not any(map(is_hidden, file.split("/")[depth:])))


def is_hidden(name: str) -> bool:
    """Whether Spark skips a file or folder of this ``name``; a partition column may begin with an underscore."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith(_COPIED)
