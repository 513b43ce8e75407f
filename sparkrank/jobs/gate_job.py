"""Judgments by gates: of a run before its commit, of stored days and windows, and of many past nights in a replay.

``sparkrank gate`` judges again without writing, so the recorded verdicts remain the verdicts of the run.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, SpecError, shorten
from sparkrank.base.redaction import redact
from sparkrank.gates.facts import DayOutcome, Facts, Standard, facts_of
from sparkrank.gates.judge import Judge
from sparkrank.gates.judgment import Judgment
from sparkrank.gates.rules import Cell, matches
from sparkrank.gates.verdicts import GateVerdict, VerdictKey, with_acceptances
from sparkrank.inputs.day_marks import day_of
from sparkrank.inputs.window import MOST_DAYS, Window
from sparkrank.jobs.publish_job import publish_target, validate_publish
from sparkrank.jobs.report_index import REPORT, write_index
from sparkrank.jobs.report_job import validate_report, with_report
from sparkrank.jobs.target import Target
from sparkrank.metrics import find_preset
from sparkrank.metrics.slices import ALL
from sparkrank.schemas.tables import ATTEMPT_ID, FILES, FROM_NOW_ON, GATES, QUALITY, RUNS, WINDOW_RUNS
from sparkrank.tables.commit.days import day_run, stored_names
from sparkrank.tables.commit.links import Commit
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.rows.lookup import found_metric
from sparkrank.tables.stored.day_files import day_files, whole_day
from sparkrank.tables.stored.stored_results import StoredResult, run_row
from sparkrank.tables.stored.validation import ADVICE
from sparkrank.text.text import check_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

# A history is searched back over LOOKED_AT times the required number of days, and over at least LAST_ACCEPTED days for
# an accepted day. A metric or model that has disappeared must not pass after a few nights without it.
LOOKED_AT = 3
LAST_ACCEPTED = 366
_NIGHTS = re.compile(r"(\d{1,5})\s*d?", re.ASCII)
_AT_ONCE = 16  # days that are looked up at the same time

# A function that returns the stored results of a day, None for a day without results, or the error of reading them.
ResultReader = Callable[[Target], "StoredResult | InputError | None"]


@dataclass(frozen=True)
class VerdictPatterns:
    """Patterns for the gate, metric, model and slice of the verdicts to accept. ``None`` matches all."""

    gate: str | None = None
    metric: str | None = None
    model: str | None = None
    slice: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the patterns cover all verdicts, because each pattern is None."""
        return self == VerdictPatterns()

    def covers(self, key: VerdictKey) -> bool:
        """Return whether the patterns match the verdict ``key``.

        Slices are matched as texts such as ``country=de`` or ``all``.
        """
        texts = (key.gate, key.cell.metric, key.cell.model or "", key.cell.shown_slice or ALL)
        patterns = vars(self).values()
        return all(pattern is None or matches(text, pattern) for text, pattern in zip(texts, patterns, strict=True))

    def __str__(self) -> str:
        return " ".join(f"--{name} {shorten(pattern)}" for name, pattern in vars(self).items() if pattern is not None)


def judge_run(
    spec: Spec, target: Target, tables: Mapping[str, Any], spark: SparkSession | None
) -> tuple[dict[str, Any], Judgment | None]:
    """Judge a run before its commit. Return the run's tables with the verdicts, and the judgment (None without gates).

    If this run has the same result as the last run of the day, an acceptance of the last run is recorded again.
    """
    judge = spec.judge(spec.plan())
    if judge is None:
        return dict(tables), None
    before, read = _read(target, spark, is_past=False), partial(_read, spark=spark)
    judgment = _judged(
        judge, target, tables["metrics"], _Beside(tables.get("comparisons"), tables.get("disparities")), read
    )
    # if the last run cannot be read, this run replaces it
    if before is not None and not isinstance(before, InputError) and before.acceptance:
        if before.has_same(tables["metrics"]):
            judgment = _with_acceptance(judgment, before)
        else:
            judgment = replace(judgment, dropped=before.acceptance["accepted_reason"])
    others = {name: table for name, table in tables.items() if name != "runs"}
    return {**others, "gates": judgment.table, "runs": partial(tables["runs"], **judgment.acceptance)}, judgment


def gate_stored(spec: Spec, target: Target, spark: SparkSession | None = None) -> Judgment:
    """Judge a stored day or window by the gates of ``spec``, without writing anything.

    Raise :class:`SpecError` if the spec has no gates, and :class:`InputError` if the tables cannot be read, or if a
    day of a window was evaluated after the merge.
    """
    judge, stored = _judge(spec), target.stored(spark)
    if stored is None:
        return Judgment(target.name, tuple(judge.verdicts(None, target.name)), None, {})
    warnings = _stored_warnings(target, _validate_current(target, spark), spark)
    judgment = _judged(judge, target, stored.metrics, _Beside.of(stored), partial(_read, spark=spark))
    return replace(_with_acceptance(judgment, stored), stored_warnings=warnings)


def _stored_warnings(target: Target, run: Mapping[str, Any], spark: SparkSession | None) -> tuple[str, ...]:
    """Return the warnings of the ``run`` that wrote the tables, and a sentence for each check beyond its limit."""
    warnings = json.loads(run.get("warnings") or "[]")
    files = day_files(target.folder, target.name, ("quality",), spark, target.column)
    quality = files.read("quality", QUALITY.schema).to_pylist() if files.has("quality") else []
    return (*warnings, *(f"Not within its limit: {check_text(row)}" for row in quality if row["ok"] is False))


def _validate_current(target: Target, spark: SparkSession | None) -> dict[str, Any]:
    """Return the row of ``runs`` for ``target``. Raise :class:`InputError` if a day of a merged window has changed."""
    row = run_row(target.folder, target.name, spark, target.column)
    if (sentence := target.outdated(row, spark)) is not None:
        raise InputError(sentence)
    return row


def recorded_judgment(spec: Spec, day: str, spark: SparkSession | None = None) -> Judgment | None:
    """Return the failed and undecided verdicts stored for a day, with acceptances; None if ``spec`` has no gates.

    The gates of the run must be those of ``spec``. Raise :class:`InputError` if the tables cannot be read.
    """
    judge = spec.judge(spec.plan())
    if judge is None:
        return None
    target = Target.of_day(spec, day)
    files = day_files(target.folder, day, ("gates",), spark)
    if not files.has("gates"):
        raise InputError(f"{day} has lost its table gates: {ADVICE}")
    rows = files.read("gates", GATES.schema)
    rows = rows.filter(pc.is_in(rows["verdict"].cast(pa.string()), pa.array(["fail", "undecided"])))
    policies = {rule.gate: rule.undecided for rule in judge.rules}
    verdicts = [
        GateVerdict(
            VerdictKey(row["gate"], row["kind"], Cell(*(row[name] for name in Cell._fields))),
            row["verdict"],
            row["reason"],
            row["value"],
            bound=row["bound"],
            policy=policies.get(row["gate"], "warn"),
            accepted=row["accepted_reason"] if row["accepted"] else None,
        )
        for row in rows.to_pylist()
    ]
    return Judgment(day, tuple(verdicts), None, {})


def accept_stored(
    spec: Spec,
    target: Target,
    reason: str,
    spark: SparkSession | None = None,
    choice: VerdictPatterns = VerdictPatterns(),
    *,
    from_now_on: bool = False,
    before_commit: Callable[[], None] = lambda: None,
) -> Judgment:
    """Accept a stored day or window although gates stop it, and record ``reason`` in ``gates`` and ``runs``.

    ``choice`` selects the verdicts to accept. With ``from_now_on``, their histories begin anew with this day. The
    commit calls ``before_commit`` right before the acceptance becomes visible. Raise :class:`SpecError` if there are no
    gates or no reason is given, and :class:`InputError` if there are no tables, if no chosen verdict stops the day, or
    if a file of the day differs from the file that its run wrote.
    """
    judge, reason = _judge(spec), redact(reason.strip())  # the reason is visible to all readers of the tables
    if choice.metric is not None:
        named = found_metric(spec.plan(), find_preset(spec.definitions.preset), choice.metric)
        choice = replace(choice, metric=named or choice.metric)
    if not reason:
        raise SpecError("--reason is empty: say why the day may nevertheless be a standard for others")
    lacking = f"{target.name} has no tables under {shorten(target.folder)}: there is nothing to accept"
    if target.stored(spark) is None:  # before the run makes folders
        raise InputError(lacking)
    validate_publish(spec, spark, target.column)
    commit = Commit(spec.output.keep_runs, before_commit, spec.output.plain)
    with day_run(target.folder, target.name, spark, target.column, commit) as run:
        stored = target.stored(spark)
        if stored is None:
            raise InputError(lacking)
        judgment = _judged(judge, target, stored.metrics, _Beside.of(stored), partial(_read, spark=spark))
        judgment = _accepted(judgment, stored, reason, choice, from_now_on=from_now_on)
        row = _validate_current(target, spark)
        judgment = replace(judgment, stored_warnings=_stored_warnings(target, row, spark))
        schema = (WINDOW_RUNS if target.is_window else RUNS).schema

        def runs(files: list[dict[str, Any]] | None, attempt_id: str) -> pa.Table:
            own = {FILES.name: files, ATTEMPT_ID: attempt_id}
            return pa.Table.from_pylist([{**row, **judgment.acceptance, **own}], schema=schema)

        listed = whole_day(target.folder, target.name, spark, target.column)
        kept = run.keep_others(("gates", "runs", REPORT), listed)
        if strange := sorted(set(kept) - {file["table"] for file in listed}) if listed else []:
            raise InputError(f"{target.name} has a table {strange[0]} that its run did not write: {ADVICE}")
        tables: dict[str, Any] = {"gates": judgment.table, "runs": runs}
        if run.folder is not None and validate_report(spec, run):  # the report says that the day was accepted
            kept, tables = (*kept, REPORT), with_report(spec, target, run, tables, spark)
        run.commit(tables, kept)
    write_index(spec, target)
    publish_target(spec, target, spark)
    return judgment


def _accepted(
    judgment: Judgment, stored: StoredResult, reason: str, choice: VerdictPatterns, *, from_now_on: bool
) -> Judgment:
    """Return ``judgment`` with its earlier acceptances, and with the verdicts in ``choice`` accepted for ``reason``."""
    name, about = judgment.name, "" if choice.is_whole else f" that {choice} is about"
    chosen = [verdict for verdict in judgment.verdicts if choice.covers(verdict.key)]
    if not chosen:
        raise InputError(f"{name} has no verdict{about}: there is nothing to accept")
    failed_before = bool(stored.outcome.failed) and choice.is_whole  # judged by the gates of that time
    if not from_now_on and not failed_before and not any(verdict.stops for verdict in chosen):
        raise InputError(f"no gate{about} stops {name}: there is nothing to accept")
    let_in = {verdict.key for verdict in chosen if verdict.stops}
    begins = {verdict.key for verdict in chosen if from_now_on} | stored.beginnings
    verdicts = [
        replace(
            verdict, accepted=reason if verdict.key in let_in else verdict.accepted, begins_anew=verdict.key in begins
        )
        for verdict in with_acceptances(judgment.verdicts, stored.acceptances)
    ]
    old = stored.acceptance
    is_same = old.get("accepted_reason") == reason
    acceptance = {
        "accepted_at": old["accepted_at"] if is_same else dt.datetime.now(dt.timezone.utc),
        "accepted_reason": reason,
        FROM_NOW_ON: (from_now_on and choice.is_whole) or bool(old.get(FROM_NOW_ON)),
    }
    return replace(judgment, verdicts=tuple(verdicts), acceptance=acceptance)


def replay_days(
    spec: Spec, window: Window, spark: SparkSession | None = None
) -> list[tuple[str, tuple[GateVerdict, ...]]]:
    """Return the name and the verdicts of each stored day of ``window``, judged by the gates of ``spec``.

    A failed value is not compared with later nights unless it was accepted. Before the window, stored outcomes count.
    """
    judge = _judge(spec)
    first = Target(spec.output.path, Window(window.first, window.first), False)
    back = _days_back(judge, 1)
    targets = [target for days in range(1 - window.count, back + 1) if (target := first.earlier(days)) is not None]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        results = pool.map(lambda target: _read(target, spark, is_past=target.name not in window.days), targets)
        known = dict(zip((target.name for target in targets), results, strict=True))
    outcomes: dict[str, DayOutcome] = {}

    def before(target: Target) -> StoredResult | InputError | None:
        if target.name not in known:  # only if no night before the window is accepted
            known[target.name] = _read(target, spark)
        return known[target.name]

    nights = []
    for day in window.days:
        stored = known[day]
        if isinstance(stored, InputError):
            raise stored
        if stored is None:
            continue
        judgment = _judged(judge, Target.of_day(spec, day), stored.metrics, _Beside.of(stored), before, outcomes)
        nights.append((day, judgment.verdicts))
        failed = frozenset(verdict.key.cell for verdict in judgment.verdicts if verdict.verdict == "fail")
        outcomes[day] = replace(stored.outcome, failed=failed - stored.outcome.let_in)
    if not nights:
        raise InputError(f"no day of {window} has tables under {shorten(spec.output.path)}: evaluate the days first")
    return nights


def replayed_window(spec: Spec, nights: str, day: str | None) -> Window:
    """Return the window of ``nights`` (``90d`` or ``90``) that ends with ``day``.

    If ``day`` is None, the window ends with the spec's day or the last stored day. Raise :class:`SpecError` if
    ``nights`` is not a number of days, or if no last day is known.
    """
    number = _NIGHTS.fullmatch(nights.strip())
    if number is None or not 1 <= int(number[1]) <= MOST_DAYS:
        raise SpecError(f"--replay is {shorten(nights)}: a number of days from 1 to {MOST_DAYS} is needed, as 90d")
    named = day if day is not None else None if spec.day is None else spec.day.isoformat()
    last = _last_stored(spec) if named is None else day_of(named)
    if last is None:
        raise SpecError(f"--date {shorten(named)} is not a day of the form YYYY-MM-DD")
    return Window(last - dt.timedelta(int(number[1]) - 1), last)


def _last_stored(spec: Spec) -> dt.date:
    """Return the last stored day. Raise an error if no day is stored, or if each day has its own folder."""
    output = spec.output.path
    if "{" not in output:
        names = stored_names(output, DAY)
        if names is None:
            raise InputError(f"the tables under {shorten(output)} cannot be listed: name a day by --date YYYY-MM-DD")
        if days := [day for day in map(day_of, names) if day is not None]:
            return max(days)
    raise SpecError("--replay needs its last day: name it with --date YYYY-MM-DD")


def _judge(spec: Spec) -> Judge:
    judge = spec.judge(spec.plan())
    if judge is None:
        raise SpecError("the spec has no gates: name some, as gates: [{metric: ndcg@10, min: 0.3}]")
    return judge


class _Beside(NamedTuple):
    """The tables that gates read besides ``metrics``, each None if the run has none."""

    comparisons: pa.Table | None = None
    disparities: pa.Table | None = None

    @classmethod
    def of(cls, stored: StoredResult) -> _Beside:
        return cls(stored.comparisons, stored.disparities)


def _judged(
    judge: Judge,
    target: Target,
    metrics: pa.Table,
    tables: _Beside,
    read: ResultReader,
    outcomes: Mapping[str, DayOutcome] = MappingProxyType({}),
) -> Judgment:
    """Return the judgment on the tables of a day or window. ``read`` reads the result of an earlier day or window.

    ``outcomes`` replaces the stored outcomes of earlier days, by name.
    """

    def facts(name: str, values: pa.Table, beside: _Beside) -> Facts:
        rules, models = judge.rules, judge.models_compared_with
        return facts_of(name, values, beside.comparisons, rules, models, beside.disparities)

    results, unread = _days_before(judge, target, read, outcomes)
    days = [replace(facts(stored.name, stored.metrics, _Beside()), outcome=outcome) for stored, outcome in results]
    today = facts(target.name, metrics, tables)
    return Judgment(target.name, tuple(judge.verdicts(today, target.name, Standard(days, unread))), today, {})


def _with_acceptance(judgment: Judgment, stored: StoredResult) -> Judgment:
    if not stored.acceptance:
        return judgment
    verdicts = with_acceptances(judgment.verdicts, stored.acceptances)
    verdicts = [replace(verdict, begins_anew=verdict.key in stored.beginnings) for verdict in verdicts]
    return replace(judgment, verdicts=tuple(verdicts), acceptance=stored.acceptance)


def _read(
    target: Target, spark: SparkSession | None = None, *, is_past: bool = True
) -> StoredResult | InputError | None:
    try:
        return target.stored(spark, is_past=is_past)
    except InputError as error:
        return error


def _days_before(
    judge: Judge, target: Target, read: ResultReader, outcomes: Mapping[str, DayOutcome]
) -> tuple[list[tuple[StoredResult, DayOutcome]], list[str]]:
    """Return the stored days before ``target`` that its gates need, latest first, and the names of unreadable days.

    The days suffice once every cell (metric, model, slice value) has the required number of days on which it did not
    fail, and one day has no failure at all. For a window, they are earlier windows of the same length that do not
    overlap.
    """
    days: list[tuple[StoredResult, DayOutcome]] = []
    unread: list[str] = []
    failures: Counter[Cell] = Counter()
    last, lacks_accepted, is_enough = target, True, False
    for earlier, stored in _looked_up(judge, target, read):
        is_enough = is_enough or len(days) - max(failures.values(), default=0) >= judge.needed_days
        is_enough = is_enough or (bool(days) and earlier.window.first < _earliest(judge, target))
        if is_enough and not lacks_accepted:
            break
        if stored is None or earlier.overlaps(last):
            continue
        if isinstance(stored, InputError):
            unread.append(earlier.name)
            continue
        outcome = outcomes.get(earlier.name, stored.outcome)
        lacks_accepted = lacks_accepted and bool(outcome.failed)
        if not is_enough or not lacks_accepted:
            days.append((stored, outcome))
            failures.update(cell for cell in outcome.failed if judge.has_history(cell))
            is_enough = is_enough or outcome.is_new
            last = earlier
    return days, unread


def _days_back(judge: Judge, count: int) -> int:
    """Return how many days to search back for the history that the gates need for a window of ``count`` days."""
    step = judge.days_apart
    return step * LOOKED_AT * judge.needed_days * -(-count // step)


def _earliest(judge: Judge, target: Target) -> dt.date:
    try:
        return target.window.first - dt.timedelta(_days_back(judge, target.window.count))
    except OverflowError:
        return dt.date.min


def _looked_up(
    judge: Judge, target: Target, read: ResultReader
) -> Iterator[tuple[Target, StoredResult | InputError | None]]:
    """Yield earlier days or windows with their results, latest first, for :data:`LAST_ACCEPTED` days or more."""
    if not judge.needed_days:
        return
    step = judge.days_apart
    ends = range(step, max(_days_back(judge, target.window.count), LAST_ACCEPTED) + 1, step)
    targets = (earlier for days in ends if (earlier := target.earlier(days)) is not None)
    at_once = min(_AT_ONCE, judge.needed_days)
    names = None if "{" in target.output else stored_names(target.folder, target.column)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while several := list(itertools.islice(targets, at_once)):
            stored = [earlier for earlier in several if names is None or earlier.name in names]
            results = dict(zip(stored, pool.map(read, stored), strict=True))
            yield from ((earlier, results.get(earlier)) for earlier in several)
            at_once = _AT_ONCE
