"""A contender that needs no Spark, in a process of its own, by whatever Python has its tool.

So its threads, caches and memory are its own: they neither slow the others down nor count as theirs. The two ends talk
in lines of JSON: the name of a method, and what it returned.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from benchmarks.contenders import ALONE, LIST_LIBRARIES, PLAIN_ALONE, Contender, Value, Values, Work

ROOT = Path(__file__).parents[1]
EVERY = {**ALONE, **LIST_LIBRARIES, **PLAIN_ALONE}

# Every process keeps the memory that it frees, as Spark's workers do by conf/spark-defaults.conf and as DuckDB does by
# itself: allocators give it back while others have their turns, and get new pages in their own. With 20 million rows
# sparkrank takes 12 % less, Polars 11 %, and DuckDB as long where its allocator_flush_threshold is beyond all memory.
KEPT_MEMORY = {
    "MIMALLOC_PURGE_DELAY": "600000",  # Arrow's allocator, for ten minutes
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:600000,muzzy_decay_ms:600000",  # that of Polars
}


class OwnProcess:
    """The contender ``name`` elsewhere. Also a context manager, which ends the process."""

    def __init__(self, name: str, work: Work) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [str(EVERY[name].python), "-m", "benchmarks.process", name, work.to_json()],
            cwd=ROOT,
            env={**os.environ, **KEPT_MEMORY},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        table = self._call("table")
        self.table = None if table is None else Path(table)

    def __enter__(self) -> OwnProcess:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # the other end leaves when there is nothing more to read

    def prepare(self) -> None:
        self._call("prepare")

    def run(self) -> None:
        self._call("run")

    def values(self) -> Values:
        found = self._call("values")
        return {model: {metric: Value(*each) for metric, each in values.items()} for model, values in found.items()}

    def processes(self) -> list[int]:
        return [self._process.pid]

    def _call(self, method: str) -> Any:
        """What the method returned there. What it raised, it has printed; here it is one more :class:`RuntimeError`."""
        assert self._process.stdin is not None  # noqa: S101 - for mypy
        assert self._process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            print(method, file=self._process.stdin, flush=True)
        reply = self._process.stdout.readline()
        if not reply:
            raise RuntimeError(f"{self.name} failed at {method} (exit code {self._process.wait()})")
        return json.loads(reply)


def serve(contender: Contender, requests: Iterable[str], replies: IO[str]) -> None:
    """Do what is asked until nothing more is."""
    for line in requests:
        method = line.strip()
        returned = contender.table if method == "table" else getattr(contender, method)()
        print(json.dumps(returned, default=str), file=replies, flush=True)


def main() -> None:
    name, described = sys.argv[1:]
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed here is no reply
    serve(EVERY[name].make(Work.from_json(described)), sys.stdin, replies)


if __name__ == "__main__":
    main()
