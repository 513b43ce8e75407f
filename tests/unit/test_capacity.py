"""The laws of what an evaluation takes, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkrank.inputs.buckets import fan_in
from sparkrank.jobs.capacity import (
    DRIVER_HEAP_BYTES,
    GIB,
    MIB,
    PIECE_SECONDS,
    SCHEDULED_SECONDS,
    STAGE_SECONDS,
    START_SECONDS,
    TASK_SECONDS,
    Costs,
    Workload,
    estimate,
    recommended,
)
from sparkrank.metrics import Plan

pytestmark = pytest.mark.same_without_loops

# A row takes 1 µs to read and 2 µs to evaluate, a bucket 10 ms, and a packed state of 1,000 bytes 1 ms and 5,000 bytes.
COSTS = Costs(
    rows=200_000,
    states=10,
    read_row_seconds=1e-6,
    solve_row_seconds=2e-6,
    bucket_seconds=0.01,
    merge_seconds=0.001,
    table_seconds=0.5,
    piece_row_bytes=16,
    state_bytes=1_000,
    merged_bytes=5_000,
    base_bytes=200 * MIB,
    read_row_bytes=100,
    solve_row_bytes=300,
    address_bytes=GIB,
    group_bytes=40,
    table_bytes=10_000,
)
# 100 million rows: 50 splits of 2 million, 100 buckets of a million, 34 tasks (100 / 3, below 5 times the root of 100).
LOAD = Workload(rows=100_000_000, groups=5_000_000, models=1, slice_values=0, metrics=10, cores=10)


def test_counts_are_those_of_the_lanes() -> None:
    found = estimate(LOAD, COSTS)
    assert (found.splits, found.buckets, found.tasks, found.pieces) == (50, 100, 34, 50 * 34)
    # 10,000 buckets: 5 * sqrt(10,000) = 500 tasks, and 5,000 splits
    large = estimate(replace(LOAD, rows=10**10), COSTS)
    assert (large.splits, large.buckets, large.tasks, large.pieces) == (5_000, 10_000, 500, 2_500_000)


def test_core_seconds_by_part() -> None:
    parts = estimate(LOAD, COSTS).core_seconds
    assert parts["read"] == pytest.approx(100 + 50 * TASK_SECONDS)
    assert parts["shuffle"] == pytest.approx(1_700 * PIECE_SECONDS)
    assert parts["evaluate"] == pytest.approx(200 + 100 * 0.01 + 34 * TASK_SECONDS)
    assert parts["merge"] == pytest.approx(34 * 0.001)  # the driver takes 34 at once: no level of the tree
    assert estimate(LOAD, COSTS).total_core_seconds == pytest.approx(sum(parts.values()))


def test_seconds_are_waves_of_tasks() -> None:
    """50 splits on 10 cores are 5 waves of a fiftieth each, 34 tasks 4 waves of a 34th."""
    found = estimate(LOAD, COSTS)
    parts, half = found.core_seconds, found.core_seconds["shuffle"] / 2
    start = START_SECONDS + 84 * SCHEDULED_SECONDS + 2 * STAGE_SECONDS
    read, evaluate = 5 * (parts["read"] + half) / 50, 4 * (parts["evaluate"] + half) / 34
    assert found.seconds == pytest.approx(start + read + evaluate + 34 * 0.001 + 0.5)
    # with a core for every task the wall is that of one split and one task, and more cores change nothing
    many = estimate(replace(LOAD, cores=50), COSTS).seconds
    assert many == estimate(replace(LOAD, cores=5_000), COSTS).seconds < found.seconds


def test_the_tree_has_as_many_levels_as_the_fan_in_asks_for() -> None:
    """500 tasks with 64 at a time: 8 tasks, then the driver. With 8 at a time: 63, then 8, then the driver."""
    load = replace(LOAD, rows=10**10)
    by_64, by_8 = estimate(load, COSTS), estimate(replace(load, fan_in=8), COSTS)
    assert by_64.core_seconds["merge"] == pytest.approx((500 + 8) * 0.001 + 8 * TASK_SECONDS)
    assert by_8.core_seconds["merge"] == pytest.approx((500 + 63 + 8) * 0.001 + 71 * TASK_SECONDS)
    assert by_64.result_bytes == by_8.result_bytes == 8 * 1_000
    assert by_64.driver_heap_bytes == DRIVER_HEAP_BYTES + 2 * 8_000 + 2_500_000


def test_memory_and_bytes() -> None:
    """A split takes 2 million times 100 bytes; a bucket a million times 300 beside the pieces of its task."""
    found = estimate(LOAD, COSTS)
    pieces = 100_000_000 / 34 * 16
    assert pieces < 96 * MIB
    assert found.worker_bytes == pytest.approx(200 * MIB + pieces + 300_000_000 + 8 * 5_000)
    held = estimate(replace(LOAD, rows=10**10), COSTS)  # 320 MB of pieces a task: beyond 96 MiB they go to disk
    assert held.worker_bytes == pytest.approx(200 * MIB + 96 * MIB + 300_000_000 + 8 * 5_000)
    # of wide rows 64 MiB are cut at a time: of 640 bytes 104,858, which take more than a bucket of theirs here
    wide = estimate(LOAD, replace(COSTS, piece_row_bytes=640, read_row_bytes=4_000, solve_row_bytes=0))
    assert wide.worker_bytes == pytest.approx(200 * MIB + 64 * MIB / 640 * 4_000)
    assert found.driver_bytes == pytest.approx(200 * MIB + 34 * 1_000 + 8 * 5_000 + 2 * 10_000)
    assert (found.shuffle_bytes, found.group_table_bytes, found.table_bytes) == (1_600_000_000, 200_000_000, 10_000)


def test_what_is_wider_than_the_probe_costs_as_many_times_more() -> None:
    """10 states were probed: with 99 slice values there are a thousand, a hundred times as many."""
    found = estimate(replace(LOAD, slice_values=99), COSTS)
    assert replace(LOAD, slice_values=99).states == 1_000
    assert found.core_seconds["merge"] == pytest.approx(100 * 34 * 0.001)
    assert (found.result_bytes, found.table_bytes) == (34 * 100_000, 1_000_000)
    assert found.core_seconds["evaluate"] == estimate(LOAD, COSTS).core_seconds["evaluate"]


def test_rows_without_groups_are_evaluated_where_they_are_read() -> None:
    found = estimate(replace(LOAD, groups=0), COSTS)
    assert (found.splits, found.buckets, found.tasks, found.pieces, found.shuffle_bytes) == (50, 1, 50, 0, 0)
    parts = found.core_seconds
    assert parts["shuffle"] == 0
    assert parts["evaluate"] == pytest.approx(200 + 50 * 0.01)
    start = START_SECONDS + 100 * SCHEDULED_SECONDS + 2 * STAGE_SECONDS
    assert found.seconds == pytest.approx(start + 5 * (parts["read"] + parts["evaluate"]) / 50 + 50 * 0.001 + 0.5)


@pytest.mark.parametrize("rows", [10**7, 10**9, 6 * 10**9])
def test_linear_in_rows_but_for_pieces(rows: int) -> None:
    one, ten = (estimate(replace(LOAD, rows=each), COSTS).core_seconds for each in (rows, 10 * rows))
    for part in ("read", "evaluate"):
        assert ten[part] == pytest.approx(10 * one[part], rel=0.02)
    pieces = [estimate(replace(LOAD, rows=each), COSTS).pieces for each in (10**9, 64 * 10**9)]
    assert pieces[1] / pieces[0] == pytest.approx(512, rel=0.02)  # rows to the power of three halves


def _settings(load: Workload = LOAD, costs: Costs = COSTS, **more: bool) -> dict[str, str]:
    found = recommended(load, costs, estimate(load, costs), **more)
    assert all(each.reason for each in found)
    return {each.name: each.value for each in found}


def test_settings_follow_from_the_figures() -> None:
    assert _settings(replace(LOAD, cores=500)) == {
        "spark.executor.instances": "125",
        "spark.executor.cores": "4",
        "spark.executor.memory": "4g",
        # four times: 5/4 of 532 MiB and the gibibyte of addresses, 6.6 GiB
        "spark.executor.pyspark.memory": "7g",
        "spark.driver.memory": "1344m",  # 5/4 of a gibibyte and 70 kB, in steps of 64 MiB
    }
    assert _settings(replace(LOAD, cores=2))["spark.executor.cores"] == "2"
    assert _settings(reads_view=True)["spark.sql.shuffle.partitions"] == "30"


def test_what_does_not_fit_gets_a_setting_of_its_own() -> None:
    wide = replace(COSTS, state_bytes=50 * MIB)  # 34 of them reach the driver, 1.7 GiB and a quarter
    assert _settings(costs=wide)["spark.driver.maxResultSize"] == "2176m"
    # 10 kB a row: a million rows take 9.3 GiB; (3 GiB - 200 MiB - 96 MiB) / 10 kB are 291,000 rows, so 344 buckets
    large = _settings(costs=replace(COSTS, solve_row_bytes=10_000))
    assert int(large["engine.buckets"]) == pytest.approx(344, abs=2)
    assert "engine.buckets" not in _settings()


def test_states_of_slices_are_merged_few_at_a_time() -> None:
    plan = Plan.of(["rr"], ("a",), ("user",))
    assert fan_in(plan) == 64
    assert fan_in(replace(plan, slices=(("country",),))) == 8
