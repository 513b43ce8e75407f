"""Small scripts about intervals, comparisons and gates, each with what is right: none may print FAULT.

They are kept beside the project, in the folder that SPARKRANK_CASES names (else ../shared/cases), because others keep
them. The law of each kind is a test of the project's own; those of scripts that no longer run are named here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT, optional_folder
from tests.extent import IS_LONG

QUICK = ["s03_no_interval_means_sure", "s18_compared_without_the_groups_it_fails_on"]
LONG = [
    "s01_zero_width_at_a_bound",
    "s07_weighted_mean_one_user",
    "s08_history_false_alarms",
    "s09_history_starves_with_many_cells",
    "s10_history_weekday",
    "s11_history_is_one_sided",
    "s13_history_after_a_wanted_change",
    "s14_gate_of_many_slices",
    "s19_relative_margin_is_taken_as_known",
    "s20_no_interval_between_days_for_auc",
]
# They take numbers of columns that are null now, ask for what is refused, or do not name what has to be known.
REPLACED = {
    "s04_auc_up_interval": "it averages the interval of auc_up, which has none: test_simulated_intervals.py",
    "s05_ece_ks_biased": "it compares ends that are null near the noise floor: test_simulated_intervals.py",
    "s17_groups_that_are_not_independent": "its log does not name the users of sessions: test_simulated_intervals.py",
    "s15_sequential_on_nightly_tables": "sequences on single days are refused: test_uncertainty.py",
}


@pytest.fixture(scope="module")
def scripts() -> Path:
    return optional_folder("SPARKRANK_CASES", "cases") / "stats"


def test_every_script_is_run_or_replaced(scripts: Path) -> None:
    assert {path.stem for path in scripts.glob("s[0-9]*.py")} == {*QUICK, *LONG, *REPLACED}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK + (LONG if IS_LONG else []))
def test_a_script_finds_no_fault(name: str, scripts: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    run = subprocess.run(
        [sys.executable, str(scripts / f"{name}.py")],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "FAULT" not in run.stdout, run.stdout
