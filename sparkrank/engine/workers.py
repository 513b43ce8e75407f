"""What a Python worker of Spark's does once, when its first task begins, so that the tasks after it are cheap."""

from __future__ import annotations

import ctypes
import functools
import gc
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
def settle() -> None:
    """Let this process, a worker of Spark's, keep the memory that it frees and the modules that it has loaded.

    Spark's daemon collects garbage after every task. That looks through all that was ever loaded, 48 ms with numpy,
    pandas and pyarrow, which was a third of the processor time of the scan lane's workers. What is there when the first
    task begins stays, and is not looked through again.
    """
    gc.freeze()
    _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Memory that is freed and soon asked for again stays here.

    A bucket's arrays are a few megabytes each. glibc hands blocks of that size back to the operating system when they
    are freed and maps new pages for the next ones, and Arrow's own allocators do so after some milliseconds. On virtual
    machines a new page costs up to 3 µs; for the workers of the scan lane that was a fifth of their processor time.
    Elsewhere than on glibc nothing is changed.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL(None)
    for parameter, value in _SETTINGS.items():
        libc.mallopt(parameter, value)
    pa.set_memory_pool(pa.system_memory_pool())
