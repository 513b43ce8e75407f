"""The report section on single groups: the worst, and those that differ most from the baseline."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sparkrank.base.errors import InputError, SparkrankError, shorten
from sparkrank.comparison.group_pairs import ModelGroups
from sparkrank.comparison.largest_changes import largest_of_all
from sparkrank.comparison.worst_groups import worst_of_two
from sparkrank.report.data import CloserGroup, CloserLook
from sparkrank.report.report_tables import ReportTables, defined
from sparkrank.report.section import Made, ReportSection
from sparkrank.report.sections.paired_differences import MOST_PAIRS

SHOWN = 10  # groups in each of the two lists


def _look(tables: ReportTables) -> Made:
    table = tables.groups
    if table is None or not table.metrics or not tables.models:
        return None, None
    if not table.is_frame and table.count() // len(tables.models) > MOST_PAIRS:
        return None, f"There are more than {MOST_PAIRS:,} groups to look through: use sparkrank explain --worst 10."
    metric, model = _chosen(tables, table.metrics)
    baseline = tables.compared[0].baseline if tables.compared else None
    right = ModelGroups(table, model)
    left = right if baseline is None or baseline == model else ModelGroups(table, baseline)
    try:
        worst = worst_of_two(left, right, metric, SHOWN)
        moved = worst[:0] if left is right else largest_of_all(left, right, metric, SHOWN)
    except InputError as error:
        return None, f"Groups are not compared: {error}."
    if not len(worst) and not len(moved):
        return None, f"No group has a value of {metric}."
    keys = [tuple(row[name] for name in table.keys) for rows in (worst, moved) for row in rows.to_pylist()]
    explained, why = _explained(tables, table.keys, keys, metric, [left.model, model])
    command = _command(tables, metric)
    ways = (f"--worst {SHOWN} --model {shlex.quote(model)}", f"--moved {SHOWN} --models {shlex.quote(left.model)} ")
    groups = (
        _groups(rows, table.keys, tables, explained, f"{command} {way}".rstrip(), command)
        for rows, way in ((worst, ways[0]), (moved, f"{ways[1]}{shlex.quote(model)}"))
    )
    return CloserLook(metric, model, None if left is right else baseline, *groups), why


def _chosen(tables: ReportTables, metrics: Sequence[str]) -> tuple[str, str]:
    """Return the metric and model of the worst gate that has both, or else the first candidate and its first metric.

    A metric that the baseline has too comes first: a model with a label of its own may have others.
    """
    for gate in tables.verdicts:
        if gate.verdict != "pass" and gate.metric in metrics and gate.model in tables.models:
            return gate.metric, gate.model
    baseline = tables.compared[0].baseline if tables.compared else tables.baseline
    candidates = [model for model in tables.models if model != baseline]
    model = (candidates or list(tables.models))[0]
    evaluated = {(row.metric, row.model) for row in tables.values}
    own = [name for name in metrics if (name, model) in evaluated]
    shared = [name for name in own if (name, baseline) in evaluated]
    return (*shared, *own, *metrics)[0], model


def _explained(
    tables: ReportTables, columns: Sequence[str], keys: Sequence[tuple[Any, ...]], metric: str, models: Sequence[str]
) -> tuple[dict[tuple[Any, ...], str], str | None]:
    """Return the explanations by group key, and the reason if they were requested but failed, or None."""
    if tables.explain is None or not keys:
        return {}, None
    try:
        return tables.explain(columns, list(dict.fromkeys(keys)), metric, list(dict.fromkeys(models))), None
    except SparkrankError as error:
        return {}, f"Groups are not explained: {shorten(error, 400)}."


def _groups(
    rows: pa.Table,
    columns: Sequence[str],
    tables: ReportTables,
    explained: dict[tuple[Any, ...], str],
    hidden: str,
    explain: str,
) -> tuple[CloserGroup, ...]:
    groups = []
    for row in rows.to_pylist():
        key = {name: row[name] for name in columns}
        before, value, difference = (defined(row[name]) for name in ("baseline_value", "value", "difference"))
        named = " ".join(f"--group {shlex.quote(f'{name}={value}')}" for name, value in key.items())
        command = f"{explain} {named}" if tables.shows_keys else hidden
        text = explained.pop(tuple(key.values()), None)  # a group in both lists is explained once
        shown = {name: one if isinstance(one, str | int | float) else str(one) for name, one in key.items()}
        numbers = (before, value, difference, row["n_rows"], row["n_relevant"])
        groups.append(CloserGroup(shown if tables.shows_keys else {}, *numbers, command, text))
    return tuple(groups)


def _command(tables: ReportTables, metric: str) -> str:
    return f"sparkrank explain --conf {shlex.quote(tables.conf)} --date {tables.name} --metric {shlex.quote(metric)}"


CLOSER_LOOK = ReportSection(
    "closer",
    "Look closer",
    _look,
    "There is no group table: ask for output.groups: true and a group key.",
    "There is no group table: ask for group=KEY and group_table=True.",
    "A window has no group table: see the reports of its days.",
)
