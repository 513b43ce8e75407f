"""How stored states name what was read of a session, and which conditions may ask for its time zone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkrank.base.errors import SpecError
from sparkrank.config import load_spec
from sparkrank.engines.spark.session_settings import _asks_for_zone, with_session, without_session

pytestmark = pytest.mark.same_without_loops

WHOLE = "input: {path: log, columns: {group: u, score: s, label: l}}\nmetrics: [rr]\noutput: {path: tables}"


def test_a_source_keeps_what_was_read_beside_it() -> None:
    for source in ("group=u", "group=u, where a = ' | session x'"):
        for session in ({}, {"b": "1", "a": "2"}):
            assert without_session(with_session(source, session)) == (source, session)
    assert with_session("group=u", {}) == "group=u"  # as states of other days have it
    assert with_session("s", {"b": "1", "a": "2"}) == with_session("s", {"a": "2", "b": "1"})


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        ("a > 0 or b in ('x', 'hour(ts)')", False),
        ("coalesce(a, 0) > 0 AND not (lower(b) like 'x%')", False),
        ('b = "to_date(x)"', False),
        ("Ts > '2026-01-01'", True),
        ("s.at is null", True),
        ("to_date(b) = '2026-01-01'", True),
        ("cast(b as timestamp) is null", True),
        ("b::date = 'x'", True),
        ("b = timestamp '2026-01-01'", True),
        ("d = current_date", True),
        ("d > now ()", True),
    ],
)
def test_a_condition_that_may_ask_what_time_it_is(condition: str, asks: bool) -> None:
    kinds = {"a": "int", "b": "string", "d": "date", "ts": "timestamp", "s": "struct<at:timestamp>"}
    assert _asks_for_zone(condition, kinds) == asks


@pytest.mark.parametrize("lane", ["local", "scan"])
def test_a_time_zone_is_refused_where_nobody_asks_for_one(tmp_path: Path, lane: str) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    with pytest.raises(SpecError, match=f"has input.time_zone UTC, but lane {lane}: Spark's SQL alone asks for it"):
        load_spec(conf, [f"engine.lane={lane}", "input.time_zone=UTC"])
    assert load_spec(conf, ["input.time_zone=UTC"]).hash() != load_spec(conf).hash()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "+02:00", "-18:00"])
def test_zones(tmp_path: Path, zone: str) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    assert load_spec(conf, [f"input.time_zone={zone}"]).input.time_zone == zone


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("Europe/Berln", 'or +02:00, did you mean "Europe/Berlin"?'),
        ("+2", "a time zone is needed, such as UTC"),
        ("+19:00", "a time zone is needed, such as UTC"),
    ],
)
def test_a_zone_that_is_none_is_refused(tmp_path: Path, zone: str, told: str) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    with pytest.raises(SpecError) as refused:
        load_spec(conf, [f"input.time_zone='{zone}'"])
    assert told in str(refused.value)
