"""What the report looks like, against pictures that are stored small.

Fonts differ between machines, so letters are not compared: a picture is scaled to 400 pixels of width, in grey, and cut
to its upper 1,000 lines; then cells of 20 x 20 pixels are averaged. What is compared is where paper, text, charts and
tables are. Two pictures are alike where, after the best shift by up to 2 cells, cells differ by at most 6 of 255 on
average, and the whole pages' heights by at most 8 %. Other fonts, condensed, with serifs or of one width, differ by up
to 4.5 and 3.2 %; a section that is gone, a style sheet that is not applied or a chart that is black by more than that.
`SPARKRANK_STORE_LOOKS=1 pytest tests/browser/test_looks.py` writes the pictures.
"""

from __future__ import annotations

import io
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.browser.conftest import DESKTOP, PAPER, PHONE, Open
from tests.browser.made import report

if TYPE_CHECKING:
    from PIL.Image import Image

STORED = Path(__file__).parent / "looks"
WIDTH, LINES, CELL, SHIFT = 400, 1000, 20, 2
MOST_DIFFERENCE, MOST_STRETCH = 6.0, 0.08
LOOKS = {"desktop": (DESKTOP, "light"), "dark": (DESKTOP, "dark"), "phone": (PHONE, "light"), "print": (PAPER, "light")}


@cache
def shown() -> str:
    from sparkrank.report.page import page

    values = ("Germany", "France", "Italy", None, "Spain")
    return page(report(("popularity", "als"), ("ndcg@10", "ap", "auc(exact)"), values))


def looked_at(opened: Open, name: str) -> Image:
    """The whole page as a reader sees it, small and grey."""
    from PIL import Image

    size, scheme = LOOKS[name]
    page = opened(shown(), size, color_scheme=scheme).page
    if name == "print":
        page.emulate_media(media="print")
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("L")
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.BOX)


def cells(picture: Image) -> np.ndarray:
    grey = np.asarray(picture, dtype=float)[:LINES]
    grey = grey[: len(grey) // CELL * CELL]
    means: np.ndarray = grey.reshape(len(grey) // CELL, CELL, WIDTH // CELL, CELL).mean(axis=(1, 3))
    return means


def difference(left: Image, right: Image) -> float:
    """The mean difference of cells, a line of cells against the most similar within the shift."""
    a, b = cells(left), cells(right)
    lines = range(min(len(a), len(b)))
    nearest = [np.abs(b[max(line - SHIFT, 0) : line + SHIFT + 1] - a[line]).mean(axis=1).min() for line in lines]
    return float(np.mean(nearest))


def is_alike(now: Image, file: Path) -> bool:
    """Whether the page looks as in the stored picture."""
    from PIL import Image

    stored = Image.open(file)
    stretch = abs(now.height / int(stored.text["height"]) - 1)  # type: ignore[attr-defined]
    return stretch <= MOST_STRETCH and difference(now, stored.convert("L")) <= MOST_DIFFERENCE


pytestmark = pytest.mark.tools  # tests/browser/test_report.py opens reports in every run


@pytest.mark.parametrize("name", LOOKS)
def test_it_looks_as_stored(opened: Open, name: str) -> None:
    pytest.importorskip("PIL.Image")
    now, file = looked_at(opened, name), STORED / f"{name}.png"
    if os.environ.get("SPARKRANK_STORE_LOOKS"):
        STORED.mkdir(exist_ok=True)
        cut = now.crop((0, 0, WIDTH, min(LINES, now.height)))
        info = pytest.importorskip("PIL.PngImagePlugin").PngInfo()
        info.add_text("height", str(now.height))
        cut.quantize(16).save(file, optimize=True, pnginfo=info)
    assert file.stat().st_size < 60_000
    assert is_alike(now, file)


@pytest.mark.parametrize(("name", "fault"), [
    ("desktop", "document.querySelector('style').remove()"),
    ("desktop", "document.documentElement.style.filter = 'invert(1)'"),
    ("desktop", "document.querySelectorAll('svg').forEach(e => { e.style.background = '#000' })"),
    ("phone", "document.querySelectorAll('figure').forEach(e => e.remove())"),
    ("print", "document.querySelectorAll('#headline, #trend').forEach(e => e.remove())"),
])  # fmt: skip
def test_what_looks_otherwise_is_noticed(opened: Open, name: str, fault: str) -> None:
    """The tolerance is for fonts: what a reader would call broken is beyond it, by the cells or by the height."""
    pytest.importorskip("PIL.Image")

    def broken(*arguments: object, **settings: object) -> object:
        page = opened(*arguments, bypass_csp=True, **settings)
        page.eval(fault)
        return page

    assert not is_alike(looked_at(broken, name), STORED / f"{name}.png")  # type: ignore[arg-type]
