"""What the Spark lanes share: the packed result of a bucket, and how results of all buckets come together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank import checks
from sparkrank.bucket import GROUP_COUNTS, MODEL, BucketResult
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.result import Solved
from sparkrank.metrics import Plan
from sparkrank.states import Partials

# A file of the group table: 20 MB with ten metrics. A task that unpacks and writes it takes a second.
GROUP_FILE_ROWS = 250_000
FAN_IN = 64  # packed states that one task, and at last the driver, merges
PACKED_TYPE = "states binary, groups binary"
PACKED_SCHEMA = pa.schema({"states": pa.binary(), "groups": pa.binary()})
_NAMES = "/"  # between the names of files, none of which has it
Packed: TypeAlias = dict[str, bytes | None]


def gather(packed: DataFrame, parts: int, group_schema: T.StructType | None, files: GroupFiles | None) -> Solved:
    """The results of all buckets, from ``parts`` rows (states, groups).

    ``group_schema`` asks for the group table, as a DataFrame unless its solvers have written it to ``files``.
    """
    if group_schema is None:
        return Solved(_reduced(packed.select("states", F.lit(None).cast("binary")), parts)[0], None)
    if files is not None:
        partials, names = _reduced(packed, parts)
        files.keep(names)
        return Solved(partials, None)
    kept = packed.persist()  # a row per bucket; the states and the group table are read off the same pass
    partials, _ = _reduced(kept.select("states", F.lit(None).cast("binary")), parts)
    count = math.ceil(group_rows(partials) / GROUP_FILE_ROWS)
    groups = kept.select("groups").coalesce(max(1, count)).mapInArrow(_unpack_groups, group_schema)
    return Solved(partials, groups, kept.unpersist)


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
    """The states of all buckets together, and the names of all files of the group table.

    The states are merged in tasks of :data:`FAN_IN` until the driver can merge the rest.
    """
    while parts > FAN_IN:
        parts = math.ceil(parts / FAN_IN)
        packed = packed.repartition(parts).mapInArrow(_merge, PACKED_TYPE)
    return _merged(packed.toArrow().to_batches())


def packed_results(results: Iterable[BucketResult], files: GroupFiles | None) -> Iterator[Packed]:
    """The results of a task's buckets as rows of :data:`PACKED_SCHEMA`, the states of all of them merged.

    The rows of the group table are written to ``files``, whose names travel, or travel themselves as Arrow streams.
    """
    partials: list[Partials] = []

    def groups() -> Iterator[pa.Table]:
        for result in results:
            partials.append(result.partials)
            if result.groups is not None:
                yield result.groups

    names: set[str] = set()
    if files is not None:
        names.update(files.write(groups()))
    else:
        for table in groups():
            yield {"states": None, "groups": _stream(table)}
    yield {"states": Partials.merged(partials).pack(), "groups": _NAMES.join(sorted(names)).encode()}


def packed_result(result: BucketResult, files: GroupFiles | None) -> Packed:
    """The result of one bucket as one row of :data:`PACKED_SCHEMA`."""
    *groups, states = packed_results([result], files)
    return {"states": states["states"], "groups": groups[0]["groups"]} if groups else states


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
        [{"states": partials.pack(), "groups": _NAMES.join(sorted(names)).encode()}], PACKED_SCHEMA
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
