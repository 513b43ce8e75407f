"""A lane is an implementation detail: every lane and transport gives the same bits of every wide log.

Each cell of this matrix is one evaluation. ``tests/connect/test_matrix.py`` has the columns of Spark Connect.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkrank.engines.spark import gather as gathering
from sparkrank.engines.spark import ranges
from sparkrank.engines.spark.session_features import SessionFeatures
from tests.wide_logs import LOGS, differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Patch = Callable[[pytest.MonkeyPatch], None]


def _as_usual(patch: pytest.MonkeyPatch) -> None: ...


def _without_rdds(patch: pytest.MonkeyPatch) -> None:
    """Pieces cross as rows of a DataFrame, as where the session has no context."""
    patch.setattr(SessionFeatures, "of", lambda spark, plan: SessionFeatures())


def _without_private_ways(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("SPARKRANK_PRIVATE_SPARK", "0")


def _in_ranges(patch: pytest.MonkeyPatch) -> None:
    """The long way of a day with too many distinct scores for the driver, forced on a small one."""
    patch.setattr(gathering, "MAX_DRIVER_ROWS", 0)
    patch.setattr(ranges, "RANGE_BINS", 300)


def _merged_in_tasks(patch: pytest.MonkeyPatch) -> None:
    """The states of more buckets than the driver merges at once."""
    patch.setattr("sparkrank.inputs.buckets.FAN_IN", 2)


# Of each transport: its lane, and what leads there.
TRANSPORTS: dict[str, tuple[str, Patch]] = {
    "local": ("local", _as_usual),
    "scan": ("scan", _as_usual),
    "frame": ("frame", _as_usual),
}
# What crosses in these ways are pieces of bytes and states, whatever the columns: a log of each shape is enough.
OTHER_WAYS: dict[str, tuple[str, Patch]] = {
    "scan without RDDs": ("scan", _without_rdds),
    "frame without private ways": ("frame", _without_private_ways),
}
IN_TASKS: dict[str, tuple[str, Patch]] = {"frame merged in tasks": ("frame", _merged_in_tasks)}
IN_RANGES: dict[str, tuple[str, Patch]] = {
    "scan in ranges": ("scan", _in_ranges),
    "frame in ranges": ("frame", _in_ranges),
}
MORE = {
    **dict.fromkeys(("types", "truth"), OTHER_WAYS),  # tests/connect/test_matrix.py has popularity without RDDs
    "slices": OTHER_WAYS | IN_TASKS,
    "arrays": OTHER_WAYS | IN_TASKS,
    "labels": IN_TASKS,
    **dict.fromkeys(("exact", "no_groups"), IN_RANGES),
}


@pytest.mark.parametrize("name", LOGS)
def test_every_lane_and_transport_gives_the_same_bits(spark: SparkSession, tmp_path: Path, name: str) -> None:
    log = LOGS[name]()
    path, truth = log.written(tmp_path)
    table, labels = log.in_memory()
    expected = log.bits(table, labels, buckets=1)
    assert len(expected["table"]) >= len(log.metrics)
    wrong = {}
    for transport, (lane, patched) in (TRANSPORTS | MORE.get(name, {})).items():
        with pytest.MonkeyPatch.context() as patch:
            patched(patch)
            if lane == "frame":
                rows, *beside = log.frames(spark, path, truth)
                tables = log.bits(rows.repartition(3), *beside, buckets=4)
            else:
                tables = log.bits(path, truth, buckets=3, spark=spark if lane == "scan" else None)
        assert tables["lane"] == [{"lane": lane}]
        if names := differences(expected, tables):
            wrong[transport] = names
    assert wrong == {}
