"""The sizes of Arrow batches are set for an evaluation and no longer, where a session permits it. No JVM runs here."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

from sparkrank.engines.spark.batches import (
    BYTES_OF_PIECES,
    BYTES_SETTING,
    NO_LIMIT,
    ROWS_OF_TEXTS,
    ROWS_SETTING,
    batches_of,
    short_batches,
)
from tests.engines.test_session_features import Session

ROWS = {ROWS_SETTING: "10000"}


def test_the_session_is_as_it_was_afterwards() -> None:
    for before in ({}, {BYTES_SETTING: "1000000"}):
        spark: Any = Session(**ROWS, **before)
        for limit in (NO_LIMIT, BYTES_OF_PIECES):
            with contextlib.suppress(ZeroDivisionError), batches_of(spark, limit):
                assert spark.conf.values[BYTES_SETTING] == str(limit)
                raise ZeroDivisionError
            assert spark.conf.values == {**ROWS, **before}


def test_of_two_evaluations_the_first_decides() -> None:
    """Which is the first to end, too."""
    for first, second in itertools.product([NO_LIMIT, BYTES_OF_PIECES], repeat=2):
        spark: Any = Session(**ROWS)
        one, two = batches_of(spark, first), batches_of(spark, second)
        assert [each.__enter__() for each in (one, two)] == [None, None]
        assert spark.conf.values[BYTES_SETTING] == str(first)
        for each in (one, two):
            each.__exit__(None, None, None)
        assert spark.conf.values == ROWS


def test_one_limit_of_a_batch_stays() -> None:
    """Where rows have none, bytes keep theirs."""
    spark: Any = Session(**{ROWS_SETTING: "0"})
    with batches_of(spark, NO_LIMIT) as refusal:
        assert (refusal, spark.conf.values) == (None, {ROWS_SETTING: "0"})
    with batches_of(Session(), NO_LIMIT) as refusal:  # type: ignore[arg-type]
        assert getattr(refusal, "because", None) == f"it does not tell {ROWS_SETTING}"


def test_batches_of_texts_are_short() -> None:
    for before, inside in (("10000", ROWS_OF_TEXTS), ("100", 100), ("0", 0)):
        spark: Any = Session(**{ROWS_SETTING: before})
        with short_batches(spark):
            assert spark.conf.values[ROWS_SETTING] == str(inside)
        assert spark.conf.values[ROWS_SETTING] == before
