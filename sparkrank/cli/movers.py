"""The command ``sparkrank movers``: the groups that changed most between two models or runs."""

from __future__ import annotations

from typing import Any

import click

from sparkrank.cli.answers import answer
from sparkrank.cli.options import DEBUG, PLUGIN, all_of
from sparkrank.cli.sides import SIDE_OPTIONS, SideOptions, sides_of, sides_text
from sparkrank.comparison.largest_changes import MOST_TOP, TOP, largest_changes
from sparkrank.metrics.registry import import_plugins
from sparkrank.text.comparison_text import movers_text


@click.command()
@all_of(
    DEBUG,
    PLUGIN,
    click.option("--other-definitions", is_flag=True, help="Compare a metric that the two runs define otherwise, too."),
    click.option("--top", type=click.IntRange(1, MOST_TOP), default=TOP, help="The number of gains, and of losses."),
    click.option("--metric", required=True, metavar="TEXT", help="The metric: ndcg@10."),
)
@SIDE_OPTIONS
def movers(metric: str, top: int, other_definitions: bool, plugins: tuple[str, ...], **side_options: Any) -> None:
    """Print the groups that changed most, gains and losses apart: two models of --conf, or --left and --right."""
    sides = SideOptions(**side_options)
    import_plugins(plugins, "--plugin")
    with sides_of(sides) as (left, right):
        changes = largest_changes(left, right, metric, top, other_definitions=other_definitions)
        head = sides_text(right.model, right.table.place, left.model, left.table.place)
        answer(lambda: f"{head}\n\n{movers_text(changes, metric)}", changes.to_pylist)
