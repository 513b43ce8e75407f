"""What the examples print and what their pages show; imported by the tests without Spark and by those with."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from sparkrank.metrics import PRESETS

PROJECT = Path(__file__).resolve().parents[2]
EXAMPLES = PROJECT / "examples"
PAGES = PROJECT / "docs" / "migration"
# The preset of the library that each page comes from.
PRESET_OF = {
    "ranx": "ranx",
    "recommenders": "recommenders",
    "replay": "replay",
    "scikit_learn": "sklearn",
    "spark_ml": "mllib",
}


def program(page: str) -> Path:
    return EXAMPLES / "migration" / f"from_{page}.py"


def printed(example: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the example prints when it runs as a script."""
    capsys.readouterr()
    runpy.run_path(str(example), run_name="__main__")
    return capsys.readouterr().out


def numbers(text: str) -> dict[str, tuple[float, float]]:
    """By metric: the old and the new number that a program of migration prints."""
    return {metric: (float(old), float(new)) for metric, old, new in map(str.split, text.splitlines())}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def what_a_preset_sets(name: str) -> set[str]:
    """Each definition as an argument, and each parameter as a metric's text, without its cut-off."""
    preset = PRESETS[name]
    metrics = {(each.metric, "=".join(filter(None, (each.parameter, each.value)))) for each in preset.defaults}
    return {f'{name}="{value}"' for name, value in preset.definitions.items()} | {f"{m}({p})" for m, p in metrics}
