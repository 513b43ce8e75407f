"""Folders and files that survive a loss of power, with the rights of the folder that they are in."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sparkrank.base.errors import writing_errors

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # of a file system that brings the names of a folder to the disk by itself
_BITS = 0o7777  # of a mode: the rights, and whether what is made in the folder gets its group


def make_folder(path: Path, made: list[Path] | None = None) -> None:
    """Make the folder ``path`` and those above it, each with the rights and the group of the one above.

    ``made`` gets each as soon as it is made. Raises :class:`SparkrankError` where the operating system refuses one.
    """
    made = [] if made is None else made
    with writing_errors(f"the folder {path}"):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            above = folder.parent.stat()
            try:
                folder.mkdir()
            except FileExistsError:  # a run of another day has made it meanwhile
                continue
            made.append(folder)
            with suppress(OSError):  # who is not of that group may not give it away
                os.chown(folder, -1, above.st_gid)
            with suppress(OSError):
                folder.chmod(above.st_mode & _BITS)
        path.mkdir(exist_ok=True)  # which says what else stands in its place


def sync_all(paths: Iterable[Path]) -> None:
    """Have the bytes of files and the names in folders on the disk; raises :class:`SparkrankError` where that fails."""
    for path in paths:
        with writing_errors(f"{path}", "brought to the disk"):
            _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC or not path.is_dir():
            raise
    finally:
        os.close(handle)


def files_and_folders(root: Path) -> list[Path]:
    """All paths below ``root``, the innermost first, and ``root`` itself last. Links are not followed."""
    paths: list[Path] = []
    for folder, _, files in os.walk(root, topdown=False):
        paths += [Path(folder, name) for name in files if not Path(folder, name).is_symlink()]
        paths.append(Path(folder))
    return paths


def remove_if_empty(folder: Path) -> None:
    """Remove ``folder`` unless something is in it."""
    with suppress(OSError):
        folder.rmdir()
