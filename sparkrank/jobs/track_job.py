"""Stored days, logged to the trackers of a spec. Trackers get no reader options and no group keys."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sparkrank.base.errors import (
    MOST_SENTENCE,
    CodedSentence,
    InputError,
    SparkrankError,
    SpecError,
    StoreError,
    hint,
    shorten,
)
from sparkrank.jobs.report_job import report_stored
from sparkrank.metrics.slices import slice_name
from sparkrank.report.page import lacking_extra
from sparkrank.report.written_forms import write_report
from sparkrank.schemas.tables import RUN_ID
from sparkrank.tables.stored.stored_results import run_row
from sparkrank.tables.trackers.tracked_run import (
    Parts,
    TrackedRun,
    names_without_clash,
    values_of,
    verdicts_of,
    without_options,
)
from sparkrank.tables.trackers.tracker import log_to_tracker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.config.track_section import TrackSettings
    from sparkrank.jobs.target import Target
    from sparkrank.metrics import Plan


def validate_track(spec: Spec) -> None:
    """Raise :class:`SpecError`, before any table is read, if no day can be logged."""
    if not spec.track:
        return
    plan = spec.plan()
    for own in spec.track:
        own.tracker.require_library()
        validate_tracked(plan, own.slices, "track.slices")
    if len({own.tracker for own in spec.track}) < len(spec.track):
        raise SpecError("track names one experiment twice: a day has one run there")
    names_without_clash(names_of_day(plan))


def validate_tracked(plan: Plan, slices: Sequence[str], where: str) -> None:
    """Raise :class:`SpecError` if ``plan`` lacks one of ``slices``, or if the values of a slice are group keys."""
    known = {slice_name(columns): {part.column for part in columns} for columns in plan.slices}
    for name, columns in known.items():
        if plan.keys and columns >= set(plan.keys):
            raise SpecError(f"the values of the slice {shorten(name)} are the keys of groups, which no tracker gets")
    for name in slices:
        if name not in known:
            near = hint(name, known, "there are", "there are none")
            raise SpecError(f'{where} names "{shorten(name)}", which is not a slice{near}')


def names_of_day(plan: Plan) -> Iterator[Parts]:
    """Yield the names of the values over the whole day, known before any table is read."""
    baseline = None if plan.compare is None else plan.compare.baseline
    pairs = [] if baseline is None else [f"{model}-{baseline}" for model in plan.models if model != baseline]
    yield from itertools.product((*plan.models, *pairs), map(str, plan.metrics))


def track_target(spec: Spec, target: Target, spark: SparkSession | None) -> list[str]:
    """Log a stored day to each tracker of ``spec`` that lacks the day, and return a warning for each failure.

    A window is not logged. Raise :class:`SparkrankError` if a ``required`` tracker fails.
    """
    if target.is_window:
        return []
    warnings: list[str] = []
    for own in spec.track:
        try:
            run = _tracked_run(spec, target, own, spark)
            log_to_tracker(own.tracker, run, lambda file: _write_report(spec, target, spark, file), own.timeout)
        except SparkrankError as error:
            sentence = f"{target.name} is stored, but is not logged: {error}"
            if own.required:
                raise (StoreError if isinstance(error, StoreError) else SparkrankError)(sentence) from error
            warnings.append(CodedSentence("not_tracked", shorten(sentence, MOST_SENTENCE)))
    return warnings


def _tracked_run(spec: Spec, target: Target, own: TrackSettings, spark: SparkSession | None) -> TrackedRun:
    stored = target.stored(spark)
    if stored is None:
        raise InputError(f"{target.name} has no tables under {shorten(target.folder)}")
    row = run_row(target.folder, target.name, spark, target.column)
    tables = {"metrics": stored.metrics, "comparisons": stored.comparisons, "gates": stored.gates}
    document = json.loads(row["spec"])
    preset = (document.get("definitions") or {}).get("preset")
    return TrackedRun(
        spec.name or Path(spec.file).stem,
        target.name,
        row[RUN_ID],
        {"spec_hash": row["spec_hash"], **({"preset": preset} if preset else {})},
        {"lane": row["lane"], "input": row["input"], **({} if stored.gates is None else verdicts_of(stored.gates))},
        values_of(stored.metrics, stored.comparisons, own.slices),
        row["input"],
        {name: table for name, table in tables.items() if table is not None},
        without_options(document),
    )


def _write_report(spec: Spec, target: Target, spark: SparkSession | None, file: Path) -> None:
    """Write the report of a day without group keys, if the extra for reports is installed."""
    if lacking_extra():
        return
    hidden = spec.model_copy(update={"report": spec.report.model_copy(update={"keys": False})})
    write_report(report_stored(hidden, target, spark), str(file), "html")
