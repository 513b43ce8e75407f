"""The tables of a call of ``sr.evaluate``, written like those of a job's day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError, quote, short_traceback
from sparkrank.inputs.day_marks import day_of, on_day
from sparkrank.inputs.role_table import MODEL
from sparkrank.metrics.needs import EXCLUDE, INTERACTIONS
from sparkrank.metrics.slices import written_slices
from sparkrank.run.run_tables import RunParts, tables_of_run
from sparkrank.run.stages import Stages
from sparkrank.tables.commit.days import day_run, needs_spark, table_folders

if TYPE_CHECKING:
    from sparkrank.engines.request import Request
    from sparkrank.results.evaluation import Evaluation
    from sparkrank.sources.side_rows import SideRows


@dataclass(frozen=True)
class EvaluationWriter:
    """A callable that writes an evaluation as the tables of a day.

    ``document`` is the spec of the call, without its output section.
    """

    document: Mapping[str, Any]
    parts: RunParts
    started_at: dt.datetime
    stages: Stages

    @short_traceback
    def __call__(self, evaluation: Evaluation, folder: str, day: str | None) -> dict[str, str]:
        """Replace ``day`` (by default today, in UTC) in the tables below ``folder``, and return each table's folder."""
        from sparkrank.config.loading import spec_of  # slow to import

        day = dt.datetime.now(dt.timezone.utc).date().isoformat() if day is None else str(day)
        if day_of(day) is None:
            raise SpecError(f"day is {quote(day)}: a day of the form YYYY-MM-DD is needed")
        plan, spark, compare = evaluation.plan, self.parts.spark, evaluation.plan.compare
        output = {"path": folder, "groups": evaluation.groups is not None, "curves": max(10, plan.curve_points)}
        output |= {"popularity": plan.stores_popularity, "gains": plan.gains, "positions": plan.position_depth or False}
        spec = spec_of({**self.document, "output": output}, "the evaluation")
        place = on_day(folder, day)
        if spark is None and needs_spark(place):
            raise SpecError(
                f"folder is {quote(folder)}, which needs Spark: a local folder or an object store is needed"
            )
        compared = None if compare is None else evaluation.compare(compare.baseline)
        made = evaluation.table, evaluation.quality, compared
        tables = tables_of_run(spec, day, plan, evaluation.solved, made, self.parts, self.started_at, self.stages)
        with day_run(place, day, spark) as run:
            run.commit(tables)
        return table_folders(place, day, tables)


def document_of_call(
    request: Request,
    lists: Mapping[str, Any],
    truth: Mapping[str, Any] | None,
    past: Mapping[str, Mapping[str, Any]],
    limits: Mapping[str, float] | None,
) -> dict[str, Any]:
    """Return a call's spec without its output section.

    ``lists`` and ``truth`` map roles to columns. ``past`` maps each table of the past to such a mapping.
    """
    plan, uncertainty = request.plan, asdict(request.plan.uncertainty)
    nights = uncertainty.pop("nights")
    document: dict[str, Any] = {
        "input": _input(request, lists),
        "metrics": list(map(str, plan.requests or plan.metrics)),
        "slices": written_slices(plan.slices),
        "disparities": list(plan.disparities),
        "definitions": asdict(plan.definitions),
        "quality": {"max_bad_fraction": request.limits.bad, "limits": dict(limits or {})},
        "engine": {"lane": request.lane, "buckets": request.buckets},
        "uncertainty": {**uncertainty, **({"sequential": {"nights": nights}} if nights > 1 else {})},
    }
    if request.truth is not None and truth is not None:
        document["truth"] = {**_place(request.truth), "columns": _columns(truth)}
    if request.catalog is not None:
        document["catalog"] = {
            **_place(request.catalog.rows),
            "columns": _columns({"item": request.catalog.item, "since": request.catalog.since}),
        }
    document |= {name: {**_place(request.past[name]), "columns": _columns(own)} for name, own in past.items()}
    if (stored := request.popularity) is not None:
        days = f"{stored.days[0]}..{stored.days[-1]}"
        document[INTERACTIONS] = {"states": stored.path, "days": days, "optional": stored.optional}
    if plan.reads_tiers:
        document[INTERACTIONS]["tiers"] = asdict(plan.tiers)
    if plan.exclude not in (EXCLUDE, None):
        document[EXCLUDE] = plan.exclude
    if plan.least_groups > 1:
        document["least_groups"] = {"tables": plan.least_groups}
    if plan.compare is not None:
        document["compare"] = asdict(plan.compare)
    return document


def _input(request: Request, lists: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``input`` section of the spec, with one path or table for all rows or one for each model."""
    sides, models, columns = request.impressions, request.plan.models, _columns(lists)
    of_all = {"columns": columns, "grouped": request.grouped}
    if len(sides) > 1 or (request.plan.long and MODEL.key not in columns):
        return {"models": dict(zip(models, map(_place, sides), strict=True)), **of_all}
    return {**_place(sides[0]), **of_all, **({"models": list(models)} if request.plan.long else {})}


def _place(side: SideRows) -> dict[str, Any]:
    """Return the location of the rows for a spec: their path or, if they are in memory, their name as a table."""
    return {"table": side.name} if side.path is None else {"path": side.path, "partition_types": side.partition_types}


def _columns(named: Mapping[str, Any]) -> dict[str, Any]:
    return {role: name for role, name in named.items() if name is not None}
