"""What the examples print and what their pages show; imported by the tests without Spark and by those with."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
EXAMPLES = PROJECT / "examples"
PAGES = PROJECT / "docs" / "migration"


def program(page: str) -> Path:
    return EXAMPLES / "migration" / f"from_{page}.py"


def printed(example: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    runpy.run_path(str(example), run_name="__main__")
    return capsys.readouterr().out


def numbers(text: str) -> dict[str, tuple[float, float]]:
    """By metric: the old and the new number that a program of migration prints."""
    return {metric: (float(old), float(new)) for metric, old, new in map(str.split, text.splitlines())}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
