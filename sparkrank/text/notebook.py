"""Results in the forms that notebooks show: plain text, or an HTML table in the colours of the surrounding page."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import escape, shorten
from sparkrank.base.redaction import redact
from sparkrank.metrics.slices import ALL
from sparkrank.text.text import counts_of, ends_of, metrics_text, side_by_side, value_of_row

MOST_METRICS, MOST_MODELS = 40, 8  # the most metrics and models shown; the table has all
MOST_ROWS = 20  # the most rows shown of any table
STYLE = """\
.sparkrank-result{font-variant-numeric:tabular-nums;color:inherit}
.sparkrank-result table{border-collapse:collapse;color:inherit;background:transparent}
.sparkrank-result th,.sparkrank-result td{text-align:right;padding:.2em .7em;border:0;color:inherit;background:none}
.sparkrank-result thead th{border-bottom:1px solid currentColor}
.sparkrank-result tr>:first-child{text-align:left}
.sparkrank-result small{opacity:.7}"""


def evaluation_text(metrics: pa.Table, head: str, below: Sequence[str] = ()) -> str:
    """Format the metric values over all rows, a line per metric and a column per model, after ``head``."""
    shown, cut = _shown(metrics)
    return "\n".join(map(redact, [escape(head), *metrics_text(shown).split("\n"), *cut, *map(escape, below)]))


def evaluation_html(metrics: pa.Table, head: str, below: Sequence[str] = ()) -> str:
    """Format the metric values over all rows as an HTML table, with models side by side and intervals."""
    shown, cut = _shown(metrics)
    by_metric, models, alike = side_by_side(shown)
    lines = []
    for metric, rows in by_metric.items():
        cells = [_value(rows.get(model), with_counts=not alike) for model in models]
        counts = map(_text, counts_of(next(iter(rows.values())))) if alike else ()
        lines.append(f"<th scope=row>{_text(metric)}</th>{_cells((*cells, *counts))}")
    titles = ["metric", *models, *(("groups", "undefined") if alike else ())]
    slices = [name for name in pc.unique(metrics["slice"]).to_pylist() if name != ALL]
    by_slices = [f"Also by {', '.join(slices)}: see to_pandas()"] if slices else []
    return _table([head], titles, lines, [*by_slices, *cut, *below])


def show_tables() -> None:
    """Make notebooks show Arrow tables as HTML, unless the user has chosen another form.

    ``pyarrow.Table`` has no HTML form and cannot be subclassed. IPython, if it runs, therefore gets a formatter.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    formatter = None if shell is None else shell.display_formatter.formatters["text/html"]
    if formatter is not None and pa.Table not in formatter:
        formatter.for_type(pa.Table, table_html)


def table_html(table: pa.Table) -> str:
    """Format the first rows of any table as HTML.

    Examples
    --------
    >>> table_html(pa.table({"metric": ["rr"], "value": [2 / 3]})).partition("<tbody>")[2]
    '<tr><td>rr</td><td>0.666667</td></tr></tbody></table><div><small>rows: 1</small></div></div>'
    """
    lines = (map(_cell, row.values()) for row in table.slice(0, MOST_ROWS).to_pylist())
    cut = f", of which the first {MOST_ROWS} are shown" if table.num_rows > MOST_ROWS else ""
    return rows_html([], table.column_names, map(list, lines), [f"rows: {table.num_rows:,}{cut}"])


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else shorten(value)


def rows_html(head: Sequence[str], titles: Sequence[str], lines: Iterable[Sequence[str]], below: Iterable[str]) -> str:
    """Return an HTML table of strings, with the lines ``head`` above the table and the lines ``below`` under it."""
    return _table(head, titles, (_cells(map(_text, line)) for line in lines), below)


def _table(head: Iterable[str], titles: Iterable[str], rows: Iterable[str], below: Iterable[str]) -> str:
    thead = "".join(f"<th scope=col>{_text(title)}</th>" for title in titles)
    return (
        f"<div class=sparkrank-result><style>{STYLE}</style>{''.join(f'<div>{_text(line)}</div>' for line in head)}"
        f"<table><thead><tr>{thead}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
        f"{''.join(f'<div><small>{_text(line)}</small></div>' for line in below)}</div>"
    )


def _cells(cells: Iterable[str]) -> str:
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _text(text: str) -> str:
    return html.escape(escape(redact(text)))


def _value(row: Mapping[str, Any] | None, *, with_counts: bool) -> str:
    if row is None:
        return ""
    groups, undefined = counts_of(row)
    counts = f"<br><small>groups: {groups or '-'}, undefined: {undefined}</small>" if with_counts else ""
    interval = ends_of(row)
    return f"{_text(value_of_row(row))}{f' <small>{_text(interval)}</small>' if interval else ''}{counts}"


def _shown(metrics: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the rows for the first metrics and models, and lines that say how many of each are left out."""
    cut = []
    for name, most in (("metric", MOST_METRICS), ("model", MOST_MODELS)):
        there = pc.unique(metrics[name])
        if len(there) > most:
            metrics = metrics.filter(pc.is_in(metrics[name], there[:most]))
            cut.append(f"and {len(there) - most:,} more {name}s: see to_pandas()")
    return metrics, cut
