"""The first steps of each kind of user, as their page has them, in a copy of the repository of its own.

`make first-steps` installs as the page says, from the index of packages. In `make test` the environment that runs the
tests stands in for it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/first_steps.md").read_text(encoding="utf-8")
WAYS = {part.split("\n", 1)[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
_BLOCK = re.compile(r"```(sh|python)\n(.*?)```", re.DOTALL)
_INSTALLS = ("python3 -m venv", ".venv/bin/pip install")
INSTALLS = os.environ.get("SPARKRANK_TEST_INSTALL") == "1"

pytestmark = pytest.mark.job


# What a way needs beside what the development extra brings.
NEEDS = {"A team with MLflow": ("mlflow", "sqlalchemy", "alembic"), "A team with Dagster": ("dagster", "dagster_pipes")}


def test_the_page_has_seven_ways() -> None:
    assert list(WAYS)[:4] == ["In a notebook, without Spark", "In Spark", "Every night", "As an analyst"]
    assert list(WAYS)[4:] == ["From a Delta table, without Java", *NEEDS]
    for text in WAYS.values():
        assert text.count(_INSTALLS[0]) == text.count(_INSTALLS[1]) == 1
        assert _BLOCK.search(text)


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[] if place == 0 else pytest.mark.tools) for place, way in enumerate(WAYS)]
)
def test_every_command_of_it_works(way: str, spark_environment: dict[str, str], tmp_path: Path) -> None:
    if not INSTALLS and (missing := [name for name in NEEDS.get(way, ()) if find_spec(name) is None]):
        pytest.skip(f"{' and '.join(missing)}: make test-places installs it")
    clone = tmp_path / "sparkrank"
    if INSTALLS:
        subprocess.run(["git", "clone", "--quiet", PROJECT, clone], check=True)
    else:
        clone.mkdir()
        (clone / "examples").symlink_to(PROJECT / "examples")
        (clone / ".venv").symlink_to(Path(sys.prefix))
    for language, text in _BLOCK.findall(WAYS[way]):
        lines = [line for line in text.splitlines() if INSTALLS or not line.startswith(_INSTALLS)]
        if language == "sh":
            command = ["bash", "-euc", "\n".join(lines)]
        else:
            command = [clone / ".venv/bin/python", "-c", "\n".join(lines)]
        # The page says all that is needed; the options of the JVM only make it start sooner.
        environment = {name: value for name, value in spark_environment.items() if not name.startswith("PYSPARK_")}
        run = subprocess.run(
            command, cwd=clone, env=environment, capture_output=True, text=True, timeout=280, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr
    if way == "Every night":
        assert (clone / "day.json").read_text("utf-8").startswith("{")
    if way == "As an analyst":
        assert "candidate" in run.stdout
