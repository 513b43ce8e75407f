"""The lock of a day: one run writes it at a time, and none keeps it that has ended."""

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

_ATTEMPTS = 10  # to create a lock in a new folder, which a failed run of another day may remove at that moment

# The operating system keeps one run from another by process, so that a process forked meanwhile does not hold the lock
# of its parent. These keep one thread from another.
_held: set[Path] = set()
_guard = threading.Lock()


@dataclass(frozen=True)
class Lock:
    """The lock ``path``, which this process holds by the open file ``handle``."""

    path: Path
    handle: int

    def is_held(self) -> bool:
        """Whether the file is still the one that others see: ``sparkrank unlock --force`` takes it away."""
        try:
            return os.path.samestat(self.path.lstat(), os.fstat(self.handle))
        except FileNotFoundError:
            return False


@contextmanager
def only_writer(path: Path, day: str, output: Path, made: list[Path]) -> Iterator[Lock]:
    """Hold the lock ``path`` of ``day`` until this ends; raises :class:`SparkrankError` when another run does."""
    with _guard:
        is_free = path not in _held
        _held.add(path)
    busy = f"another run is writing the day {day} under {shorten(output)}: wait for it to end"
    if not is_free:
        raise SparkrankError(busy)
    try:
        handle = _opened(path, made)
        try:
            if not _take(path, handle):
                raise SparkrankError(busy)
            yield Lock(path, handle)
        finally:
            os.close(handle)
    finally:
        with _guard:
            _held.discard(path)


def is_locked(path: Path) -> bool:
    """Whether a run of this or another process holds the lock ``path``."""
    with _guard:
        if path in _held:
            return True
        if not path.is_file() or path.is_symlink():
            return False
        handle = _open(path, os.O_RDWR)
        try:
            return not _take(path, handle)
        finally:
            os.close(handle)


def remove_lock(path: Path) -> None:
    """Remove the lock ``path``, unless it is something else: no run has ever written into one."""
    with suppress(FileNotFoundError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            path.unlink()


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
    """Open the lock, which is never written: no link is followed, and nothing is cut off."""
    if path.is_symlink():
        raise SparkrankError(
            f"the lock {shorten(path)} is a link: move it away or choose another folder for the tables"
        )
    with writing_errors(f"the lock {path}"):
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _take(path: Path, handle: int) -> bool:
    """Take the lock unless another run has it, or a failed run that had it has removed it."""
    with writing_errors(f"the lock {path}", "taken"):
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(path.lstat(), os.fstat(handle))
        except (BlockingIOError, PermissionError, FileNotFoundError):  # POSIX leaves open which of the first two
            return False
