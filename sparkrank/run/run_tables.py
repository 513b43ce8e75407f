"""All tables of a day's run, made from the results of its evaluation."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sparkrank.base import checks
from sparkrank.base.errors import MOST_SENTENCE, shorten
from sparkrank.base.redaction import shown_url
from sparkrank.engines.spark.session_settings import with_session
from sparkrank.inputs.window import spans
from sparkrank.run.provenance import origin_of, runs_table
from sparkrank.schemas.tables import RUNS
from sparkrank.tables.rows.finished import FinishedEvaluation
from sparkrank.tables.rows.outputs import output_tables
from sparkrank.tables.rows.results import with_origin
from sparkrank.tables.rows.states import with_run_id

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.engines.result import PassResult
    from sparkrank.metrics import Plan
    from sparkrank.run.execute import EvaluationOutcome
    from sparkrank.run.stages import Stages


@dataclass(frozen=True)
class RunParts:
    """The facts about an evaluation for the table ``runs``. ``inputs`` is a text that names the inputs."""

    lane: str
    lane_reason: str
    inputs: str
    buckets: int
    session: Mapping[str, str]
    warnings: Sequence[str]
    spark: SparkSession | None

    @classmethod
    def of(cls, outcome: EvaluationOutcome, *, own_zone: bool) -> RunParts:
        """Return the facts about ``outcome``, without the session's time zone if the spec sets one (``own_zone``)."""
        request, lane = outcome.request, outcome.lane
        lists = ", ".join(shown_url(side.name) for side in request.impressions)
        catalog = None if request.catalog is None else request.catalog.rows
        beside = {"truth": request.truth, **request.past, "catalog": catalog}
        inputs = lists + "".join(
            f" with {what} {shown_url(side.name)}" for what, side in beside.items() if side is not None
        )
        if request.popularity is not None:
            days = spans(request.popularity.days)
            inputs += f" with interactions of {days} under {shown_url(request.popularity.path)}"
        session = lane.session_settings(request, own_zone=own_zone)
        own = (lane.name, shorten(lane.reason, MOST_SENTENCE), inputs, outcome.buckets, session, outcome.warnings)
        return cls(*own, request.spark)


def tables_of_run(
    spec: Spec,
    day: str,
    plan: Plan,
    solved: PassResult,
    made: tuple[pa.Table, pa.Table, pa.Table | None],
    parts: RunParts,
    started_at: dt.datetime,
    stages: Stages,
) -> dict[str, Any]:
    """Return the tables of a run of ``day`` by name. ``made`` is (metrics, quality, comparisons or None)."""
    metrics, quality, comparisons = made
    origin = origin_of(spec, day, parts.session)
    compared = None if comparisons is None else with_origin(comparisons, origin)
    source = with_session(spec.source(), parts.session)
    named = with_origin(metrics, origin), quality, compared
    tables: dict[str, Any] = output_tables(FinishedEvaluation(plan, solved, origin, *named, spec.output.blocks, source))
    own: dict[str, Any] = {
        "lane": parts.lane,
        "lane_reason": parts.lane_reason,
        "input": parts.inputs,
        "rows": solved.partials.counts.get((checks.ROWS_READ, ""), 0),
        "buckets": parts.buckets,
        "warnings": parts.warnings,
    }
    run = (spec, origin, started_at, stages, parts.spark, parts.session, solved.partials.loops, solved.refusals)
    tables["runs"] = partial(runs_table, RUNS.schema, *run, **own)
    return with_run_id(tables, origin.run_id)
