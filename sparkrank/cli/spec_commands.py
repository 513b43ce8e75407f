"""The commands ``sparkrank init``, ``schema`` and ``validate``, for writing and checking a spec."""

from __future__ import annotations

import shlex
from functools import partial
from importlib import resources
from pathlib import Path

import click
import yaml

from sparkrank.base.errors import SpecError, escape, shorten, writing_errors
from sparkrank.cli.answers import answer, answer_line, answer_page
from sparkrank.cli.options import DEBUG, day_option, spec_options
from sparkrank.config import Spec
from sparkrank.jobs.notify_job import validate_notify
from sparkrank.jobs.publish_job import publishes_by_spark, validate_publish
from sparkrank.jobs.track_job import validate_track
from sparkrank.run.day_request import kept_files_of, places_of, resolve_day
from sparkrank.run.session import command_session

STARTER = "starter.yaml"  # in the package sparkrank.config


@click.command()
@DEBUG
@click.argument("file", default="sparkrank.yaml")
def init(file: str) -> None:
    """Write a commented spec to FILE (sparkrank.yaml), to be filled in; an existing file is not changed."""
    if not file.strip():
        raise SpecError("FILE is empty: name the file that the spec is written to")
    named = escape(shlex.quote(file))
    text = resources.files("sparkrank.config").joinpath(STARTER).read_text(encoding="utf-8")
    text = text.replace("sparkrank.yaml", named)
    with writing_errors(f"the spec {shorten(file)}"):
        try:
            with Path(file).open("x", encoding="utf-8") as written:
                written.write(text)
        except FileExistsError:
            raise SpecError(f"{shorten(file)} exists already: name another file, or remove it") from None
        except FileNotFoundError:
            raise SpecError(f"there is no folder for {shorten(file)}: make it first, or name another file") from None
    text = f"Written: {escape(file)}\nCheck it with: sparkrank validate --conf {named}"
    answer(lambda: text, lambda: {"path": file})


@click.command()
@DEBUG
def schema() -> None:
    """Print the JSON Schema of a spec, by which editors complete and check one (docs/schedulers.md)."""
    from sparkrank.config.json_schema import spec_schema, spec_schema_text

    answer_page(spec_schema_text, spec_schema)


@click.command()
@spec_options
@day_option("--date", "day", "Print what is read and written for this day, too.")
def validate(spec: Spec, day: str | None) -> None:
    """Check a spec without reading any rows, and print it with every default written out.

    With a day, the files of lake tables that are left for this day are counted by the logs of the tables.
    """
    with command_session("validate", is_needed=publishes_by_spark(spec)) as spark:
        validate_publish(spec, spark, needs_answer=True)
    validate_track(spec)
    validate_notify(spec)
    places = []
    if day is not None or spec.day is not None:
        resolved = resolve_day(spec, day)
        places = [*places_of(spec, resolved), *kept_files_of(spec, resolved)]
    answer_page(
        lambda: yaml.safe_dump(spec.resolved(), sort_keys=False), lambda: {"spec": spec.resolved(), "places": places}
    )
    for place in places:  # as comments, so that the output is still a spec
        answer_line(partial("# {}".format, place))
