"""The commands ``sparkrank path``, ``export``, ``clean`` and ``unlock``, which manage the folder of tables."""

from __future__ import annotations

from functools import partial

import click

from sparkrank.base.errors import escape
from sparkrank.cli.answers import answer
from sparkrank.cli.day_options import NamedDays, stored_options
from sparkrank.cli.invocation import Invocation, after_commit
from sparkrank.cli.options import spec_options
from sparkrank.config import Spec
from sparkrank.jobs.output_job import clean_stored, export_stored, stored_path, unlock_stored


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
@click.option("--table", metavar="NAME", help="Print the folder of this table instead.")
def path(spec: Spec, named: NamedDays, table: str | None) -> None:
    """Print the folder of a day's or window's current run."""
    folder = escape(stored_path(named.target(spec), table))
    answer(lambda: folder, lambda: {"path": folder})


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
@click.argument("folder")
@click.pass_obj
def export(invocation: Invocation, spec: Spec, named: NamedDays, folder: str) -> None:
    """Copy stored days (by default, all) to real folders below FOLDER, for programs that do not follow links."""
    signals = invocation.interrupts
    done, warnings = export_stored(
        spec, folder, named.targets(spec), before_day=signals.release, before_commit=signals.hold
    )
    lines = [f"{name}: {'exported' if is_new else 'there'}" for name, is_new in done]
    with after_commit():
        answer(
            lambda: "\n".join([*lines, f"Exported: {sum(is_new for _, is_new in done)}", *map(escape, warnings)]),
            lambda: {"days": [{"name": name, "is_new": is_new} for name, is_new in done], "warnings": warnings},
        )


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
def clean(spec: Spec, named: NamedDays) -> None:
    """Remove earlier runs of days, and files left by killed runs; days that are being written are not touched."""
    names = [escape(str(path)) for path in clean_stored(spec, named.targets(spec))]
    answer(lambda: "\n".join([*names, f"Removed: {len(names)}"]), lambda: {"removed": names})


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
@click.option("--force", is_flag=True, help="Take the lock from a live run, which then cannot show its tables.")
def unlock(spec: Spec, named: NamedDays, force: bool) -> None:
    """Let the next run of a day begin, after a run that was killed or hangs."""
    names = [escape(str(path)) for path in unlock_stored(named.target(spec), force=force)]
    answer(lambda: "\n".join(names), lambda: {"unlocked": names})
