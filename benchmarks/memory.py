"""Peak resident memory of the processes that do the work, from /proc. Elsewhere than on Linux there is none to tell."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

PROC = Path("/proc")
PERIOD = 0.1  # seconds; the kernel keeps the peak, so only a process that ends in between is missed


def pyspark_workers() -> list[int]:
    """The Python workers of this process's session, and the daemon that they fork from."""
    return [pid for pid in below(os.getpid()) if b"pyspark.daemon" in _read(pid, "cmdline")]


def java_children() -> list[int]:
    """The JVM that this process started: the driver of a classic session, not what that one starts."""
    return [pid for pid in _children().get(os.getpid(), ()) if _read(pid, "comm").strip() == b"java"]


def java_peak() -> int:
    """The most that the Java process of this process's session has held since it started, in bytes; 0 without one.

    It takes its whole heap at the start, so there is no peak of a single contender to tell.
    """
    java = (pid for pid in below(os.getpid()) if _read(pid, "comm").strip() == b"java")
    return max(map(_peak, java), default=0)


@contextlib.contextmanager
def peak_of(processes: Callable[[], list[int]]) -> Iterator[list[int]]:
    """While the block runs, watch ``processes()``; at its end the list holds the highest peak of any, in bytes.

    The list stays empty where no process was seen.
    """
    peak: list[int] = []
    over = threading.Event()

    def look() -> None:
        while True:
            ended = over.wait(PERIOD)
            peaks = [*peak, *(bytes_ for pid in processes() if (bytes_ := _peak(pid)))]
            peak[:] = [max(peaks)] if peaks else []
            if ended:
                return

    for pid in processes():
        _forget_peak(pid)
    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield peak
    finally:
        over.set()
        watch.join()


def below(root: int) -> list[int]:
    """The processes started by ``root``, and by those, and so on."""
    children = _children()
    found, new = [], [root]
    while new:
        new = [child for parent in new for child in children.get(parent, ())]
        found += new
    return found


def _children() -> dict[int, list[int]]:
    """The processes that each process started."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        # The second field is the program's name in brackets and may hold spaces; the parent is the second after it.
        fields = _read(int(entry.name), "stat").rpartition(b")")[2].split()
        if fields:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    return children


def _peak(pid: int) -> int:
    return _status(pid, b"VmHWM:")


def resident(pid: int) -> int:
    """The memory that a process holds now, in bytes; 0 where it has ended."""
    return _status(pid, b"VmRSS:")


def command_of(pid: int) -> bytes:
    """The command line of a process, its words divided by zero bytes."""
    return _read(pid, "cmdline")


def _status(pid: int, name: bytes) -> int:
    for line in _read(pid, "status").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _forget_peak(pid: int) -> None:
    """Set the peak of a process back to what it holds now (proc(5), clear_refs)."""
    with contextlib.suppress(OSError):
        (PROC / str(pid) / "clear_refs").write_bytes(b"5")


def _read(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:  # it has ended
        return b""
