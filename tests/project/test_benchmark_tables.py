"""The programs behind the small tables of the benchmark still do their work, on little of it."""

from __future__ import annotations

import math
from argparse import Namespace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import day, generate, kernels, merging

LARGE = 8, 4, 20  # metrics, models and slice values of a large team: a fifth, a fifth and two fifths of the benchmark's


@pytest.mark.parametrize(
    ("team", "at_least", "has_blocks"), [("large", math.prod(LARGE), False), ("nightly", 17 * 2, True)]
)
def test_the_days_of_a_team_are_merged(
    team: str, at_least: int, has_blocks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, _, _, rows = merging.TEAMS["large"]
    monkeypatch.setitem(merging.TEAMS, "large", (metrics[:: len(metrics) // LARGE[0]], *LARGE[1:], rows))
    found, states, blocks, *_ = merging.measure(team, days=2, rows=4000, repeats=1, folder=tmp_path)
    assert found == team
    assert int(states.replace(",", "")) >= 2 * at_least
    assert (int(blocks.replace(",", "")) > 0) == has_blocks
    values = tmp_path / team / "windows"
    assert list(values.rglob("*.parquet"))


def test_nanoseconds_of_every_kind_of_bucket() -> None:
    options = Namespace(rows=2000, groups=100, keys="int", repeats=1)
    assert len({name for name, *_ in kernels.measure(options)}) == 12


def test_both_forms_of_a_day_run_in_turns(tmp_path: Path) -> None:
    shape = generate.LogShape(rows=2000, groups=100)
    log = generate.write(shape, tmp_path)
    specs = {
        form: partial(day.spec_of, log, shape.label, shape.scores[0], "local", metrics)
        for form, metrics in day.FORMS.items()
    }
    seconds = day.in_turns(specs, None, 2)
    assert [len(each) for each in seconds.values()] == [2, 2]
