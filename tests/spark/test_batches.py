"""The bytes of Arrow batches are set for an evaluation and no longer."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from sparkrank.engines.spark.batches import BYTES_OF_PIECES, BYTES_SETTING, NO_LIMIT, ROWS_SETTING, batches_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _limit(spark: SparkSession) -> int:
    return int(spark.conf.get(BYTES_SETTING).rstrip("b"))


def test_the_session_is_as_it_was_afterwards(spark: SparkSession) -> None:
    if spark.version.startswith("4.0."):
        pytest.skip("Spark 4.0 does not limit the bytes of a batch")
    session = spark.newSession()
    session.conf.set(BYTES_SETTING, "1000000")
    with batches_of(session, NO_LIMIT):
        assert _limit(session) == NO_LIMIT
    assert _limit(session) == 1_000_000
    session.conf.unset(BYTES_SETTING)
    with batches_of(session, BYTES_OF_PIECES):
        assert _limit(session) == 4 << 20
    with contextlib.suppress(ZeroDivisionError), batches_of(session, NO_LIMIT):
        assert _limit(session) == NO_LIMIT
        raise ZeroDivisionError
    assert _limit(session) == 64 << 20
    assert BYTES_SETTING not in session.conf.getAll  # what was not set is not
    for first, second in itertools.product([NO_LIMIT, BYTES_OF_PIECES], repeat=2):
        # two evaluations at a time, of which the first to begin is the first to end
        one, two = contextlib.ExitStack(), contextlib.ExitStack()
        one.enter_context(batches_of(session, first))
        two.enter_context(batches_of(session, second))
        assert _limit(session) == first
        one.close()
        two.close()
        assert _limit(session) == 64 << 20
    session.conf.set(BYTES_SETTING, "1000000")
    session.conf.set(ROWS_SETTING, "0")  # then the bytes are the only limit
    with batches_of(session, NO_LIMIT):
        assert _limit(session) == 1_000_000


def test_a_session_that_lets_nobody_set_anything_is_left_alone() -> None:
    class Sealed:
        def get(self, key: str, default: str | None = "") -> str:
            return "64"  # of either setting

        def set(self, key: str, value: str) -> None:
            raise PySparkException(f"{key} is not available")

    class Session:
        conf = Sealed()

    with batches_of(Session(), NO_LIMIT):  # type: ignore[arg-type]
        pass
