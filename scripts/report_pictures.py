"""Take the pictures of the demo's report that README.md shows, in light and dark. Run `make demo` first.

    .venv/bin/python scripts/report_pictures.py demo/tables/report/day=2026-01-31/report.html

Needs Chromium (scripts/chromium.sh finds it), playwright and Pillow of the dev extra.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PROJECT = Path(__file__).resolve().parent.parent
SIZE = {"width": 1220, "height": 960}
COLOURS = 48  # text and a few plain colours


def main(report: Path) -> None:
    finding = ["sh", str(PROJECT / "scripts" / "chromium.sh"), "--find"]
    browser_path = subprocess.run(finding, capture_output=True, text=True, check=True).stdout.strip()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            page.goto(report.resolve().as_uri())
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            picture.quantize(COLOURS).save(PROJECT / "docs" / f"report-{scheme}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
