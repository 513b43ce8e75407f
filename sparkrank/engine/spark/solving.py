"""What a task of Spark does with the pieces of its buckets, and what leaves it: states, and files or rows of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pyarrow as pa

from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.bucket.group_rows import with_plain_models
from sparkrank.engine.cuts import apart, sample
from sparkrank.engine.group_files import GroupFiles, Part
from sparkrank.engine.pieces.packing import Packed, unpack_pieces
from sparkrank.engine.reading.sizes import told_by_bytes
from sparkrank.engine.spark.workers import settle
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from sparkrank.states.pickled import stream_of

RESULT_COLUMNS = ("states", "groups", "blocks", "sample")
Result: TypeAlias = dict[str, bytes | None]
_NAMES = "/"  # between the names of files, none of which has it


def solve_pieces(
    pieces: Iterable[tuple[int, Packed]], schema: pa.Schema, plan: Plan, files: GroupFiles | None
) -> Iterator[Result]:
    """The results of a task's buckets, from the bucket of each piece and the piece, some forty megabytes in all.

    ``schema`` is that of the rows that were cut. Python groups the pieces itself: they are few, and a grouping by Spark
    would sort and copy their bytes once more.
    """
    settle()
    by_bucket: dict[int, list[Packed]] = {}
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
