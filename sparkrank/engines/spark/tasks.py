"""What a task of Spark does with the pieces of its buckets, and what leaves it: states, and files or rows of groups.

A worker settles once, when its first task begins, so that the tasks after it are cheap.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pyarrow as pa

from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.bucket.group_rows import with_plain_models
from sparkrank.engines.arrow.sizes import told_by_bytes
from sparkrank.engines.group_files import GroupFiles, Part
from sparkrank.engines.memory import keep_freed_memory
from sparkrank.engines.ranges import apart, sample
from sparkrank.engines.shuffle.packing import unpack_pieces
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from sparkrank.states.pickling import stream_of


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


RESULT_COLUMNS = ("states", "groups", "blocks", "sample")
Result: TypeAlias = dict[str, bytes | None]
_NAMES = "/"  # between the names of files, none of which has it


def solve_pieces(
    pieces: Iterable[tuple[int, pa.Buffer]], schema: pa.Schema, plan: Plan, files: GroupFiles | None
) -> Iterator[Result]:
    """The results of a task's buckets, from the bucket of each piece and the piece, some forty megabytes in all.

    ``schema`` is that of the rows that were cut. Python groups the pieces itself: they are few, and a grouping by Spark
    would sort and copy their bytes once more.
    """
    settle()
    by_bucket: dict[int, list[pa.Buffer]] = {}
    for bucket, piece in pieces:
        by_bucket.setdefault(bucket, []).append(piece)
    rows = ((bucket, unpack_pieces(by_bucket.pop(bucket), schema)) for bucket in sorted(by_bucket))
    with told_by_bytes():
        yield from packed_results(((bucket, evaluate_bucket(each, plan)) for bucket, each in rows), files)


def solve_tables(tables: Iterable[pa.Table], plan: Plan) -> Iterator[Result]:
    """The results of rows without a group, each of ``tables`` a bucket: they are solved where they are read."""
    settle()
    yield from packed_results(((number, evaluate_bucket(rows, plan)) for number, rows in enumerate(tables)), None)


def packed_results(results: Iterable[tuple[int, BucketResult]], files: GroupFiles | None) -> Iterator[Result]:
    """The results of a task's buckets as rows of :data:`RESULT_COLUMNS`, the states of all of them merged.

    The rows of the group table are written to ``files``, whose names travel, or travel themselves as Arrow streams.
    Exact blocks travel apart from the other states, with a sample of them.
    """
    partials: list[Partials] = []
    blocks: list[Result] = []

    def groups() -> Iterator[Part]:
        for bucket, result in results:
            states, exact = apart(result.partials)
            partials.append(states)
            if exact is not None:
                blocks.append(_row(blocks=exact.pack(), sample=sample(exact)))
            if result.groups is not None:
                yield Part(bucket, result.groups)

    names: set[str] = set()
    if files is not None:
        names.update(files.write(groups()))
    else:
        for part in groups():
            yield _row(groups=stream_of(with_plain_models(part.groups)).to_pybytes())
    yield from blocks
    yield _row(states=Partials.merged(partials).pack(), groups=joined_names(names) or None)


def _row(**values: bytes | None) -> Result:
    return {name: values.get(name) for name in RESULT_COLUMNS}


def joined_names(names: Iterable[str]) -> bytes:
    """Names of files as a task tells them."""
    return _NAMES.join(sorted(names)).encode()


def names_of(joined: bytes) -> list[str]:
    """The names that :func:`joined_names` put together."""
    return [name for name in joined.decode().split(_NAMES) if name]
