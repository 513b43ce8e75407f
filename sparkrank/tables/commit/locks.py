"""The lock of a day, under which only one run can write the day at a time. A lock ends with its process."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sparkrank.base.errors import SparkrankError, shorten, writing_errors
from sparkrank.tables.commit.durable_folders import make_folder

_ATTEMPTS = 10  # to create a lock in a new folder, which a failing run of another day may remove at the same time

# The operating system's locks belong to a process, so a process forked meanwhile does not hold its parent's lock.
# These locks separate the threads of one process.
_held: set[tuple[int, int]] = set()  # the device and the inode of each lock: a path may have several names
_guard = threading.Lock()


@dataclass(frozen=True)
class Lock:
    """A lock of this process: the lock file ``path``, and ``handle``, the descriptor of the open file."""

    path: Path
    handle: int

    def is_held(self) -> bool:
        """Return whether the open file is still at ``path``, where ``sparkrank unlock --force`` removes it."""
        try:
            return os.path.samestat(self.path.lstat(), os.fstat(self.handle))
        except FileNotFoundError:
            return False


@contextmanager
def only_writer(path: Path, day: str, output: Path, made: list[Path]) -> Iterator[Lock]:
    """Lock ``day`` by the file ``path`` within the context. Raise :class:`SparkrankError` if it is locked already."""
    busy = f"another run is writing the day {day} under {shorten(output)}: wait for it to end"
    with _guard:
        if _is_held(path):  # checked before opening: closing the file again would release the lock of the whole process
            raise SparkrankError(busy)
        handle = _opened(path, made)
        try:
            if not _take(path, handle):
                raise SparkrankError(busy)
        except BaseException:
            os.close(handle)
            raise
        identity = _identity(os.fstat(handle))
        _held.add(identity)
    try:
        yield Lock(path, handle)
    finally:
        with _guard:
            os.close(handle)
            _held.discard(identity)


def is_locked(path: Path) -> bool:
    """Return whether a run of any process has locked the file ``path``."""
    with _guard:
        if _is_held(path):
            return True
        if not path.is_file() or path.is_symlink():
            return False
        handle = _open(path, os.O_RDWR)
        try:
            return not _take(path, handle)
        finally:
            os.close(handle)


def remove_lock(path: Path) -> None:
    """Remove ``path`` if it is an empty regular file, as every lock file is. Otherwise, leave ``path`` unchanged."""
    with suppress(FileNotFoundError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            path.unlink()


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_held(path: Path) -> bool:
    """Return whether a run of this process holds the lock file ``path``."""
    try:
        return _identity(path.lstat()) in _held
    except OSError:
        return False


def _opened(path: Path, made: list[Path]) -> int:
    for left in reversed(range(_ATTEMPTS)):
        try:
            make_folder(path.parent, made)
            return _open(path, os.O_RDWR | os.O_CREAT)
        except SparkrankError as error:
            if not left or not isinstance(error.__cause__, FileNotFoundError):
                raise
    raise AssertionError


def _open(path: Path, flags: int) -> int:
    """Open the lock file, which stays empty, without following links, and return the file descriptor."""
    if path.is_symlink():
        raise SparkrankError(
            f"the lock {shorten(path)} is a link: move it away or choose another folder for the tables"
        )
    with writing_errors(f"the lock {path}"):
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _take(path: Path, handle: int) -> bool:
    """Try to take the lock; return False if another run holds the lock, or if a failed run has removed the file."""
    with writing_errors(f"the lock {path}", "taken"):
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(path.lstat(), os.fstat(handle))
        except (BlockingIOError, PermissionError, FileNotFoundError):  # POSIX allows either of the first two
            return False
