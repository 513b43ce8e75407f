"""Functions that make the process keep freed memory or return it to the system.

numpy allocates memory with glibc's allocator, and Arrow with its own.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import platform
import resource
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.base.errors import OutOfMemoryError
from sparkrank.numeric.free_memory import free_memory, resident_bytes

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

# Workers keep less than this with the usual metrics. If they keep more and return it, the next task takes little time
# to request the pages again, compared with its other work.
KEPT_BYTES = 512 << 20


def keep_freed_memory() -> None:
    """Make this process keep freed memory, because new pages are expensive on virtual machines.

    The process should have no other purpose. Arrow then uses glibc's allocator too, unless the environment makes
    Arrow's own allocator keep freed memory. That allocator is better, because it shrinks blocks without copies.
    """
    if libc := _glibc():
        for parameter, value in _MALLOPT.items():
            libc.mallopt(parameter, value)
        if not _arrow_keeps_freed_memory():
            pa.set_memory_pool(pa.system_memory_pool())


def _arrow_keeps_freed_memory() -> bool:
    """Return whether Arrow's own allocator keeps freed memory for at least a minute.

    A delay below 0 means for ever.
    """
    delay = os.environ.get(_DELAY, "")
    is_long = delay.removeprefix("-").isdigit() and not 0 <= int(delay) < _LONG
    return is_long and pa.default_memory_pool().backend_name == _OWN


def give_back_freed_memory() -> None:
    """Return freed memory to the system, including memory between used blocks in the heaps of several threads."""
    pa.default_memory_pool().release_unused()
    if libc := _glibc():
        libc.malloc_trim(0)


def give_back_if_large() -> None:
    """Return freed memory to the system if the process keeps more than :data:`KEPT_BYTES`."""
    if resident_bytes() > KEPT_BYTES:
        give_back_freed_memory()


def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


def room_for(shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return an array with arbitrary values in memory of Arrow, which keeps freed memory from bucket to bucket.

    glibc returns large blocks to the system at once, so that the next block costs new pages.
    """
    return np.frombuffer(pa.allocate_buffer(math.prod(shape) * kind.itemsize), kind).reshape(shape)


@functools.cache
def is_limited() -> bool:
    """Return whether this process has a memory limit, under which Arrow's scanner hangs if an allocation fails."""
    return any(
        resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    )


LEAST_FREE = 256 << 20  # bytes; with less, the modules that compute intervals cannot be loaded


def prepare_for_limit() -> None:
    """Load SciPy now if memory is limited, because OpenBLAS would later retry a failed allocation for ever.

    Raise :class:`OutOfMemoryError` if fewer than :data:`LEAST_FREE` bytes are free.
    """
    free = free_memory()
    if free is not None and free < LEAST_FREE:
        raise OutOfMemoryError(
            f"the limits of the container, machine or shell (ulimit -v) leave the process {free >> 20} MiB, "
            f"but it needs {LEAST_FREE >> 20} MiB at least"
        )
    if is_limited():
        import scipy.special  # noqa: F401
