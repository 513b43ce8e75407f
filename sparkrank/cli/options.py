"""The options common to several commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from sparkrank.cli.answers import form, set_form
from sparkrank.config import Spec, load_spec
from sparkrank.jobs.prometheus_job import PrometheusFile
from sparkrank.run.stages import Stages, seen_stages

# Options of earlier releases, and what to use instead.
REMOVED_OPTIONS = {
    "--cores": "sparkrank plan estimates no hours and no memory, so it takes no --cores: docs/scaling.md has the laws",
    "--slice-values": "sparkrank plan counts no states, so it takes no --slice-values: docs/scaling.md has the laws",
    "--splits": "gates take no --splits: --replay counts nights stopped by chance, examples/aa_halves.py halves groups",
    "--markdown": "sparkrank metrics prints no --markdown: docs/metrics.md has the table, --json the declarations",
    "--definitions": "sparkrank metrics prints no --definitions: they are docs/definitions.md",
    "--html": "sparkrank explain writes no --html: a notebook shows sr.explain(...), and --json has all of it",
    "--lane": "comparisons take no --lane: group tables are compared in one process",
}
DEBUG = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key: --set definitions.ties=item",
)
PLUGIN = click.option("--plugin", "plugins", multiple=True, metavar="MODULE", help="Import a module with metrics.")

VERBOSE = click.option("--verbose", "is_whole", is_flag=True, help="Print all rows, however many.")


def day_option(option: str, name: str, text: str, **more: Any) -> Callable[[Any], Any]:
    """Return the decorator that adds ``option`` for a day, with the help ``text``."""
    return click.option(option, name, metavar="YYYY-MM-DD", help=text, **more)


def _ask(context: click.Context, option: click.Parameter, is_given: bool) -> None:  # noqa: ARG001
    if is_given:
        set_form("json" if option.name == "json" else "quiet")


def form_options() -> list[click.Option]:
    """Return the options ``--json`` and ``--quiet`` of all commands."""
    texts = {
        "--json": "Print one JSON document, and nothing else, on stdout; an error too.",
        "--quiet": "Print nothing but errors.",
    }
    given: Any = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _ask}
    return [click.Option([name], help=text, **given) for name, text in texts.items()]


def spec_options(command: Callable[..., None], *, for_stored: bool = False) -> Callable[..., Any]:
    """Add ``--conf``, ``--set`` and ``--debug`` to ``command``, whose argument ``spec`` gets the loaded spec.

    If ``for_stored`` is true (the command does not evaluate), the plugins of the spec may be missing.
    """

    @wraps(command)
    def loaded(*arguments: Any, conf: str, overrides: tuple[str, ...], **options: Any) -> None:
        command(*arguments, spec=load_spec(conf, overrides, for_stored=for_stored), **options)

    conf = click.option("--conf", required=True, metavar="FILE", help="The spec, a YAML document.")
    return all_of(DEBUG, SET, conf)(loaded)


def prometheus_options(command: Callable[..., None]) -> Callable[..., Any]:
    """Add ``--prometheus`` and ``--slice`` to ``command``, whose argument ``prometheus`` gets the file, or None.

    The decorator comes below :func:`spec_options`, because the spec defines the slices.
    """

    @wraps(command)
    def validated(
        *arguments: Any, spec: Spec, prometheus: str | None, prometheus_slices: tuple[str, ...], **options: Any
    ) -> None:
        file = None if prometheus is None else PrometheusFile(Path(prometheus), prometheus_slices)
        if file is not None:
            file.validate(spec)
        elif prometheus_slices:
            raise click.UsageError("--slice names slices for --prometheus, which is not given")
        command(*arguments, spec=spec, prometheus=file, **options)

    return all_of(
        click.option(
            "--slice", "prometheus_slices", multiple=True, metavar="NAME", help="With --prometheus: also this slice."
        ),
        click.option("--prometheus", metavar="FILE", help="Also write the numbers to a file for Prometheus."),
    )(validated)


def all_of(*options: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Return one decorator that adds all ``options``. The help lists the last of them first."""

    def decorated(command: Callable[..., None]) -> Callable[..., Any]:
        for option in options:
            command = option(command)
        return command

    return decorated


def validate_alone(first: str, others: Mapping[str, object]) -> None:
    """Raise a usage error if one of ``others`` is given together with the option ``first``."""
    for name, value in others.items():
        if value not in (None, False, ()):
            raise click.UsageError(f"{first} and {name} do not go together")


def command_stages() -> Stages:
    """Return the stages of a run. Stages print their progress unless ``--json`` or ``--quiet`` was given."""
    return seen_stages() if form() == "text" else Stages()
