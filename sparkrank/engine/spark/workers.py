"""What a Python worker of Spark's does once, when its first task begins, so that the tasks after it are cheap."""

from __future__ import annotations

import functools
import gc
import os

from sparkrank.engine.allocators import keep_freed_memory


@functools.cache
def settle() -> None:
    """Let this process, a worker of Spark's, keep the memory that it frees and the modules that it has loaded.

    Spark's daemon collects garbage after every task. That looks through all that was ever loaded, 48 ms with numpy,
    pandas and pyarrow, which was a third of the processor time of the scan lane's workers. What is there when the first
    task begins stays, and is not looked through again.

    Spark may use the worker for the functions of others too. Where they must find it as it came, the environment of the
    executors says ``SPARKRANK_WORKER_TUNING=0``.
    """
    if os.environ.get("SPARKRANK_WORKER_TUNING") == "0":
        return
    gc.freeze()
    keep_freed_memory()
