"""Plain text for terminals: comparisons, the groups that changed most, and effects of slice values on differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import escape, shorten
from sparkrank.metrics.slices import ALL, shown_value
from sparkrank.stats.intervals import TOO_FEW
from sparkrank.text.text import aligned

SIDES = ("candidate", "baseline")
_RETRIEVED = dict(zip(SIDES, ("n_retrieved", "baseline_n_retrieved"), strict=True))
SURE = 0.05  # comparisons with a smaller adjusted p-value get their own line


def comparisons_text(rows: Sequence[dict[str, Any]]) -> str:
    """Format each row of a ``comparisons`` table on one line, largest relative difference (of either sign) first."""
    return aligned(comparison_lines("metric", [(row["metric"], row) for row in sorted(rows, key=by_size)]))


def comparison_lines(title: str, rows: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[str, ...]]:
    """Return a header and then a line for each (name, row) pair in ``rows``, each line as a tuple of cell texts.

    A column ``no pair``, if not all 0, counts the groups without a win, tie or loss, because the metric is undefined
    for a model, or because a model lacks the group.
    """
    pairless = [_pairless(row) for _, row in rows]
    has_pairless = any(map(bool, pairless))
    correction = next((row["correction"] for _, row in rows), "none")
    p = "p" if correction == "none" else f"p ({correction})"
    no_pair = ("no pair",) * has_pairless
    lines: list[tuple[str, ...]] = [
        (title, "difference", "from", "to", "relative", p, "wins", "ties", "losses", *no_pair, "groups", "detectable")
    ]
    for (name_of_row, row), own in zip(rows, pairless, strict=True):
        too_few = (row["interval"] or "",) * 2
        ends = too_few if row["ci_low"] is None else (number(row["ci_low"]), number(row["ci_high"]))
        numbers = (number(row["difference"]), *ends)
        counts = [count(row[name]) for name in ("wins", "ties", "losses", "n_groups")]
        counts[3:3] = (count(own),) * has_pairless
        detectable = number(row["smallest_detectable"], signed=False)
        sure = share(row["relative"]), probability(row["p_adjusted"])
        lines.append((name_of_row, *numbers, *sure, *counts, detectable))
    return lines


def _pairless(row: dict[str, Any]) -> int | None:
    """Return the number of groups that are not a win, tie or loss, or None if these are not counted."""
    paired = [row[name] for name in ("wins", "ties", "losses")]
    return None if None in (*paired, row["n_groups"]) else row["n_groups"] - sum(paired)


def stored_comparisons_text(table: pa.Table) -> str:
    """Format a ``comparisons`` table: for each candidate, the whole day, then slice values that differ clearly.

    The largest relative difference comes first, because the end of a long text is cut.
    """
    parts = []
    pairs = table.select(SIDES).group_by(list(SIDES), use_threads=False).aggregate([]).to_pylist()
    for candidate, baseline in (pair.values() for pair in pairs):
        own = table.filter(pc.equal(table["candidate"], candidate))
        is_whole = pc.equal(own["slice"], ALL)
        whole = own.filter(is_whole).to_pylist()
        is_sure = pc.and_not(pc.fill_null(pc.less(own["p_adjusted"], SURE), False), is_whole)
        parts.append(f"{escape(candidate)} against {escape(baseline)}\n\n{comparisons_text(whole)}")
        by_value: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
        for row in own.filter(is_sure).to_pylist():
            by_value.setdefault((row["slice"], row["slice_value"]), []).append(row)
        for (name, value), sure in sorted(by_value.items(), key=lambda item: min(map(by_size, item[1]))):
            head = f"{escape(candidate)} where {escape(name)} is {escape(shown_value(value, name))}"
            parts.append(f"{head}\n\n{comparisons_text(sure)}")
        others = own.num_rows - len(whole) - sum(map(len, by_value.values()))
        if others:
            few = pc.sum(pc.and_not(pc.fill_null(pc.equal(own["interval"], TOO_FEW.method), False), is_whole)).as_py()
            also = f", {few:,} of them for too few groups" if few else ""
            parts.append(
                f"{others:,} comparisons of slices show no clear difference (adjusted p of {SURE:g} or more){also}"
            )
    return "\n\n".join(parts)


def metrics_by_slice_text(table: pa.Table) -> str:
    """Format a ``comparisons`` table with a line for each candidate, metric and slice value, significant or not."""
    by_metric: dict[tuple[str, str, str], list[tuple[str, dict[str, Any]]]] = {}
    for row in table.to_pylist():
        by_metric.setdefault((row["candidate"], row["baseline"], row["metric"]), []).append((_shown_slice(row), row))
    parts = []
    for (candidate, baseline, metric), rows in by_metric.items():
        head = f"{escape(candidate)} against {escape(baseline)}, {escape(metric)}"
        parts.append(f"{head}\n\n{aligned(comparison_lines('slice', rows))}")
    return "\n\n".join(parts)


def _shown_slice(row: dict[str, Any]) -> str:
    return ALL if row["slice"] == ALL else f"{row['slice']}={shown_value(row['slice_value'], row['slice'])}"


def by_size(row: dict[str, Any]) -> float:
    relative = row["relative"]
    return math.inf if relative is None or math.isnan(relative) else -abs(relative)


def number(value: float | None, *, signed: bool = True) -> str:
    """Format a metric value or difference with five decimals; None gives an empty string."""
    if value is None or math.isnan(value):
        return "" if value is None else "undefined"
    return f"{value:+.5f}" if signed else f"{value:.5f}"


def share(value: float | None) -> str:
    """Format a relative difference as a percentage; None and NaN give an empty string."""
    return "" if value is None or math.isnan(value) else f"{value:+.2%}"


def probability(value: float | None) -> str:
    """Format a p-value, showing a very small one as ``< 0.0001``; None and NaN give an empty string."""
    if value is None or math.isnan(value):
        return ""
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def count(value: int | None) -> str:
    """Format an integer with thousands separators; None gives an empty string."""
    return "" if value is None else f"{value:,}"


def movers_text(table: pa.Table, metric: str) -> str:
    """Format the gains and then the losses from :func:`sparkrank.movers`, with one line per group.

    If a group has no list in one of the two runs, the last column names the run.
    """
    keys = table.column_names[1 : table.column_names.index("baseline_value")]
    parts = []
    for change, title in (("gain", "Gains"), ("loss", "Losses")):
        rows = [row for row in table.to_pylist() if row["change"] == change]
        lines = [(*keys, "baseline", metric, "difference", "rows", "relevant")]
        for row in rows:
            values = (number(row[name], signed=False) for name in ("baseline_value", "value"))
            counts = (count(row[name]) for name in ("n_rows", "n_relevant"))
            lines.append((*(shorten(row[key]) for key in keys), *values, number(row["difference"]), *counts))
        unlisted = [", ".join(side for side, name in _RETRIEVED.items() if not row[name]) for row in rows]
        if any(unlisted):
            lines = [(*line, cell) for line, cell in zip(lines, ("no list of", *unlisted), strict=True)]
        parts.append(f"{title}\n{aligned(lines)}" if rows else f"{title}\n  none")
    return "\n\n".join(parts)


def decomposition_text(table: pa.Table) -> str:
    """Format each metric's difference as mix plus rate (effects defined in ``docs/tables.md``), then by slice value."""
    parts = []
    by_metric: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        by_metric.setdefault(row["metric"], []).append(row)
    for metric, rows in by_metric.items():
        mix, rate = (math.fsum(row[name] for row in rows) for name in ("mix", "rate"))
        head = f"{metric}: {number(rows[0]['difference'])} = mix {number(mix)} + rate {number(rate)}"
        titles = (rows[0]["slice"], "share was", "is", "value was", "is", "mix", "rate", "part", "presence")
        lines: list[tuple[str, ...]] = [titles]
        for row in sorted(rows, key=lambda row: -abs(row["part"])):
            shares = (f"{row[name]:.2%}" for name in ("baseline_share", "share"))
            values = (number(row[name], signed=False) or "none" for name in ("baseline_value", "value"))
            moved = (_with_half(row, name) for name in ("mix", "rate", "part"))
            lines.append((shown_value(row["slice_value"], row["slice"]), *shares, *values, *moved, row["presence"]))
        parts.append(f"{escape(head)}\n{aligned(lines)}")
    return "\n\n".join(parts)


def _with_half(row: dict[str, Any], name: str) -> str:
    """Format one component of a difference, with the half-width of its interval if there is an interval."""
    high = row[f"{name}_high"]
    return number(row[name]) if high is None else f"{number(row[name])} ± {number(high - row[name], signed=False)}"


def notes_text(sentences: Sequence[str]) -> str:
    """Format ``sentences`` about omissions and differences, one per line; without sentences, return ``""``."""
    lines = [f"  {escape(sentence)}" for sentence in sentences]
    return "\n".join(["Not compared, or not the same", *lines]) if lines else ""
