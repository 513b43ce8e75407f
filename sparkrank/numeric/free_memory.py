"""Checks of free memory before large arrays are made, because the system kills a container above its limit."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

CGROUPS, PROCESS, MACHINE = Path("/sys/fs/cgroup"), Path("/proc/self"), Path("/proc/meminfo")


# Arrays of fewer bytes are made without a check, which would take a tenth of a millisecond.
LARGE_BYTES = 48 << 20
_UNLIMITED = 1 << 62  # bytes: a group of version 1 without a limit has about 2^63


class NotEnoughMemoryError(MemoryError):
    """The error of a step that needs more memory than is free. The caller makes a longer sentence of the message."""


def ensure_free(needed: int, what: str, remedy: str = "") -> None:
    """Raise :class:`NotEnoughMemoryError` if fewer than ``needed`` bytes are free. The message begins with ``what``."""
    free = None if needed < LARGE_BYTES else free_memory()
    if free is not None and free < needed:
        raise NotEnoughMemoryError(f"{what} alone takes {needed >> 20:,} MiB and {free >> 20:,} MiB are free{remedy}")


def free_memory() -> int | None:
    """Return the bytes that this process may still allocate under all limits; None if the system reports none."""
    known = [left for left in (addresses_left(), *_left_in_containers(), _left_on_machine()) if left is not None]
    return max(0, min(known)) if known else None


def addresses_left() -> int | None:
    """Return the bytes of address space left under the process's limit (``ulimit -v``), or None without a limit."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    pages = _number(PROCESS / "statm")
    return None if pages is None else limit - pages * resource.getpagesize()


def resident_bytes() -> int:
    pages = _text(PROCESS / "statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0


def _left_in_containers() -> Iterator[int | None]:
    """Yield the free bytes of each control group (v1 or v2) of this process; None for one without a known limit.

    Unused file pages count as free.
    """
    for line in _text(PROCESS / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        names = ("memory.max", "memory.current", "inactive_file")
        root = CGROUPS
        if controllers:
            if "memory" not in controllers.split(","):
                continue
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            root /= "memory"
        here = root / path.lstrip("/")
        for folder in (here, *here.parents):
            if not folder.is_relative_to(root):
                break
            limit = _number(folder / names[0])
            if limit is None or limit >= _UNLIMITED:
                continue
            used = _number(folder / names[1])
            if used is not None:
                files = re.search(rf"^{names[2]} (\d+)$", _text(folder / "memory.stat"), re.MULTILINE)
                yield limit - used + (int(files[1]) if files else 0)


def _left_on_machine() -> int | None:
    line = re.search(r"^MemAvailable: +(\d+) kB$", _text(MACHINE), re.MULTILINE)
    return int(line[1]) << 10 if line else None


def _number(file: Path) -> int | None:
    """Return the number at the start of ``file``, or None if the file is missing or begins with a word such as max."""
    first = _text(file).split(maxsplit=1)
    return int(first[0]) if first and first[0].isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text("ascii")
    except OSError:
        return ""
