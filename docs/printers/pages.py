"""The pages that are made of the code, by the file's name."""

from __future__ import annotations

import re
from pathlib import Path

from docs.printers.definitions_page import definitions_page
from docs.printers.markdown import declarations_markdown
from docs.printers.spec_page import spec_page
from docs.printers.tables_page import tables_page
from sparkrank.metrics import CATALOG

DOCS = Path(__file__).resolve().parents[1]
_TABLE = re.compile(r"^\| metric \|.*?(?=\n\n)", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """The text of each page. Of ``metrics.md`` the table alone is printed; the words around it are written by hand."""
    metrics = (DOCS / "metrics.md").read_text(encoding="utf-8")
    table = declarations_markdown(CATALOG.values())
    return {
        "definitions.md": f"{definitions_page()}\n",
        "metrics.md": _TABLE.sub(lambda _: table, metrics, count=1),
        "spec.md": f"{spec_page()}\n",
        "tables.md": f"{tables_page()}\n",
    }
