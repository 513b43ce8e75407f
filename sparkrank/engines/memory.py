"""What becomes of memory that is freed: kept for what is asked for next, or given back to the operating system.

Arrays of numpy come from the C library, tables from Arrow's own allocator. Where the C library is not glibc, it is left
as it is.
"""

from __future__ import annotations

import ctypes
import os
import platform

import pyarrow as pa

# Parameters of glibc's mallopt (malloc.h). Blocks up to the largest size that it takes come from the heap, which grows
# by 64 MB and shrinks when a gigabyte is free.
_SETTINGS = {
    -1: 1 << 30,  # M_TRIM_THRESHOLD
    -2: 64 << 20,  # M_TOP_PAD
    -3: 32 << 20,  # M_MMAP_THRESHOLD
}
# Arrow's own allocator and, in the environment, after how many milliseconds it gives back what was freed. It reads that
# when it is loaded, and cannot be told later.
_OWN, _DELAY, _NEVER = "mimalloc", "MIMALLOC_PURGE_DELAY", "-1"


def keep_freed_memory() -> None:
    """Memory that is freed and soon asked for again stays in this process: for one that does nothing else.

    A bucket's arrays are a few megabytes each. glibc hands blocks of that size back to the operating system when they
    are freed and maps new pages for the next ones, and Arrow's own allocators do so after some milliseconds. On virtual
    machines a new page costs up to 3 µs; for the workers of the scan lane that was a fifth of their processor time.

    Arrow allocates from glibc then. Only where the environment tells Arrow's own allocator to keep what is freed, it
    stays: it makes a block smaller where it stands, which Arrow does with every column it reads, and glibc copies it.
    """
    if libc := _glibc():
        for parameter, value in _SETTINGS.items():
            libc.mallopt(parameter, value)
        if not (pa.default_memory_pool().backend_name == _OWN and os.environ.get(_DELAY) == _NEVER):
            pa.set_memory_pool(pa.system_memory_pool())


def give_back_freed_memory() -> None:
    """Memory that is free in this process goes back to the operating system (20 ms after 100 million rows).

    Heaps of several threads keep what lies between blocks in use. Each local evaluation of 100 million rows in one
    process left up to 0.1 GiB more there than the one before: the fourth peaked at 1.05 GiB, and with this in between
    at 0.85 like the first.
    """
    pa.default_memory_pool().release_unused()
    if libc := _glibc():
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
