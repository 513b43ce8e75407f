"""Memory that a worker frees and soon asks for again stays with it.

A bucket's arrays are a few megabytes each. glibc hands blocks of that size back to the operating system when they are
freed and maps new pages for the next ones, and Arrow's own allocators do so after some milliseconds. On virtual
machines a new page costs up to 3 µs; for the workers of the scan lane that was a fifth of their processor time
(docs/performance.md). Elsewhere than on glibc nothing is changed.
"""

from __future__ import annotations

import ctypes
import functools
import platform

import pyarrow as pa

# Parameters of glibc's mallopt (malloc.h). Blocks up to the largest size that it takes come from the heap, which grows
# by 64 MB and shrinks when a gigabyte is free.
_SETTINGS = {
    -1: 1 << 30,  # M_TRIM_THRESHOLD
    -2: 64 << 20,  # M_TOP_PAD
    -3: 32 << 20,  # M_MMAP_THRESHOLD
}


@functools.cache
def keep_freed_memory() -> None:
    """Let this process, a worker of Spark's, keep the memory that it frees."""
    if platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL(None)
    for parameter, value in _SETTINGS.items():
        libc.mallopt(parameter, value)
    pa.set_memory_pool(pa.system_memory_pool())
