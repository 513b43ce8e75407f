"""The evaluated week, once for all that only read it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from tests.windows.week import DAYS, evaluate, impressions_of, spec_of, write_log


@pytest.fixture(scope="session")
def week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Seven evaluated days of different sizes, and all their rows."""
    folder = tmp_path_factory.mktemp("week")
    days = [impressions_of(day, 150 + 40 * index) for index, day in enumerate(DAYS)]
    for rows in days:
        write_log(folder, rows, rows["date"].iloc[0])
        evaluate(spec_of(folder), rows["date"].iloc[0])
    return folder, pd.concat(days)


@pytest.fixture
def tables(week: tuple[Path, pd.DataFrame], tmp_path: Path) -> Path:
    """A copy of the days that a test may spoil, beside the log that they come from."""
    shutil.copytree(week[0], tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path
