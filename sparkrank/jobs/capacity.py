"""What an evaluation takes: the laws by which rows, models, slice values and metrics become tasks, memory and time.

docs/scaling.md has the laws with what was measured for them. Everything here is arithmetic: what a row, a bucket and a
state of one's own metrics cost is measured by :mod:`sparkrank.jobs.probe`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sparkrank.engines.shuffle.group_runs import RUN_ROWS
from sparkrank.engines.spark.tasks import ROW_MEMORY_BYTES
from sparkrank.inputs.buckets import BUCKET_ROWS, FAN_IN, MOST_BUCKETS, bucket_count, task_count
from sparkrank.sources.parquet import SPLIT_ROWS
from sparkrank.sources.sizes import MOST_BYTES
from sparkrank.states.partials import MERGED_AT_ONCE

GIB, MIB = 1 << 30, 1 << 20
# Of a session, as docs/scaling.md measured them: seconds from the command to the first task, those of a Python task
# beside its rows, those of a stage that begins and ends, those in which the driver starts a task, those of a piece
# beside its rows, half of them Java's, and the bytes that the driver notes of a piece.
START_SECONDS = 10.0
TASK_SECONDS = 0.015
STAGE_SECONDS = 0.2
SCHEDULED_SECONDS = 0.002
PIECE_SECONDS = 0.00015
PIECE_NOTE_BYTES = 1
DRIVER_HEAP_BYTES = 1 * GIB  # what Spark itself wants of the heap of a driver
TASK_HEAP_BYTES = 1 * GIB  # the same of an executor, for each task that runs at a time
HEADROOM = 1.25
MOST_WORKER_BYTES = 3 * GIB  # a worker beyond is one that few clusters have the memory for
CORES_OF_AN_EXECUTOR = 4
RESULT_BYTES = 1 * GIB  # spark.driver.maxResultSize as it comes


@dataclass(frozen=True)
class Workload:
    """What is to be evaluated, and where.

    Attributes
    ----------
    rows, groups : int
        Rows of all sides, and groups; no groups where the spec has no group column.
    models, slice_values, metrics : int
        The values of all slices together, without the whole day.
    cores : int
        The cores that the executors have together.
    fan_in : int
        How many packed states are merged at a time.
    bucket_rows, buckets
        Those of the spec's ``engine``.
    """

    rows: int
    groups: int
    models: int
    slice_values: int
    metrics: int
    cores: int
    fan_in: int = FAN_IN
    bucket_rows: int = BUCKET_ROWS
    buckets: int | None = None

    @property
    def states(self) -> int:
        """Models times metrics, on the whole day and for every value of a slice."""
        return self.models * self.metrics * (1 + self.slice_values)


@dataclass(frozen=True)
class Costs:
    """What one bucket of made rows has cost, on one core.

    Attributes
    ----------
    rows, states : int
        The rows of the bucket, and its states.
    read_row_seconds, solve_row_seconds : float
        To read, decode and cut a row, and to evaluate it and write its group.
    bucket_seconds, merge_seconds, table_seconds : float
        What a bucket takes beside its rows, what merging one packed state takes, and making the tables of all states.
    piece_row_bytes, state_bytes, merged_bytes : float
        Of a row in the shuffle, of a packed state, and of one in memory.
    base_bytes, read_row_bytes, solve_row_bytes : float
        Resident memory of a worker before its first row, and for each row of a split and of a bucket.
    address_bytes : float
        Addresses that the worker has beyond its resident memory.
    group_bytes, table_bytes : float
        Of a group in the files of the group table, and of all other tables together.
    """

    rows: int
    states: int
    read_row_seconds: float
    solve_row_seconds: float
    bucket_seconds: float
    merge_seconds: float
    table_seconds: float
    piece_row_bytes: float
    state_bytes: float
    merged_bytes: float
    base_bytes: float
    read_row_bytes: float
    solve_row_bytes: float
    address_bytes: float
    group_bytes: float
    table_bytes: float


@dataclass(frozen=True)
class Estimate:
    """What an evaluation takes by the laws.

    ``core_seconds`` are by part: read, shuffle, evaluate, merge. ``seconds`` are from the start of the command to its
    tables, on the cores of the workload, without waiting for a store or the network.
    """

    buckets: int
    splits: int
    tasks: int
    pieces: int
    core_seconds: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    worker_bytes: float = 0.0
    driver_bytes: float = 0.0
    driver_heap_bytes: float = 0.0
    result_bytes: float = 0.0
    shuffle_bytes: float = 0.0
    group_table_bytes: float = 0.0
    table_bytes: float = 0.0

    @property
    def total_core_seconds(self) -> float:
        """Those of all parts."""
        return sum(self.core_seconds.values())


def estimate(load: Workload, costs: Costs) -> Estimate:
    """What ``load`` takes where one bucket costs ``costs``.

    Parameters
    ----------
    load : Workload
    costs : Costs
        Of the same metrics, models and slices. Where the probe had fewer states, those of ``load`` cost as many times
        more.

    Returns
    -------
    Estimate

    Examples
    --------
    A million rows of 1 µs each, on one core, are one split and four buckets of a small day.

    >>> costs = Costs(100_000, 1, 4e-7, 6e-7, 0, 0, 0, 16, 1000, 4000, 2e8, 100, 200, 1e9, 40, 1e4)
    >>> found = estimate(Workload(1_000_000, 50_000, 1, 0, 1, 1), costs)
    >>> found.splits, found.buckets, found.tasks, found.pieces
    (1, 4, 4, 4)
    >>> round(found.core_seconds["evaluate"], 2), found.shuffle_bytes
    (0.66, 16000000)
    """
    splits = max(1, math.ceil(load.rows / SPLIT_ROWS))
    if load.groups:
        buckets = bucket_count(load.rows, load.bucket_rows, load.models) if load.buckets is None else load.buckets
        tasks = task_count(buckets)
        pieces = splits * tasks
    else:  # rows are evaluated where they are read
        buckets, tasks, pieces = 1, splits, 0
    wider = max(1.0, load.states / max(costs.states, 1))
    merge_seconds, state_bytes, merged_bytes = (
        wider * each for each in (costs.merge_seconds, costs.state_bytes, costs.merged_bytes)
    )
    merges = list(_merges(tasks, load.fan_in))
    evaluated = load.rows * costs.solve_row_seconds + (buckets if pieces else splits) * costs.bucket_seconds
    core_seconds = {
        "read": load.rows * costs.read_row_seconds + splits * TASK_SECONDS,
        "shuffle": pieces * PIECE_SECONDS,
        "evaluate": evaluated + (tasks * TASK_SECONDS if pieces else 0.0),
        "merge": (tasks + sum(merges)) * merge_seconds + sum(merges) * TASK_SECONDS,
    }
    last = merges[-1] if merges else tasks  # states that reach the driver
    states_of_merge = min(load.fan_in, tasks) * state_bytes + MERGED_AT_ONCE * merged_bytes
    bucket_rows = min(load.rows / (buckets if pieces else splits), RUN_ROWS)
    held = min(ROW_MEMORY_BYTES, load.rows / tasks * costs.piece_row_bytes) if pieces else 0.0
    worker = costs.base_bytes + max(
        min(load.rows, SPLIT_ROWS, MOST_BYTES / max(costs.piece_row_bytes, 1.0)) * costs.read_row_bytes,
        held + bucket_rows * costs.solve_row_bytes + MERGED_AT_ONCE * merged_bytes,
        states_of_merge,
    )
    return Estimate(
        buckets,
        splits,
        tasks,
        pieces,
        core_seconds,
        _seconds(load, core_seconds, splits, tasks, merges, merge_seconds, wider * costs.table_seconds),
        worker,
        costs.base_bytes + last * state_bytes + MERGED_AT_ONCE * merged_bytes + 2 * wider * costs.table_bytes,
        DRIVER_HEAP_BYTES + 2 * last * state_bytes + PIECE_NOTE_BYTES * pieces,
        last * state_bytes,
        load.rows * costs.piece_row_bytes if pieces else 0.0,
        load.groups * costs.group_bytes,
        wider * costs.table_bytes,
    )


def _merges(parts: int, fan_in: int) -> Iterator[int]:
    """The tasks of each level at which states are merged before the driver merges those of the last."""
    while parts > fan_in:
        parts = math.ceil(parts / fan_in)
        yield parts


def _seconds(
    load: Workload,
    core_seconds: Mapping[str, float],
    splits: int,
    tasks: int,
    merges: list[int],
    merge_seconds: float,
    table_seconds: float,
) -> float:
    """From the start to the tables: tasks run in waves of as many as there are cores."""

    def waves(count: int, total: float) -> float:
        return math.ceil(count / load.cores) * total / count

    shuffle = core_seconds["shuffle"] / 2  # as much where pieces are written as where they are read
    found = START_SECONDS + (splits + tasks) * SCHEDULED_SECONDS + (2 + len(merges)) * STAGE_SECONDS
    if core_seconds["shuffle"] or tasks != splits:
        found += waves(splits, core_seconds["read"] + shuffle) + waves(tasks, core_seconds["evaluate"] + shuffle)
    else:
        found += waves(splits, core_seconds["read"] + core_seconds["evaluate"])
    parts = tasks
    for count in merges:
        found += waves(count, parts * merge_seconds + count * TASK_SECONDS)
        parts = count
    return found + parts * merge_seconds + table_seconds


@dataclass(frozen=True)
class Setting:
    """A setting that is recommended, and why."""

    name: str
    value: str
    reason: str


def recommended(load: Workload, costs: Costs, found: Estimate, *, reads_view: bool = False) -> list[Setting]:
    """The settings of Spark and of the spec for ``load``, of which ``found`` is the estimate.

    ``reads_view``: the input is a table or a view, whose joins and aggregations Spark shuffles.
    """
    cores = min(CORES_OF_AN_EXECUTOR, load.cores)
    worker = HEADROOM * found.worker_bytes
    settings = [
        Setting("spark.executor.instances", str(math.ceil(load.cores / cores)), f"{load.cores} cores"),
        Setting("spark.executor.cores", str(cores), "few executors share a disk, few workers an executor"),
        Setting("spark.executor.memory", _size(cores * TASK_HEAP_BYTES), "the heap reads and shuffles, 1 GiB a task"),
        Setting(
            "spark.executor.pyspark.memory",
            _size(cores * (worker + costs.address_bytes)),
            f"{cores} workers of {_size(worker)}, and {_size(costs.address_bytes)} of addresses each, which it limits",
        ),
        Setting(
            "spark.driver.memory",
            _size(HEADROOM * found.driver_heap_bytes),
            f"the heap; the driver's Python takes {_size(HEADROOM * found.driver_bytes)} beside it",
        ),
    ]
    if found.result_bytes * HEADROOM > RESULT_BYTES:
        size = _size(HEADROOM * found.result_bytes)
        settings.append(Setting("spark.driver.maxResultSize", size, "packed states that reach the driver"))
    if reads_view:
        partitions = str(3 * load.cores)
        settings.append(Setting("spark.sql.shuffle.partitions", partitions, "of joins in a view: three a core"))
    if (rows := _bucket_rows(load, costs, found)) is not None:
        settings.append(rows)
    return settings


def _bucket_rows(load: Workload, costs: Costs, found: Estimate) -> Setting | None:
    """The number of buckets where that of the spec does not do."""
    if not load.groups:
        return None
    room = MOST_WORKER_BYTES - costs.base_bytes - ROW_MEMORY_BYTES - MERGED_AT_ONCE * costs.merged_bytes
    rows_that_fit = int(room // costs.solve_row_bytes) if costs.solve_row_bytes > 0 else load.rows
    if rows_that_fit < 1 or load.rows / found.buckets <= rows_that_fit:
        return None  # not for the rows, at any rate
    buckets = min(MOST_BUCKETS, math.ceil(load.rows / rows_that_fit))
    return Setting(
        "engine.buckets", str(buckets), f"a worker of {_size(MOST_WORKER_BYTES)}, not {_size(found.worker_bytes)}"
    )


def _size(count: float) -> str:
    """Bytes as Spark takes them, rounded up: whole gibibytes from four, else mebibytes in steps of 64."""
    if count >= 4 * GIB:
        return f"{math.ceil(count / GIB)}g"
    return f"{64 * max(1, math.ceil(count / (64 * MIB)))}m"
