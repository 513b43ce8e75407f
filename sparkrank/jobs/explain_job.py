"""Explanations of metrics for chosen groups, from one pass over the input that selects the rows of the groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base.errors import validate_names
from sparkrank.bucket.explained import ExplainedKey, explain_rows
from sparkrank.engines.one_group import GroupKeys, raise_no_rows, rows_of_key, validate_few
from sparkrank.engines.spark.session_settings import time_zone
from sparkrank.metrics import Metric, Plan, find_preset
from sparkrank.metrics.grammar import texts_of
from sparkrank.metrics.plan_validation import validate_plan
from sparkrank.results.explanation import Explanation
from sparkrank.run.day_request import request_of
from sparkrank.run.item_tables import with_item_tables
from sparkrank.run.lane import open_lane

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.engines.request import Request
    from sparkrank.run.stages import Stages


def explain_request(
    request: Request, keys: GroupKeys, metrics: Sequence[Metric], models: Sequence[str], stages: Stages
) -> Explanation:
    """Explain ``metrics`` of ``models`` for the groups with the given ``keys``, in one pass over the input.

    Raise :class:`SpecError` if a value of a key cannot occur in its column, and :class:`InputError` if no row has one
    of the keys.
    """
    with stages.stage("open"):
        lane = open_lane(request)
        lane.check(request.plan)
        request = with_item_tables(request, lane)
    with stages.stage("explain"):
        plan = request.plan
        schema = lane.bucket_schema(plan)
        typed = [tuple(scalar.as_py() for scalar in key) for key in keys.typed(schema)]
        tables = lane.picked(plan, keys, keys.of_rows(schema))
        rows = pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])
        validate_few(rows.num_rows)
        groups = []
        for key in typed:
            own = rows_of_key(rows, key, schema)
            if own.num_rows:
                explained = explain_rows(own, plan, metrics, models)
                groups.append(ExplainedKey(dict(zip(keys.columns, key, strict=True)), tuple(explained)))
        if not rows.num_rows:
            raise_no_rows(keys, lane.picked(plan, None, keys.near(schema)), schema)
    return Explanation(tuple(groups), lane.name, lane.reason, models=tuple(models))


def explained_models(plan: Plan, names: Sequence[str], what: str) -> list[str]:
    """Return the models called ``names``, or all models if it is empty. Raise :class:`SpecError` if one is unknown.

    ``what`` is the name of the argument in the message.
    """
    validate_names(f"{what}: there is no model", names, plan.models, "there are")
    return list(dict.fromkeys(names)) or list(plan.models)


def explain_day(
    spec: Spec,
    day: str,
    keys: GroupKeys,
    texts: Sequence[str],
    models: Sequence[str],
    spark: SparkSession | None,
    stages: Stages,
) -> Explanation:
    """Explain the metrics ``texts`` for the groups ``keys`` of a day.

    Raise :class:`SpecError` for an unknown metric or model.
    """
    plan, preset = spec.plan(), find_preset(spec.definitions.preset)
    texts = [one for text in texts for one in texts_of(text)]
    readings = {text: plan.readings(Metric.parse(text, preset)) for text in texts}
    metrics = [own for of_text in readings.values() for own in of_text]
    more = [text for text, of_text in readings.items() if not set(of_text) <= set(plan.metrics)]
    # keep the spec's metrics, so that the same rows are rejected as in an evaluation of the day
    spec = spec.model_copy(update={"metrics": [*spec.metrics, *more]})
    validate_plan(spec.plan())
    models = explained_models(plan, models, "--model")
    with time_zone(spark, spec.input.time_zone):
        request = request_of(spec, day, spark)
        request = replace(request, plan=replace(request.plan, shows_items=True))
        explanation = explain_request(request, keys, metrics, models, stages)
    return replace(explanation, day=day, spec=spec.file)
