"""A session in which one evaluation follows the other, and what the process holds on the way; run as a program."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr

EVALUATIONS = 200
METRICS = ["ndcg@10", "rr", "auc(exact)", "logloss", "median(ap)"]


def log() -> pa.Table:
    random = np.random.default_rng(1)
    user, score, label = random.integers(0, 300, 6_000), random.random(6_000), random.random(6_000) < 0.2
    return pa.table({"u": user, "s": score, "y": label.astype(np.int32)})


def evaluate(rows: Any, **more: Any) -> float:
    return sr.evaluate(rows, METRICS, group="u", score="s", label="y", buckets=4, **more)["ndcg@10"]


def held() -> dict[str, float]:
    """What the process holds: memory in MiB, descriptors, threads, and files in the folder for temporary ones."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    resident = int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "memory": resident / 2**20,
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "files": len(list(Path(tempfile.gettempdir()).iterdir())),
    }


def in_fork(rows: Any) -> float:
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.write(theirs, repr(evaluate(rows)).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        found = float(answer.read())
    os.waitpid(child, 0)
    return found


def run(folder: Path) -> dict[str, Any]:
    path, table = f"{folder}/log.parquet", log()
    pq.write_table(table, path)

    async def awaited() -> list[float]:
        return await asyncio.gather(*(asyncio.to_thread(evaluate, path) for _ in range(8)))

    def threaded() -> list[float]:
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(evaluate, [path, table] * 4))

    ways: list[Callable[[], list[float]]] = [
        lambda: [evaluate(path) for _ in range(8)],
        lambda: [evaluate(table) for _ in range(4)] + [evaluate(path, row_memory=0) for _ in range(4)],
        threaded,
        lambda: asyncio.run(awaited()),
        lambda: [in_fork(path), *(evaluate(path, group_table=False) for _ in range(7))],
    ]
    values: set[float] = set()
    states = []
    for number in range(EVALUATIONS // 8):
        values.update(ways[number % len(ways)]())
        if number in (EVALUATIONS // 16 - 1, EVALUATIONS // 8 - 1):
            states.append(held())
    return {"states": states, "values": sorted(values)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]))))
