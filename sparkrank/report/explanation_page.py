"""Groups explained as one page of HTML, by Jinja2 with every value escaped; it asks no network for anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SparkrankError, escaped
from sparkrank.text.explanation_text import (
    Key,
    by_metric,
    head_lines,
    key_text,
    number_text,
    shown_columns,
    step_line,
    table_lines,
    value_text,
)

if TYPE_CHECKING:
    from sparkrank.bucket.explained import ExplainedMetric, ExplainedTable

TEMPLATE = "explanation.jinja"
STYLES = ("report.css", "explanation.css")
MOST_ROWS = 1_000  # of a table: a page with more is slow, and nobody reads it


def explanation_page(keys: Sequence[Key], *, fragment: bool = False) -> str:
    """The page; as a ``fragment`` without its frame, for a notebook.

    Raises :class:`SparkrankError` where Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise SparkrankError(
            "there is no Jinja2, which makes pages: install sparkrank's extra report (pip install sparkrank[report])"
        ) from None
    environment = Environment(
        loader=FunctionLoader(_file), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    groups = [
        {
            "head": head_lines(key.key, group, number, len(key.groups)),
            "metrics": [_metric(name, models) for name, models in by_metric(group)],
        }
        for key in keys
        for number, group in enumerate(key.groups, start=1)
    ]
    title = "; ".join(key_text(key.key) for key in keys[:3]) + ("; ..." if len(keys) > 3 else "")
    style = "".join(filter(None, map(_file, STYLES)))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(TEMPLATE).render(
        groups=groups, title=title, fragment=fragment, style=_Style(style), style_hash=digest
    )


class _Style(str):
    """A style sheet of the package, which Jinja2 leaves as it is: nothing of a stranger is in it."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def _file(name: str) -> str | None:
    """The text of a file beside the template; None where there is none."""
    found = resources.files("sparkrank.report") / "templates" / name
    return found.read_text(encoding="utf-8") if found.is_file() else None


def _metric(name: str, models: Sequence[ExplainedMetric]) -> dict[str, Any]:
    return {
        "name": escaped(name),
        "formula": escaped(models[0].formula),
        "definition": escaped(models[0].definition),
        "models": [
            {
                "name": escaped(each.model),
                "value": value_text(each),
                "exact": repr(each.value),
                "tables": [_table(table) for table in each.tables],
                "steps": [{"text": step_line(step), "exact": repr(step.value)} for step in each.steps],
            }
            for each in models
        ],
        "told": list(dict.fromkeys(escaped(sentence) for each in models for sentence in each.told)),
    }


def _table(table: ExplainedTable) -> dict[str, Any]:
    lines, columns = table_lines(table, MOST_ROWS), shown_columns(table)
    exact = zip(*(values[:MOST_ROWS] for values in columns.values()), strict=True)
    rows = [
        [
            {"text": text, "exact": repr(value) if isinstance(value, float) else None}
            for text, value in zip(line, row, strict=True)
        ]
        for line, row in zip(lines.lines, exact, strict=True)
    ]
    return {
        "name": table.name,
        "titles": lines.titles,
        "rows": rows,
        "more": number_text(lines.more) if lines.more else "",
    }
