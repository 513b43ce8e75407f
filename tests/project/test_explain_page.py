"""docs/explain.md prints what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from sparkrank.metrics.metric import CATALOG
from tests.support.commands import PROJECT, exit_code

PAGE = (PROJECT / "docs" / "explain.md").read_text(encoding="utf-8")


def test_the_page_prints_what_it_shows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text|console)\n(.*?)```", PAGE, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text", "python", "text", "python", "console"]
    names: dict[str, Any] = {}
    try:
        for kind, block in blocks:
            if kind == "python":
                exec(compile(block, "docs/explain.md", "exec"), names)  # noqa: S102 - our own page
                continue
            shown = [line.rstrip() for line in block.splitlines()]
            if kind == "console":
                assert exit_code(*shlex.split(shown.pop(0).removeprefix("$ sparkrank "))) == 0
            assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown
    finally:
        CATALOG.remove("share_judged")
