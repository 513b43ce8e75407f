"""Days whose tables are in real folders, for programs that follow no links (``output.plain``).

A run writes its tables into its own folder, and replaces the link, as every run does. After that its tables are renamed
to where readers look, as ``metrics/day=2026-11-19``, and those of the run before go back into the folder of that run.
The table ``runs`` goes first and comes last: while a day has it, all its tables are of that run. What a run that is
killed in between has left, the next run of any day moves.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sparkrank.base.errors import writing_errors
from sparkrank.tables.commit.durable_folders import make_folder, sync_all
from sparkrank.tables.commit.output_folder import OutputFolder, replace_link

_LAST = "runs"


def is_unpublished(place: OutputFolder, shown: Path | None) -> bool:
    """Whether the run that a day shows has tables that are not where readers look."""
    return bool(_unpublished(place, shown))


def publish(place: OutputFolder, name: str) -> None:
    """Bring the tables of the run that the day ``name`` shows to where readers look, if that run is a plain one.

    The lock of the day must be held. After a :class:`sparkrank.base.errors.SparkrankError` the same again goes on.
    """
    run = place.shown(name)
    tables = _unpublished(place, run)
    if run is None or not tables:
        return
    place.validate(name, tables)
    others = set(place.tables()) - place.plain_files(run).keys()  # of the run before, which this one lacks
    folders = {run}
    for table in sorted({*tables, *others}, key=lambda table: (table != _LAST, table)):
        folders.update(_withdraw(place, table, name))
    for table in sorted(tables, key=lambda table: (table == _LAST, table)):
        goal = place.table_link(table, name)
        make_folder(goal.parent)
        with writing_errors(f"the folder {goal}"):
            (run / table).rename(goal)
        folders.add(goal.parent)
    sync_all(sorted(folder for folder in folders if folder.is_dir()))


def withdraw_all(place: OutputFolder, name: str, attempt: str) -> None:
    """Let links show what real folders show of the day ``name``: the same run, until a commit."""
    folders: set[Path] = set()
    for table in sorted(place.tables(), key=lambda table: (table != _LAST, table)):
        link = place.table_link(table, name)
        if place.owns_plain_folder(link, table, name):
            folders.update(_withdraw(place, table, name))
            replace_link(link, place.table_target(table, name), attempt)
    sync_all(sorted(folders))


def _unpublished(place: OutputFolder, run: Path | None) -> list[str]:
    """The tables of ``run`` that are in its own folder and belong where readers look: those that have files."""
    if run is None:
        return []
    files = place.plain_files(run)
    if not files:
        return []
    own = [entry for entry in run.iterdir() if entry.is_dir() and not entry.is_symlink() and any(entry.iterdir())]
    return [entry.name for entry in own if entry.name in files]


def _withdraw(place: OutputFolder, table: str, name: str) -> Iterator[Path]:
    """Take away what shows the day ``name`` of ``table``, files back to their newest run; yields what changes."""
    shown = place.table_link(table, name)
    if place.owns_table_link(shown, table, name):
        with writing_errors(f"the link {shown}"):
            shown.unlink()
        yield shown.parent
    elif place.owns_plain_folder(shown, table, name):
        there = {file.name for file in shown.iterdir()}
        runs = reversed(place.runs_of(name))
        own = [run for run in runs if there <= place.plain_files(run).get(table, set()) and not (run / table).exists()]
        with writing_errors(f"the folder {shown}"):
            if own:
                shown.rename(own[0] / table)
                yield own[0]
            else:
                _discard(shown, place.runs_of(name)[-1] / f".{table}")
        yield shown.parent


def _discard(folder: Path, aside: Path) -> None:
    """Remove ``folder``, which nobody sees any more from the first step on."""
    with suppress(FileNotFoundError):
        shutil.rmtree(aside)
    folder.rename(aside)
    shutil.rmtree(aside)
