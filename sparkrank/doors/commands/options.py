"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from sparkrank.doors.commands.answers import AnswerForm, ask_for, form
from sparkrank.run.stages import Stages, unseen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEBUG = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key: --set definitions.ties=item"
)
PLUGIN = click.option("--plugin", "plugins", multiple=True, metavar="MODULE", help="Import a module with metrics.")


def _form(asked: AnswerForm) -> Callable[[click.Context, click.Parameter, bool], None]:
    def chosen(context: click.Context, option: click.Parameter, is_given: bool) -> None:  # noqa: ARG001
        if is_given:
            ask_for(asked)

    return chosen


def form_options() -> list[click.Option]:
    """The options that every command has: in which form it answers."""
    of_json = "Print one JSON document, and nothing else, on stdout; an error too."
    quiet = "Print nothing but errors."
    return [
        click.Option(["--json"], is_flag=True, is_eager=True, expose_value=False, callback=_form("json"), help=of_json),
        click.Option(["--quiet"], is_flag=True, is_eager=True, expose_value=False, callback=_form("quiet"), help=quiet),
    ]


def spec_options(command: Callable[..., None]) -> Callable[..., Any]:
    """The options of every command that takes a spec."""
    return all_of(DEBUG, SET, click.option("--conf", required=True, metavar="FILE", help="The spec, a YAML document."))(
        command
    )


def all_of(*options: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """One decorator of several options, the last of which stands first in the help."""

    def decorated(command: Callable[..., None]) -> Callable[..., Any]:
        for option in options:
            command = option(command)
        return command

    return decorated


def removed(name: str, instead: str) -> Callable[[Any], Any]:
    """An option that older versions had: it is refused with what to use instead."""

    def refuse(context: click.Context, option: click.Parameter, value: object) -> None:  # noqa: ARG001
        if value is not None:
            raise click.UsageError(f"{name} is no longer there: {instead}")

    # it may be followed by a value or by nothing
    return click.option(name, hidden=True, expose_value=False, is_flag=False, flag_value="", callback=refuse)


def validate_alone(first: str, others: Mapping[str, object]) -> None:
    """Raise a usage error where one of ``others`` is given beside the option ``first``."""
    for name, value in others.items():
        if value not in (None, False, ()):
            raise click.UsageError(f"{first} and {name} do not go together")


def stages_seen(spark: SparkSession | None) -> Stages:
    """Stages that a person sees who did not ask for silence."""
    return Stages(spark) if form() == "text" else unseen()
