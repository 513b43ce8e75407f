"""The packed result of buckets on Spark, and how the results of all buckets come together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank import checks
from sparkrank.bucket import BucketResult
from sparkrank.engine.cuts import apart, sample
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.ranges import ExactDay
from sparkrank.engine.result import Solved
from sparkrank.engine.stretches import exact_metrics
from sparkrank.metrics import Plan
from sparkrank.ranked import GROUP_COUNTS, MODEL
from sparkrank.states import Partials

# A file of the group table: 20 MB with ten metrics. A task that unpacks and writes it takes a second.
GROUP_FILE_ROWS = 250_000
FAN_IN = 64  # packed states that one task, and at last the driver, merges
# Exact blocks of a day with at most this many scored rows are merged by the driver: 30 MB at most.
SHORT_WAY_ROWS = 2_000_000
_COLUMNS = ("states", "groups", "blocks", "sample")
PACKED_TYPE = T.StructType([T.StructField(name, T.BinaryType()) for name in _COLUMNS])
PACKED_SCHEMA = pa.schema({name: pa.binary() for name in _COLUMNS})
_REDUCED_TYPE = T.StructType([T.StructField(name, T.BinaryType()) for name in ("states", "names")])
_REDUCED_SCHEMA = pa.schema({"states": pa.binary(), "names": pa.binary()})
_NAMES = "/"  # between the names of files, none of which has it
Packed: TypeAlias = dict[str, bytes | None]


def gather(
    packed: DataFrame, parts: int, plan: Plan, group_schema: T.StructType | None, files: GroupFiles | None
) -> Solved:
    """The results of all buckets, from rows of :data:`PACKED_SCHEMA` of which ``parts`` have states.

    ``group_schema`` asks for the group table, as a DataFrame unless its solvers have written it to ``files``.
    """
    streams = group_schema is not None and files is None
    exact = bool(exact_metrics(plan))
    # rows of a bucket or a task; the states, the blocks and the group table are read off the same pass
    kept = packed.persist() if streams or exact else packed
    names = F.col("groups") if files is not None else F.lit(None).cast("binary")
    try:
        # otherwise the rows hold nothing else, and Spark has one step less to plan
        partials, written = _reduced(kept.select("states", names) if streams or exact else packed, parts)
        solved = Solved(partials, None, release=kept.unpersist) if streams or exact else Solved(partials, None)
        if exact:
            solved = _with_exact_blocks(solved, kept, parts, plan)
    except BaseException:  # an interrupt too, after which a notebook goes on
        kept.unpersist()
        raise
    if files is not None:
        files.keep(written)
    if group_schema is None or files is not None:
        return solved
    count = math.ceil(group_rows(partials) / GROUP_FILE_ROWS)
    groups = kept.select("groups").coalesce(max(1, count)).mapInArrow(_unpack_groups, group_schema)
    return replace(solved, groups=groups)


def _with_exact_blocks(solved: Solved, kept: DataFrame, parts: int, plan: Plan) -> Solved:
    """``solved`` with the exact blocks of the day: merged here, or where they lie if there may be many.

    Where it fails, what ``kept`` holds is left to the caller.
    """
    scored = sum(count for (check, _), count in solved.partials.counts.items() if check == checks.SCORED_ROWS)
    if scored * len(exact_metrics(plan)) * (1 + len(plan.slices)) <= SHORT_WAY_ROWS:
        blocks = kept.where("blocks is not null").select("blocks", F.lit(None).cast("binary"))
        return replace(solved, partials=Partials.merged([solved.partials, _reduced(blocks, parts)[0]]))
    day = ExactDay(kept, plan)

    def release() -> None:
        day.release()
        solved.release()

    try:
        return replace(solved, exact=day.solved(), release=release)
    except BaseException:
        day.release()
        raise


def group_schema(keys: Mapping[str, T.DataType], plan: Plan) -> T.StructType:
    """The schema of the group table: model, the group key's columns, counts, and a column for each metric."""
    return T.StructType(
        [
            T.StructField(MODEL, T.StringType()),
            *(T.StructField(column, kind) for column, kind in keys.items()),
            *(T.StructField(name, T.LongType()) for name in GROUP_COUNTS),
            *(T.StructField(str(metric), T.DoubleType()) for metric, _ in plan.group_metrics),
        ]
    )


def group_rows(partials: Partials) -> int:
    """The rows of the group table: every group once for each model."""
    models = {model for check, model in partials.counts if check == checks.SCORED_ROWS}
    return partials.counts.get((checks.GROUPS, ""), 0) * len(models)


def _reduced(packed: DataFrame, parts: int) -> tuple[Partials, set[str]]:
    """The states of all buckets together, and the names of all files of the group table, from rows of the two.

    The states are merged in tasks of :data:`FAN_IN` until the driver can merge the rest.
    """
    while parts > FAN_IN:
        parts = math.ceil(parts / FAN_IN)
        # by the task that made them, so that states made again by another task's loss go the same way
        packed = packed.withColumn("task", F.spark_partition_id()).repartition(parts, "task")
        packed = packed.mapInArrow(_merge, _REDUCED_TYPE)
    return _merged(packed.toArrow().to_batches())


def packed_results(results: Iterable[BucketResult], files: GroupFiles | None) -> Iterator[Packed]:
    """The results of a task's buckets as rows of :data:`PACKED_SCHEMA`, the states of all of them merged.

    The rows of the group table are written to ``files``, whose names travel, or travel themselves as Arrow streams.
    Exact blocks travel apart from the other states, with a sample of them.
    """
    partials: list[Partials] = []
    blocks: list[Packed] = []

    def groups() -> Iterator[pa.Table]:
        for result in results:
            states, exact = apart(result.partials)
            partials.append(states)
            if exact is not None:
                blocks.append(_row(blocks=exact.pack(), sample=sample(exact)))
            if result.groups is not None:
                yield result.groups

    names: set[str] = set()
    if files is not None:
        names.update(files.write(groups()))
    else:
        for table in groups():
            yield _row(groups=_stream(table))
    yield from blocks
    yield _row(states=Partials.merged(partials).pack(), groups=_NAMES.join(sorted(names)).encode() or None)


def _row(**values: bytes | None) -> Packed:
    return {name: values.get(name) for name in _COLUMNS}


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _unpack_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            if packed.is_valid and len(packed.as_buffer()):
                yield from pa.ipc.open_stream(packed.as_buffer())


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    partials, names = _merged(batches)
    yield pa.RecordBatch.from_pylist(
        [{"states": partials.pack(), "names": _NAMES.join(sorted(names)).encode()}], _REDUCED_SCHEMA
    )


def _merged(batches: Iterable[pa.RecordBatch]) -> tuple[Partials, set[str]]:
    """All states together, and all names of files."""
    states: list[Partials] = []
    names: set[str] = set()
    for batch in batches:
        states += [Partials.unpack(each.as_buffer()) for each in batch.column(0).drop_null()]
        for joined in batch.column(1).drop_null().to_pylist():
            names.update(filter(None, joined.decode().split(_NAMES)))
    return Partials.merged(states), names
