"""The evaluation of splits of whole groups in the Spark tasks that read the splits. No rows are shuffled.

Tasks send only results: states, and the hashes of group keys, by which keys in several splits are found. The driver
compares the hashes of a small day, and tasks those of a large day.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from sparkrank.bucket import BucketResult
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.repeated_groups import range_count, repeated_keys, with_repeated_keys
from sparkrank.engines.result import PassResult
from sparkrank.engines.spark.gather import (
    RESULT_SCHEMA,
    RESULT_TYPE,
    gather,
    gather_states,
    merged_states,
    read_at_once,
)
from sparkrank.engines.spark.session_features import Batches, packed_once
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
from sparkrank.states.repeated_keys import RepeatedKeys

T = TypeVar("T")
Results: TypeAlias = Iterable[tuple[int, BucketResult]]  # with the number of the split
_NUMBERS = (HASH_RANGE, HASH_SPLIT)
_HASHED_TYPE = StructType(
    [
        *RESULT_TYPE,
        StructField(HASHES, BinaryType()),
        *(StructField(name, IntegerType()) for name in _NUMBERS),
    ]
)
_HASHED_SCHEMA = pa.schema([*RESULT_SCHEMA, (HASHES, pa.binary()), *((name, pa.int32()) for name in _NUMBERS)])
_TASK = "task"


@dataclass(frozen=True)
class SplitEvaluation:
    """The evaluation of splits for ``plan``, in about ``tasks`` tasks.

    ``groups`` requests the group table, as a DataFrame if ``files`` is None. ``buckets`` is the number of buckets that
    the rows would have in a shuffle.
    """

    plan: Plan
    buckets: int
    tasks: int = 1
    groups: StructType | None = None
    files: GroupFiles | None = None

    def solve_rows(self, rows: DataFrame, evaluate: Callable[[Batches], Results]) -> PassResult:
        """Evaluate ``rows`` by calling ``evaluate`` with the batches of each task."""
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

        results = rows.mapInArrow(packed_once(solved), self._type)
        return self._collected(results.toArrow().to_pylist()) if self._is_small else self._gathered(results)

    def solve_partitions(
        self, rows: RDD[Any], spark: SparkSession, evaluate: Callable[[Iterable[Any]], Results]
    ) -> PassResult:
        """Evaluate ``rows`` by calling ``evaluate`` with the elements of each partition."""
        solve, names = self._solve, self._type.names
        results = rows.mapPartitions(lambda of_task: solve(evaluate(of_task)))
        if self._is_small:
            return self._collected(results.collect())
        packed = results.map(lambda result: tuple(map(result.get, names)))
        return self._gathered(spark.createDataFrame(packed, self._type, verifySchema=False))

    def solve_tasks(
        self,
        spark: SparkSession,
        context: SparkContext | None,
        work: Sequence[T],
        evaluate: Callable[[Iterable[T]], Results],
    ) -> PassResult:
        """Evaluate each element of ``work`` in a separate task.

        If ``context`` is given, the elements are sent as an RDD.
        """
        how = replace(self, tasks=max(1, len(work)))
        if context is not None:
            return how.solve_partitions(context.parallelize(work, how.tasks), spark, evaluate)
        numbers = spark.range(0, len(work), 1, how.tasks)
        return how.solve_rows(
            numbers,
            lambda batches: evaluate(work[number] for batch in batches for number in batch.column(0).to_pylist()),
        )

    @property
    def _is_small(self) -> bool:
        """Whether the driver can merge the results of all tasks, with the hashes of one range."""
        return read_at_once(self.tasks, self.plan, self.files) and range_count(self.buckets) == 1

    def _collected(self, results: Iterable[Result]) -> PassResult:
        merged: Iterable[Any] = _merged(results)
        solved = gather_states(((result["states"], result["groups"]) for result in merged), self.files)
        return replace(solved, partials=with_repeated_keys(solved.partials, self.plan))

    @property
    def _merging_tasks(self) -> int:
        """The number of tasks that merge states and check ranges of hashes."""
        return max(range_count(self.buckets), math.ceil(self.tasks / fan_in(self.plan)))

    @property
    def _solve(self) -> Callable[[Results], Iterator[Result]]:
        return partial(solve_splits, files=self.files, ranges=range_count(self.buckets))

    @property
    def _type(self) -> StructType:
        return _HASHED_TYPE if self.plan.hashes_keys else RESULT_TYPE

    @property
    def _schema(self) -> pa.Schema:
        return _HASHED_SCHEMA if self.plan.hashes_keys else RESULT_SCHEMA

    def _gathered(self, results: DataFrame) -> PassResult:
        tasks, plan = self.tasks, self.plan
        if plan.hashes_keys:
            tasks = self._merging_tasks
            # each range of hashes goes to one task, and states are spread evenly over tasks
            results = results.withColumn(_TASK, F.coalesce(HASH_RANGE, F.spark_partition_id())).repartition(
                tasks, _TASK
            )
            results = results.mapInArrow(packed_once(_checked), RESULT_TYPE)
        solved = gather(results, tasks, plan, self.groups, self.files)
        return replace(solved, partials=with_repeated_keys(solved.partials, plan))


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
    partials = replace(partials, repeated=RepeatedKeys.merged(repeated))
    yield packed_result(states=partials.pack(), groups=joined_names(names) or None)
