"""Checks of arguments of ``sr.evaluate``: numbers, choices, a folder and a session."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any, get_args

from sparkrank.base.errors import SpecError, quote, validate_names
from sparkrank.engines.lanes import lane_words
from sparkrank.inputs.buckets import MOST_BUCKETS
from sparkrank.metrics.plan import MOST_CURVE_POINTS
from sparkrank.metrics.position_sums import MOST_POSITIONS
from sparkrank.sources.colocation import GroupedWord
from sparkrank.sources.folders import PartitionTypes


def validate_argument_numbers(
    buckets: Any, curve_points: Any, max_bad_fraction: Any, row_memory: Any, position_depth: Any
) -> None:
    """Raise :class:`SpecError` if an argument is out of range. Only ``buckets`` and ``row_memory`` may be None."""
    points = f"a whole number from 0 to {MOST_CURVE_POINTS}"
    kind: Any
    for name, value, kind, low, high, allowed in (
        ("buckets", buckets, int, 1, MOST_BUCKETS, f"an int from 1 to {MOST_BUCKETS}"),
        ("curve_points", curve_points, int, 0, MOST_CURVE_POINTS, points),
        ("position_depth", position_depth, int, 0, MOST_POSITIONS, f"a whole number from 0 to {MOST_POSITIONS}"),
        ("row_memory", row_memory, int, 0, (1 << 63) - 1, "a whole number of bytes from 0, below 8 EiB,"),
        ("max_bad_fraction", max_bad_fraction, Real, 0, 1, "a number from 0 to 1"),
    ):
        if value is None and name in ("buckets", "row_memory"):
            continue
        validate_number(name, value, kind, low, high, allowed)


def validate_number(name: str, value: Any, kind: Any, low: float, high: float, allowed: str) -> None:
    """Raise :class:`SpecError` unless ``value`` is a number of the type ``kind`` from ``low`` to ``high``.

    The message contains ``allowed``, a text on the valid values.
    """
    if isinstance(value, bool) or not (isinstance(value, kind) and low <= value <= high):
        raise SpecError(f"{name} is {quote(value)}: {allowed} is allowed")


def validate_least_groups(least_groups: Any, slices: Any) -> None:
    """Raise :class:`SpecError` if ``least_groups`` is not a number of groups, or if there are no slices."""
    validate_number("least_groups", least_groups, int, 1, (1 << 63) - 1, "a whole number from 1")
    if least_groups > 1 and not len(slices):
        raise SpecError(f"least_groups is {least_groups}, but there are no slices")


def validate_other_arguments(group_table: Any, spark: Any) -> None:
    """Raise :class:`SpecError` if ``group_table`` is neither a bool nor a folder, or ``spark`` is not a session."""
    if not isinstance(group_table, (bool, str, os.PathLike)) or group_table == "":  # the folder of this process
        raise SpecError(f"group_table is {quote(group_table)}: True, False or a folder is needed")
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise SpecError(f"spark is {quote(spark)}: a SparkSession is needed")


def validate_argument_words(lane: Any, partition_types: Any, grouped: Any, paths: bool) -> None:
    """Raise :class:`SpecError` if a word is unknown, or if ``partition_types`` is "text" and no input is a path."""
    for name, word, known in (
        ("lane", lane, lane_words()),
        ("partition_types", partition_types, get_args(PartitionTypes)),
        ("grouped", grouped, get_args(GroupedWord)),
    ):
        validate_names(f"{name} is", [word], known)
    if partition_types == "text" and not paths:
        raise SpecError("partition_types is text, but no path is given: only the names of folders have types to infer")
