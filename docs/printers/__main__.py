"""``python -m docs.printers``: write the pages that are made of the code."""

from __future__ import annotations

from docs.printers.pages import DOCS, pages

for name, text in pages().items():
    (DOCS / name).write_text(text, encoding="utf-8")
