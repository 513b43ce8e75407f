"""The site's pages: each stands in the navigation once, every key of a spec has a sentence, and the new pages run."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import yaml

import sparkrank
from docs.printers.spec_page import SpecSection, key_sentences, sections_of, stored_schema
from docs.site.contents import Listing, listings, pages_of_site, with_toctrees
from tests.support.commands import PROJECT

DOCS = PROJECT / "docs"
SECTIONS = sections_of(stored_schema())


def test_every_page_stands_in_the_navigation_once() -> None:
    written = [file.relative_to(PROJECT) for kind in ("md", "rst") for file in DOCS.rglob(f"*.{kind}")]
    expected = {file.with_suffix("").as_posix() for file in written} | {"CHANGELOG", "benchmarks/README"}
    assert Counter(pages_of_site()) == Counter(expected)


def test_the_lists_of_an_index_page_become_its_toctrees() -> None:
    text = (
        "# Pages\n\n| page | it |\n|---|---|\n| [One](one.md) | not [two](two.md) |\n| ml, `x` | [3](a/three.rst) |\n"
        "\n## More\n\n1. [Four](../four.md)\n2. [Five](https://example.org/five.md)\n\n## No [six](six.md)\n"
    )
    lists = [Listing("", ("docs/one", "docs/a/three")), Listing("More", ("four",))]
    assert list(listings("docs/README", text)) == lists
    made = with_toctrees("docs/README", text)
    assert made.startswith(text.rstrip("\n"))
    assert made.endswith("```{toctree}\n:hidden:\n:caption: More\n\n/four\n```\n")


def test_the_reference_has_all_public_modules() -> None:
    """And all names of the first; those of the others that `automodule` leaves out are among them."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in (DOCS / "api").glob("*.rst")}
    modules = set(re.findall(r"automodule:: (\S+)", "".join(texts.values())))
    assert modules == {"sparkrank", *(f"sparkrank.{room}" for room in ("functions", "metrics", "ml", "ml.connect"))}
    described = re.findall(r"(?:auto\w+:: sparkrank\.|py:data:: )(\w+)$", texts["sparkrank"], re.MULTILINE)
    assert sorted(described) == sorted(sparkrank.__all__)
    left_out = re.findall(r":exclude-members: (.+)", "".join(texts.values()))
    assert {name for names in left_out for name in names.split(", ")} <= set(sparkrank.__all__)


@pytest.mark.parametrize("section", SECTIONS.values(), ids=lambda section: section.path or "document")
def test_every_key_of_a_spec_has_a_sentence(section: SpecSection) -> None:
    """Keys that all sections of rows have are described in one of them."""
    rows = SECTIONS["InputRows"].keys if section is not SECTIONS["InputRows"] else {}
    own = [key for key, value in section.keys.items() if rows.get(key) != value]
    assert [key for key in own if not key_sentences(section, key, SECTIONS)] == []


def test_a_sentence_without_a_key_belongs_to_the_one_before_it() -> None:
    text = "The rows, by ``a``.\n\nAll of them. ``b`` is one. It may be\ntwo. With ``a: 1``, ``b`` is three."
    section = SpecSection("", {"description": text, "properties": {key: {} for key in "abc"}})
    three = "With ``a: 1``, ``b`` is three."
    assert section.sentences == (
        ["The rows, by ``a``.", "All of them."],
        {"a": ["The rows, by ``a``.", three], "b": ["``b`` is one.", "It may be two.", three]},
    )
    assert key_sentences(section, "c", {}) == []


def test_the_page_of_the_spec_has_every_key_of_the_example() -> None:
    """The schema may be read wrongly by its printer: the nightly spec is another witness of what keys there are."""
    page = (DOCS / "spec.md").read_text(encoding="utf-8")
    for key in yaml.safe_load((PROJECT / "conf" / "nightly.yaml").read_text(encoding="utf-8")):
        assert f"\n| `{key}` |" in page.partition("\n## `input`\n")[0], key


def test_how_it_works_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: rr is (1/2 + 1 + 1/3) / 3, and in 6 of 12 pairs the click has the higher score."""
    page = (DOCS / "how_it_works.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    printed = []
    for kind, block in re.findall(r"```(python|text)\n(.*?)```", page, re.DOTALL):
        if kind == "python":
            exec(compile(block, "docs/how_it_works.md", "exec"), names)  # noqa: S102 - our own page
        else:
            printed.append(capsys.readouterr().out)
            assert printed[-1] == block
    plain, exact = printed
    assert re.findall(r": (\S+)", plain) == [str(round(11 / 18, 6))] * 3
    values = [(float.fromhex(rr), float.fromhex(auc)) for rr, auc in re.findall(r": (\S+) (\S+)", exact)]
    assert values == [pytest.approx((11 / 18, 6 / 12), rel=1e-15)] * 3
    assert len(set(values)) == 1
    assert len(page.splitlines()) <= 120
