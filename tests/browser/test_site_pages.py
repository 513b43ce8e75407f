"""The site of docs/ as ``make docs`` builds it: links lead somewhere, and no page asks another host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from docs.site.contents import pages_of_site
from sparkrank import functions
from tests.browser.conftest import DESKTOP, PHONE, Opened
from tests.conftest import PROJECT
from tests.project.test_pages import anchors

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.tools
SITE = PROJECT / "build" / "site"
# One of each kind: lists of pages, words and tables, long, printed, code, docstrings, pictures, a figure, a notebook,
# the search.
KINDS = ("docs/README", "docs/choosing", "docs/definitions", "docs/spec", "docs/python", "docs/api/sparkrank")
KINDS += ("docs/report", "docs/how_it_works", "docs/decisions/001-buckets-of-whole-groups")
KINDS += ("docs/tutorials/ads_calibration", "search")

# Of long tables, of sections and of docstrings the first stand for the rest.
SHORTENED = """() => {
  document.querySelectorAll('tbody').forEach(body => [...body.rows].slice(3).forEach(row => row.remove()));
  for (const many of ['article section > section', 'article section > dl.py', 'article dl.py dl.py'])
    [...document.querySelectorAll(many)].slice(8).forEach(rest => rest.remove());
}"""


class Links(HTMLParser):
    """The anchors of a page, the addresses that it links to, and those that a browser loads with it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.linked: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        if "href" in given:
            (self.linked if tag == "a" else self.loaded).append(given["href"])
        self.loaded += [given[name] for name in ("src", "srcset", "data") if name in given]


@pytest.fixture(scope="module")
def pages() -> dict[str, Links]:
    """The pages of the site by their paths in it. What has changed since the last build is built first."""
    pytest.importorskip("sphinx", reason="Sphinx builds the site: make docs")
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-c",
        "docs/site",
        "-d",
        "build/site-pages",
        "--fail-on-warning",
        "--quiet",
    ]
    subprocess.run([*sphinx, "-b", "html", ".", str(SITE)], cwd=PROJECT, check=True)
    return {page.relative_to(SITE).as_posix(): Links(page) for page in SITE.rglob("*.html")}


def test_every_link_leads_somewhere(pages: dict[str, Links]) -> None:
    """Within the site, to a page and an anchor that are there; pages load nothing from elsewhere."""
    lost, foreign = [], []
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        for link in [*page.linked, *page.loaded]:
            parts = urlsplit(urljoin(f"/{path}", link))
            if parts.scheme or parts.netloc:
                foreign += [(path, link)] if link in page.loaded and parts.scheme != "data" else []
                continue
            target = unquote(parts.path).lstrip("/")
            known = pages[target].ids if target in pages else []
            if not (SITE / target).is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                lost.append((path, link))
    assert (lost, foreign) == ([], [])


def test_anchors_of_the_repository_are_anchors_of_the_site(pages: dict[str, Links]) -> None:
    sources = {page: PROJECT / f"{page}.md" for page in pages_of_site()}
    texts = {page: file.read_text(encoding="utf-8") for page, file in sources.items() if file.exists()}
    assert len(texts) > 120
    lost = {page: anchors(text) - set(pages[f"{page}.html"].ids) for page, text in texts.items()}
    assert {page: names for page, names in lost.items() if names} == {}


def test_every_function_of_a_metric_is_described(pages: dict[str, Links]) -> None:
    described = {name.removeprefix("sparkrank.functions.") for name in pages["docs/api/functions.html"].ids}
    assert {*dir(functions)} - described == set()


def test_files_that_are_no_pages_are_links_to_the_repository(pages: dict[str, Links]) -> None:
    """Each to a file of this checkout."""
    (home,) = re.findall(
        r'^Repository = "(.*)"$', (PROJECT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    links = {link for page in pages.values() for link in page.linked if link.startswith(f"{home}/")}
    files = {link for link in links if re.match(rf"{home}/(blob|tree)/main/", link)}
    assert len(files) > 10
    assert [link for link in files if not (PROJECT / link.partition("/main/")[2]).exists()] == []


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def host(pages: dict[str, Links]) -> Iterator[str]:
    """The address at which this process serves the site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


Visit = Callable[..., Opened]


@pytest.fixture
def visit(browser: Browser, host: str) -> Iterator[Visit]:
    """Opens a page of the site, and lists what it asks of other hosts."""
    contexts = []

    def open_page(path: str, size: tuple[int, int] = DESKTOP, **settings: Any) -> Opened:
        contexts.append(browser.new_context(viewport={"width": size[0], "height": size[1]}, **settings))
        view = Opened(contexts[-1].new_page())
        view.page.on("console", lambda message: view.told.append(f"{path} {message.type}: {message.text}"))
        view.page.on("pageerror", lambda error: view.told.append(f"{path}: {error}"))
        own = (f"{host}/", "data:")
        view.page.on("request", lambda request: None if request.url.startswith(own) else view.asked.append(request.url))
        view.page.goto(f"{host}/{path}")
        return view

    yield open_page
    for context in contexts:
        context.close()


def test_no_page_is_wider_than_a_phone_or_asks_another_host(pages: dict[str, Links], host: str, visit: Visit) -> None:
    view = visit("index.html", PHONE)
    view.page.wait_for_url("**/docs/README.html")
    wide = {}
    for path in sorted(set(pages) - {"index.html"}):
        view.page.goto(f"{host}/{path}")
        width = view.eval("document.documentElement.scrollWidth")
        if width > PHONE[0]:
            wide[path] = width
    assert wide == {}
    assert (view.told, view.asked) == ([], [])


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_serious_in_light_and_dark(kind: str, visit: Visit) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for scheme in ("light", "dark"):
        view = visit(f"{kind}.html", color_scheme=scheme)
        view.eval(SHORTENED)
        options = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
        rules = axe.run(view.page, options=options).response["violations"]
        serious = [rule for rule in rules if rule["impact"] in ("serious", "critical")]
        assert [(rule["id"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in serious] == [], scheme


def test_the_scheme_is_the_readers_and_can_be_changed(visit: Visit) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (visit("docs/README.html", color_scheme=scheme) for scheme in ("light", "dark"))
    assert light.eval(background) == "rgb(255, 255, 255)"
    colours = {light.eval(background), dark.eval(background)}
    assert len(colours) == 2
    for _ in range(3):  # light, dark, as the system
        light.page.locator("button.theme-toggle:visible").first.click()
        colours.discard(light.eval(background))
    assert colours == set()


def test_the_search_finds_a_metric_without_a_service(visit: Visit) -> None:
    view = visit("docs/README.html")
    view.page.get_by_role("textbox", name="Search").first.fill("ndcg")
    view.page.keyboard.press("Enter")
    view.page.wait_for_function("document.querySelector('.search-summary')?.innerText.includes('finished')")
    found = view.eval("[...document.querySelectorAll('#search-results ul.search li > a')].map(a => a.pathname)")
    assert {"/docs/definitions.html", "/docs/metrics.html", "/docs/choosing.html"} <= set(found)
    view.page.wait_for_function("document.querySelectorAll('#search-results p.context').length > 5")
    assert (view.told, view.asked) == ([], [])
