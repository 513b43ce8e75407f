"""Groups of two sides in pairs by their key, by Spark: what the pairs add up to is all that comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.base.errors import InputError, SpecError, shortened
from sparkrank.bucket.group_rows import GROUP_COUNTS, MODEL
from sparkrank.comparison.group_moments import (
    COUNTS,
    PAIRS,
    WEIGHT,
    Moments,
    PairedMetric,
    added,
    columns_of,
    moments_of,
)
from sparkrank.comparison.group_pairs import Side, common_keys, raise_repeated_key
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.worker_python import validate_session
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.sources.integrity import SPARK_CHECKED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_AMOUNTS = [f"amount_{limb}" for limb in range(LIMBS)]
_SCHEMA = pa.schema([("metric", pa.int32()), ("what", pa.int32()), *((name, pa.float64()) for name in _AMOUNTS)])
_TYPE = ", ".join(["metric int", "what int", *(f"{name} double" for name in _AMOUNTS)])
_SIDES = ("l", "r")
ROWS_AT_ONCE = 1 << 18  # of pairs whose moments are taken together: batches of Arrow are smaller


def spark_moments(left: Side, right: Side, metrics: Sequence[PairedMetric], spark: SparkSession) -> Moments:
    """The moments of all pairs, and under :data:`PAIRS` how many groups are on both sides, or on one alone.

    Raises :class:`InputError` as :func:`sparkrank.comparison.group_pairs.paired_groups` does.
    """
    from pyspark.sql import functions as F

    keys, columns = common_keys(left.table, right.table), columns_of(metrics)
    frames = [_selected(side, mark, columns, spark) for side, mark in zip((left, right), _SIDES, strict=True)]
    joined = frames[0].join(frames[1], [f"k{index}" for index in range(len(keys))], "full_outer")
    of_pairs = joined.select(*(f"{mark}{index}" for mark in _SIDES for index in range(len(columns) + 1)))

    def moments(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for found in _moments_of_batches(batches, columns, metrics):
            yield _as_rows(found)

    parts = (
        of_pairs.mapInArrow(moments, _TYPE)
        .groupBy("metric", "what")
        .agg(*(F.sum(name).alias(name) for name in _AMOUNTS))
    )
    with task_errors(spark):
        found = {(row[0], row[1]): np.array(row[2:], np.float64) for row in parts.collect()}
    counts = found.get((PAIRS, COUNTS), np.zeros(LIMBS))
    for side, frame, alone in ((right, frames[0], counts[1]), (left, frames[1], counts[2])):
        if counts[0] + alone != frame.count():  # one of its groups meets two of the other side
            raise_repeated_key(side)
    return found


def session_of(left: Side, right: Side, session: Callable[[], SparkSession] | None) -> SparkSession:
    """The session of a side that is a DataFrame, or the one that ``session`` gives.

    Raises :class:`SpecError` where there is none.
    """
    held: list[Any] = [side.table.rows for side in (left, right) if side.table.is_frame]
    if held:
        found: SparkSession = held[0].sparkSession
        validate_session(found)
        return found
    if session is None:
        raise SpecError("lane is frame, but there is no Spark session: auto or local is allowed")
    return session()


def spark_changes(
    left: Side,
    right: Side,
    metric: str,
    counted_as: float | None,
    signs: Mapping[str, float],
    top: int,
    spark: SparkSession,
) -> list[pa.Table]:
    """For each of ``signs`` the ``top`` pairs of the largest difference of that sign, equal ones by key."""
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.values import named

    keys, counts = common_keys(left.table, right.table), (GROUP_COUNTS[0], GROUP_COUNTS[2])
    names = [f"k{index}" for index in range(len(keys))]
    frames = []
    for side, before in ((left, "baseline_"), (right, "")):
        value = named(metric).cast("double")
        value = value if counted_as is None else F.when(F.isnan(value), F.lit(counted_as)).otherwise(value)
        of_keys = [named(key).alias(name) for key, name in zip(keys.names, names, strict=True)]
        columns = [value.alias(f"{before}value"), *(named(name).alias(f"{before}{name}") for name in counts)]
        frames.append(frame_of(side, spark).select(*of_keys, *columns))
    joined = frames[0].join(frames[1], names).withColumn("difference", F.col("value") - F.col("baseline_value"))
    order = ["baseline_value", "value", "difference", *counts, *(f"baseline_{name}" for name in counts)]
    found = []
    for change, sign in signs.items():
        gain = F.col("difference") * sign
        rows = joined.where((gain > 0) & ~F.isnan(gain)).orderBy(gain.desc(), *names).limit(top)
        table = rows.select(F.lit(change).alias("change"), *names, *order).toArrow()
        found.append(table.rename_columns(["change", *keys.names, *order]))
        for side, before in ((left, "baseline_"), (right, "")):
            for name, column in ((metric, "value"), *((each, each) for each in counts)):
                side.table.validate_files(name, found[-1][f"{before}{column}"])
    return found


def frame_of(side: Side, spark: SparkSession) -> DataFrame:
    """The rows of ``side`` as a DataFrame of all columns."""
    from sparkrank.engines.spark.values import named

    table = side.table
    if not isinstance(table.rows, ds.Dataset):
        rows = table.rows
    elif table.spark_paths is not None:
        rows = spark.read.options(**SPARK_CHECKED).parquet(*table.spark_paths)
    elif isinstance(table.rows, ds.FileSystemDataset):
        raise InputError(f"{table.place} is where Spark has no name for it: lane local is allowed")
    else:
        rows = spark.createDataFrame(table.rows.to_table().combine_chunks())
    return rows.where(named(MODEL) == side.model)


def _selected(side: Side, mark: str, columns: Sequence[str], spark: SparkSession) -> DataFrame:
    """The keys of ``side`` under the names that both sides share, a mark that it is there, and its values."""
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.values import named

    keys = [named(key).alias(f"k{index}") for index, key in enumerate(side.table.keys)]
    values = [named(name).cast("double").alias(f"{mark}{index}") for index, name in enumerate(columns, start=1)]
    return frame_of(side, spark).select(*keys, F.lit(True).alias(f"{mark}0"), *values)


def _validate_result_types(*sides: Mapping[str, Floats]) -> None:
    """Raise :class:`InputError` for values and weights that no run writes."""
    for side in sides:
        for name, values in side.items():
            if np.isinf(values).any() or (name == WEIGHT and not (values >= 0).all()):
                problem = f'has "{shortened(name)}" that is null, not finite or below 0'
                raise InputError(f"a group table {problem}: evaluate it again")


def _moments_of_batches(
    batches: Iterator[pa.RecordBatch], columns: Sequence[str], metrics: Sequence[PairedMetric]
) -> Iterator[Moments]:
    """The moments of all ``batches`` of a task, in one part."""
    parts: list[Moments] = []
    for table in _gathered(batches):
        there = [table[f"{mark}0"].is_valid().to_numpy() for mark in _SIDES]
        both = there[0] & there[1]
        alone = [int(np.count_nonzero(side & ~both)) for side in there]
        counts = np.array([np.count_nonzero(both), *alone, 0, 0, 0], np.float64)
        rows = table.filter(pa.array(both))
        left, right = (
            {name: rows[f"{mark}{index}"].to_numpy() for index, name in enumerate(columns, start=1)} for mark in _SIDES
        )
        _validate_result_types(left, right)
        found = (moments_of(place, metric, left, right) for place, metric in enumerate(metrics))
        parts = [added([*parts, {(PAIRS, COUNTS): counts}, *found])]
    yield from parts


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        kept.append(batch)
        if sum(each.num_rows for each in kept) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(kept)
            kept = []
    if kept:
        yield pa.Table.from_batches(kept)


def _as_rows(moments: Moments) -> pa.RecordBatch:
    rows = [
        {"metric": metric, "what": what, **dict(zip(_AMOUNTS, sums.tolist(), strict=True))}
        for (metric, what), sums in moments.items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)
