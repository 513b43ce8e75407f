"""Explained groups as an HTML fragment for notebooks, with escaped text, no scripts and no external resources."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from sparkrank.base.errors import escape
from sparkrank.bucket.explained import ExplainedKey, ExplainedMetric, ExplainedTable
from sparkrank.text.explanation_text import (
    by_metric,
    head_lines,
    shown_columns,
    step_line,
    table_lines,
    value_text,
)
from sparkrank.text.notebook import STYLE

MOST_ROWS = 1_000  # the most rows of a table: more rows are slow to show and are rarely read


def explanation_html(keys: Sequence[ExplainedKey]) -> str:
    """Return the explained groups as HTML, in order, with the models side by side for each metric."""
    parts = []
    for key in keys:
        for number, group in enumerate(key.groups, start=1):
            head, *counts = head_lines(key.key, group, number, len(key.groups))
            parts.append(f"<h3>{_text(head)}</h3>{_lines(counts)}")
            parts += [_metric(models) for models in by_metric(group)]
    return f"<div class=sparkrank-result><style>{STYLE}</style>{''.join(parts)}</div>"


def _metric(models: Sequence[ExplainedMetric]) -> str:
    first = models[0]
    columns = "".join(f"<td style='text-align:left;vertical-align:top'>{_model(model)}</td>" for model in models)
    sentences = dict.fromkeys(sentence for model in models for sentence in model.notes)
    return (
        f"<h4>{_text(first.metric)}</h4>{_lines([first.formula, first.definition])}"
        f"<table><tbody><tr>{columns}</tr></tbody></table>{_lines(sentences)}"
    )


def _model(model: ExplainedMetric) -> str:
    value = value_text(model)
    shown = f": <span title={_quoted(repr(model.value))}>{_text(value)}</span>" if value else ""
    steps = "".join(f"<li title={_quoted(repr(step.value))}>{_text(step_line(step))}</li>" for step in model.steps)
    return f"<b>{_text(model.model)}</b>{shown}{''.join(map(_table, model.tables))}<ol>{steps}</ol>"


def _table(table: ExplainedTable) -> str:
    texts = table_lines(table, MOST_ROWS)
    values = zip(*(column[:MOST_ROWS] for column in shown_columns(table).values()), strict=True)
    titles = "".join(f"<th scope=col>{_text(title)}</th>" for title in texts.titles)
    rows = "".join(f"<tr>{''.join(map(_cell, line, row))}</tr>" for line, row in zip(texts.lines, values, strict=True))
    more = f"<small>and {texts.more:,} more rows</small>" if texts.more else ""
    head = f"<caption>{_text(table.name)}</caption><thead><tr>{titles}</tr></thead>"
    return f"<table>{head}<tbody>{rows}</tbody></table>{more}"


def _cell(text: str, value: object) -> str:
    exact = f" title={_quoted(repr(value))}" if isinstance(value, float) else ""
    return f"<td{exact}>{_text(text)}</td>"


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"<div><small>{_text(text)}</small></div>" for text in texts)


def _text(text: str) -> str:
    """Escape an untrusted string, and isolate it so that it cannot change the direction of the surrounding text."""
    return f"<bdi>{html.escape(escape(text))}</bdi>"


def _quoted(text: str) -> str:
    return f'"{html.escape(text)}"'
