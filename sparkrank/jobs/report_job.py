"""The reports of stored days and windows, and of a run beside its tables (``output.report``).

A run makes its report right before its commit, from its new files, in the same way as for a stored day.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sparkrank.base.errors import (
    InputError,
    SparkrankError,
    SpecError,
    StoreError,
    first_line,
    shorten,
    unreadable,
    writing_errors,
)
from sparkrank.comparison.group_tables import GROUPS, GroupTable
from sparkrank.engines.one_group import GroupKeys
from sparkrank.inputs.window import Window
from sparkrank.jobs.explain_job import explain_day
from sparkrank.jobs.report_index import REPORT, REPORT_FILE, has_index
from sparkrank.jobs.target import Target
from sparkrank.metrics import Definitions
from sparkrank.metrics.slices import ALL
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.report.changes import Changes, changes_since
from sparkrank.report.collect import report_data
from sparkrank.report.data import ReportData
from sparkrank.report.report_tables import DayBefore, Explain, Key, ReportTables, json_object, names_of, whole_day
from sparkrank.report.score_bins import COLUMNS, BinsBySliceValue, SliceValue, frame_bins, score_bins, shown_places
from sparkrank.report.sections.trend import TrendDay, trend_of, verdict_of
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import (
    COMPARISONS,
    CURVES,
    DISPARITIES,
    DISTRIBUTIONS,
    EXPOSURES,
    GATES,
    METRICS,
    POSITIONS,
    QUALITY,
    TableSchema,
)
from sparkrank.sources.files import file_system
from sparkrank.tables.stored.day_files import DayFiles, day_files, files_of_run
from sparkrank.tables.stored.stored_days import READING_THREADS
from sparkrank.tables.stored.stored_results import result_in, whole_run
from sparkrank.tables.stored.validation import validate_required, validate_results
from sparkrank.text.explanation_text import explanation_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.tables.commit.days import DayRun

TREND_DAYS = 28  # days in the trend, up to the day of the report; a window shows all its days
EXPLAINED_WIDTH = 110  # characters of a line of an explanation
LOOKED_BACK = 7  # previous days, among which a run looks for the last day with tables
_SMALL = ("metrics", "comparisons", "disparities", "exposures", "positions", "gates", "quality", "curves")
_TABLES = (*_SMALL, "blocks", GROUPS, "distributions", "runs")
_TREND_COLUMNS = (
    "model",
    "slice",
    "metric",
    "value",
    "ci_low",
    "ci_high",
    "stderr",
    "definition",
    "n_groups",
    "n_undefined",
)
_OF_TREND = pa.schema([METRICS.schema.field(name) for name in _TREND_COLUMNS])


def report_stored(spec: Spec, target: Target, spark: SparkSession | None = None) -> ReportData:
    """Return the report of a stored day or window. For a window that was never merged, it is only the trend of days.

    The report describes the spec of the stored run. Raise :class:`InputError` if there are no readable tables.
    """
    files = day_files(target.folder, target.name, _TABLES, spark, target.column)
    if files.has("metrics"):
        run = whole_run(files, target.column)
        return report_of_files(spec, target, files, run, spark)
    if not target.is_window:
        raise InputError(f"{target.name} has no tables under {shorten(target.folder)}: evaluate the day first")
    days = _days(spec, target.window, spark)
    last = next((day for day in reversed(days) if day.metrics is not None), None)
    if last is None or last.metrics is None:
        raise InputError(f"no day of {target.name} has tables under {shorten(spec.output.path)}: evaluate them first")
    reason = f"The window is not merged: run sparkrank merge --from {target.window.first} --to {target.window.last}."
    lacking = dict.fromkeys(("headline", "quality", "definitions", "provenance"), reason)
    about: Any = {"trend": trend_of(days, _keys(last.metrics)), "subject": spec.name, "owner": spec.owner}
    return report_data(ReportTables("window", target.name, METRICS.schema.empty_table(), missing=lacking, **about))


def report_of_files(
    spec: Spec, target: Target, files: DayFiles, run: dict[str, Any], spark: SparkSession | None = None
) -> ReportData:
    """Return the report of the tables in ``files``, written by the ``run`` of the day or window.

    Raise :class:`InputError` if the tables are from another run or cannot be read.
    """
    result = result_in(files, target.name, run)
    comparisons, quality, curves, distributions = (
        _whole_table(files, table) for table in (COMPARISONS, QUALITY, CURVES, DISTRIBUTIONS)
    )
    first = target.window.last - dt.timedelta(TREND_DAYS - 1)
    if target.is_window:
        earlier = target.earlier(target.window.count)
        before = None if earlier is None else _last_before([_stored_day(earlier, spark)])
        days = _days(spec, target.window, spark)
    else:  # the stored tables may still be from the previous run
        verdict = "" if result.gates is None else verdict_of(result.gates)
        today = TrendDay(target.name, "stored", result.metrics, result.gates, verdict=verdict)
        days = [*_days(spec, Window(first, target.window.last), spark, but=target.name), today]
        before = _last_before(days[:-1])
    document = json_object(run.get("spec"))
    names = ("uncertainty", "compare", "definitions", "input")
    uncertainty, compare, definitions, rows = (
        part if isinstance(part := document.get(name), dict) else {} for name in names
    )
    return report_data(
        ReportTables(
            "window" if target.is_window else "day",
            target.name,
            result.metrics,
            comparisons,
            result.gates,
            quality,
            curves,
            distributions,
            run,
            compare.get("baseline"),
            None if uncertainty.get("off") else uncertainty.get("level"),
            compare.get("most_unpaired", Comparison("").most_unpaired),
            (rows.get("columns") or {}).get("group") or (),
            definitions.get("undefined", Definitions().undefined),
            document.get("name"),
            document.get("owner"),
            [*json.loads(run.get("warnings") or "[]"), *filter(None, [target.outdated(run, spark)])],
            trend=trend_of(days, _keys(result.metrics)),
            before=before,
            conf=spec.file,
            shows_keys=spec.report.keys,
            explain=_explain(spec, target, spark),
            disparities=_whole_table(files, DISPARITIES),
            exposures=_whole_table(files, EXPOSURES),
            positions=_whole_table(files, POSITIONS),
            **_large(files, result.metrics),
        )
    )


def _explain(spec: Spec, target: Target, spark: SparkSession | None) -> Explain | None:
    """Return a function that explains groups in another pass over the input, or None if it is not requested."""
    if not spec.output.explain or not spec.report.keys or target.is_window:
        return None

    def explained(columns: Sequence[str], keys: Sequence[Key], metric: str, models: Sequence[str]) -> dict[Key, str]:
        chosen = GroupKeys(tuple(columns), tuple(keys[: spec.output.explain]))
        explanation = explain_day(spec, target.name, chosen, [metric], models, spark, Stages())
        return {tuple(key.key.values()): explanation_text((key,), width=EXPLAINED_WIDTH) for key in explanation.keys}

    return explained


def _keys(metrics: pa.Table) -> list[tuple[str, str]]:
    """Return the pairs of metric and model in a table ``metrics``: metrics in table order, and models within each."""
    rows = whole_day(metrics).select(["metric", "model"]).to_pylist()
    models = names_of(metrics, "model")
    there = {(row["metric"], row["model"]) for row in rows}
    return [(text, model) for text in names_of(metrics, "metric") for model in models if (text, model) in there]


def _days(spec: Spec, window: Window, spark: SparkSession | None, but: str = "") -> list[TrendDay]:
    targets = [Target.of_day(spec, day) for day in window.days if day != but]
    with ThreadPoolExecutor(READING_THREADS) as pool:
        return list(pool.map(partial(_stored_day, spark=spark), targets))


def _stored_day(target: Target, spark: SparkSession | None) -> TrendDay:
    try:
        files = day_files(target.folder, target.name, ("metrics", "gates"), spark, target.column)
        if not files.has("metrics"):
            return TrendDay(target.name)
        metrics, gates = files.read("metrics", _OF_TREND), _whole_table(files, GATES)
        validate_required(metrics.column_names, "metrics", target.name)
        metrics = whole_day(metrics)
        validate_results(metrics, "metrics", target.name, once=False)
    except (InputError, StoreError) as error:
        return TrendDay(target.name, "unreadable", reason=str(error))
    verdict = "" if gates is None else verdict_of(gates)
    if gates is not None:  # only the verdicts over the whole day
        gates = gates.filter(pc.fill_null(pc.equal(gates["slice"].cast(pa.string()), ALL), False))
    return TrendDay(target.name, "stored", metrics, gates, verdict=verdict)


def _last_before(days: Sequence[TrendDay]) -> DayBefore | None:
    stored = [DayBefore(day.name, day.metrics) for day in days if day.metrics is not None]
    return stored[-1] if stored else None


def _whole_table(files: DayFiles, table: TableSchema) -> pa.Table | None:
    if not files.has(table.name):
        return None
    rows = files.read(table.name, table.schema)
    validate_required(rows.column_names, table.name, files.day)
    return rows


def _large(files: DayFiles, metrics: pa.Table) -> dict[str, Any]:
    """Return the arguments of the report for its large tables, which are read one batch at a time."""
    bins, bins_missing = _bins_of(files, shown_places(metrics))
    groups = None
    if files.has(GROUPS):
        models = names_of(metrics, "model")
        groups = replace(GroupTable.stored("report", f"of {files.day}", files), known_models=models)
    return {"bins": bins, "bins_missing": bins_missing, "groups": groups}


def _bins_of(files: DayFiles, places: Sequence[SliceValue]) -> tuple[BinsBySliceValue, str | None]:
    """Return the score bins of ``places`` and, if a stored table was not read, the reason."""
    if not files.has("blocks"):
        return {}, None
    rows = files.rows("blocks", ("model", "slice", "slice_value", "rule"))
    if not isinstance(rows, ds.Dataset):
        return frame_bins(rows, places)
    slices = sorted({slice_ for slice_, _ in places})
    return score_bins(_batches(rows, files.day, slices), places), None


def _batches(rows: ds.Dataset, day: str, slices: Sequence[str]) -> Iterator[pa.RecordBatch]:
    try:
        columns = [name for name in COLUMNS if name in rows.schema.names]
        validate_required(columns, "blocks", day)
        yield from rows.scanner(columns=columns, filter=pc.field("slice").isin(slices)).to_batches()
    except (pa.ArrowException, OSError) as error:
        raise unreadable(f"the table blocks of {day} cannot be read", error) from error


def with_report(
    spec: Spec, target: Target, run: DayRun, tables: Mapping[str, Any], spark: SparkSession | None
) -> dict[str, Any]:
    """Return ``tables`` with a function for ``runs`` that also writes the report, which the commit must list."""
    from sparkrank.report.page import page

    inner: Callable[..., pa.Table] = tables["runs"]

    def runs(files: list[dict[str, Any]] | None, attempt_id: str) -> pa.Table:
        made = inner(files=files, attempt_id=attempt_id)
        there = files_of_run(str(run.folder), target.name, _TABLES)
        data = report_of_files(spec, target, there, made.to_pylist()[0], spark)
        _write(str(run.folder), REPORT_FILE, page(data, has_index=has_index(spec)).encode("utf-8", "backslashreplace"))
        return made

    return {**{name: table for name, table in tables.items() if name != "runs"}, "runs": runs}


def validate_report(spec: Spec, run: DayRun | None = None) -> bool:
    """Return whether the spec requests a report. Raise :class:`SpecError` if the report cannot be written."""
    if not spec.output.report:
        return False
    from sparkrank.report.page import require_extra

    require_extra()
    if run is not None and run.folder is None:
        raise SpecError(
            f"output.report is true, but output.path is {shorten(spec.output.path)}, where a day is not replaced as "
            "a whole: sparkrank report makes the report of a stored day"
        )
    return True


def _write(folder: str, name: str, content: bytes) -> None:
    store, path = file_system(f"{folder}/{REPORT}")
    with writing_errors(f"the report in {shorten(folder)}"):
        try:
            store.create_dir(path, recursive=True)
            with store.open_output_stream(f"{path}/{name}") as opened:
                opened.write(content)
        except pa.ArrowException as error:
            reason = shorten(first_line(error))
            raise StoreError(f"the report cannot be written to {shorten(folder)}: {reason}") from error


def changes_of_run(target: Target, metrics: pa.Table, spark: SparkSession | None) -> Changes | None:
    """Return the changes since the last readable day.

    Return None if all of the :data:`LOOKED_BACK` days before are unreadable.
    """
    earlier = [day for days in range(1, LOOKED_BACK + 1) if (day := target.earlier(days)) is not None]
    read = partial(_stored_day, spark=spark)
    try:
        last = _last_before(list(map(read, earlier[:1])))  # usually the day before is stored, and one read suffices
        if last is None:
            with ThreadPoolExecutor(READING_THREADS) as pool:
                last = _last_before(list(pool.map(read, reversed(earlier[1:]))))
        return None if last is None else changes_since(last, metrics)
    except SparkrankError:
        return None
