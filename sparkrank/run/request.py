"""From what a caller of ``sr.evaluate`` has, impressions or lists and truth, to the lane that takes it."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank import checks
from sparkrank.engines.arrow.folders import FolderColumns, PartitionTypes
from sparkrank.engines.arrow.joined_types import refuse_no_column
from sparkrank.engines.arrow.lacking import refuse_lacking_fragments
from sparkrank.engines.arrow.parquet import ParquetInput
from sparkrank.engines.arrow.sources import Sides, Source
from sparkrank.engines.arrow.stored_files import refuse_spelled_otherwise
from sparkrank.engines.arrow.types import signed, validated
from sparkrank.engines.buckets import MOST_BUCKETS
from sparkrank.engines.field_paths import columns_of
from sparkrank.engines.lanes import (
    LANES,
    FrameLane,
    Lane,
    LocalLane,
    lane_for_sides,
    parquet_source,
    settled,
)
from sparkrank.engines.spark.failures import told_by_reading
from sparkrank.engines.spark.files import frame_of_files
from sparkrank.errors import (
    FrameLaneNeededError,
    InputError,
    SpecError,
    did_you_mean,
    first_line,
    listed,
    shortened,
    shown,
)
from sparkrank.metrics import Plan
from sparkrank.roles import Roles

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    class ArrowStream(Protocol):
        """What hands out its rows as a stream of Arrow's C interface, as a polars DataFrame does."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    import polars as pl

    InMemory: TypeAlias = pd.DataFrame | pl.DataFrame | pl.LazyFrame | pa.Table | pa.RecordBatch | ds.Dataset
    Rows: TypeAlias = DataFrame | InMemory | ArrowStream | str | os.PathLike[str]

_NEEDS = {"frame": "a Spark DataFrame, or a path and spark", "scan": "a path and spark"}
_TEXT_FILE = re.compile(r"\.(csv|tsv|json|jsonl|ndjson)(\.(gz|bz2|zst|lz4|snappy))?/?$", re.IGNORECASE)
_IN_MEMORY = "the input is a table in memory"


def refuse_numbers(buckets: Any, curve_points: Any, max_bad_fraction: Any, row_memory: Any) -> None:
    """Raise :class:`SpecError` where a number that the caller gave is none that can be meant."""
    if buckets is not None and not (_is_whole(buckets) and 1 <= buckets <= MOST_BUCKETS):
        raise SpecError(f"buckets is {shown(buckets)}: an int from 1 to {MOST_BUCKETS} is allowed")
    if not (_is_whole(curve_points) and curve_points >= 0):
        raise SpecError(f"curve_points is {shown(curve_points)}: a whole number from 0 is allowed")
    if row_memory is not None and not (_is_whole(row_memory) and row_memory >= 0):
        raise SpecError(f"row_memory is {shown(row_memory)}: a whole number of bytes from 0 is allowed")
    is_number = isinstance(max_bad_fraction, Real) and not isinstance(max_bad_fraction, bool)
    if not (is_number and 0 <= max_bad_fraction <= 1):
        raise SpecError(f"max_bad_fraction is {shown(max_bad_fraction)}: a number from 0 to 1 is allowed")


def refuse_others(group_table: Any, spark: Any) -> None:
    """Raise :class:`SpecError` where ``group_table`` is neither a choice nor a folder, or ``spark`` no session."""
    if not isinstance(group_table, (bool, str, os.PathLike)) or group_table == "":  # the folder of this process
        raise SpecError(f"group_table is {shown(group_table)}: True, False or a folder is needed")
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise SpecError(f"spark is {shown(spark)}: a SparkSession is needed")


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def choose_lane(
    impressions: Rows,
    truth: Rows | None,
    roles: Roles,
    plan: Plan,
    spark: SparkSession | None,
    lane: str,
    row_memory: int | None = None,
    partition_types: PartitionTypes = "inferred",
) -> Lane:
    """The lane for what was given; raises :class:`SpecError` where ``lane`` asks for one that cannot take it.

    ``row_memory`` is of the local lane, and raises the same for another; ``partition_types`` is of paths.

    Lists and truth may be of different kinds. Where one is a Spark DataFrame, or one a path that ``spark`` is to read
    and the other a table in memory, Spark takes both.
    """
    if lane not in LANES:
        raise SpecError(f'lane is "{shortened(lane)}"{did_you_mean(lane, LANES)} (allowed: {listed(LANES)})')
    impressions = _known("the impressions are", impressions, roles)
    truth = None if truth is None else _known("the truth is", truth, roles.truth or roles)
    if partition_types not in get_args(PartitionTypes):
        near = did_you_mean(partition_types, get_args(PartitionTypes))
        raise SpecError(
            f'partition_types is "{shortened(partition_types)}"{near} (allowed: {listed(get_args(PartitionTypes))})'
        )
    if partition_types == "text" and not (_is_path(impressions) or _is_path(truth)):
        raise SpecError("partition_types is text, but no path is given: only the names of folders have types to infer")
    chosen = _choose(impressions, truth, roles, plan, spark, lane, partition_types)
    if lane not in ("auto", chosen.name):
        raise SpecError(f'lane="{lane}" needs {_NEEDS.get(lane, "a path or a table in memory")} ({chosen.reason})')
    return settled(chosen, row_memory)


def _choose(
    impressions: Any,
    truth: Any,
    roles: Roles,
    plan: Plan,
    spark: SparkSession | None,
    lane: str,
    types: PartitionTypes,
) -> Lane:
    given = [impressions] if truth is None else [impressions, truth]
    sessions = [rows.sparkSession for rows in given if _is_frame(rows)]
    paths = [_is_path(rows) for rows in given]
    mixed = any(paths) and not all(paths)
    if sessions or (spark is not None and lane != "local" and (mixed or (lane == "frame" and any(paths)))):
        return _frame_lane(impressions, truth, roles, [*sessions, spark][0], types)
    opened: dict[str, ParquetInput] = {}
    read = functools.partial(_source, plan=plan, spark=spark, types=types, opened=opened)
    try:
        sides = Sides(
            read(impressions, roles, "input"),
            None if truth is None or roles.truth is None else read(truth, roles.truth, "truth"),
            roles,
        )
    except FrameLaneNeededError as error:
        if spark is None or lane != "auto":
            other = "spark=session" if spark is None else 'lane="auto"'
            raise SpecError(f"{error}: {other} leaves it to Spark, and a table in memory is taken as it is") from None
        return _frame_lane(impressions, truth, roles, spark, types, str(error), opened)
    if all(paths):
        return lane_for_sides(sides, None if lane == "local" else spark)
    return LocalLane(sides, _IN_MEMORY)


def _frame_lane(
    impressions: Any,
    truth: Any,
    roles: Roles,
    session: Any,
    types: PartitionTypes,
    reason: str | None = None,
    opened: Mapping[str, ParquetInput] = MappingProxyType({}),
) -> FrameLane:
    found: dict[str, FolderColumns] = {}
    read = functools.partial(_as_frame, session=session, types=types, opened=opened, found=found)
    frame = read(impressions, roles, "input")
    beside = None if truth is None or roles.truth is None else read(truth, roles.truth, "truth")
    if len(found) > 1:
        refuse_spelled_otherwise(found["input"], found["truth"], roles)
    return FrameLane(frame, roles, beside) if reason is None else FrameLane(frame, roles, beside, reason)


def _as_frame(
    rows: Any,
    roles: Roles,
    what: str,
    session: SparkSession,
    types: PartitionTypes,
    opened: Mapping[str, ParquetInput],
    found: dict[str, FolderColumns],
) -> Any:
    if _is_frame(rows):
        return rows
    if _is_path(rows):
        return frame_of_files(session, os.fspath(rows), roles, what, types, opened=opened.get(what), found=found)
    source = Source.of(_as_table(rows, roles, what), roles, what)
    for role, column in roles.columns():
        refuse_no_column(role, column, source.schema.names, what)
    read = source.read(list(dict.fromkeys(column for _, column in roles.columns())))
    with told_by_reading("in memory", what, what):
        return session.createDataFrame(signed(read))  # of a NaN of pandas Spark makes what its settings say


def _source(
    rows: Any,
    roles: Roles,
    what: str,
    plan: Plan,
    spark: SparkSession | None,
    types: PartitionTypes,
    opened: dict[str, ParquetInput],
) -> Source:
    if _is_path(rows):
        return parquet_source(os.fspath(rows), None, roles, plan, what, spark, types, opened)
    return Source.of(_as_table(rows, roles, what), roles, what)


def _as_table(rows: pd.DataFrame | pa.Table, roles: Roles, what: str) -> pa.Table:
    """``rows``, of pandas the columns and levels of the index that have a role; all, where some of them are missing, to
    name them.

    Raises :class:`InputError` where a column has values that no single Arrow type holds.
    """
    if isinstance(rows, pa.Table):
        return validated(rows, roles, what)
    levels = {name for name in rows.index.names if name is not None} - set(rows.columns)
    asked = {column for _, column in roles.columns()} & levels
    rows = rows.reset_index(level=list(asked)) if asked else rows
    names = [name for name in rows.columns if isinstance(name, str)]
    try:
        table = pa.Table.from_pandas(rows[columns_of(roles, names)], preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = shortened(": ".join(map(shortened, error.args)).rstrip("."))
        raise InputError(f"the {what} has a column that Arrow cannot hold: {reason}") from error
    return validated(table, roles, what)  # columns of pandas may be those of Arrow


def nan_scores(rows: Any, roles: Roles) -> dict[tuple[str, str], int]:
    """How many scores of each model are NaN in a DataFrame of pandas, which cannot tell them from none."""
    if not _is_pandas(rows):
        return {}
    columns = {model: rows[column] for model, column in roles.scores.items() if column in rows.columns}
    return {
        (checks.NAN_OF_PANDAS, model): int((column != column).sum())  # noqa: PLR0124 - true of NaN alone
        for model, column in columns.items()
        if getattr(column.dtype, "kind", "") == "f" and isinstance(column.dtype, np.dtype)
    }


def _is_frame(rows: object) -> bool:
    return hasattr(rows, "sparkSession")


def _is_path(rows: object) -> bool:
    return isinstance(rows, (str, os.PathLike))


def _known(subject: str, rows: Any, roles: Roles) -> Any:
    """``rows``, as a pyarrow Table where they are Arrow's or polars'; raises :class:`SpecError` where they are no rows.

    Only columns that have a role are asked for, where that can be.
    """
    if isinstance(rows, str) and not rows:  # which Arrow would take for the folder that this process is in
        raise SpecError(f"{subject} an empty text: a path to Parquet is needed")
    if getattr(rows, "isStreaming", False) is True:  # which a column of pandas might be called, too
        raise SpecError(f"{subject} a streaming DataFrame: rows that are all there are needed")
    if _is_path(rows) and (found := _TEXT_FILE.search(os.fspath(rows))) is not None:
        raise SpecError(
            f"{subject} {os.fspath(rows)[:200]!r}, but a path is read as Parquet: read it by Spark, pyarrow or pandas, "
            f"or by the job (format: {'json' if 'j' in found[1].lower() else 'csv'})"
        )
    if _is_frame(rows) or _is_path(rows) or isinstance(rows, pa.Table) or _is_pandas(rows):
        return rows
    reason = ""
    try:
        if (table := _table_of(rows, roles)) is not None:
            return table
    except (pa.ArrowException, TypeError, ValueError) as error:  # as a Series, which is a stream of values
        reason = f", of which Arrow makes no table ({first_line(error)})"
    except OSError as error:  # of the files of a dataset
        raise InputError(f"{subject} a {type(rows).__name__} that cannot be read: {first_line(error)}") from error
    of = type(rows)
    kind = of.__name__ if of.__module__ == "builtins" else f"{of.__module__}.{of.__name__}"
    raise SpecError(f"{subject} of type {kind}{reason}: a DataFrame, a pyarrow Table or a path to Parquet is needed")


def _table_of(rows: Any, roles: Roles) -> pa.Table | None:
    """The columns of ``rows`` that have a role, or None where these are no rows."""
    polars = sys.modules.get("polars")  # who has a frame of it has imported it
    if polars is not None and isinstance(rows, polars.LazyFrame):
        try:
            rows = rows.select(columns_of(roles, rows.collect_schema().names())).collect(engine="streaming")
        except (polars.exceptions.PolarsError, OSError) as error:
            raise InputError(f"the LazyFrame cannot be collected: {first_line(error)}") from error
    elif polars is not None and isinstance(rows, polars.DataFrame):
        rows = rows.select(columns_of(roles, rows.columns))  # of others Arrow may have no type
    if isinstance(rows, ds.Dataset):
        refuse_lacking_fragments(rows, roles)
        return rows.to_table(columns_of(roles, rows.schema.names))
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if not hasattr(rows, "__arrow_c_stream__"):
        return None
    reader = pa.RecordBatchReader.from_stream(rows)
    read = columns_of(roles, reader.schema.names)
    return pa.Table.from_batches([batch.select(read) for batch in reader], pa.schema(map(reader.schema.field, read)))


def _is_pandas(rows: object) -> bool:
    pandas = sys.modules.get("pandas")  # who has a DataFrame of it has imported it
    return pandas is not None and isinstance(rows, pandas.DataFrame)
