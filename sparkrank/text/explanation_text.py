"""Explained groups as plain text, with untrusted strings escaped and shortened, and as plain values for JSON."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkrank.base.errors import escape, shorten
from sparkrank.bucket.explained import MARKS, ExplainedGroup, ExplainedKey, ExplainedMetric, ExplainedTable
from sparkrank.metrics.arithmetic import Step
from sparkrank.metrics.parameters import format_number
from sparkrank.text.text import WIDEST, aligned

MOST_ROWS = 50  # the most rows of a table
MOST_LETTERS = 40  # the most characters of an item or a model name
BLANK = ""


@dataclass(frozen=True)
class Lines:
    """The column ``titles`` of a table, and its ``lines`` of cells as strings. ``more`` counts the omitted rows."""

    titles: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    more: int = 0


def number_text(value: float | None) -> str:
    """Format a number: integers without decimals, others with four (four digits if tiny or huge), NaN as undefined."""
    if value is None:
        return BLANK
    if math.isnan(value):
        return "undefined"
    if not math.isfinite(value) or float(value).is_integer():
        return format_number(value) if math.isfinite(value) else str(value)
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def cell_text(column: str, value: Any) -> str:
    """Format a cell of an explanation's table. The format of floats depends on the name of the ``column``."""
    if value is None:
        return BLANK
    if isinstance(value, bool):
        return "yes" if value else BLANK
    if isinstance(value, float):
        of_row = column in ("score", "rank", "label", "row score", "score bin")
        return f"{value:.6g}" if of_row and math.isfinite(value) else number_text(value)
    return shorten(value, MOST_LETTERS)


def key_text(key: Mapping[str, Any]) -> str:
    """Format a group key as comma-separated ``name=value`` pairs."""
    return ", ".join(f"{shorten(name)}={shorten(value)}" for name, value in key.items())


def head_lines(key: Mapping[str, Any], group: ExplainedGroup, number: int, count: int) -> list[str]:
    """Return the lines that introduce a group: its key and number of rows, then the rejected rows by reason."""
    of_lists = f", list {number} of {count}" if count > 1 else ""
    head = f"{key_text(key)}{of_lists}: {group.rows:,} row{'' if group.rows == 1 else 's'}"
    counts = [f"  {counted:,} {escape(check)}" for check, counted in group.counts.items()]
    return [head, *counts, *([] if group.metrics else ["  no row of it can be evaluated"])]


def by_metric(group: ExplainedGroup) -> Iterator[list[ExplainedMetric]]:
    """Yield the metrics of a group, each as a list with one entry per model."""
    for _, models in itertools.groupby(group.metrics, key=lambda metric: metric.metric):
        yield list(models)


def value_text(metric: ExplainedMetric) -> str:
    """Format the value, the number that replaces it in the mean if undefined, and a weight other than 1.

    The name of the value comes first if it is not that of the metric.
    """
    if not metric.is_mean:
        return BLANK
    text = number_text(metric.value)
    if math.isnan(metric.value) and not math.isnan(metric.counts_as):
        text += f", counted as {number_text(metric.counts_as)}"
    text = text if metric.value_of == metric.metric else f"{escape(metric.value_of)} = {text}"
    return text if metric.weight == 1 else f"{text}, weight {number_text(metric.weight)}"


def shown_columns(table: ExplainedTable) -> dict[str, tuple[Any, ...]]:
    """Return the columns of a table by name, without optional columns whose values are all empty or false."""
    quiet = {"tie block", "repeats", *MARKS}
    return {name: values for name, values in table.columns.items() if name not in quiet or any(values)}


def table_lines(table: ExplainedTable, rows: int) -> Lines:
    """Format a table as lines of strings, with at most ``rows`` rows."""
    columns = shown_columns(table)
    kept = min(rows, len(table))
    texts = [tuple(cell_text(name, value) for value in values[:kept]) for name, values in columns.items()]
    return Lines(tuple(columns), tuple(zip(*texts, strict=True)) if texts else (), len(table) - kept)


def explanation_text(keys: Sequence[ExplainedKey], rows: int = MOST_ROWS, width: int | None = None) -> str:
    """Format the explanation, with models side by side if ``width`` allows, and otherwise below each other."""
    widest = width or max(shutil.get_terminal_size((WIDEST, 0)).columns, 80)
    parts = []
    for key in keys:
        for number, group in enumerate(key.groups, start=1):
            parts.append("\n".join(head_lines(key.key, group, number, len(key.groups))))
            parts += [_metric_text(models, rows, widest) for models in by_metric(group)]
        if not key.groups:
            parts.append(f"{key_text(key.key)}: no row")
    return "\n\n".join(parts)


def _metric_text(models: Sequence[ExplainedMetric], rows: int, width: int) -> str:
    first = models[0]
    alone = len(models) == 1
    value = value_text(first)
    sign = " =" if first.value_of == first.metric else ":"
    head = f"{escape(first.metric)}{f'{sign} {value}' if alone and value else ''}  ({escape(first.formula)})"
    names = [shorten(model.model, MOST_LETTERS) for model in models]
    if not alone and first.is_mean:
        head += "".join(f"\n  {name}: {value_text(model)}" for name, model in zip(names, models, strict=True))
    parts = [head]
    for title in dict.fromkeys(table.name for model in models for table in model.tables):
        tables = [(name, table) for name, model in zip(names, models, strict=True) for table in model.tables]
        own = [(name, table_lines(table, rows)) for name, table in tables if table.name == title]
        parts.append("\n".join([title, _table(own[0][1])]) if alone else _side_by_side(title, own, width))
    parts.append(_steps_text(names, models))
    sentences = list(dict.fromkeys(sentence for model in models for sentence in model.notes))
    return "\n\n".join([*parts, *(["\n".join(map(escape, sentences))] if sentences else [])])


def _side_by_side(title: str, tables: Sequence[tuple[str, Lines]], width: int) -> str:
    blocks = [[f"{title} of {name}", *_table(lines).split("\n")] for name, lines in tables]
    widths = [max(map(len, block)) for block in blocks]
    if sum(widths) + 3 * (len(blocks) - 1) > width:
        return "\n\n".join("\n".join(block) for block in blocks)
    return "\n".join(
        " | ".join(text.ljust(size) for text, size in zip(line, widths, strict=True)).rstrip()
        for line in itertools.zip_longest(*blocks, fillvalue="")
    )


def _table(lines: Lines) -> str:
    if not lines.lines:
        return "  no row"
    text = aligned([lines.titles, *lines.lines])
    return text if not lines.more else f"{text}\n… and {lines.more:,} more rows"


def _steps_text(names: Sequence[str], models: Sequence[ExplainedMetric]) -> str:
    if len(models) == 1:
        return "\n".join(map(step_line, models[0].steps))
    steps = {step.name: step for model in models for step in model.steps}
    values = [{step.name: step.value for step in model.steps} for model in models]
    lines = [(name, step.formula(), *(number_text(own.get(name)) for own in values)) for name, step in steps.items()]
    return aligned([("step", "how", *names), *lines])


def step_line(step: Step) -> str:
    """Format a computation step on one line, for example ``p = hits / k = 0.5``."""
    formula = step.formula()
    return escape(f"{step.name} = {formula + ' = ' if formula else ''}{number_text(step.value)}")


def explanation_document(keys: Sequence[ExplainedKey], lane: str, lane_reason: str) -> dict[str, Any]:
    """Return the whole explanation as nested dicts and lists that can be written as JSON."""
    groups = [
        {
            "key": dict(key.key),
            "list": number if len(key.groups) > 1 else None,
            "rows": group.rows,
            "rejected": dict(group.counts),
            "metrics": list(map(_metric_document, group.metrics)),
        }
        for key in keys
        for number, group in enumerate(key.groups, start=1)
    ]
    return {"lane": lane, "lane_reason": lane_reason, "groups": groups}


def _metric_document(metric: ExplainedMetric) -> dict[str, Any]:
    plain = ("metric", "definition", "formula", "model", "value_of", "value", "counts_as", "weight")
    tables = [(table.name, table.columns) for table in metric.tables]
    return {
        **{name: getattr(metric, name) for name in plain},
        "tables": [
            {
                "name": name,
                "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            }
            for name, columns in tables
        ],
        "steps": [
            {
                "name": step.name,
                "operation": step.operation,
                "operands": [
                    dict(zip(("table", "column"), operand, strict=True)) if isinstance(operand, tuple) else operand
                    for operand in step.operands
                ],
                "value": step.value,
            }
            for step in metric.steps
        ],
        "notes": list(metric.notes),
    }
