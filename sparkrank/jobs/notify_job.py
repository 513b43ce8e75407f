"""The events of a day that a spec requests: its start, and its completion or failure."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import MOST_SENTENCE, CodedSentence, SparkrankError, SpecError, require, shorten
from sparkrank.base.redaction import redact
from sparkrank.engines.local_lane import SidesLane
from sparkrank.engines.spark.failures import reason_of
from sparkrank.inputs.day_marks import on_day, on_days
from sparkrank.sources.lakes import LAKE_FORMATS
from sparkrank.tables.lineage import openlineage
from sparkrank.tables.lineage.lineage_datasets import CATALOG, LineageDataset
from sparkrank.tables.lineage.run_events import (
    NULLS,
    EventKind,
    LineageRun,
    assertions_facet,
    quality_facet,
    result_of,
)
from sparkrank.tables.rows.outputs import OUTPUTS
from sparkrank.tables.trackers.tracker import answer_of

if TYPE_CHECKING:
    from sparkrank.config import Spec
    from sparkrank.inputs.roles import Roles
    from sparkrank.results.run_results import DayResult
    from sparkrank.run.execute import OpenRequest


def validate_notify(spec: Spec) -> None:
    """Raise :class:`SpecError` if a program is named twice, or if its library is not installed."""
    if len({*spec.notify}) < len(spec.notify):
        raise SpecError("notify names one program twice")
    if spec.notify:
        require("openlineage", "openlineage", "notify: [openlineage]")


@dataclass
class DayNotices:
    """The events of one attempt to evaluate ``day``, with a warning for each event not sent.

    ``inputs`` are the inputs as datasets. ``columns`` maps names of roles to the columns whose nulls are counted.
    """

    spec: Spec
    day: str
    attempt: str
    inputs: list[LineageDataset] = field(default_factory=list)
    columns: Mapping[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def opened(self, opened: OpenRequest) -> None:
        """Add the versions and the columns of the inputs, known once the inputs are open."""
        if self.spec.notify:
            with self._without_failing("the inputs"):
                self.inputs = [*_opened_inputs(self.spec, self.day, opened)]
                lists = opened.request.roles.of_lists
                self.columns = _null_columns(lists[0]) if len(lists) == 1 else {}

    def started(self) -> None:
        """Send the event that the evaluation starts."""
        if self.spec.notify:
            with self._without_failing("the inputs"):
                self.inputs = [*_inputs(self.spec, self.day, {}, {})]
        self._send("START")

    def completed(self, result: DayResult) -> DayResult:
        """Send the event that the day is stored, even if gates stop it. Return ``result`` with the warnings."""

        def parts() -> dict[str, Any]:
            verdicts, code = result.verdicts, 0 if result.judgment is None else result.judgment.exit_code
            named = [gate.name for gate in self.spec.gates if gate.name is not None]
            first, *others = self.inputs
            facets: dict[str, Any] = {"dataQualityAssertions": assertions_facet(result.quality, verdicts, named)}
            if len(self.spec.lists) == 1 and first.namespace:
                facets["dataQualityMetrics"] = quality_facet(result.quality, self.columns)
            first = replace(first, facets={name: facet for name, facet in facets.items() if facet is not None})
            return {
                "inputs": [first, *others],
                "outputs": [*_outputs(self.spec, self.day, result)],
                "result": result_of(result.metrics, result.comparisons, result.lane, code),
            }

        self._send("COMPLETE", parts)
        return replace(result, warnings=[*result.warnings, *self.warnings]) if self.warnings else result

    def ended_by(self, error: BaseException) -> None:
        """Send the event that ``error`` has ended the evaluation.

        Warnings are only logged, because no day is stored.
        """
        if _is_interrupt(error):
            self._send("ABORT")
        elif isinstance(error, Exception):
            sentence = _reason(error)
            self._send("FAIL", lambda: {"error": sentence})
        for warning in self.warnings:
            logging.getLogger(__name__).warning("%s", shorten(warning, MOST_SENTENCE))

    def _send(self, kind: EventKind, parts: Callable[[], dict[str, Any]] = dict) -> None:
        if self.spec.notify:
            with self._without_failing(f"the event {kind}"):
                run = LineageRun(openlineage.job_namespace(), _job(self.spec), self.day, self.attempt)
                now = dt.datetime.now(dt.timezone.utc).isoformat()
                event = run.event(kind, now, **{"inputs": self.inputs, **parts()})
                answer_of("openlineage", openlineage.TIMEOUT, lambda: openlineage.send(event))

    @contextmanager
    def _without_failing(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a day never fails because of a notice
            sentence = f"{what} of {self.day} is not sent: {_reason(error)}"
            self.warnings.append(CodedSentence("not_notified", shorten(sentence, MOST_SENTENCE)))


@contextmanager
def notices_of_day(spec: Spec, day: str, attempt: str) -> Iterator[DayNotices]:
    """Send the event of an attempt's start, and yield the notices of the attempt inside a ``with`` block.

    If the attempt fails or is interrupted, send the event of its end. Raise :class:`SpecError` before any event if a
    library is missing.
    """
    validate_notify(spec)
    notices = DayNotices(spec, day, attempt)
    notices.started()
    try:
        yield notices
    except BaseException as error:
        with suppress(Exception):  # the error itself is raised
            notices.ended_by(error)
        raise


def _is_interrupt(error: BaseException) -> bool:
    """Return whether an interrupt caused ``error``, such as Spark's error about a cancelled job."""
    cause: BaseException | None = error
    while cause is not None:
        if not isinstance(cause, Exception):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _reason(error: Exception) -> str:
    return shorten(str(error) if isinstance(error, SparkrankError) else reason_of(error), MOST_SENTENCE)


def _job(spec: Spec) -> str:
    return spec.name or Path(spec.file).stem


def _inputs(
    spec: Spec, day: str, versions: Mapping[str, str], types: Mapping[str, Mapping[str, str]]
) -> Iterator[LineageDataset]:
    """Yield a dataset for each place that is read for ``day``, with its version and columns."""
    roles = spec.roles
    of_sides = [*roles.of_lists, *([] if roles.truth is None else [roles.truth]), *roles.past.values()]
    for (what, rows), own in zip(spec.places, [*of_sides, *[None] * len(spec.places)], strict=False):
        titles: dict[str, list[str]] = {}
        for title, column in () if own is None else own.columns():
            titles.setdefault(column, []).append(title)
        known = types.get(what, {})
        columns = {column: (known.get(column), ", ".join(dict.fromkeys(names))) for column, names in titles.items()}
        version = versions.get(what) or (None if rows.version is None else str(rows.version))
        facts: Any = {"format": rows.format, "version": version, "columns": columns}
        if rows.path is None:
            own_facts = facts if rows.format in LAKE_FORMATS else {"columns": columns}  # only Spark knows their format
            yield LineageDataset(CATALOG, redact(on_day(str(rows.table), day)), **own_facts)
        else:
            yield from (LineageDataset.at(path, **facts) for path in on_days(rows.path, day))


def _opened_inputs(spec: Spec, day: str, opened: OpenRequest) -> Iterator[LineageDataset]:
    request, lane = opened.request, opened.lane
    sides = [side for side, _ in request.sides]
    sides += [] if request.catalog is None else [request.catalog.rows]
    versions = {side.what: str(side.version) for side in sides if side.version is not None}
    pairs = lane.sides.pairs if isinstance(lane, SidesLane) else []
    types = {rows.what: {each.name: str(each.type) for each in rows.schema} for rows, _ in pairs}
    return _inputs(spec, day, versions, types)


def _null_columns(roles: Roles) -> dict[str, str]:
    """Return the columns whose nulls ``quality`` counts, by the name of the role, with one column for each role."""
    of_roles = {
        name: [column for role, _, column in roles.in_use() if role.name == name]
        for name in dict.fromkeys(NULLS.values())
    }
    return {name: columns[0] for name, columns in of_roles.items() if len({*columns}) == 1}


def _outputs(spec: Spec, day: str, result: DayResult) -> Iterator[LineageDataset]:
    """Yield a dataset for each table of the output. Its path ends before the folder of the day."""
    known = {output.schema.name: output.schema.whole_schema for output in OUTPUTS}
    for name in sorted(result.folders):
        schema = known.get(name, ())
        columns = {each.name: (str(each.type), None) for each in schema}
        place = f"{on_day(spec.output.path, day).rstrip('/')}/{name}"
        yield LineageDataset.at(place, format="parquet" if schema else None, columns=columns)
