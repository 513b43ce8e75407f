"""Memory that is freed and soon asked for again stays with the process.

A bucket's arrays are a few megabytes each. glibc hands blocks of that size back to the operating system when they are
freed and maps new pages for the next ones, and Arrow's own allocators do so too after some milliseconds. On virtual
machines a new page costs up to 3 µs: of the processor time of an evaluation, more than half (docs/performance.md).
Elsewhere than on glibc nothing is changed.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

# The parameters of glibc's mallopt (malloc.h), and their values there by default.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_DEFAULTS = {_TRIM_THRESHOLD: 128 << 10, _TOP_PAD: 0, _MMAP_THRESHOLD: 128 << 10}
# Blocks up to the largest size that mallopt takes come from the heap, which grows by 64 MB and does not shrink.
_KEPT = {_TRIM_THRESHOLD: 1 << 30, _TOP_PAD: 64 << 20, _MMAP_THRESHOLD: 32 << 20}


@functools.cache
def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees: for workers, whose memory ends with them."""
    libc = _glibc()
    if libc is not None:
        _set(libc, _KEPT)
        pa.set_memory_pool(pa.system_memory_pool())


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed memory inside the block and give it back after it: for a process that is somebody else's."""
    libc = _glibc()
    if libc is None:
        yield
        return
    pool = pa.default_memory_pool()
    _set(libc, _KEPT)
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(pool)
        _set(libc, _DEFAULTS)
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if platform.libc_ver()[0] != "glibc":
        return None
    return ctypes.CDLL(None)


def _set(libc: ctypes.CDLL, values: dict[int, int]) -> None:
    for parameter, value in values.items():
        libc.mallopt(parameter, value)
