"""Functions that make folders with the permissions of their parents, and flush files and folders to disk."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from sparkrank.base.errors import writing_errors

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # errors of file systems that write folder entries to disk by themselves
_PERMISSIONS = 0o777
_AT_ONCE = 8


def make_folder(path: Path, made: list[Path] | None = None) -> None:
    """Make the folder ``path`` and its missing parents, each with the group of the folder above.

    A new folder gets the permissions of its parent, and those of full access for its owner, as far as the umask allows.
    Each new folder is added to ``made`` as soon as it exists. Raise :class:`SparkrankError` if the operating system
    refuses to make a folder.
    """
    made = [] if made is None else made
    with writing_errors(f"the folder {path}"):
        folders = itertools.chain((path,), path.parents)
        missing = list(itertools.takewhile(lambda folder: not folder.exists(), folders))
        for folder in reversed(missing):
            above = folder.parent.stat()
            try:
                folder.mkdir(above.st_mode & _PERMISSIONS | stat.S_IRWXU)
            except FileExistsError:  # a run of another day has just made it
                continue
            made.append(folder)
            with suppress(OSError):  # only a member of the group may assign it
                os.chown(folder, -1, above.st_gid)
        if not path.is_dir():
            path.mkdir(exist_ok=True)  # raises an error if something other than a folder is there


def sync_all(paths: Collection[Path]) -> None:
    """Flush the files and folders ``paths`` to disk. Raise :class:`SparkrankError` if flushing fails."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # file systems combine flushes that are requested at the same time
        for _ in pool.map(_sync, paths):  # raises the error of the first path that cannot be flushed
            pass


def _sync(path: Path) -> None:
    with writing_errors(f"{path}", "flushed to disk"):
        _flush(path)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC or not path.is_dir():
            raise
    finally:
        os.close(handle)


def files_and_folders(root: Path) -> list[Path]:
    """Return all files and folders below ``root``, innermost first, and ``root`` last. Links are left out."""
    paths: list[Path] = []
    for folder, _, files in os.walk(root, topdown=False):
        here = Path(folder)
        paths += [file for file in map(here.joinpath, files) if not file.is_symlink()]
        paths.append(here)
    return paths


def remove_if_empty(folder: Path) -> None:
    """Remove ``folder`` if it is an empty folder. Otherwise, leave it unchanged, without an error."""
    with suppress(OSError):
        folder.rmdir()
