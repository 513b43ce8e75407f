"""A lane is its own module and one line in the register, whoever asks for it: words, choice and sentences follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.engines.lanes import LANES, Lane
from tests.support.counting_lane import CountingLane, RowlessLane
from tests.support.doors import LOG, OF_LISTS, OF_ROWS, TRUTH, Asked, by_call, by_job


@pytest.fixture(autouse=True)
def built_in() -> Iterator[dict[str, type[Lane]]]:
    known = dict(LANES)
    CountingLane.calls.clear()
    LANES["counting"] = CountingLane
    LANES["rowless"] = RowlessLane
    yield known
    LANES.clear()
    LANES.update(known)


def test_it_is_chosen_by_its_name() -> None:
    counted = sr.evaluate(LOG, ["ap"], **OF_ROWS, lane="counting")
    assert counted.lane == "counting"
    assert CountingLane.calls == {"why_not": 1, "check": 1, "rows": 1, "evaluate": 1, "session_settings": 1}
    local = sr.evaluate(LOG, ["ap"], **OF_ROWS)
    assert local.lane == "local"  # which stands before it
    assert counted.metrics.equals(local.metrics)


def test_it_is_known_to_both_doors(tmp_path: Path) -> None:
    asked = Asked("counting", engine={"lane": "counting", "row_memory": 0})
    called, ran = (door(asked, tmp_path, None) for door in (by_call, by_job))
    assert [(each.error, each.lane) for each in (called, ran)] == [(None, "counting")] * 2
    assert called.tables == ran.tables
    assert CountingLane.calls["evaluate"] == 2


def test_auto_takes_the_first_of_the_register(built_in: dict[str, type[Lane]]) -> None:
    LANES.clear()
    LANES.update({"counting": CountingLane, **built_in})
    assert sr.evaluate(LOG, ["ap"], **OF_ROWS).lane == "counting"
    assert sr.evaluate(LOG, ["r@2"], truth=TRUTH, **OF_LISTS).lane == "local"


def test_what_it_cannot_take_is_said_with_a_lane_that_can() -> None:
    with pytest.raises(sr.SpecError, match=r"^lane is counting, but a truth is not counted: auto or local is allowed$"):
        sr.evaluate(LOG, ["r@2"], truth=TRUTH, **OF_LISTS, lane="counting")


def test_its_word_is_among_those_that_are_allowed() -> None:
    allowed = "auto, scan, local, frame, counting, rowless"
    with pytest.raises(sr.SpecError) as raised:
        sr.evaluate(LOG, ["ap"], **OF_ROWS, lane="countin")
    assert str(raised.value) == f'lane is "countin", did you mean "counting"? (allowed: {allowed})'
    assert all(f"'{word}'" in _error_of(engine={"lane": "countin"}) for word in allowed.split(", "))


def test_what_it_takes_is_said_of_it() -> None:
    with pytest.raises(sr.SpecError, match=r"the lane is rowless \(.*\): only the lane local, counting holds rows"):
        sr.evaluate(LOG, ["ap"], **OF_ROWS, lane="rowless", row_memory=1)
    assert "only the lane local, counting holds rows" in _error_of(engine={"lane": "rowless", "row_memory": 1})
    zoned = {"path": "in", "columns": dict(OF_ROWS), "time_zone": "UTC"}
    assert "in the lanes auto and frame and rowless" in _error_of(input=zoned, engine={"lane": "counting"})
    assert _spec(input=zoned, engine={"lane": "rowless"}).input.time_zone == "UTC"


def _spec(**sections: object) -> Spec:
    own = {"input": {"path": "in", "columns": dict(OF_ROWS)}, "metrics": ["ap"], "output": {"path": "out"}}
    return Spec.model_validate({**own, **sections})


def _error_of(**sections: object) -> str:
    with pytest.raises(ValueError, match="lane") as raised:
        _spec(**sections)
    return str(raised.value)
