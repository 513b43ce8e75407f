"""``sparkrank path``, ``export``, ``clean`` and ``unlock``: the folder of tables, for who reads it."""

from __future__ import annotations

import click

from sparkrank.base.errors import escaped
from sparkrank.config import load_spec
from sparkrank.doors.commands.answers import answer
from sparkrank.doors.commands.options import spec_options
from sparkrank.doors.commands.stored import stored_options, target_of
from sparkrank.jobs.output_job import clean_stored, export_stored, stored_path, unlock_stored


@click.command()
@spec_options
@stored_options
@click.option("--table", metavar="NAME", help="One table of the run; without it, the folder that has them all.")
def path(
    conf: str, overrides: tuple[str, ...], day: str | None, first: str | None, last: str | None, table: str | None
) -> None:
    """Print the folder of the run that a day or a window shows: its tables belong together, whatever comes next."""
    spec = load_spec(conf, overrides)
    found = escaped(stored_path(target_of(spec, day, first, last), table))
    answer(lambda: found, lambda: {"path": found})


@click.command()
@spec_options
@stored_options
@click.argument("folder")
def export(
    conf: str, overrides: tuple[str, ...], day: str | None, first: str | None, last: str | None, folder: str
) -> None:
    """Show stored days in real folders below FOLDER, for programs that follow no links; without a day, all of them."""
    spec = load_spec(conf, overrides)
    is_named = any(each is not None for each in (day, first, last))
    done = export_stored(spec, folder, [target_of(spec, day, first, last)] if is_named else [])
    lines = [f"{name}: {'exported' if is_new else 'there'}" for name, is_new in done]
    answer(
        lambda: "\n".join([*lines, f"Exported: {sum(is_new for _, is_new in done)}"]),
        lambda: {"days": [{"name": name, "is_new": is_new} for name, is_new in done]},
    )


@click.command()
@spec_options
@stored_options
def clean(conf: str, overrides: tuple[str, ...], day: str | None, first: str | None, last: str | None) -> None:
    """Remove the runs that days have shown before, and what killed runs have left; days that are written stay."""
    spec = load_spec(conf, overrides)
    is_named = any(each is not None for each in (day, first, last))
    removed = clean_stored(spec, [target_of(spec, day, first, last)] if is_named else [])
    names = [escaped(str(each)) for each in removed]
    answer(lambda: "\n".join([*names, f"Removed: {len(names)}"]), lambda: {"removed": names})


@click.command()
@spec_options
@stored_options
@click.option("--force", is_flag=True, help="Take the lock from a run that holds it: that run then shows nothing.")
def unlock(
    conf: str, overrides: tuple[str, ...], day: str | None, first: str | None, last: str | None, force: bool
) -> None:
    """Let the next run of a day begin, after a run that was killed or hangs."""
    spec = load_spec(conf, overrides)
    names = [escaped(str(each)) for each in unlock_stored(target_of(spec, day, first, last), force=force)]
    answer(lambda: "\n".join(names), lambda: {"unlocked": names})
