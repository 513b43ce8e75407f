"""Evaluates splits of whole groups in the Spark tasks that read the splits, so that no rows are shuffled.

Only results travel: states, and the hashes of group keys, by which Spark finds keys that several groups share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket import BucketResult
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.repeated_groups import range_count, repeated_keys, with_repeated_keys
from sparkrank.engines.result import Solved
from sparkrank.engines.spark.gather import RESULT_SCHEMA, RESULT_TYPE, gather, merged_states
from sparkrank.engines.spark.session_features import Batches, packed_once
from sparkrank.engines.spark.tasks import (
    HASH_RANGE,
    HASH_SPLIT,
    HASHES,
    Result,
    joined_names,
    packed_result,
    solve_splits,
)
from sparkrank.inputs.buckets import fan_in
from sparkrank.metrics import Plan
from sparkrank.numeric.key_hashes import Hashes

Results: TypeAlias = Iterable[tuple[int, BucketResult]]  # with the number of the split
_NUMBERS = (HASH_RANGE, HASH_SPLIT)
_HASHED_TYPE = T.StructType(
    [*RESULT_TYPE, T.StructField(HASHES, T.BinaryType()), *(T.StructField(name, T.IntegerType()) for name in _NUMBERS)]
)
_HASHED_SCHEMA = pa.schema([*RESULT_SCHEMA, (HASHES, pa.binary()), *((name, pa.int32()) for name in _NUMBERS)])
_TASK = "task"


@dataclass(frozen=True)
class WhereRead:
    """How to evaluate splits for ``plan``, in about ``tasks`` tasks.

    ``groups`` requests the group table, as a DataFrame if ``files`` is None. ``buckets`` is the number of buckets that
    the rows would have in a shuffle.
    """

    plan: Plan
    tasks: int
    buckets: int = 1
    groups: T.StructType | None = None
    files: GroupFiles | None = None

    def solve_rows(self, rows: DataFrame, evaluate: Callable[[Batches], Results]) -> Solved:
        """Evaluate ``rows`` with ``evaluate``, which gets the batches of a task."""
        solve, schema = self._solve, self._schema

        def solved(batches: Batches) -> Batches:
            for result in solve(evaluate(batches)):
                yield pa.RecordBatch.from_pylist([result], schema)

        return self._gathered(rows.mapInArrow(packed_once(solved), self._type))

    def solve_partitions(
        self, rows: RDD[Any], spark: SparkSession, evaluate: Callable[[Iterable[Any]], Results]
    ) -> Solved:
        """Evaluate the partitions of ``rows`` with ``evaluate``."""
        solve, names = self._solve, self._type.names
        results = rows.mapPartitions(
            lambda of_task: (tuple(map(result.get, names)) for result in solve(evaluate(of_task)))
        )
        return self._gathered(spark.createDataFrame(results, self._type, verifySchema=False))

    @property
    def _solve(self) -> Callable[[Results], Iterator[Result]]:
        return partial(solve_splits, files=self.files, ranges=range_count(self.buckets))

    @property
    def _type(self) -> T.StructType:
        return _HASHED_TYPE if self.plan.hashes_keys else RESULT_TYPE

    @property
    def _schema(self) -> pa.Schema:
        return _HASHED_SCHEMA if self.plan.hashes_keys else RESULT_SCHEMA

    def _gathered(self, results: DataFrame) -> Solved:
        tasks, plan = self.tasks, self.plan
        if plan.hashes_keys:
            tasks = max(range_count(self.buckets), math.ceil(tasks / fan_in(plan)))
            # the results of a task go where one of its ranges of hashes may go
            results = results.withColumn(_TASK, F.coalesce(HASH_RANGE, F.spark_partition_id())).repartition(
                tasks, _TASK
            )
            results = results.mapInArrow(packed_once(_checked), RESULT_TYPE)
        solved = gather(results, tasks, plan, self.groups, self.files)
        return replace(solved, partials=with_repeated_keys(solved.partials, plan))


def _checked(batches: Batches) -> Batches:
    """Merge the states of some tasks, count the repeated hashes of some ranges, and pass on all other results."""
    states: list[tuple[bytes, bytes | None]] = []
    hashes: dict[int, list[tuple[int, Hashes]]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            if row[HASHES] is not None:
                own = np.frombuffer(row[HASHES], np.uint64)
                hashes.setdefault(row[HASH_RANGE], []).append((row[HASH_SPLIT], own))
            elif row["states"] is not None:
                states.append((row["states"], row["groups"]))
            else:
                yield pa.RecordBatch.from_pylist([row], RESULT_SCHEMA)
    partials, names = merged_states(states)
    repeated = [repeated_keys(hashes.pop(number)) for number in sorted(hashes)]
    partials = replace(partials, repeated=type(partials.repeated).merged([partials.repeated, *repeated]))
    result = packed_result(states=partials.pack(), groups=joined_names(names) or None)
    yield pa.RecordBatch.from_pylist([result], RESULT_SCHEMA)
