"""Settings for freed memory: the process keeps it for the next allocation, or returns it to the operating system.

Numpy's arrays come from the C library, and tables from Arrow's own allocator. A C library other than glibc is left as
it is.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform

import pyarrow as pa

from sparkrank.base.errors import SparkrankError
from sparkrank.numeric.free_memory import addresses_left, resident_bytes

# Parameters of glibc's mallopt (malloc.h). Blocks of up to 32 MB, the largest size that it accepts, come from the heap.
# The heap grows by 64 MB and shrinks when a gigabyte is free.
_MALLOPT = {
    -1: 1 << 30,  # M_TRIM_THRESHOLD
    -2: 64 << 20,  # M_TOP_PAD
    -3: 32 << 20,  # M_MMAP_THRESHOLD
}
# Arrow's own allocator, and the environment variable with the milliseconds after which it returns freed memory. The
# allocator reads the variable only when it is loaded.
_OWN, _DELAY, _LONG = "mimalloc", "MIMALLOC_PURGE_DELAY", 60_000

# A worker has less with the nightly set. Beyond, the pages that the next task has to ask for anew cost little beside
# what it does.
KEPT_BYTES = 512 << 20


def keep_freed_memory() -> None:
    """Keep freed memory in this process, which should do nothing else.

    The arrays of a bucket have a few megabytes each. glibc returns blocks of that size to the operating system when
    they are freed and maps new pages for the next ones. Arrow's own allocators do so after some milliseconds. On
    virtual machines, new pages cost a large share of the processor time.

    Arrow then allocates from glibc, unless the environment tells Arrow's own allocator to keep freed memory. That
    allocator shrinks a block in place, which Arrow does with every column that it reads, where glibc copies it.
    """
    if libc := _glibc():
        for parameter, value in _MALLOPT.items():
            libc.mallopt(parameter, value)
        if not _arrow_keeps_freed_memory():
            pa.set_memory_pool(pa.system_memory_pool())


def _arrow_keeps_freed_memory() -> bool:
    """Whether Arrow has its own allocator, which the environment tells to keep what is freed, for a minute at least.

    Below 0 is for ever, even where it is asked to give back what is free.
    """
    delay = os.environ.get(_DELAY, "")
    is_long = delay.removeprefix("-").isdigit() and not 0 <= int(delay) < _LONG
    return is_long and pa.default_memory_pool().backend_name == _OWN


def give_back_freed_memory() -> None:
    """Return the free memory of this process to the operating system.

    The heaps of several threads otherwise keep the memory between blocks in use, and the peak of a process grows with
    every large evaluation in it.
    """
    pa.default_memory_pool().release_unused()
    if libc := _glibc():
        libc.malloc_trim(0)


def give_back_if_large() -> None:
    """The same where the process has more than :data:`KEPT_BYTES`: the next task may need its memory for other things.

    A worker that has cut a split of many columns keeps what that took, and evaluates buckets in what is left.
    """
    if resident_bytes() > KEPT_BYTES:
        give_back_freed_memory()


def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


@functools.cache
def is_limited() -> bool:
    """Whether this process has a limit of its own on memory (``ulimit -v``), at which an allocation fails.

    Arrow's scanner of datasets hangs where one of its threads finds no memory. Row groups are then read one by one.
    """
    try:
        import resource
    except ImportError:  # where there is no such limit
        return False
    return any(
        resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    )


LEAST_FREE = 256 << 20  # bytes; less is not enough to load what computes intervals


def prepare_for_limit() -> None:
    """Under a limit, load now what would hang later: OpenBLAS asks for its memory again and again, for ever.

    Raises :class:`SparkrankError` where the limit leaves too little to begin with.
    """
    if not is_limited():
        return
    free = addresses_left()
    if free is not None and free < LEAST_FREE:
        raise SparkrankError(
            f"by its limit (ulimit -v) the process may take {free >> 20} MiB more, and it needs "
            f"{LEAST_FREE >> 20} at least"
        )
    import scipy.special  # noqa: F401
