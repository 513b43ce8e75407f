"""How stored states name what was read of a session, and which time zones a spec may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkrank.base.errors import SpecError
from sparkrank.config import load_spec
from sparkrank.engines.spark.session_settings import with_session, without_session
from tests.support.commands import write_spec

ROLES = {"group": "u", "score": "s", "label": "l"}
SPEC = {"input": {"path": "log", "columns": ROLES}, "metrics": ["rr"], "output": {"path": "tables"}}


def test_a_source_keeps_what_was_read_beside_it() -> None:
    for source in ("group=u", "group=u, where a = ' | session x'"):
        for session in ({}, {"b": "1", "a": "2"}):
            assert without_session(with_session(source, session)) == (source, session)
    assert with_session("group=u", {}) == "group=u"  # as states of other days have it
    assert with_session("s", {"b": "1", "a": "2"}) == with_session("s", {"a": "2", "b": "1"})


def test_time_zones_of_a_spec(tmp_path: Path) -> None:
    """One is refused where nobody asks for it, and where it is none."""
    conf = write_spec(tmp_path, SPEC)
    for lane in ("local", "scan"):
        with pytest.raises(SpecError, match=f"has input.time_zone UTC, but lane {lane}: only Spark's SQL reads it"):
            load_spec(conf, [f"engine.lane={lane}", "input.time_zone=UTC"])
    assert load_spec(conf, ["input.time_zone=UTC"]).hash() != load_spec(conf).hash()
    for zone in ("Europe/Berlin", "UTC", "+02:00", "-18:00"):
        assert load_spec(conf, [f"input.time_zone={zone}"]).input.time_zone == zone
    for zone, sentence in (
        ("Europe/Berln", 'or +02:00, did you mean "Europe/Berlin"?'),
        ("+2", "a time zone is needed, such as UTC"),
        ("+19:00", "a time zone is needed, such as UTC"),
    ):
        with pytest.raises(SpecError) as refused:
            load_spec(conf, [f"input.time_zone='{zone}'"])
        assert sentence in str(refused.value)
