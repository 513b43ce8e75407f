"""The README: its example gives what it says, and it stays a newcomer's page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
_EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n.*?\n\n(?P<printed>(?:    [^\n]*\n)+)", re.DOTALL)


def test_the_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence between the two has the arithmetic of rr and auc; ndcg@2 is the mean of 1/log2(3) and 1."""
    example = _EXAMPLE.search(README)
    assert example is not None
    exec(compile(example["code"], "README.md", "exec"), {})  # noqa: S102 - our own page
    printed = capsys.readouterr().out.splitlines()
    assert [line.split() for line in printed] == [line.split() for line in example["printed"].splitlines()]
    values = [line.split()[:2] for line in printed[1:]]
    assert values == [["rr", "0.750000"], ["ndcg@2", "0.815465"], ["auc", "0.666667"]]


def test_the_spec_of_the_page_is_that_of_the_demo() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    demo = yaml.safe_load((PROJECT / "conf" / "demo.yaml").read_text(encoding="utf-8"))
    shown = yaml.safe_load(shown)
    assert list(shown) == ["slices", "compare", "gates"]
    assert shown == {key: demo[key] for key in shown}


def test_the_page_is_short() -> None:
    assert len(README.splitlines()) < 150
