"""What the Spark lanes share: the packed result of a bucket, and how results of all buckets come together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sparkrank import checks
from sparkrank.bucket import GROUP_COUNTS, MODEL, BucketResult
from sparkrank.engine.cuts import apart, sample
from sparkrank.engine.ranges import ExactDay
from sparkrank.engine.result import Solved
from sparkrank.engine.stretches import exact_metrics
from sparkrank.metrics import Plan
from sparkrank.states import Partials

# A file of the group table: 20 MB with ten metrics. A task that unpacks and writes it takes a second.
GROUP_FILE_ROWS = 250_000
FAN_IN = 64  # packed states that one task, and at last the driver, merges
# Exact blocks of a day with at most this many scored rows are merged by the driver: 30 MB at most.
SHORT_WAY_ROWS = 2_000_000
PACKED_TYPE = "states binary, groups binary, blocks binary, sample binary"
PACKED_SCHEMA = pa.schema({name: pa.binary() for name in ("states", "groups", "blocks", "sample")})
_STATES_TYPE = "states binary"
_STATES_SCHEMA = pa.schema({"states": pa.binary()})


def gather(packed: DataFrame, buckets: int, plan: Plan, group_schema: T.StructType | None) -> Solved:
    """The results of all buckets, from a row of :data:`PACKED_SCHEMA` per bucket; ``group_schema`` asks for the group
    table.
    """
    exact = bool(exact_metrics(plan))
    if group_schema is None and not exact:
        return Solved(reduce_states(packed, buckets), None)
    kept = packed.persist()  # a row per bucket; the states, the blocks and the group table are read off the same pass
    solved = Solved(reduce_states(kept, buckets), None, release=kept.unpersist)
    if exact:
        solved = _with_exact_blocks(solved, kept, buckets, plan)
    if group_schema is None:
        return solved
    files = math.ceil(group_rows(solved.partials) / GROUP_FILE_ROWS)
    groups = kept.select("groups").coalesce(max(1, files)).mapInArrow(_unpack_groups, group_schema)
    return replace(solved, groups=groups)


def _with_exact_blocks(solved: Solved, kept: DataFrame, buckets: int, plan: Plan) -> Solved:
    """``solved`` with the exact blocks of the day: merged here, or where they lie if there may be many."""
    scored = sum(count for (check, _), count in solved.partials.counts.items() if check == checks.SCORED_ROWS)
    if scored * len(exact_metrics(plan)) <= SHORT_WAY_ROWS:
        blocks = reduce_states(kept.where("blocks is not null"), buckets, "blocks")
        return replace(solved, partials=Partials.merged([solved.partials, blocks]))
    day = ExactDay(kept, plan)

    def release() -> None:
        day.release()
        solved.release()

    try:
        measured, sketches = day.measured()
    except Exception:
        release()
        raise
    return replace(solved, measured=measured, exact_blocks=day.blocks(), sketches=sketches, release=release)


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


def reduce_states(packed: DataFrame, buckets: int, column: str = "states") -> Partials:
    """The states of all buckets together: merged in tasks of :data:`FAN_IN` until the driver can merge the rest."""
    states = packed.selectExpr(f"{column} as states")
    while buckets > FAN_IN:
        buckets = math.ceil(buckets / FAN_IN)
        states = states.repartition(buckets).mapInArrow(_merge_states, _STATES_TYPE)
    rows = states.toArrow().column("states")
    return Partials.merged(Partials.unpack(each.as_buffer()) for each in rows)


def pack(result: BucketResult) -> dict[str, bytes | None]:
    """The result of a bucket as a row of :data:`PACKED_SCHEMA`.

    The group table's rows travel as an Arrow stream, exact blocks apart from the other states.
    """
    groups = None
    if result.groups is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, result.groups.schema) as writer:
            writer.write_table(result.groups)
        groups = sink.getvalue().to_pybytes()
    states, exact = apart(result.partials)
    return {
        "states": states.pack(),
        "groups": groups,
        "blocks": None if exact is None else exact.pack(),
        "sample": None if exact is None else sample(exact),
    }


def _unpack_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())


def _merge_states(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = (each.as_buffer() for batch in batches for each in batch.column(0))
    merged = Partials.merged(Partials.unpack(row) for row in rows)
    yield pa.RecordBatch.from_pylist([{"states": merged.pack()}], _STATES_SCHEMA)
