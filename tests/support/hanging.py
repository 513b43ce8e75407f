"""The command ``sparkrank`` in a process whose memory is limited, or in which reading hangs; run as a program."""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Iterator
from typing import Any

from sparkrank import cli
from sparkrank.sources import parquet


def hang(*_: Any) -> Iterator[Any]:
    """Wait for ever, as Arrow does for a thread of its own that found no memory."""
    sys.stdout.write("reading\n")
    sys.stdout.flush()
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
    yield


def limit(more: int) -> None:
    """Let this process have so many MiB more than it has now."""
    size = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10  # noqa: SIM115, PTH123
    resource.setrlimit(resource.RLIMIT_AS, (size + (more << 20),) * 2)


if __name__ == "__main__":
    how, *words = sys.argv[1:]
    if how == "hang":
        parquet.leaf_batches = hang
    else:
        import numpy  # noqa: F401, ICN001
        import pyarrow.dataset  # noqa: F401

        limit(int(how))
    cli.run(words)
