"""The backfill: the evaluation of many days in one session, one after the other, earliest first.

A day is skipped if a run of the same spec has already written its tables, even if the input has changed since then.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, NoInputError, SpecError, StoreError, shorten
from sparkrank.engines.lanes import needs_session
from sparkrank.engines.spark.session_settings import shown_setting
from sparkrank.inputs.day_marks import on_day
from sparkrank.inputs.window import Window
from sparkrank.jobs.evaluate_job import evaluate_day
from sparkrank.jobs.gate_job import recorded_judgment
from sparkrank.jobs.publish_job import publish_target
from sparkrank.jobs.target import Target
from sparkrank.jobs.track_job import track_target
from sparkrank.results.run_results import BackfilledDay
from sparkrank.run.provenance import is_same_question, origin_of
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import FILES, RUN_ID, RUNS
from sparkrank.tables.commit.days import local_path, shown_run
from sparkrank.tables.commit.output_folder import DAY, OutputFolder
from sparkrank.tables.stored.day_files import day_files, whole_day

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

_FROM_BEST = (0, 5, 3)  # exit codes of stored days: all gates passed, one is undecided, one failed


def worst_code(days: Sequence[BackfilledDay]) -> int:
    """Return the worst exit code of ``days``, or 0 without days: the exit code of a backfill."""
    return max((day.exit_code for day in days), key=_FROM_BEST.index, default=0)


def backfill(
    spec: Spec,
    window: Window,
    spark: SparkSession | None,
    *,
    again: bool = False,
    allow_missing: bool = False,
    before_day: Callable[[], None] = lambda: None,
    before_commit: Callable[[], None] = lambda: None,
    stages: Callable[[], Stages] = Stages,
) -> Iterator[BackfilledDay]:
    """Evaluate the days of ``window`` in order, and yield a result for each day when it is done.

    If a day fails, its error is raised, and the days before it stay stored. With ``again``, days already stored by the
    same spec are evaluated too. With ``allow_missing``, days without input are skipped. The backfill calls
    ``before_day`` before each evaluation, and ``before_commit`` right before the tables of a day become visible.
    ``stages`` returns the object that times the stages of a day. Raise :class:`SpecError` if all days would read the
    same rows, and :class:`InputError` if the rows of a day cannot be evaluated, or if no day has input.
    """
    _validate_days_differ(spec, window)
    missing = 0
    for day in window.days:
        started = time.monotonic()
        run = None if again else stored_run(spec, day, spark)
        if run is not None:
            target = Target.of_day(spec, day)
            publish_target(spec, target, spark)  # the run that stored it may have failed to
            warnings = (*track_target(spec, target, spark),)
            stored = recorded_judgment(spec, day, spark)
            yield BackfilledDay(day, "there", run_id=run, stored=stored, warnings=warnings)
            continue
        before_day()
        try:
            result = evaluate_day(spec, day, spark, stages(), before_commit)
        except NoInputError as error:
            if not allow_missing:
                raise
            missing += 1
            yield BackfilledDay(day, "no input", time.monotonic() - started, reason=str(error))
            continue
        yield BackfilledDay(day, "evaluated", time.monotonic() - started, result)
    if missing == window.count:
        raise NoInputError(f"no day of {window} has input: nothing was evaluated")


def _validate_days_differ(spec: Spec, window: Window) -> None:
    """Raise :class:`SpecError` if ``window`` contains several days, but all of them would read the same rows."""
    texts = [text for _, rows in spec.lists for text in (rows.path, rows.table, rows.where) if text is not None]
    ends = str(window.first), str(window.last)
    if window.count > 1 and all(len({on_day(text, day) for day in ends}) == 1 for text in texts):
        raise SpecError(
            f"input has no placeholder for a day, such as {{date}}, in {shorten(' or '.join(texts))}: all days of "
            f"{window} would be evaluated from the same rows"
        )


def stored_run(spec: Spec, day: str, spark: SparkSession | None) -> str | None:
    """Return the run ID of ``day`` if its stored tables are complete and made by ``spec``; otherwise None.

    The stored spec may differ in keys that leave the numbers unchanged, such as ``engine``. The version of sparkrank
    and the Spark settings must be the same.
    """
    folder = on_day(spec.output.path, day)
    try:
        run = _run_of(folder, day, spark)
        if run is None or run["status"] != "done" or not is_same_question(spec, run["spec"]):
            return None
        versions = json.loads(run["versions"] or "{}")
        session = versions.get("session", {}) if isinstance(versions, dict) else None
        if not isinstance(session, dict):
            return None
        readers = [spark] if spark is not None and needs_session(spec.engine.lane) else []
        now = {name: shown_setting(reader, name) for reader in readers for name in session}
        if now != session or origin_of(spec, day, session).run_id != run[RUN_ID]:
            return None
        return str(run[RUN_ID]) if _is_whole(folder, day, run, spark) else None
    except StoreError:
        raise
    except (InputError, ValueError, KeyError):  # damaged tables or another version: the day is evaluated again
        return None


def _run_of(folder: str, day: str, spark: SparkSession | None) -> dict[str, Any] | None:
    if local_path(folder) is not None and shown_run(folder, day) is None:
        return None
    files = day_files(folder, day, (), spark)
    if not files.has("runs"):
        return None
    names = (RUN_ID, "status", "versions", "spec", FILES.name)
    return files.run_row(pa.schema([RUNS.schema.field(name) for name in names]))


def _is_whole(folder: str, day: str, run: dict[str, Any], spark: SparkSession | None) -> bool:
    """Return whether readers find all files of ``run``, or only its metrics if the run did not list its files.

    Raise :class:`InputError` if a file differs from the file that the run wrote.
    """
    listed = whole_day(folder, day, spark)
    if not listed:
        files = day_files(folder, day, ("metrics",), spark)
        if not files.has("metrics"):
            return False
        metrics = files.read("metrics", pa.schema([pa.field(RUN_ID, pa.string())]))
        return bool(pc.unique(metrics[RUN_ID]).to_pylist() == [run[RUN_ID]])
    local, shown = local_path(folder), shown_run(folder, day)
    if local is None or shown is None:
        return local is None
    place = OutputFolder(local, DAY)
    links = {
        place.table_link(table, day): place.table_folder(shown, table) for table in {file["table"] for file in listed}
    }
    return all(link.is_symlink() or link == folder for link, folder in links.items())
