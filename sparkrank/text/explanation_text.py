"""Groups explained as plain text, models side by side, and as plain values for JSON.

Items, keys and models come from strangers: each is escaped, and cut, where it is put in.
"""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sparkrank.base.errors import escaped, shortened
from sparkrank.metrics.arithmetic import Step
from sparkrank.metrics.parameters import format_number
from sparkrank.text.text import WIDEST, aligned

if TYPE_CHECKING:
    from sparkrank.bucket.explained import ExplainedGroup, ExplainedMetric, ExplainedTable

MOST_ROWS = 50  # of a table
MOST_LETTERS = 40  # of an item or a model
BLANK = ""


class Key(Protocol):
    """What was found of one key."""

    @property
    def key(self) -> Mapping[str, Any]: ...
    @property
    def groups(self) -> tuple[ExplainedGroup, ...]: ...


@dataclass(frozen=True)
class Lines:
    """A table as lines of texts: the titles of columns, and which model each group of columns is of."""

    name: str
    titles: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    more: int = 0


def number_text(value: float | None) -> str:
    """Four digits behind the point of what is no whole number."""
    if value is None:
        return BLANK
    if math.isnan(value):
        return "undefined"
    if not math.isfinite(value) or float(value).is_integer():
        return format_number(value) if math.isfinite(value) else str(value)
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def cell_text(column: str, value: Any) -> str:
    """A value of a table of an explanation."""
    if value is None:
        return BLANK
    if isinstance(value, bool):
        return "yes" if value else BLANK
    if isinstance(value, float):
        of_row = column in ("score", "rank", "label", "row score", "score bin")
        return f"{value:.6g}" if of_row and math.isfinite(value) else number_text(value)
    return shortened(value, MOST_LETTERS)


def key_text(key: Mapping[str, Any]) -> str:
    """A group key as a person writes it."""
    return ", ".join(f"{shortened(name)}={shortened(value)}" for name, value in key.items())


def head_lines(key: Mapping[str, Any], group: ExplainedGroup, number: int, count: int) -> list[str]:
    """What is said of a group before its metrics."""
    of_lists = f", list {number} of {count}" if count > 1 else ""
    rows = f"{group.rows:,} row{'' if group.rows == 1 else 's'}"
    lines = [f"{key_text(key)}{of_lists}: {rows}"]
    lines += [f"  {counted:,} {escaped(check)}" for check, counted in group.counts.items()]
    if not group.metrics:
        lines.append("  no row of it can be evaluated")
    return lines


def by_metric(group: ExplainedGroup) -> Iterator[tuple[str, list[ExplainedMetric]]]:
    """The metrics of a group, each with its models."""
    for name, found in itertools.groupby(group.metrics, key=lambda each: each.metric):
        yield name, list(found)


def value_text(of: ExplainedMetric) -> str:
    """The value, and what it counts where that is something else."""
    if not of.is_mean:
        return BLANK
    told = number_text(of.value)
    if math.isnan(of.value) and not math.isnan(of.counts_as):
        told += f", counted as {number_text(of.counts_as)}"
    return told if of.weight == 1 else f"{told}, weight {number_text(of.weight)}"


def shown_columns(table: ExplainedTable) -> dict[str, tuple[Any, ...]]:
    """The columns of a table, but for those that say nothing."""
    quiet = {"tie block", "repeats"}
    return {name: values for name, values in table.columns.items() if name not in quiet or any(values)}


def table_lines(table: ExplainedTable, rows: int) -> Lines:
    """A table as texts, cut behind so many ``rows``."""
    columns = shown_columns(table)
    kept = min(rows, len(table))
    texts = [tuple(cell_text(name, value) for value in values[:kept]) for name, values in columns.items()]
    return Lines(table.name, tuple(columns), tuple(zip(*texts, strict=True)) if texts else (), len(table) - kept)


def explanation_text(keys: Sequence[Key], rows: int = MOST_ROWS, width: int | None = None) -> str:
    """All that is explained; a table that is wider than ``width`` with its models side by side has them in turn."""
    widest = width or max(shutil.get_terminal_size((WIDEST, 0)).columns, 80)
    parts = []
    for key in keys:
        for number, group in enumerate(key.groups, start=1):
            parts.append("\n".join(head_lines(key.key, group, number, len(key.groups))))
            parts += [_metric_text(models, rows, widest) for _, models in by_metric(group)]
        if not key.groups:
            parts.append(f"{key_text(key.key)}: no row")
    return "\n\n".join(parts)


def _metric_text(models: Sequence[ExplainedMetric], rows: int, width: int) -> str:
    first = models[0]
    alone = len(models) == 1
    value = value_text(first)
    head = f"{escaped(first.metric)}{f' = {value}' if alone and value else ''}  ({escaped(first.formula)})"
    named = [shortened(each.model, MOST_LETTERS) for each in models]
    parts = [head]
    if not alone and first.is_mean:
        parts[0] += "".join(f"\n  {name}: {value_text(each)}" for name, each in zip(named, models, strict=True))
    for table in dict.fromkeys(table.name for each in models for table in each.tables):
        found = [next((own for own in each.tables if own.name == table), None) for each in models]
        lines = [None if each is None else table_lines(each, rows) for each in found]
        parts.append(_side_by_side(table, named, lines, width))
    parts.append(_steps_text(named, models))
    told = list(dict.fromkeys(sentence for each in models for sentence in each.told))
    parts += ["\n".join(map(escaped, told))] if told else []
    return "\n\n".join(parts)


def _side_by_side(name: str, models: Sequence[str], lines: Sequence[Lines | None], width: int) -> str:
    there = [(model, each) for model, each in zip(models, lines, strict=True) if each is not None]
    texts = [_table(each) for _, each in there]
    if len(models) == 1:
        return "\n".join([name, texts[0]])
    blocks = [[f"{name} of {model}", *text.split("\n")] for (model, _), text in zip(there, texts, strict=True)]
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


def _steps_text(named: Sequence[str], models: Sequence[ExplainedMetric]) -> str:
    if len(models) == 1:
        return "\n".join(step_line(each) for each in models[0].steps)
    steps = {each.name: each for model in models for each in model.steps}
    values = [{each.name: each.value for each in model.steps} for model in models]
    lines = [("step", "how", *named)]
    for name, each in steps.items():
        lines.append((name, each.formula(), *(number_text(own.get(name)) for own in values)))
    return aligned(lines)


def step_line(step: Step) -> str:
    """A step in one line: ``p = hits / k = 0.5``."""
    formula = step.formula()
    return escaped(f"{step.name} = {formula + ' = ' if formula else ''}{number_text(step.value)}")


def explanation_document(keys: Sequence[Key], lane: str, lane_reason: str) -> dict[str, Any]:
    """All that is explained, as plain values."""
    groups = [
        {
            "key": dict(key.key),
            "list": number if len(key.groups) > 1 else None,
            "rows": group.rows,
            "rejected": dict(group.counts),
            "metrics": [_metric_document(each) for each in group.metrics],
        }
        for key in keys
        for number, group in enumerate(key.groups, start=1)
    ]
    return {"lane": lane, "lane_reason": lane_reason, "groups": groups}


def _metric_document(of: ExplainedMetric) -> dict[str, Any]:
    return {
        "metric": of.metric,
        "definition": of.definition,
        "formula": of.formula,
        "model": of.model,
        "value": of.value,
        "counts_as": of.counts_as,
        "weight": of.weight,
        "tables": [
            {
                "name": table.name,
                "rows": [
                    dict(zip(table.columns, row, strict=True)) for row in zip(*table.columns.values(), strict=True)
                ],
            }
            for table in of.tables
        ],
        "steps": [
            {
                "name": each.name,
                "operation": each.operation,
                "operands": [
                    {"table": operand[0], "column": operand[1]} if isinstance(operand, tuple) else operand
                    for operand in each.operands
                ],
                "value": each.value,
            }
            for each in of.steps
        ],
        "told": list(of.told),
    }
