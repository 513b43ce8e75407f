"""Settings of a session that an evaluation changes: they are as they were once the last evaluation has ended."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sparkrank.engines.spark.session_features import setting_as


class Session:
    """A session, and what its ``conf`` has: the settings in ``values``."""

    def __init__(self, **values: str) -> None:
        self.values, self.conf = values, self

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if name == "fixed":
            raise ValueError("it is fixed.")
        self.values[name] = value

    def unset(self, name: str) -> None:
        del self.values[name]


@pytest.mark.parametrize("before", [{}, {"zone": "UTC"}])
def test_the_last_of_several_evaluations_restores(before: dict[str, str]) -> None:
    """Whichever ends first, and also after an error."""
    spark: Any = Session(**before)
    for first_ends in (0, 1):
        both = [setting_as(spark, "zone", "Asia/Tokyo") for _ in range(2)]
        assert [each.__enter__() for each in both] == [None, None]
        both[first_ends].__exit__(None, None, None)
        assert spark.conf.values == {"zone": "Asia/Tokyo"}
        both[1 - first_ends].__exit__(None, None, None)
        assert spark.conf.values == before
    with pytest.raises(KeyError), setting_as(spark, "zone", "Asia/Tokyo"):
        raise KeyError
    assert spark.conf.values == before


def test_another_value_is_not_set_under_an_evaluation_that_needs_its_own() -> None:
    """Sessions and settings do not share."""
    spark: Any = Session()
    other: Any = Session(zone="Europe/Berlin")
    with setting_as(spark, "zone", "UTC"), setting_as(spark, "zone", "Asia/Tokyo") as because:
        assert because == "another evaluation of the session has it at UTC"
        with setting_as(other, "zone", "b"), setting_as(spark, "size", "c"):
            assert (spark.conf.values, other.conf.values) == ({"zone": "UTC", "size": "c"}, {"zone": "b"})
    assert (spark.conf.values, other.conf.values) == ({}, {"zone": "Europe/Berlin"})
    with setting_as(spark, "zone", "Asia/Tokyo") as because:
        assert because is None


def test_what_a_session_refuses_is_told_to_each() -> None:
    spark: Any = Session()
    with setting_as(spark, "fixed", "a") as one, setting_as(spark, "fixed", "a") as other:
        assert one == other
        assert "it is fixed" in str(one)


def test_evaluations_in_threads() -> None:
    spark: Any = Session(zone="Europe/Berlin")
    start = threading.Barrier(8)

    def evaluate(_: int) -> None:
        start.wait()
        for _ in range(200):
            with setting_as(spark, "zone", "UTC") as because:
                assert because is None
                assert spark.conf.values["zone"] == "UTC"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(evaluate, range(8)))
    assert spark.conf.values == {"zone": "Europe/Berlin"}
