"""The result of all tasks together: the states of the day, its exact bins, and the group table."""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from sparkrank.base import checks
from sparkrank.base.errors import InputError, OutOfMemoryError
from sparkrank.bucket.group_rows import GROUP_COUNTS, MODEL
from sparkrank.bucket.impressions import key_column
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import PassResult, Refusal
from sparkrank.engines.score_ranges import exact_metrics
from sparkrank.engines.spark.ranges import READINGS, ExactDay
from sparkrank.engines.spark.session_features import why_not_cached
from sparkrank.engines.spark.tasks import RESULT_COLUMNS, joined_names, names_of
from sparkrank.inputs.buckets import fan_in
from sparkrank.metrics import Plan
from sparkrank.states import Partials

# The rows of a file of the group table: 20 MB with ten metrics, which a task unpacks and writes in a second.
GROUP_FILE_ROWS = 250_000
# The driver merges the exact bins of a day with at most this many scored rows: 30 MB at most.
MAX_DRIVER_ROWS = 2_000_000
RESULT_TYPE = T.StructType([T.StructField(name, T.BinaryType()) for name in RESULT_COLUMNS])
RESULT_SCHEMA = pa.schema({name: pa.binary() for name in RESULT_COLUMNS})
_REDUCED_TYPE = T.StructType([T.StructField(name, T.BinaryType()) for name in ("states", "names")])
_REDUCED_SCHEMA = pa.schema({"states": pa.binary(), "names": pa.binary()})
States: TypeAlias = tuple[bytes | pa.Buffer | None, bytes | None]  # packed states, and names of files


def read_at_once(parts: int, plan: Plan, files: GroupFiles | None) -> bool:
    """Return whether the driver can merge the tasks' results at once: ``parts`` rows of only states and file names."""
    return parts <= fan_in(plan) and not exact_metrics(plan) and (files is not None or not plan.group_table)


def gather_states(rows: Iterable[States], files: GroupFiles | None) -> PassResult:
    """Return the result of all buckets, with the merged states of all ``rows``.

    Call this only if :func:`read_at_once` is true.
    """
    return PassResult(_kept(*merged_states(rows), files), None)


def gather(
    results: DataFrame, parts: int, plan: Plan, group_schema: T.StructType | None, files: GroupFiles | None
) -> PassResult:
    """Return the result of all buckets from the tasks' ``results``, which are rows of type :data:`RESULT_TYPE`.

    ``parts`` is the number of rows with states. ``group_schema`` requests the group table, which is a DataFrame unless
    tasks have written the table to ``files``.
    """
    if read_at_once(parts, plan, files):
        return gather_states(_collected(results.select("states", "groups")), files)
    streams = group_schema is not None and files is None
    if streams or exact_metrics(plan):
        results = _unique_plan(results)
        solved = _solved_by_passes(results, parts, plan, files, streams=streams)
    else:
        solved = PassResult(_states(results, parts, plan, files), None)
    if group_schema is None or files is not None:
        return solved
    counts = solved.partials.counts  # a group has a row for each model
    models = {model for check, model in counts if check == checks.SCORED_ROWS}
    count = math.ceil(counts.get((checks.GROUPS, ""), 0) * len(models) / GROUP_FILE_ROWS)
    groups = results.select("groups").coalesce(max(1, count)).mapInArrow(_unpack_groups, group_schema)
    return replace(solved, groups=groups)


def _states(results: DataFrame, parts: int, plan: Plan, files: GroupFiles | None) -> Partials:
    """Return the merged states of all buckets, without exact bins.

    If ``files`` is given, keep the files that tasks wrote.
    """
    names = F.col("groups") if files is not None else F.lit(None).cast("binary")
    return _kept(*_reduced(results.select("states", names), parts, fan_in(plan)), files)


def _kept(partials: Partials, written: set[str], files: GroupFiles | None) -> Partials:
    """Keep the files ``written`` and return ``partials``. Raise :class:`OutOfMemoryError` if a task lacked memory."""
    if partials.failure:
        raise OutOfMemoryError(partials.failure)
    if files is not None:
        files.keep(written)
    return partials


def _solved_by_passes(
    results: DataFrame, parts: int, plan: Plan, files: GroupFiles | None, *, streams: bool
) -> PassResult:
    """Return the states and exact bins of ``results``, which are cached if permitted and otherwise evaluated again."""
    because = why_not_cached(results)
    is_cached, passes = because is None, 1
    try:
        solved = PassResult(_states(results, parts, plan, files), None)
        if is_cached:
            solved = solved.releasing(results.unpersist)
        if exact_metrics(plan):
            solved, more = _with_exact_blocks(solved, results, parts, plan, is_cached=is_cached)
            passes += more
    except BaseException:  # including an interrupt, after which a notebook continues
        if is_cached:
            results.unpersist()
        raise
    if because is None:
        return solved
    again = ["groups"] * streams + ["blocks"] * (solved.exact is not None)
    notes = [f"the input was evaluated {passes} times"] if passes > 1 else []
    if again:
        notes.append(f"reading {' or '.join(again)} evaluates the input again")
    return solved.noting(Refusal("cached rows", because, ", and ".join(notes)) if notes else None)


def _unique_plan(results: DataFrame) -> DataFrame:
    """Return ``results`` with a unique plan.

    With equal plans, Spark would reuse cached rows even after files had changed.
    """
    return results.where(F.lit(uuid.uuid4().hex).isNotNull())  # the optimizer removes it


def _with_exact_blocks(
    solved: PassResult, results: DataFrame, parts: int, plan: Plan, *, is_cached: bool
) -> tuple[PassResult, int]:
    """Return ``solved`` with the exact bins of the day, and the number of times ``results`` was read for the bins."""
    # the driver merges few bins, tasks merge many; where this fails, the caller releases the results
    scored = sum(count for (check, _), count in solved.partials.counts.items() if check == checks.SCORED_ROWS)
    if scored * len(exact_metrics(plan)) * (1 + len(plan.slices)) <= MAX_DRIVER_ROWS:
        rows = results.where("blocks is not null").select("blocks", F.lit(None).cast("binary"))
        blocks, _ = _reduced(rows, parts, fan_in(plan))
        return replace(solved, partials=Partials.merged([solved.partials, blocks])), 1
    _validate_unjoined(plan, scored)
    day = ExactDay(results, plan, is_cached)
    try:
        solved = replace(solved, exact=day.solved())
        return (solved.releasing(day.release) if day.is_cached else solved), READINGS
    except BaseException:
        day.release()
        raise


def _validate_unjoined(plan: Plan, scored: int) -> None:
    """Raise :class:`InputError` if a metric joins adjacent bins, because these may lie in different ranges."""
    for exact in itertools.chain.from_iterable(exact_metrics(plan).values()):
        if exact.joins:
            raise InputError(
                f"{exact.metric} joins neighbouring scores, of which {scored:,} scored rows may have more than one "
                f"process should hold (up to {MAX_DRIVER_ROWS:,} rows, over all slices and exact metrics): ask for "
                f"digits=5 or bits=12 in place of exact, or for the lane local"
            )


def group_schema(columns: Sequence[str], rows: pa.Schema, plan: Plan) -> T.StructType | None:
    """Return the schema of the group table, or None if the plan requests no group table.

    ``columns`` are the names of the key columns, and ``rows`` is the schema of the bucket rows.
    """
    if not plan.group_table:
        return None
    of_keys = (rows.field(key_column(index)).type for index in range(len(columns)))
    keys = {name: from_arrow_type(kind, True) for name, kind in zip(columns, of_keys, strict=True)}
    counts = dict.fromkeys(GROUP_COUNTS, T.LongType())
    values = {str(metric): T.DoubleType() for metric, _ in plan.group_metrics}
    kinds: dict[str, T.DataType] = {MODEL: T.StringType(), **keys, **counts, **values}
    return T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])


def _reduced(results: DataFrame, parts: int, at_a_time: int) -> tuple[Partials, set[str]]:
    """Merge the states and file names of ``results``. Tasks merge ``at_a_time`` rows each, the driver their results."""
    while parts > at_a_time:
        parts = math.ceil(parts / at_a_time)
        # keyed by the task that made the states, so that states that Spark computes again go to the same task
        results = results.withColumn("task", F.spark_partition_id()).repartition(parts, "task")
        results = results.mapInArrow(_merge, _REDUCED_TYPE)
    return merged_states(_collected(results))


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    partials, names = merged_states(_rows(batches))
    yield pa.RecordBatch.from_pylist([{"states": partials.pack(), "names": joined_names(names)}], _REDUCED_SCHEMA)


def _collected(results: DataFrame) -> Iterator[States]:
    return _rows(results.toArrow().to_batches())


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[States]:
    for batch in batches:
        for states, names in zip(*batch.columns[:2], strict=True):
            yield states.as_buffer(), names.as_py()


def merged_states(rows: Iterable[States]) -> tuple[Partials, set[str]]:
    """Merge the states of all ``rows``. Return the merged states and the names of all group files."""
    names: set[str] = set()

    def packed() -> Iterator[bytes | pa.Buffer]:
        for states, joined in rows:
            names.update(names_of(joined or b""))
            if states is not None:
                yield states

    return Partials.unpack(packed()), names


def _unpack_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            if packed.is_valid and len(packed.as_buffer()):
                yield from pa.ipc.open_stream(packed.as_buffer())
