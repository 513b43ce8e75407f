"""The table of contents of the site: the pages that an index page lists, in its order.

The index pages are written for readers of the repository. Sphinx gets the same lists from them as toctrees, so that
there is no second list of the pages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROOT = "docs/README"
INDEX_PAGES = (ROOT, "docs/api/README", "docs/decisions/README", "docs/migration/README")
# An item of a numbered list, or a row of a table up to its first link.
_ENTRY = re.compile(r"^(?:\d+\. |\|[^\[\]]*)\[[^\]]*\]\(([^)#:]+)\.(?:md|rst)\)")
_SECTION = re.compile(r"^## (.+)$")


@dataclass(frozen=True)
class Listing:
    """The pages that one section of an index page lists, as Sphinx names them: a path without a suffix."""

    caption: str
    pages: tuple[str, ...]


def listings(index: str, text: str) -> Iterator[Listing]:
    """Yield the sections of the page ``index`` that list pages; in front of the first section the caption is empty."""
    caption, pages = "", list[str]()
    folder = posixpath.dirname(index)
    for line in text.splitlines():
        section, entry = _SECTION.match(line), _ENTRY.match(line)
        if section:
            if pages:
                yield Listing(caption, tuple(pages))
            caption, pages = section[1], []
        elif entry:
            pages.append(posixpath.normpath(posixpath.join(folder, entry[1])))
    if pages:
        yield Listing(caption, tuple(pages))


def toctree(listing: Listing) -> str:
    """Return the directive that puts the pages of ``listing`` into the site's navigation."""
    caption = f":caption: {listing.caption}\n" if listing.caption else ""
    pages = "\n".join(f"/{page}" for page in listing.pages)
    return f"```{{toctree}}\n:hidden:\n{caption}\n{pages}\n```\n"


def with_toctrees(index: str, text: str) -> str:
    """Return the text of an index page, followed by a toctree for each section that lists pages."""
    return "\n\n".join([text.rstrip("\n"), *map(toctree, listings(index, text))])


def pages_of_site(project: Path = PROJECT) -> list[str]:
    """Return the pages in the order of the site's navigation, with repetitions if a page is listed twice."""

    def below(page: str) -> Iterator[str]:
        yield page
        if page in INDEX_PAGES:
            for listing in listings(page, (project / f"{page}.md").read_text(encoding="utf-8")):
                for listed in listing.pages:
                    yield from below(listed)

    return list(below(ROOT))
