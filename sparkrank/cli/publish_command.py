"""The command ``sparkrank publish``, which copies stored days to the places of ``output.publish``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import click

from sparkrank.base.errors import escape
from sparkrank.cli.answers import answer
from sparkrank.cli.day_options import NamedDays, stored_options
from sparkrank.cli.invocation import Invocation
from sparkrank.cli.options import spec_options
from sparkrank.config import Spec
from sparkrank.jobs.publish_job import publish_stored, publishes_by_spark
from sparkrank.run.session import command_session


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
@click.pass_obj
def publish(invocation: Invocation, /, spec: Spec, named: NamedDays) -> None:
    """Publish a stored day, or many, where output.publish says, and the merged window of these days if it is stored."""
    target = named.target(spec)
    with command_session("publish", is_needed=publishes_by_spark(spec)) as spark:
        invocation.interrupts.spark = spark
        published, missing = publish_stored(spec, target, spark)
    lines = [
        f"{day.name}  {escape(day.place)}: {', '.join(day.written) if day.written else 'there already'}"
        for day in published
    ]
    answer(
        lambda: "\n".join([*lines, *(f"{name}  not stored" for name in missing)]),
        lambda: {"published": list(map(asdict, published)), "missing": missing},
    )
