"""``sparkrank plan``: what a day will take, before it is evaluated."""

from __future__ import annotations

import math

import click

from sparkrank.base.errors import shown
from sparkrank.config import load_spec
from sparkrank.doors.commands.answers import answer
from sparkrank.doors.commands.options import spec_options
from sparkrank.doors.commands.plan_text import plan_document, plan_text
from sparkrank.jobs.evaluate_job import resolve_day
from sparkrank.jobs.plan_job import CORES, plan_day

MOST_ROWS = 10**15


class _Whole(click.ParamType):  # type: ignore[type-arg] # older versions of click have none
    """A whole number from 1, as 1000000 or 1e11."""

    name = "whole number"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not (1 <= number <= self._most and number == int(number)):
            self.fail(f"{shown(value)} is no whole number from 1 to {self._most:g}, as 1000000 or 1e6", param, ctx)
        return int(number)


@click.command()
@spec_options
@click.option("--date", "day", metavar="YYYY-MM-DD", help="The day to plan; without it, the spec's day.")
@click.option("--rows", type=_Whole(MOST_ROWS), metavar="N", help="Its rows, as 1e9; without it, they are counted.")
@click.option(
    "--slice-values",
    type=_Whole(10**9),
    metavar="N",
    help="The values of all slices together; without it, those of the last stored day.",
)
@click.option(
    "--cores", type=_Whole(10**6), default=CORES, show_default=True, metavar="N", help="The cores of the executors."
)
def plan(
    conf: str, overrides: tuple[str, ...], day: str | None, rows: int | None, slice_values: int | None, cores: int
) -> None:
    """Say what a day will take, and by which settings, from a probe of the spec's metrics; nothing is evaluated."""
    spec = load_spec(conf, overrides)
    found = plan_day(spec, resolve_day(spec, day), rows, slice_values, cores)
    answer(lambda: plan_text(found), lambda: plan_document(found))
