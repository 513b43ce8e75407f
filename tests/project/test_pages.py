"""The pages of the project: their links, anchors and paths lead somewhere, and decisions are written in one form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")),
    *sorted(DOCS.rglob("*.md")),
]
FOLDERS = "benchmarks|conf|docs|examples|jobs|scripts|sparkrank|tests"
_LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
_PATH = re.compile(rf"(?<![\w/.-])(?:{FOLDERS})/(?:[\w.*-]+/)*(?:[\w*-]+\.(?:py|pyx|h|md|svg|yaml|conf|sh)\b)?")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors of a page: of HTML, and those that GitHub gives to headings: of equal ones the later are numbered."""
    found = set(re.findall(r'^<a id="([\w-]+)"></a>$', text, re.MULTILINE))
    for heading in re.findall(r"^#+ (.*)$", _FENCED.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = sum(each == anchor or re.fullmatch(rf"{re.escape(anchor)}-\d+", each) is not None for each in found)
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


def missing(page: Path, project: Path = PROJECT) -> Iterator[str]:
    """Every link, anchor and path of ``page`` that leads nowhere; paths are those of the ``project``."""
    text = page.read_text(encoding="utf-8")
    for name, anchor in _LINK.findall(text):
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            yield f"{name}#{anchor}" if anchor else name
    for path in _PATH.findall(text):
        if not any(project.glob(path.rstrip("/"))):
            yield path


def test_everything_that_a_page_names_is_there() -> None:
    absent = {str(page.relative_to(PROJECT)): list(missing(page)) for page in PAGES}
    assert {page: names for page, names in absent.items() if names} == {}


def test_anchors_of_a_release_stay() -> None:
    """Others link to them."""
    _, *pages = (DOCS / "site" / "released_anchors.txt").read_text(encoding="utf-8").splitlines()
    assert len(pages) > 40
    for name, *released in map(str.split, pages):
        assert set(released) - anchors((PROJECT / name).read_text(encoding="utf-8")) == set(), name


def test_what_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "sparkrank").mkdir()
    (tmp_path / "sparkrank" / "api.py").touch()
    page = tmp_path / "docs" / "page.md"
    page.write_text(
        "# A `heading`, of two\n\n## Twice\n\n## Twice\n\n```\n# none\n```\n"
        "[1](page.md) [2](#a-heading-of-two) [3](page.md#twice-1) [4](https://example.org/none.md)\n"
        "`sparkrank/api.py` `sparkrank/` `sparkrank/*.py` docs/page.md\n"
        "[5](none.md) [6](#none) [7](page.md#twice-2)\n"
        "`sparkrank/none.py` `sparkrank/none/` `sparkrank/none/*.h` tests/unit/none.py\n"
    )
    assert list(missing(page, tmp_path)) == [
        *("none.md", "#none", "page.md#twice-2"),
        *("sparkrank/none.py", "sparkrank/none/", "sparkrank/none/*.h", "tests/unit/none.py"),
    ]


def test_the_index_of_decisions_has_each_by_its_title() -> None:
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^(\d+)\. \[(.+)\]\((.+)\)$", index, re.MULTILINE)
    titles = [page.read_text(encoding="utf-8").splitlines()[0] for page in DECISIONS]
    assert [(f"# {number}. {title}", name) for number, title, name in listed] == [
        (title, page.name) for title, page in zip(titles, DECISIONS, strict=True)
    ]
    assert [int(page.name[:3]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_a_decision_is_one_page_of_four_sections_and_that_of_architecture_is_short() -> None:
    for page in DECISIONS:
        text = page.read_text(encoding="utf-8")
        sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert sections == ["Context", "Decision", "Measured", "What would reverse it"], page.name
        assert len(text.splitlines()) <= 60, page.name
    assert len((DOCS / "architecture.md").read_text(encoding="utf-8").splitlines()) < 160
