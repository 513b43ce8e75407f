"""One session over Spark Connect, and so one server, for the tests of this folder.

A classic session and a server do not live in one process, so no other tests run in it: tests/spark/test_connect.py
starts a process for this folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

ROLES = {"group": "user", "score": "score", "label": "label"}


@pytest.fixture(scope="session")
def spark(spark_environment: dict[str, str]) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_TESTING", "1")  # a free port: another server may run beside it
        # Workers have 1 GiB each: the limit is divided by the cores of an executor, of which a local one counts as one.
        builder = SparkSession.builder.remote("local[2]").config("spark.executor.pyspark.memory", "1g")
        builder = builder.config("spark.python.task.killTimeout", "200ms")  # as that of a classic session
        with warnings.catch_warnings(action="ignore"):  # the server has it, and the session cannot set it again
            session = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
        assert "connect" in type(session).__module__
        yield session
        session.stop()


@pytest.fixture
def another_session(spark: SparkSession) -> Iterator[SparkSession]:
    """One on the same server, for what changes a session."""
    found = SparkSession.builder.remote("sc://localhost").create()
    assert found.session_id != spark.session_id
    yield found
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPARK_LOCAL_REMOTE")  # with which the server would stop, too
        found.stop()  # now: once the server is gone, the process would wait for its answer


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Eight hundred rows of sixty users."""
    rng = np.random.default_rng(29)
    rows = {"user": rng.integers(0, 60, 800), "score": rng.random(800).round(2), "label": rng.integers(0, 3, 800)}
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(pa.table(rows), path)
    return str(path)
