"""Spark columns of metrics: functions over Arrow batches of lists, and over batches of rows of a group.

A group's rows reach Python as one list, by Spark's own ``collect_list``, or as batches that are folded one after the
other where a metric is of all rows together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from sparkrank.base.errors import SparkrankError, SpecError
from sparkrank.engines.spark.worker_python import validate_session
from sparkrank.functions.column_plans import ColumnPlan
from sparkrank.functions.either_column import Place, either, text_of
from sparkrank.functions.list_values import values_of_lists
from sparkrank.functions.pooled_rows import PooledRows, pooled_values_of_lists, states_of_batches, values_of_states

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Column
    from pyspark.sql.window import WindowSpec

    ColumnOrName: TypeAlias = Column | str

OF = ("lists", "rows", "batches")


@dataclass(frozen=True)
class MetricColumn:
    """The metrics of ``asked`` over ``columns``, by the key of their role: as one value, or where there is a ``struct``
    as one field for each.
    """

    asked: ColumnPlan
    columns: Mapping[str, ColumnOrName]
    is_struct: bool = False

    def of_lists(self) -> Column:
        """The value for the list that a row has in arrays, or in one array of structs."""
        given = [self.columns[key] for key in self.asked.roles if key in self.columns]
        return self._named(list_function(self.asked, self.is_struct)(*given))

    def of_rows(self) -> Column:
        """The value for the rows of a group, or of all rows: Spark collects them as one list."""
        return self._named(list_function(self.asked, self.is_struct)(self._collected))

    def of_batches(self) -> Column:
        """The same for pooled metrics, whose rows come batch by batch. Spark takes no other aggregate beside it."""
        if self.asked.of_groups:
            raise SpecError(
                f"of=batches folds rows into score bins, and {self.asked.names[0]} is a metric of a group, whose rows "
                "are one list: of=rows"
            )
        if not has_arrow_functions():
            return self.of_rows()
        return self._named(row_function(self.asked, self.is_struct)(*self._given))

    def of_all_rows(self) -> Column:
        """The same for all rows together, which no group divides: tasks fold their rows, and the states are merged."""
        from pyspark.sql import functions as F

        if self.asked.of_groups or not has_arrow_functions():
            return self.of_rows()
        states = F.collect_list(state_function(self.asked)(*self._given))
        return self._named(merge_function(self.asked, self.is_struct)(states))

    def over(self, window: WindowSpec) -> Column:
        """The value for the rows of a window."""
        if self.asked.of_groups or not has_arrow_functions():
            return self._named(list_function(self.asked, self.is_struct)(self._collected.over(window)))
        return self._named(row_function(self.asked, self.is_struct, at_once=True)(*self._given).over(window))

    def of_either(self) -> Column:
        """The form for the place where it stands. A pooled metric aggregates wherever that is."""
        forms: dict[Place, Column] = {"rows": self.of_rows()}
        if self.asked.of_groups:
            forms["lists"] = self.of_lists()
        else:
            forms["alone"] = self.of_batches()
            forms["all"] = forms["lists"] = self.of_all_rows()
        columns = (column if isinstance(column, str) else text_of(column) for column in self._given)
        return either(forms, self.over, f"{', '.join(self.asked.names)}({', '.join(columns)})")

    @property
    def _given(self) -> list[ColumnOrName]:
        return [self.columns[key] for key in self.asked.roles]

    @cached_property
    def _collected(self) -> Column:
        from pyspark.sql import functions as F

        fields = [
            (F.col(column) if isinstance(column, str) else column).alias(key)
            for key, column in zip(self.asked.roles, self._given, strict=True)
        ]
        return F.collect_list(F.struct(*fields))

    def _named(self, column: Column) -> Column:
        return column if self.is_struct else column.alias(self.asked.names[0])


def list_function(asked: ColumnPlan, is_struct: bool) -> Callable[..., Column]:
    """A function of Spark columns of lists. It runs once a batch."""
    spark = _spark_functions()
    names, kind = asked.names, _type(asked, is_struct)

    def packed(arrays: Sequence[pa.Array]) -> pa.Array:
        values = (values_of_lists if asked.of_groups else pooled_values_of_lists)(arrays, asked)
        return pa.StructArray.from_arrays(values, names) if is_struct else values[0]

    if has_arrow_functions():

        def of_arrays(*arrays: pa.Array) -> pa.Array:
            return packed(arrays)

        return _column_function(spark.arrow_udf(_called(of_arrays, asked), kind))

    def of_series(*series: pd.Series) -> pd.Series:
        found: Any = packed([pa.Array.from_pandas(each) for each in series])
        made: pd.Series = pa.Table.from_struct_array(found).to_pandas() if is_struct else found.to_pandas()
        return made

    with warnings.catch_warnings():  # Spark would rather read types, and these depend on what is asked
        warnings.simplefilter("ignore", UserWarning)
        return _column_function(spark.pandas_udf(_called(of_series, asked), kind, spark.PandasUDFType.SCALAR))


def row_function(asked: ColumnPlan, is_struct: bool, *, at_once: bool = False) -> Callable[..., Column]:
    """A function of Spark columns of rows, which aggregates. It folds the batches of a group, or takes all ``at_once``.

    Spark before 4.2 has no such function of batches, nor has any a window of one.
    """
    spark = _spark_functions()
    names, kind = asked.names, _type(asked, is_struct)

    def valued(batches: Iterable[Sequence[pa.Array]]) -> Any:
        rows = PooledRows(asked)
        for arrays in batches:
            rows.add(arrays)
        values = rows.values()
        return pa.scalar(dict(zip(names, values, strict=True)), _arrow_type(names)) if is_struct else values[0]

    if at_once or not hasattr(spark.ArrowUDFType, "GROUPED_AGG_ITER"):

        def of_arrays(*arrays: pa.Array) -> float:
            found: float = valued([arrays])
            return found

        return _column_function(spark.arrow_udf(_called(of_arrays, asked), kind))

    def of_batches(batches: Iterator[tuple[pa.Array, ...]]) -> float:
        found: float = valued(batches)
        return found

    return _column_function(spark.arrow_udf(_called(of_batches, asked), kind))


def state_function(asked: ColumnPlan) -> Callable[..., Column]:
    """A function of Spark columns of rows: one row of a task has the packed states of all, the others null."""

    def states(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        yield from states_of_batches(batches, asked)

    return _column_function(_spark_functions().arrow_udf(_called(states, asked), "binary"))


def merge_function(asked: ColumnPlan, is_struct: bool) -> Callable[..., Column]:
    """A function of a Spark column of lists of packed states."""
    names = asked.names

    def merged(states: pa.Array) -> pa.Array:
        values = values_of_states(states, asked)
        return pa.StructArray.from_arrays(values, names) if is_struct else values[0]

    return _column_function(_spark_functions().arrow_udf(_called(merged, asked), _type(asked, is_struct)))


def validate_workers() -> None:
    """Raise :class:`SparkrankError` where no session runs, or its workers lack a package on this machine.

    Over Spark Connect, and where workers run elsewhere, Spark's own error says so.
    """
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:  # it may be that of another thread
        try:
            _spark_functions().lit(1)
        except AssertionError as error:  # which has no text
            raise SparkrankError("no Spark session runs: columns are made in one") from error
    elif hasattr(spark, "_jsparkSession"):
        validate_session(spark)


def has_arrow_functions() -> bool:
    """Whether Spark has functions of Arrow arrays: from 4.1 on. Before, columns go by way of pandas, more slowly."""
    return hasattr(_spark_functions(), "arrow_udf")


def _spark_functions() -> Any:
    """The module of Spark's functions, of which type checkers do not know all."""
    from pyspark.sql import functions

    return functions


def _type(asked: ColumnPlan, is_struct: bool) -> Any:
    from pyspark.sql import types as T

    double = T.DoubleType()
    return T.StructType([T.StructField(name, double) for name in asked.names]) if is_struct else double


def _arrow_type(names: Sequence[str]) -> pa.DataType:
    return pa.struct([(name, pa.float64()) for name in names])


def _called(function: Callable[..., Any], asked: ColumnPlan) -> Callable[..., Any]:
    """``function`` with a name that says in Spark's plans what it computes."""
    function.__name__ = function.__qualname__ = ", ".join(asked.names)
    return function


def _column_function(function: Any) -> Callable[..., Column]:
    found: Callable[..., Column] = function
    return found
