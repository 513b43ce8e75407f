"""A session that permits what a serverless one does: no cache, no RDDs, no settings. Only sparkrank is refused.

PySpark calls some of the same functions itself, on the side of Spark that such a platform has behind its gate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

NO_CACHE = "[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute"
NO_RDDS = "[NOT_SUPPORTED_WITH_SERVERLESS] RDDs are not supported on serverless compute"
NO_SETTING = "[CONFIG_NOT_AVAILABLE] Configuration is not available"
OF_ROWS = ("persist", "cache", "unpersist", "checkpoint", "localCheckpoint")
OF_A_CONTEXT = ("parallelize", "broadcast", "accumulator", "statusTracker", "addPyFile", "addFile", "setLocalProperty")


def _refused(sentence: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        if sys._getframe(1).f_globals["__name__"].startswith("pyspark"):
            return original(*given, **named)
        raise PySparkException(f"{sentence}. SQLSTATE: 0A000")

    return call


def seal(patch: pytest.MonkeyPatch, spark: SparkSession, *, context: bool = True) -> None:
    """Let ``spark`` refuse what a serverless session does, until ``patch`` is undone.

    With ``context`` it has a context, which refuses what it is asked for; else it refuses the context itself.
    """
    rows, conf = type(spark.range(1)), type(spark.conf)
    for name in OF_ROWS:
        patch.setattr(rows, name, _refused(NO_CACHE, getattr(rows, name)))
    for name in ("get", "set", "unset"):
        patch.setattr(conf, name, _refused(NO_SETTING, getattr(conf, name)))
    patch.setattr(conf, "getAll", property(_refused(NO_SETTING, conf.getAll.fget)))
    patch.setattr(rows, "rdd", property(_refused(NO_RDDS, lambda rows: None)))
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return  # it has neither
    if not context:
        patch.setattr(type(spark), "sparkContext", property(_refused(NO_RDDS, type(spark).sparkContext.fget)))
        return
    for name in OF_A_CONTEXT:
        kind = type(spark.sparkContext)
        patch.setattr(kind, name, _refused(NO_RDDS, getattr(kind, name)))
