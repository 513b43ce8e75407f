"""Plain text for terminals: the metrics of a day, and the declarations for ``sparkrank metrics``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import escape, shorten
from sparkrank.metrics import CATALOG
from sparkrank.metrics.metric import Declaration, NeedsOrder
from sparkrank.metrics.parameters import NEED_AN_ORDER, ORDERS, format_number
from sparkrank.metrics.presets import Default, Preset
from sparkrank.metrics.slices import ALL
from sparkrank.schemas.tables import TableColumn, TableSchema
from sparkrank.stats.intervals import WHY_TOO_FEW

UNDEFINED = "undefined"
WIDEST = 160  # characters that a terminal or a log shows on one line
MOST_LINES = 60  # the most lines printed for a day, unless all are requested


def fitted(parts: Sequence[str], most: int = MOST_LINES) -> str:
    """Return ``parts``, joined by blank lines. The longest are cut, to at least 2 lines, to fit into ``most`` lines.

    Examples
    --------
    >>> print(fitted(["a", "b\\nc\\nd\\ne"], 5))
    a
    <BLANKLINE>
    b
    c
      and 2 more lines (--verbose prints all)
    """
    parts = list(filter(None, parts))
    cut = [part.split("\n") for part in parts]
    longest = max(map(len, cut), default=0)
    while longest > 2 and sum(min(len(lines), longest) + 1 for lines in cut) - 1 > most:
        longest -= 1
    return "\n\n".join("\n".join(lines if len(lines) <= longest else _cut(lines, longest)) for lines in cut)


def _cut(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines and a line that counts the others, in total at most ``most`` lines."""
    kept = list(lines[: most - 1])
    while "" in kept[-3:]:  # the end is a heading without its table, or the head of a table without a row
        del kept[len(kept) - 1 - kept[::-1].index("") :]
    return [*kept, f"  and {len(lines) - len(kept):,} more lines (--verbose prints all)"]


def metrics_text(metrics: pa.Table) -> str:
    """Format the metrics over the whole day, with one line per metric and one column per model.

    If lines would be too wide, or if models have different group counts, there is a line per metric and model instead.
    """
    by_metric, models, alike = side_by_side(metrics)
    wide, long = [("metric", *models, *_COUNTS)], [("metric", "model", "value", *_COUNTS)]
    for metric, rows in by_metric.items():
        values = {model: _value(row) for model, row in rows.items()}
        counts = {model: counts_of(row) for model, row in rows.items()}
        wide.append((metric, *(values.get(model, "") for model in models), *next(iter(counts.values()))))
        long += [(metric, model, values[model], *counts[model]) for model in rows]
    text = aligned(wide)
    if not alike or text.index("\n") > WIDEST:
        text = aligned(long)
    return "\n".join([text, *_slices(metrics)])


def side_by_side(metrics: pa.Table) -> tuple[dict[str, dict[str, dict[str, Any]]], list[str], bool]:
    """Return the whole-day rows by metric and model, the models, and whether all models have equal group counts."""
    whole = metrics.filter(pc.field("slice") == ALL).to_pylist()
    by_metric: dict[str, dict[str, dict[str, Any]]] = {}
    for row in whole:
        by_metric.setdefault(row["metric"], {})[row["model"]] = row
    alike = all(len(set(map(counts_of, rows.values()))) == 1 for rows in by_metric.values())
    return by_metric, list(dict.fromkeys(row["model"] for row in whole)), alike


def quality_text(quality: pa.Table) -> str:
    """Format a line for each check in ``quality`` that exceeds its limit; without such a check, return ``""``."""
    failed = [row for row in quality.to_pylist() if row["ok"] is False]
    if not failed:
        return ""
    return "\n".join(["Not within its limit (table quality)", *(f"  {check_text(row)}" for row in failed)])


def unlisted_sentences(quality: pa.Table) -> list[str]:
    """Return a sentence for each model without lists for some groups, because the values of metrics do not show this.

    Examples
    --------
    >>> check = {"check": "groups without a scored row", "model": "als", "count": 15.0, "fraction": 15 / 215}
    >>> unlisted_sentences(pa.Table.from_pylist([check]))
    ['15 of 215 groups have no list of als: they count as empty lists, 0 in most metrics']
    """
    rows = [row for row in quality.to_pylist() if row["check"] == checks.UNRETRIEVED_GROUPS and row["count"]]
    return [unlisted_sentence(row["model"], round(row["count"]), round(row["count"] / row["fraction"])) for row in rows]


def unlisted_sentence(model: str, count: int, groups: int) -> str:
    lists, they = (
        ("has no list", "it counts as an empty list") if count == 1 else ("have no list", "they count as empty lists")
    )
    return f"{count:,} of {groups:,} groups {lists} of {shorten(model)}: {they}, 0 in most metrics"


def warnings_text(warnings: Sequence[str]) -> str:
    """Format the warnings from :mod:`sparkrank.tables.rows.warnings`, one per line; without any, return ``""``."""
    return "\n".join(["Warnings", *(f"  {escape(sentence)}" for sentence in warnings)]) if warnings else ""


def check_text(row: Mapping[str, Any]) -> str:
    """Describe a row of the table ``quality`` in words, with its limit."""
    model = "" if row["model"] is None else f"{escape(row['model'])}: "
    if row["fraction"] is None:
        return f"{model}{row['count']:.3g} {row['check']} (limit {row['limit']:g})"
    share = f"{row['fraction']:.4%} of {row['of']}, limit {row['limit']:.4%}"
    return f"{model}{row['count']:,.0f} {row['check']} ({share})"


_COUNTS = ("groups", "undefined")


def counts_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return, as text, the number of groups in a ``metrics`` row and the number whose metric value is undefined."""
    groups, undefined = ("" if row[name] is None else f"{row[name]:,}" for name in ("n_groups", "n_undefined"))
    return groups, undefined


def _slices(metrics: pa.Table) -> list[str]:
    every = pc.CountOptions(mode="all")  # also count null as a value
    values = metrics.select(["slice", "slice_value"]).group_by("slice")
    keys = values.aggregate([("slice_value", "count_distinct", every)])
    by = zip(*keys.to_pydict().values(), strict=True)
    sliced = [f"{escape(name)} (values: {values})" for name, values in by if name != ALL]
    return ["", f"Also by {', '.join(sorted(sliced))}: see the table metrics"] if sliced else []


def _value(row: dict[str, Any]) -> str:
    return value_text(row["value"], row["ci_low"], row["ci_high"], row["interval"], row["error_bound"])


def value_text(
    value: float | None, low: float | None, high: float | None, interval: str | None, bound: float | None = None
) -> str:
    """Format a value with its interval (half-width, or both ends if asymmetric) or its error bound from score bins."""
    if value is None or math.isnan(value):
        return UNDEFINED
    text = four_decimals(value)
    if low is not None and high is not None:
        below, above = f"{value - low:.4f}", f"{high - value:.4f}"
        return f"{text} ± {above}" if below == above else f"{text} [{low:.4f}, {high:.4f}]"
    if interval == WHY_TOO_FEW:
        return f"{text} ({WHY_TOO_FEW})"
    return f"{text} ± {bound:.4f} (bins)" if bound else text


def four_decimals(value: float) -> str:
    """Format a value with four decimals, and without a sign if it is rounded to 0.

    Examples
    --------
    >>> four_decimals(-1e-17), four_decimals(-0.25)
    ('0.0000', '-0.2500')
    """
    return f"{round(value, 4) + 0.0:.4f}"


def value_of_row(row: Mapping[str, Any]) -> str:
    """Format the value in a row of ``metrics`` with four decimals, or as ``undefined``."""
    return UNDEFINED if row["value"] is None or math.isnan(row["value"]) else four_decimals(row["value"])


def ends_of(row: Mapping[str, Any]) -> str:
    """Format the ends of the row's interval, or the words for too few data; without an interval, return ``""``."""
    if row["interval"] == WHY_TOO_FEW:
        return WHY_TOO_FEW
    return "" if row["ci_high"] is None else f"[{row['ci_low']:.4f}, {row['ci_high']:.4f}]"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Format lines of cells as columns, the first left-aligned, others right-aligned, with a rule below the header."""
    lines = [[escape(text) for text in line] for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    texts = []
    for line in lines:
        first, *others = line
        padded = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        texts.append("  ".join((first.ljust(widths[0]), *padded)).rstrip())
    texts.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(texts)


_BETTER = {True: "higher", False: "lower", None: "neither higher nor lower"}


def declaration_text(declaration: Declaration) -> str:
    """Describe a metric declaration in full, with one item per line."""
    cutoff = "" if declaration.cutoff == "none" else "[@k]"
    lines = [f"{declaration.written}{cutoff}  {declaration.title}", f"  = {declaration.formula}"]
    for parameter in declaration.all_parameters:
        if parameter.is_flag:
            lines.append(f"  {parameter.name}: {parameter.doc}")
            continue
        default = "none" if parameter.default is None else parameter.write(parameter.default)
        lines.append(f"  {parameter.name}={parameter.allowed} (default {default}): {parameter.doc}")
    lines.append(f"  undefined: {declaration.undefined}")
    lines.append(f"  range: {range_text(declaration)}")
    lines.append(f"  better: {_BETTER[declaration.higher_is_better]}")
    if declaration.needs_order is not None:
        lines.append(f"  {order_text(declaration.needs_order)}")
    if declaration.aliases:
        lines.append(
            f"  also: {', '.join(alias + 'k' if alias.endswith('@') else alias for alias in declaration.aliases)}"
        )
    lines.append(f"  reference: {declaration.reference}")
    return "\n".join(lines)


def range_text(declaration: Declaration) -> str:
    """Describe the range of the possible values of a declaration's metrics, for example ``0 to 1``."""
    low, high = format_number(declaration.lowest), declaration.highest
    if math.isinf(declaration.lowest):
        return "any number"
    text = f"from {low}" if math.isinf(high) else f"{low} to {format_number(high)}"
    if (unbounded := declaration.unbounded) is None:
        return text
    return f"{text}; {'any number' if unbounded.both_ways else f'from {low}'} with {unbounded.form}"


def order_text(needs: NeedsOrder) -> str:
    """Describe the tie settings that a declaration accepts, and the reason why it refuses the default."""
    form = f" with {needs.form}" if needs.form else ""
    return (
        f"ties{form}: {NEED_AN_ORDER}; default {ORDERS[0]} ({ORDERS[1]} without an item column); expected is "
        f"allowed only with a column of ranks without ties ({needs.because})"
    )


def preset_text(preset: Preset) -> str:
    """Describe the settings of a preset, and the results that it cannot reproduce, one per line."""
    lines = [f"{preset.name}  as {preset.library}", "  definitions (the others keep their defaults)"]
    lines += [f"    {name}={value}" for name, value in preset.definitions.items()]
    lines.append("  metrics (a parameter in the text of a metric overrides this)")
    lines += [f"    {bare} is {meant}" for bare, meant in map(default_texts, preset.defaults)]
    if not preset.defaults:
        lines.append("    none: sparkrank's own defaults are the same")
    lines.append("  not reproduced, or written in another way")
    lines += [f"    {note}" for note in preset.unmatched]
    return "\n".join(lines)


def default_texts(default: Default) -> tuple[str, str]:
    """Return the plain text of a metric to which a preset's default applies, and the metric's text with the default."""
    at = {True: "@k", False: "", None: "[@k]"}[default.cutoff]
    at = "" if CATALOG[default.metric].cutoff == "none" else at
    setting = f"{default.parameter}={default.value}" if default.value else default.parameter
    return f"{default.metric}{at}", f"{default.metric}({setting}){at}"


def table_text(table: TableSchema) -> str:
    """Describe the columns of a table in Markdown, which is also readable on a terminal."""
    parts = [f"## `{table.name}`", table.about]
    if table.columns:
        parts.append(_columns_text(table.columns))
    if table.more is not None:
        when, columns = table.more
        parts += [when, _columns_text(columns)]
    return "\n\n".join([*parts, *([table.notes] if table.notes else [])])


def _columns_text(columns: Iterable[TableColumn]) -> str:
    lines = ["| column | type | meaning |", "|---|---|---|"]
    for column in columns:
        names = [field.name for field in column.fields]
        name = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` to `{names[-1]}`"
        lines.append(f"| {name} | {column.type} | {column.meaning}{' ' if column.meaning else ''}|")
    return "\n".join(lines)
