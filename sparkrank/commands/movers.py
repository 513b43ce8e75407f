"""``sparkrank movers``: the groups that changed most between two models or runs."""

from __future__ import annotations

from typing import Any

import click

from sparkrank.commands.options import AS_JSON, DEBUG, PLUGIN, all_of
from sparkrank.commands.sides import SIDE_OPTIONS, SidesAsked, sides_of
from sparkrank.comparison.largest_changes import MOST_TOP, TOP, largest_changes
from sparkrank.comparison.runs import CompareLane
from sparkrank.errors import escaped
from sparkrank.metrics.registry import import_plugins
from sparkrank.report.comparison_text import movers_text
from sparkrank.report.terminal import as_json_text, print_document, tell


@click.command()
@all_of(
    DEBUG,
    AS_JSON,
    PLUGIN,
    click.option("--lane", type=click.Choice(["auto", "local", "frame"]), default="auto", help="Who pairs the groups."),
    click.option("--other-definitions", is_flag=True, help="Compare a metric that the two runs define otherwise, too."),
    click.option("--top", type=click.IntRange(1, MOST_TOP), default=TOP, help="How many gains, and how many losses."),
    click.option("--metric", required=True, metavar="TEXT", help="The metric: ndcg@10."),
)
@SIDE_OPTIONS
def movers(
    metric: str,
    top: int,
    other_definitions: bool,
    lane: CompareLane,
    plugins: tuple[str, ...],
    as_json: bool,
    **sides: Any,
) -> None:
    """Print the groups that changed most, gains and losses apart: two models of --conf, or --left and --right."""
    asked = SidesAsked(**sides)
    import_plugins(plugins, "--plugin")
    with sides_of(asked, lane) as (left, right, session):
        found = largest_changes(
            left, right, metric, top, other_definitions=other_definitions, session=session, lane=lane
        )
        if as_json:
            print_document(as_json_text(found.to_pylist()))
            return
        tell(f"{escaped(right.model)} ({escaped(right.table.place)})")
        tell(f"against {escaped(left.model)} ({escaped(left.table.place)})\n\n{movers_text(found, metric)}")
