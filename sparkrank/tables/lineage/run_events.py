"""The events of one attempt to evaluate a day, in OpenLineage's JSON, without slices and group keys."""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank._version import __version__
from sparkrank.base import checks
from sparkrank.gates.verdicts import WORST_FIRST, GateVerdict, VerdictKey
from sparkrank.metrics.slices import ALL
from sparkrank.tables.lineage.lineage_datasets import LineageDataset, facet_of

EventKind: TypeAlias = Literal["START", "COMPLETE", "FAIL", "ABORT"]
HOME = "https://github.com/sparkrank/sparkrank"
PRODUCER = f"{HOME}/tree/v{__version__}"
EVALUATION = "sparkrank_evaluation"  # sparkrank's own facet of a run; evaluation_facet.schema.json describes it
_EVALUATION_SCHEMA = (
    f"{HOME}/blob/main/sparkrank/tables/lineage/evaluation_facet.schema.json#/$defs/SparkrankEvaluationRunFacet"
)
_EVENT_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
# The checks that count nulls, and the role of the column whose nulls they count.
NULLS = {
    checks.CODES[checks.NULL_KEY]: "group",
    checks.CODES[checks.NULL_ITEM]: "item",
    checks.CODES[checks.ITEMLESS_ROWS]: "item",
    checks.CODES[checks.UNJUDGED_ROWS]: "label",
    checks.CODES[checks.UNJUDGED_DROPPED]: "label",
    checks.CODES[checks.NULL_CLUSTER]: "cluster",
}


@dataclass(frozen=True)
class LineageRun:
    """One attempt to evaluate ``day`` by the job ``job`` of ``namespace``."""

    namespace: str
    job: str
    day: str
    attempt: str

    @property
    def uuid(self) -> str:
        """The ID of the run, computed from the ``attempt_id`` of the table ``runs``."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{HOME}#{self.attempt}"))

    def event(
        self,
        kind: EventKind,
        time: str,
        inputs: Sequence[LineageDataset],
        outputs: Sequence[LineageDataset] = (),
        *,
        result: Mapping[str, Any] | None = None,
        error: str | None = None,
    ) -> dict[str, Any]:
        """Return an event at ``time`` (ISO 8601), with the facet (part) of a ``result`` or the text of an ``error``."""
        evaluation = {"day": self.day, "attemptId": self.attempt, **(result or {})}
        facets: dict[str, Any] = {EVALUATION: {**evaluation, "_producer": PRODUCER, "_schemaURL": _EVALUATION_SCHEMA}}
        if error is not None:
            message = {"message": error, "programmingLanguage": "python"}
            facets["errorMessage"] = {**message, **facet_of(PRODUCER, "1-0-1", "ErrorMessageRunFacet")}
        return {
            "eventType": kind,
            "eventTime": time,
            "producer": PRODUCER,
            "schemaURL": _EVENT_SCHEMA,
            "run": {"runId": self.uuid, "facets": facets},
            "job": {"namespace": self.namespace, "name": self.job, "facets": {}},
            "inputs": [{**each.document(PRODUCER), "inputFacets": dict(each.facets)} for each in inputs],
            "outputs": [{**each.document(PRODUCER), "outputFacets": {}} for each in outputs],
        }


def result_of(metrics: pa.Table, comparisons: pa.Table | None, lane: str, exit_code: int) -> dict[str, Any]:
    """Return the content of sparkrank's facet for a stored day: the metrics and differences over all rows."""
    compared = [] if comparisons is None else [*_whole(comparisons, ("candidate", "baseline"), "difference")]
    first = metrics.slice(0, 1).select(["run_id", "spec_hash"]).to_pylist()[0]
    named = {"runId": first["run_id"], "specHash": first["spec_hash"], "lane": lane, "exitCode": exit_code}
    return {**named, "metrics": [*_whole(metrics, ("model",), "value")], "comparisons": compared}


def _whole(table: pa.Table, subject: Sequence[str], value: str) -> Iterator[dict[str, Any]]:
    """Yield the rows over the whole day, without numbers that are null, NaN or infinite."""
    whole = table.filter(pc.equal(table["slice"].cast(pa.string()), ALL))
    numbers = {value: value, "ci_low": "ciLow", "ci_high": "ciHigh", "n_groups": "groups"}
    for row in whole.select([*subject, "metric", *numbers]).to_pylist():
        known = {name: row[column] for column, name in numbers.items() if _is_number(row[column])}
        yield {**{name: row[name] for name in (*subject, "metric")}, **known}


def _is_number(number: float | None) -> bool:
    return number is not None and math.isfinite(number)


def quality_facet(quality: pa.Table, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the facet of an input with its number of rows, and the nulls counted in the table ``quality``.

    ``columns`` maps the roles group, item, label and cluster to the names of columns.
    """
    counts: dict[str, int] = {}
    nulls = dict.fromkeys(columns.values(), 0)
    for row in quality.select(["code", "model", "count"]).to_pylist():
        if row["model"] is None and row["count"] is not None:
            counts[row["code"]] = int(row["count"])
            if (column := columns.get(NULLS.get(row["code"], ""))) is not None:
                nulls[column] += int(row["count"])
    rows = counts.get(checks.CODES[checks.ROWS_READ])
    facet: dict[str, Any] = {} if rows is None else {"rowCount": rows}
    facet["columnMetrics"] = {column: {"nullCount": count} for column, count in nulls.items()}
    return {**facet, **facet_of(PRODUCER, "1-0-3", "DataQualityMetricsInputDatasetFacet")}


def assertions_facet(
    quality: pa.Table, verdicts: Sequence[GateVerdict], named: Collection[str]
) -> dict[str, Any] | None:
    """Return the facet with an assertion for each gate and each check with a limit; None without gates and limits.

    ``named`` contains the names that people gave to gates. The names of other gates contain slice values, and are not
    sent.
    """
    made = [*_of_gates(verdicts, named), *_of_limits(quality)]
    return {"assertions": made, **facet_of(PRODUCER, "1-1-0", "DataQualityAssertionsDatasetFacet")} if made else None


def _of_gates(verdicts: Sequence[GateVerdict], named: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the worst verdict of each gate. A gate succeeds if it passes, or if a person has accepted its failure."""
    of_gates: dict[str, list[GateVerdict]] = {}
    for check in verdicts:
        of_gates.setdefault(check.key.gate, []).append(check)
    for gate, own in of_gates.items():
        words = ["pass" if check.accepted is not None else check.verdict for check in own]
        worst = min(words, key=WORST_FIRST.index)
        some = f"{words.count(worst)} of {len(own)} checks: {worst}"
        stops = any(check.stops for check in own) or worst == "fail"
        yield {
            "assertion": own[0].key.kind,
            "name": gate if gate in named else _without_values(own[0].key),
            "success": worst == "pass",
            "severity": "error" if stops else "warn",
            "description": some,
            "expected": "pass",
            "actual": worst,
        }


def _without_values(key: VerdictKey) -> str:
    """Return a name for a gate: the text of its metric and model, and the column of its slice."""
    subject, where, _ = key.gate.partition(" where ")
    return f"{subject} by {key.cell.slice}" if where else subject


def _of_limits(quality: pa.Table) -> Iterator[dict[str, Any]]:
    for row in quality.select(["check", "code", "model", "count", "fraction", "limit", "ok"]).to_pylist():
        if row["ok"] is not None:
            of_model = "" if row["model"] is None else f" ({row['model']})"
            actual = row["count"] if row["fraction"] is None else row["fraction"]
            yield {
                "assertion": row["code"],
                "name": f"{row['check']}{of_model}",
                "success": row["ok"],
                "severity": "warn",
                "expected": f"{row['limit']:g}",
                "actual": f"{actual:g}",
            }
