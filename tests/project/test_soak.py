"""The short form of ``make soak``: the same random cases each time, without Spark; and that a difference is found."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import tests.soak.compared as comparing
from tests.extent import IS_LONG
from tests.soak.rounds import Soak

SEED, SECONDS = 44, 10.0 if IS_LONG else 2.0


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "sparkrank")


@pytest.mark.slow
def test_random_cases_do_not_differ(tmp_path: Path) -> None:
    soak = Soak(tmp_path, None, tmp_path / "failing.txt")
    assert soak.rounds(SEED, SECONDS), soak.failing.read_text(encoding="utf-8")
    assert soak.compared.counts["values of oracles"] > 50
    assert soak.compared.counts["refused"] < soak.compared.counts["cases"] / 2


@pytest.mark.tools
def test_a_difference_is_found_made_small_and_told_with_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of oracles that say a billionth more than they should."""
    right = comparing.value_of

    def wrong(*arguments: Any) -> float | None:
        value = right(*arguments)
        return None if value is None else value + 1e-9

    monkeypatch.setattr(comparing, "value_of", wrong)
    soak = Soak(tmp_path, None, tmp_path / "failing.txt")
    assert not soak.rounds(SEED, SECONDS)
    report = soak.failing.read_text(encoding="utf-8")
    assert report.startswith(f"SEED={SEED} gives a difference")
    assert "but the oracle says" in report
    assert soak.last_failing is not None
    assert soak.last_failing.rows.num_rows <= 3  # hypothesis has made it small
    assert soak.told().endswith("differences: 1")
