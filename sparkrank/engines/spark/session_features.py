"""The features that a Spark session permits. Only this module asks for them. A refusal stops no evaluation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from sparkrank.engines.result import Refusal
from sparkrank.engines.score_ranges import exact_metrics
from sparkrank.engines.spark.failures import reason_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.metrics import Plan

Batches: TypeAlias = "Iterator[pa.RecordBatch]"
T = TypeVar("T")
_PIECES_AS_ROWS = "rows cross Spark in batches of a DataFrame, which takes about a fifth longer"
_OTHER_BATCHES = "batches have the size that the session gives them, which takes longer"
# Spark's error for a setting that its version does not have.
_UNKNOWN_SETTING = "SQL_CONF_NOT_FOUND"


@dataclass(frozen=True)
class SessionFeatures:
    """The features of a session: a ``context`` if the plan needs RDDs and the session has them, and ``refusals``."""

    context: SparkContext | None = None
    refusals: tuple[Refusal, ...] = ()

    @classmethod
    def of(cls, spark: SparkSession, plan: Plan) -> SessionFeatures:
        """Ask ``spark`` for the features that an evaluation with ``plan`` may use."""
        # exact bins are not sent by RDDs, because the JVM would unpickle tens of megabytes for tasks of Spark SQL
        if exact_metrics(plan):
            return cls()
        context, because = context_of_rdds(spark)
        if context is not None:
            return cls(context)
        return cls(None, (Refusal("RDDs", because, _PIECES_AS_ROWS, is_usual=is_connect(spark)),))


def has_pyspark() -> bool:
    """Return whether pyspark is installed, without importing it."""
    return find_spec("pyspark") is not None


def is_connect(spark: SparkSession) -> bool:
    """Return whether ``spark`` is a session of Spark Connect, which has no RDDs."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def context_of_rdds(spark: SparkSession) -> tuple[SparkContext | None, str]:
    """Return the context for RDDs and an empty string, or None and the reason why the session has no RDDs."""
    # Some sessions have a context but refuse its methods. So this creates an RDD without running it, in milliseconds.
    if is_connect(spark):
        return None, "Spark Connect has none"

    def context() -> SparkContext:
        spark.sparkContext.parallelize([], 1).mapPartitions(list)
        return spark.sparkContext

    found, because = _answer(context)
    return found, because or ""


def _answer(ask: Callable[[], T]) -> tuple[T | None, str | None]:
    """Call ``ask`` to query a session. Return the answer and None, or None and the reason for a refusal."""
    try:
        return ask(), None
    except Exception as error:  # noqa: BLE001 - what a session raises here differs by platform
        return None, reason_of(error).rstrip(".")


def core_count(spark: SparkSession) -> int | None:
    """Return the number of cores that the session's executors have now, or None if the session does not reveal it."""
    return _answer(lambda: int(spark.sparkContext.defaultParallelism))[0]


def setting(spark: SparkSession, name: str, *default: str | None) -> str | None:
    """Return the value of the setting ``name``, ``default`` if unset, or None if the session hides its settings."""
    return _answer(lambda: spark.conf.get(name, *default))[0]


def all_settings(spark: SparkSession) -> dict[str, str] | None:
    """Return all session settings by name, or None if the session does not reveal its settings."""
    return _answer(lambda: dict(spark.conf.getAll))[0]


def is_made_active(spark: SparkSession) -> bool:
    """Make ``spark`` the active session of this thread by a call that runs no job. Return whether that worked."""
    return _answer(lambda: spark.createDataFrame([(1,)], "one int"))[1] is None


@contextmanager
def setting_as(spark: SparkSession, name: str, value: str) -> Iterator[str | None]:
    """Set ``name`` to ``value`` inside a ``with`` block. Yield the session's reason for a refusal, or None.

    The last of overlapping evaluations restores the setting.
    """
    key = (id(spark), name)
    with _holding:
        held = _held.get(key)
        if held is None:
            held = _held[key] = _Held(value, *set_where_permitted(spark, name, value))
        held.count += 1
    try:
        yield held.because if held.value == value else f"another evaluation of the session has it at {held.value}"
    finally:
        with _holding:
            held.count -= 1
            if not held.count:
                del _held[key]
                held.restore()


@dataclass
class _Held:
    """A setting that ``count`` evaluations hold at ``value``. ``restore`` undoes this.

    ``because`` is the reason if the session refused, or None.
    """

    value: str
    restore: Callable[[], object]
    because: str | None
    count: int = 0


_holding = threading.Lock()
_held: dict[tuple[int, str], _Held] = {}  # by session and setting


def set_where_permitted(spark: SparkSession, name: str, value: str) -> tuple[Callable[[], object], str | None]:
    """Set ``name`` to ``value``. Return a function that undoes this, and the reason for a refusal, or None."""

    def change() -> Callable[[], object]:
        before = spark.conf.get(name, None)  # None where the session has Spark's default
        spark.conf.set(name, value)
        return partial(spark.conf.unset, name) if before is None else partial(spark.conf.set, name, before)

    restore, because = _answer(change)
    return restore or (lambda: None), because


def refused_batches(because: str) -> Refusal:
    """Return the refusal of a size of Arrow batches. ``because`` is the session's reason."""
    return Refusal("a size of Arrow batches", because, _OTHER_BATCHES, is_usual=_UNKNOWN_SETTING in because)


def packed_once(function: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Return ``function`` (from batches to batches) in a form with the same pickled bytes every time."""
    # Spark Connect pickles a function each time a query has it, and finds cached rows only by an identical plan.
    from pyspark import cloudpickle

    packed: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]

    def call(batches: Batches) -> Batches:
        from pyspark import cloudpickle

        results: Batches = cloudpickle.loads(packed)(batches)
        return results

    return call


def why_not_cached(rows: DataFrame) -> str | None:
    """Ask Spark to cache ``rows`` once computed. Return the session's reason for a refusal, or None."""
    return _answer(rows.persist)[1]
