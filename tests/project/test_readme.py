"""The README prints what it shows, and the README stays a newcomer's page."""

from __future__ import annotations

import math
import re
from typing import Any

import pyarrow as pa
import pytest
import yaml

import sparkrank as sr
from sparkrank.metrics.metric import CATALOG
from sparkrank.metrics.presets import PRESETS
from tests.support.commands import PROJECT

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


def test_presets_give_the_values_of_the_table() -> None:
    """The arithmetic is that of the table, whose cells are computed here as they stand."""
    cells = re.findall(
        r"^\| (`trec_eval`.*|`mllib`.*|`rectools`.*|`torchmetrics`.*) \| (.*) \| (.*) \|$", README, re.MULTILINE
    )
    assert len(cells) == 4
    rows = pa.table(
        {
            "user": ["ann"] * 4,
            "item": [*"abcd"],
            "rank": [1, 2, 3, None],
            "score": [3.0, 2, 1, None],
            "grade": [3, 0, 1, 2],
        }
    )
    of_preset: dict[str, list[str]] = {}
    for names, *values in cells:
        for name in re.findall(r"`(\w+)`", names):
            of_preset[name] = values
    of_trec = of_preset["trec_eval"][1]
    assert of_preset.keys() == PRESETS.keys()
    for name, values in of_preset.items():
        by = "rank" if name == "rectools" else "score"
        ev = sr.evaluate(rows, ["ap@2", "ndcg@5"], group="user", item="item", label="grade", preset=name, **{by: by})
        for value, text in zip(ev.to_pandas()["value"], values, strict=True):
            arithmetic, _, shown = (of_trec if text == "0.735, as `trec_eval`" else text).rpartition(" = ")
            by_hand = eval(re.sub(r"log2\((\d)\)", r"math.log2(\1)", arithmetic), {"math": math})  # noqa: S307
            assert value == pytest.approx(by_hand, abs=1e-12), name
            assert f"{value:.3f}" == shown


def test_every_metric_is_listed_as_it_is_typed() -> None:
    lines = re.findall(r"^- (?:per|over).*?: `(.*)`$", README, re.MULTILINE)
    assert set(" ".join(lines).split()) == {declaration.written for declaration in CATALOG.values()}


def test_the_page_is_short_and_begins_with_a_command() -> None:
    assert len(README.splitlines()) < 150
    before = README.partition("\n    ")[0]
    assert len(re.findall(r"\]\(", before)) <= 5
    assert len(before.splitlines()) < 10


def test_the_lists_of_two_models_have_the_values_of_the_comment() -> None:
    """Recall by hand: als lists both wanted items, popular one of two."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile("\n".join(blocks), "README.md", "exec"), names)  # noqa: S102 - our own page
    values = {
        (model, text): names["lists"].value(text, model=model) for model in ("als", "popular") for text in ("rr", "r@2")
    }
    assert values == {("als", "rr"): 0.75, ("als", "r@2"): 1.0, ("popular", "rr"): 0.5, ("popular", "r@2"): 0.5}
