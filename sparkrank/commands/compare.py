"""``sparkrank compare``: two runs over their groups, or what moved the mean of two models or days."""

from __future__ import annotations

from typing import Any

import click

from sparkrank.commands.options import AS_JSON, DEBUG, PLUGIN, all_of, as_json_text
from sparkrank.commands.sides import SIDE_OPTIONS, SidesAsked, metrics_of, sides_of
from sparkrank.comparison.group_pairs import Side
from sparkrank.comparison.mix_and_rate import decomposition
from sparkrank.comparison.runs import CompareLane, Correction, RunComparison, compare_tables
from sparkrank.errors import escaped
from sparkrank.metrics.registry import import_plugins
from sparkrank.report.comparison_text import comparisons_text, decomposition_text, told_text


@click.command()
@all_of(
    DEBUG,
    AS_JSON,
    PLUGIN,
    click.option("--lane", type=click.Choice(["auto", "local", "frame"]), default="auto", help="Who pairs the groups."),
    click.option("--decompose", metavar="SLICE", help="Split the difference of means over the values of a slice."),
    click.option("--other-definitions", is_flag=True, help="Compare metrics that the two runs define otherwise, too."),
    click.option(
        "--correction",
        type=click.Choice(["holm", "benjamini-hochberg", "none"]),
        default="holm",
        help="How p is adjusted for many metrics.",
    ),
    click.option("--metric", "metrics", multiple=True, metavar="TEXT", help="A metric to compare; all without it."),
)
@SIDE_OPTIONS
def compare(
    metrics: tuple[str, ...],
    correction: Correction,
    other_definitions: bool,
    lane: CompareLane,
    decompose: str | None,
    plugins: tuple[str, ...],
    as_json: bool,
    **sides: Any,
) -> None:
    """Compare two runs (--left, --right) over the groups that both have.

    With --decompose, split the difference of two means over the values of a slice: of two models or days of --conf, or
    of two runs.
    """
    asked = SidesAsked(**sides)
    import_plugins(plugins, "--plugin")
    if decompose is not None:
        _decompose(asked, decompose, metrics or None, as_json, other_definitions)
        return
    with sides_of(asked, lane) as (left, right, session):
        found = compare_tables(
            left,
            right,
            metrics or None,
            correction=correction,
            level=0.95,
            other_definitions=other_definitions,
            session=session,
            lane=lane,
        )
        click.echo(_json(found) if as_json else _text(found, left, right))


def _decompose(
    asked: SidesAsked, by: str, metrics: tuple[str, ...] | None, as_json: bool, other_definitions: bool
) -> None:
    with metrics_of(asked) as (left, right):
        table, told = decomposition(left, right, by, metrics, other_definitions=other_definitions)
        if as_json:
            click.echo(as_json_text({"told": told, "decomposition": table.to_pylist()}))
            return
        click.echo(f"{escaped(right.model)} ({escaped(right.place)})")
        click.echo(f"against {escaped(left.model)} ({escaped(left.place)})")
        click.echo("\n" + "\n\n".join(filter(None, (decomposition_text(table), told_text(told)))))


def _json(found: RunComparison) -> str:
    whole = {**vars(found), "comparisons": found.table.to_pylist()}
    return as_json_text({name: value for name, value in whole.items() if name != "table"})


def _text(found: RunComparison, left: Side, right: Side) -> str:
    head = f"{escaped(right.model)} ({escaped(found.right)})\nagainst {escaped(left.model)} ({escaped(found.left)})"
    groups = f"over the {found.n_common:,} groups of both; intervals of 95 %, paired t"
    parts = [f"{head}\n{groups}", comparisons_text(found.table.to_pylist()), told_text(found.told)]
    return "\n\n".join(filter(None, parts))
