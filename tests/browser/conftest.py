"""A headless Chromium for the tests that open the report as readers do; without one they are skipped, and say why."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkrank.report.data import ReportData
from tests.conftest import PROJECT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
DESKTOP, PHONE, PAPER = (1280, 900), (360, 740), (794, 1123)  # CSS pixels; of A4 at 96 to the inch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Opened:
    """A page and what it did: lines of the console and errors, and what it asked for beside itself."""

    page: Page
    told: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def eval(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)


# Not of the session: as long as it lives, the process has a running event loop, in which neither a second driver nor
# another test's asyncio.run can start.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    finding = subprocess.run(
        ["sh", str(PROJECT / "scripts" / "chromium.sh"), "--find"], capture_output=True, text=True, check=False
    )
    if finding.returncode:
        pytest.skip(finding.stderr.strip())
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser: install the dev extra")
    with api.sync_playwright() as driver:
        # without a sandbox of its own it runs for root, too: it opens nothing but what the tests have written
        started = driver.chromium.launch(executable_path=finding.stdout.strip(), args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a report, from a file, in a context of its own."""
    contexts = []

    def open_page(report: ReportData | str, size: tuple[int, int] = DESKTOP, **settings: Any) -> Opened:
        from sparkrank.report.page import page as page_of

        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(report if isinstance(report, str) else page_of(report), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": size[0], "height": size[1]}, **settings))
        done = Opened(contexts[-1].new_page())
        page = done.page
        page.on("console", lambda message: done.told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: done.told.append(str(error)))
        page.on("dialog", lambda dialog: (done.told.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        own = {file.as_uri(), "data:,"}
        page.on("request", lambda request: None if request.url in own else done.asked.append(request.url))
        page.goto(file.as_uri())
        return done

    yield open_page
    for context in contexts:
        context.close()
