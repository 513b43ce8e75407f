"""Spark columns of metrics, computed by functions over Arrow batches of lists, or of the rows of a group."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from sparkrank.base.errors import SparkrankError, SpecError
from sparkrank.engines.spark.worker_python import validate_session
from sparkrank.functions.column_plans import ColumnPlan
from sparkrank.functions.list_values import values_of_lists
from sparkrank.functions.pooled_rows import PooledRows, pooled_values_of_lists

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Column
    from pyspark.sql.window import WindowSpec

    ColumnOrName: TypeAlias = Column | str

OF = ("lists", "rows", "batches")


@dataclass(frozen=True)
class MetricColumn:
    """A Spark column of one metric, or of a struct of several. ``columns`` maps role keys to the input columns."""

    column_plan: ColumnPlan
    columns: Mapping[str, ColumnOrName]
    is_struct: bool = False

    def of_lists(self) -> Column:
        """Return a column with a value for the list in each row, given as several arrays or as one array of structs."""
        given = [self.columns[key] for key in self.column_plan.roles if key in self.columns]
        return self._named(list_function(self.column_plan, self.is_struct)(*given))

    def of_rows(self) -> Column:
        """Return an aggregate for the value of a group or of all rows. Spark collects the rows into one list."""
        return self._named(list_function(self.column_plan, self.is_struct)(self._collected))

    def of_batches(self) -> Column:
        """Return an aggregate of pooled metrics that reads batches of rows, or all rows if Spark cannot.

        Spark allows no other aggregate with it. Raise :class:`SpecError` for a metric of a group.
        """
        if self.column_plan.by_group:
            raise SpecError(
                f"of=batches folds rows into score bins, and {self.column_plan.names[0]} is a metric of a group, whose "
                "rows are one list: of=rows"
            )
        if not has_arrow_functions():
            return self.of_rows()
        return self._named(row_function(self.column_plan, self.is_struct)(*self._given))

    def over(self, window: WindowSpec) -> Column:
        """Return a column with the value for the rows of ``window``."""
        if self.column_plan.by_group or not has_arrow_functions():
            return self._named(list_function(self.column_plan, self.is_struct)(self._collected.over(window)))
        return self._named(row_function(self.column_plan, self.is_struct, at_once=True)(*self._given).over(window))

    @property
    def _given(self) -> list[ColumnOrName]:
        return [self.columns[key] for key in self.column_plan.roles]

    @property
    def _collected(self) -> Column:
        from pyspark.sql import functions as F

        fields = [
            (F.col(column) if isinstance(column, str) else column).alias(key)
            for key, column in zip(self.column_plan.roles, self._given, strict=True)
        ]
        return F.collect_list(F.struct(*fields))

    def _named(self, column: Column) -> Column:
        return column if self.is_struct else column.alias(self.column_plan.names[0])


def list_function(column_plan: ColumnPlan, is_struct: bool) -> Any:
    """Return a Spark function from columns of lists to metrics. Spark calls the function once for each batch."""
    spark = _spark_functions()
    names, kind = column_plan.names, _type(column_plan, is_struct)

    def packed(*arrays: pa.Array) -> pa.Array:
        values = (values_of_lists if column_plan.by_group else pooled_values_of_lists)(arrays, column_plan)
        return pa.StructArray.from_arrays(values, names) if is_struct else values[0]

    if has_arrow_functions():
        return spark.arrow_udf(_called(packed, column_plan), kind)

    def of_series(*series: pd.Series) -> pd.Series:
        values: Any = packed(*map(pa.Array.from_pandas, series))
        result: pd.Series = pa.Table.from_struct_array(values).to_pandas() if is_struct else values.to_pandas()
        return result

    with warnings.catch_warnings():  # Spark would prefer type hints, but the types depend on what is requested
        warnings.simplefilter("ignore", UserWarning)
        return spark.pandas_udf(_called(of_series, column_plan), kind, spark.PandasUDFType.SCALAR)


def row_function(column_plan: ColumnPlan, is_struct: bool, *, at_once: bool = False) -> Any:
    """Return a Spark aggregate that reads the rows of a group in batches or, with ``at_once``, all at once.

    Spark supports aggregates of batches from 4.2 on, and only outside of windows.
    """
    spark = _spark_functions()
    names, kind = column_plan.names, _type(column_plan, is_struct)

    def valued(batches: Iterable[Sequence[pa.Array]]) -> float:
        rows = PooledRows(column_plan)
        for arrays in batches:
            rows.add(arrays)
        values = rows.values()
        fields = pa.struct([(name, pa.float64()) for name in names])
        one: Any = pa.scalar(dict(zip(names, values, strict=True)), fields) if is_struct else values[0]
        return one  # type: ignore[no-any-return] # a struct if several metrics are requested

    if at_once or not hasattr(spark.ArrowUDFType, "GROUPED_AGG_ITER"):

        def of_arrays(*arrays: pa.Array) -> float:
            return valued([arrays])

        return spark.arrow_udf(_called(of_arrays, column_plan), kind)

    def of_batches(batches: Iterator[tuple[pa.Array, ...]]) -> float:
        return valued(batches)

    return spark.arrow_udf(_called(of_batches, column_plan), kind)


def validate_workers() -> None:
    """Raise :class:`SparkrankError` if no session runs, or if the session's workers on this machine lack a package."""
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:  # the session may belong to another thread
        try:
            _spark_functions().lit(1)
        except AssertionError as error:  # an error without a message
            raise SparkrankError("no Spark session runs: start one before making columns") from error
    elif hasattr(spark, "_jsparkSession"):
        validate_session(spark)


def has_arrow_functions() -> bool:
    """Return whether Spark supports user-defined functions on Arrow arrays (from 4.1 on), faster than on pandas."""
    return hasattr(_spark_functions(), "arrow_udf")


def _spark_functions() -> Any:
    from pyspark.sql import functions

    return functions


def _type(column_plan: ColumnPlan, is_struct: bool) -> Any:
    from pyspark.sql import types as T

    double = T.DoubleType()
    return T.StructType([T.StructField(name, double) for name in column_plan.names]) if is_struct else double


def _called(function: Callable[..., Any], column_plan: ColumnPlan) -> Callable[..., Any]:
    """Rename ``function`` to the names of its metrics, which Spark's plans then show, and return it."""
    function.__name__ = function.__qualname__ = ", ".join(column_plan.names)
    return function
