"""What Spark's readers are told of a version."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from sparkrank.engines.input_frames import version_options
from sparkrank.sources.side_rows import SideRows

TIME = datetime(1970, 1, 1, 0, 0, 2, tzinfo=timezone(timedelta(hours=-1)))  # an hour and two seconds of UTC


@pytest.mark.parametrize(
    ("kind", "asked", "options"),
    [
        ("delta", {"version": 0}, {"versionAsOf": "0"}),
        ("delta", {"as_of": TIME}, {"timestampAsOf": "1970-01-01T00:00:02-01:00"}),
        ("iceberg", {"version": 7}, {"snapshot-id": "7"}),
        ("iceberg", {"as_of": TIME}, {"as-of-timestamp": "3602000"}),
        ("delta", {}, {}),
        ("hudi", {}, {}),
    ],
)
def test_a_version_is_an_option_of_the_format(kind: str, asked: dict, options: dict[str, str]) -> None:
    assert version_options(SideRows("input", path="/table", format=kind, **asked)) == options
