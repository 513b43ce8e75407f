"""Operations on the folder of tables: removing earlier runs, unlocking and exporting days, finding a day's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from sparkrank.base.errors import InputError, SparkrankError, SpecError, itemize, shorten, unreadable, validate_names
from sparkrank.config import Spec
from sparkrank.inputs.window import WINDOW, WINDOWS
from sparkrank.jobs.report_index import REPORT, index_of
from sparkrank.jobs.target import Target
from sparkrank.tables.commit.days import local_path, run_folders, shown_run
from sparkrank.tables.commit.links import export_day, is_exported, settle
from sparkrank.tables.commit.locks import is_locked, only_writer, remove_lock
from sparkrank.tables.commit.manifests import StoreFolder
from sparkrank.tables.commit.output_folder import DAY, OutputFolder
from sparkrank.tables.stored.day_files import whole_day


def clean_stored(spec: Spec, targets: Iterable[Target] = ()) -> list[Path]:
    """Remove earlier runs of ``targets`` (of all days if empty), and files left behind by killed runs.

    Return the removed paths. Days that are being written stay untouched. Raise :class:`SpecError` if the folder is not
    local, or if each day has its own folder and ``targets`` is empty.
    """
    removed: list[Path] = []
    for place, names in _places(spec, list(targets), "clean"):
        for name in names or place.names():
            removed += _cleaned(place, name)
    return removed


def _places(spec: Spec, targets: list[Target], command: str) -> list[tuple[OutputFolder, list[str]]]:
    """Return the folder and name of each target.

    Without targets, return the folders of all days and windows, without names.
    """
    if targets:
        return [(OutputFolder(_local(target.folder, command), target.column), [target.name]) for target in targets]
    if "{" in spec.output.path:
        raise SpecError(
            f"output.path has a mark of a day: name the days to {command}, by --date, or by --from and --to"
        )
    root = _local(spec.output.path, command)
    return [(OutputFolder(root, DAY), []), (OutputFolder(root / WINDOWS, WINDOW), [])]


def _cleaned(place: OutputFolder, name: str) -> list[Path]:
    if not place.runs.is_dir():
        return []
    try:
        with only_writer(place.lock(name), name, place.root, []):
            removed = settle(place, name)
            for run in place.replaced(place.shown(name)):
                place.remove_run(run)
                removed.append(run)
            if place.shown(name) is None and place.column == DAY:
                remove_lock(place.lock(name))
            return removed
    except SparkrankError:
        if is_locked(place.lock(name)):
            return []  # the run that holds the lock removes the leftovers
        raise


def unlock_stored(target: Target, *, force: bool) -> list[Path]:
    """Clean up after a killed run, so that a new run may begin. With ``force``, also remove the lock of a live run.

    Return the removed paths. Raise :class:`SparkrankError` if a run has locked the day and ``force`` is False.
    """
    place = OutputFolder(_local(target.folder, "unlock"), target.column)
    lock = place.lock(target.name)
    if not is_locked(lock):
        return _cleaned(place, target.name)
    if not force:
        remedy = "wait for it to end, or take its lock away with --force"
        raise SparkrankError(f"a run is writing {target.name} under {shorten(place.root)}: {remedy}")
    remove_lock(lock)
    return [lock]


def stored_path(target: Target, table: str | None) -> str:
    """Return the folder of a day's current run or, if ``table`` is given, the folder of that table.

    Raise :class:`InputError` if the day is not stored. Raise :class:`SpecError` if the run lacks the table, or if
    ``table`` is None and the run's tables have no common folder.
    """
    shown = shown_run(target.folder, target.name, target.column)
    if shown is None and local_path(target.folder) is not None:
        raise _not_there(target.name, OutputFolder(_local(target.folder, "path"), target.column))
    if shown is None:
        return _path_in_store(target, table)
    place = OutputFolder(_local(target.folder, "path"), target.column)
    folders = place.tables_of(shown)
    if table is None and place.plain_files(shown):
        sentence = f"{target.name} is shown by real folders (output.plain), one for each table: name a --table"
        raise SpecError(f"{sentence} (there are: {itemize(folders)})")
    return str(shown if table is None else folders[_known(table, list(folders), target)])


def _known(table: str, tables: Sequence[str], target: Target) -> str:
    validate_names(f"{target.name} has no table", [table], tables, "there are")
    return table


def export_stored(
    spec: Spec,
    folder: str,
    targets: Iterable[Target] = (),
    *,
    before_day: Callable[[], None] = lambda: None,
    before_commit: Callable[[], None] = lambda: None,
) -> tuple[list[tuple[str, bool]], list[str]]:
    """Export stored days to real folders below another ``folder``, for programs that do not follow links.

    The export calls ``before_day`` before each day, and ``before_commit`` right before an exported day becomes visible.
    If a day has a report, the index of the exported reports is written, because the pages link to the index. Return the
    name of each day with True if it was exported now, or False if it was exported before, and warnings. Raise
    :class:`SpecError` if a folder is not local or ``folder`` is in the output, and :class:`InputError` if a day lacks
    tables of its run.
    """
    goal = _local(folder, "export")
    done, warnings = [], []
    for place, names in _places(spec, list(targets), "export"):
        root = goal / WINDOWS if place.column == WINDOW else goal
        output = (place.root.parent if place.column == WINDOW else place.root).resolve()
        if output in (goal.resolve(), *goal.resolve().parents):  # readers would find each row twice
            where = "is" if goal.resolve() == output else "is in"
            raise SpecError(f"{shorten(folder)} {where} the folder of the tables themselves: name another one")
        for name in names or [name for name in place.names() if place.shown(name) is not None]:
            shown = place.shown(name)
            if shown is None:
                raise _not_there(name, place)
            before_day()
            is_new = not is_exported(place, name, root)
            if is_new:
                tables = place.tables_of(shown).keys() - {"runs", REPORT}
                whole_day(str(place.root), name, column=place.column, tables=tables)
                export_day(place, name, root, before_commit)
            done.append((name, is_new))
        if done and (root / REPORT).is_dir():
            warnings += index_of(str(root), place.column, done[-1][0], spec.name)
    return done, warnings


def _not_there(name: str, place: OutputFolder) -> InputError:
    return InputError(f"{name} has no tables under {shorten(place.root)}: evaluate the day first")


def _path_in_store(target: Target, table: str | None) -> str:
    place = StoreFolder.at(target.folder)
    try:
        manifest = None if place is None else place.read(target.name).manifest
    except (pa.ArrowException, OSError) as error:
        raise unreadable(f"the tables under {shorten(target.folder)} cannot be opened", error) from error
    if place is None or manifest is None:
        if table is None:
            raise SpecError(f"{target.name} has no manifest, because each table is replaced by itself: name a --table")
        return run_folders(target.folder, target.name, [table], target.column)[table]
    if table is None:
        return place.run_url(manifest.run)
    return f"{place.run_url(manifest.run)}/{_known(table, manifest.tables, target)}"


def _local(folder: str, command: str) -> Path:
    local = local_path(folder)
    if local is None:
        raise SpecError(f"output.path is {shorten(folder)}: sparkrank {command} is for local and mounted folders")
    return local
