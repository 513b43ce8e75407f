"""Evaluates splits of whole groups in the Spark tasks that read the splits, so that no rows are shuffled.

Only results travel: states, and the hashes of group keys, by which Spark finds keys that several groups share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket import BucketResult
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.repeated_groups import range_count, repeated_keys, with_repeated_keys
from sparkrank.engines.result import Solved
from sparkrank.engines.spark.gather import (
    RESULT_SCHEMA,
    RESULT_TYPE,
    gather,
    gather_states,
    merged_states,
    read_at_once,
)
from sparkrank.engines.spark.session_features import Batches, packed_once
from sparkrank.engines.spark.shuffle import remove_shuffled
from sparkrank.engines.spark.tasks import (
    HASH_RANGE,
    HASH_SPLIT,
    HASHES,
    RESULT_COLUMNS,
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
            hashed = []
            for result in solve(evaluate(batches)):
                if result.get(HASHES) is not None:
                    hashed.append(result)
                else:
                    yield pa.RecordBatch.from_pylist([result], schema)
            if hashed:
                yield pa.RecordBatch.from_pylist(hashed, schema)

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

    def solve_tasks(
        self, spark: SparkSession, context: SparkContext | None, evaluate: Callable[[Iterable[int]], Results]
    ) -> Solved:
        """Evaluate the tasks with numbers from 0, with ``evaluate``. With ``context``, results are sent by RDDs."""
        parts = self._merging_tasks if self.plan.hashes_keys else self.tasks
        if context is None or not read_at_once(parts, self.plan, self.files):
            numbers = spark.range(0, self.tasks, 1, self.tasks)
            return self.solve_rows(
                numbers, lambda batches: evaluate(number for batch in batches for number in batch.column(0).to_pylist())
            )
        solve = self._solve

        def solved(numbers: Iterable[int]) -> Iterator[tuple[int, Result]]:
            first, *others = numbers
            for result in solve(evaluate([first, *others])):
                number = result.get(HASH_RANGE)
                yield number if isinstance(number, int) else first, result

        results = context.parallelize(range(self.tasks), self.tasks).mapPartitions(solved)
        if self.plan.hashes_keys:
            sent = results.partitionBy(parts, int)
            results = sent.mapPartitions(lambda pairs: ((0, result) for result in _merged(own for _, own in pairs)))
        with ExitStack() as stack:
            stack.callback(remove_shuffled, results)
            return gather_states(results.map(_packed_states).collect(), self.files)

    @property
    def _merging_tasks(self) -> int:
        """The number of tasks that merge states and check ranges of hashes."""
        return max(range_count(self.buckets), math.ceil(self.tasks / fan_in(self.plan)))

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
            tasks = self._merging_tasks
            # the results of a task go where one of its ranges of hashes may go
            results = results.withColumn(_TASK, F.coalesce(HASH_RANGE, F.spark_partition_id())).repartition(
                tasks, _TASK
            )
            results = results.mapInArrow(packed_once(_checked), RESULT_TYPE)
        solved = gather(results, tasks, plan, self.groups, self.files)
        return replace(solved, partials=with_repeated_keys(solved.partials, plan))


def _packed_states(result: tuple[int, Any]) -> tuple[bytes | None, bytes | None]:
    return result[1]["states"], result[1]["groups"]


def _checked(batches: Batches) -> Batches:
    """Merge results like :func:`_merged`, in batches of rows."""
    for result in _merged(row for batch in batches for row in batch.to_pylist()):
        yield pa.RecordBatch.from_pylist([result], RESULT_SCHEMA)


def _merged(results: Iterable[Result]) -> Iterator[Result]:
    """Merge the states of some tasks, count the repeated hashes of some ranges, and pass on all other results."""
    states: list[tuple[bytes, bytes | None]] = []
    hashes: dict[int, list[tuple[int, Hashes]]] = {}
    for row in results:
        packed: Any = row
        if packed.get(HASHES) is not None:
            own = np.frombuffer(packed[HASHES], np.uint64)
            hashes.setdefault(packed[HASH_RANGE], []).append((packed[HASH_SPLIT], own))
        elif packed["states"] is not None:
            states.append((packed["states"], packed["groups"]))
        else:
            yield {name: row[name] for name in RESULT_COLUMNS}
    partials, names = merged_states(states)
    repeated = [repeated_keys(hashes.pop(number)) for number in sorted(hashes)]
    partials = replace(partials, repeated=type(partials.repeated).merged([partials.repeated, *repeated]))
    yield packed_result(states=partials.pack(), groups=joined_names(names) or None)
