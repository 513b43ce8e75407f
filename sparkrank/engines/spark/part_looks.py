"""Parts of text files that the tasks of a session look through before any lane reads them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as T

from sparkrank.engines.arrow.text_parts import PART, SHARED_FILES, Part
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.session_features import packed_once
from sparkrank.engines.spark.tasks import tune_worker
from sparkrank.errors import SparkrankError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.engines.arrow.text_files import Look, PartLook

_SHARE, _FOUND = "share", "found"
_TYPE = T.StructType([T.StructField(_SHARE, T.LongType()), T.StructField(_FOUND, T.BinaryType())])
_SCHEMA = pa.schema({_SHARE: pa.int64(), _FOUND: pa.binary()})


def look_in_tasks(
    spark: SparkSession,
    look: Look,
    parts: Sequence[Part],
    doing: str,  # noqa: ARG001 - Spark watches over its tasks
) -> list[PartLook | SparkrankError]:
    """What ``look`` finds in each of ``parts``, in their order, up to an error: what :class:`Lookers` says, by tasks.

    What a part has is some hundred bytes, and the driver collects it of all.
    """
    shares = _shares(parts)

    def looked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tune_worker()
        for batch in batches:
            for share in batch.column(0).to_pylist():
                found = pickle.dumps(list(_up_to_an_error(look, shares[share])))
                yield pa.record_batch([pa.array([share]), pa.array([found], pa.binary())], schema=_SCHEMA)

    numbers = spark.range(0, len(shares), 1, max(1, len(shares)))  # each of its partitions has one number
    with task_errors(spark):
        rows = numbers.mapInArrow(packed_once(looked), _TYPE).collect()
    found = {row[_SHARE]: pickle.loads(row[_FOUND]) for row in rows}  # noqa: S301 - made by these tasks
    return [each for share in range(len(shares)) for each in found[share]]


def _shares(parts: Sequence[Part]) -> list[Sequence[Part]]:
    """``parts`` in their order for each task: about as many bytes as one part of a large file has."""
    shares: list[list[Part]] = []
    size = PART
    for part in parts:
        if size >= PART or len(shares[-1]) == SHARED_FILES:
            shares.append([])
            size = 0
        shares[-1].append(part)
        size += _length(part)
    return list(shares)


def _length(part: Part) -> int:
    """The bytes of ``part`` as they are stored; those of a whole part where nobody knows them."""
    if part.end is not None:
        return part.end - part.start
    return PART if part.stamp is None else part.stamp[0]


def _up_to_an_error(look: Look, parts: Sequence[Part]) -> Iterator[PartLook | SparkrankError]:
    for part in parts:
        found = look(part, lambda: True)
        yield found
        if isinstance(found, SparkrankError):
            return
