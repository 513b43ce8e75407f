"""``sr.explain``: one call from impressions to how a metric comes of one group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError, shown, without_secrets
from sparkrank.engines.one_group import GroupKeys
from sparkrank.jobs.explain_job import asked_models, explain_request
from sparkrank.metrics import Metric, find_preset
from sparkrank.metrics.metric import asked_metrics
from sparkrank.results.explanation import Explanation
from sparkrank.run.arguments import validate_other_arguments
from sparkrank.run.called import request_called
from sparkrank.run.interruption import interruptible
from sparkrank.run.stages import seen_by_caller

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.inputs.roles import Relevance
    from sparkrank.metrics.definitions import Duplicates, Population, Undefined, Unjudged, Unretrieved
    from sparkrank.metrics.presets import PresetName
    from sparkrank.ranking.ranking import Positions, Ties
    from sparkrank.sources.folders import PartitionTypes
    from sparkrank.sources.in_memory import Rows


@without_secrets()
def explain(
    impressions: Rows,
    metric: str | Metric | Sequence[str | Metric],
    *,
    group: Mapping[str, Any],
    models: Sequence[str] = (),
    score: str | Mapping[str, str] | None = None,
    rank: str | Mapping[str, str] | None = None,
    label: str | None = None,
    item: str | None = None,
    reference_rank: str | None = None,
    weight: str | None = None,
    truth: Rows | None = None,
    truth_columns: Mapping[str, str | Sequence[str]] | None = None,
    items: str | Mapping[str, str] | None = None,
    true_items: str | None = None,
    relevance: Relevance = "membership",
    preset: PresetName | None = None,
    ties: Ties | None = None,
    undefined: Undefined | None = None,
    unretrieved: Unretrieved | None = None,
    unjudged: Unjudged | None = None,
    duplicates: Duplicates | None = None,
    population: Population | None = None,
    positions: Positions | None = None,
    spark: SparkSession | None = None,
    lane: str = "auto",
    partition_types: PartitionTypes = "inferred",
) -> Explanation:
    """Explain how a metric comes of the rows of one group, without evaluating the others.

    Parameters
    ----------
    impressions : as :func:`sparkrank.evaluate` takes them
        The rows of all groups. Readers leave out those of other groups where they can.
    metric : str, Metric or sequence of these
        What to explain: ``"ndcg@10"``. A metric of all rows together is explained by what this group adds to it.
    group : mapping of str to object
        The columns of the group key, in their order, and the values of one key: ``{"user": 42}``. A text stands for a
        value of any type.
    models : sequence of str
        The models to show; all without it.
    score, rank, label, item, reference_rank, weight : str, or mapping of str to str
        The columns of rows, as for :func:`sparkrank.evaluate`. The item is shown where its column is named.
    truth, truth_columns, items, true_items, relevance : optional
        The truth, or arrays of items, as for :func:`sparkrank.evaluate`.
    preset, ties, undefined, unretrieved, unjudged, duplicates, population, positions : str, optional
        What the numbers mean, as for :func:`sparkrank.evaluate`.
    spark, lane, partition_types : optional
        Who reads the rows, and how, as for :func:`sparkrank.evaluate`. All lanes give the same explanation.

    Returns
    -------
    Explanation
        The list of each model with the terms of the metric, and the steps to its value. ``print`` and
        notebooks show it, and :meth:`Explanation.to_dict` has it as plain values.

    Raises
    ------
    SpecError
        If the arguments make no sense, or the key has a value that its column cannot have.
    InputError
        If no row has the key, with the nearest that there is, or the rows cannot be evaluated.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
    >>> sr.explain(log, "ndcg@2", group={"user": "a"}, score="score", label="click", item="item")
    user=a: 2 rows
    <BLANKLINE>
    ndcg@2 = 0.6309  (dcg@k / dcg@k of the ideal list)
    <BLANKLINE>
    list
    position  item  score  label  gain  discount  contribution
    --------  ----  -----  -----  ----  --------  ------------
    1            x    0.9      0     0         1             0
    2            y    0.5      1     1    0.6309        0.6309
    <BLANKLINE>
    ideal list
    item  label  gain  discount  contribution
    ----  -----  ----  --------  ------------
    y         1     1         1             1
    <BLANKLINE>
    dcg@2 = Σ contribution = 0.6309
    ideal dcg@2 = Σ contribution (ideal list) = 1
    ndcg@2 = dcg@2 / ideal dcg@2 = 0.6309
    """
    named: object = group
    if not isinstance(named, Mapping) or not all(isinstance(name, str) for name in named):
        raise SpecError(f'group is {shown(named)}: a mapping of columns to the values of one key, as {{"user": 42}}')
    validate_other_arguments(False, spark)
    keys = GroupKeys.of(tuple(group), group)
    library = find_preset(preset)
    asked = [metric] if isinstance(metric, (str, Metric)) else list(metric)
    columns = {
        "score": score,
        "rank": rank,
        "item": item,
        "reference_rank": reference_rank,
        "weight": weight,
        "items": items,
        "true_items": true_items,
    }
    settings = {
        "ties": ties,
        "undefined": undefined,
        "unretrieved": unretrieved,
        "unjudged": unjudged,
        "duplicates": duplicates,
        "population": population,
        "positions": positions,
    }
    request, _ = request_called(
        impressions,
        asked,
        columns,
        group=list(group),
        label=label,
        truth=truth,
        truth_columns=truth_columns,
        relevance=relevance,
        settings=settings,
        library=library,
        spark=spark,
        lane=lane,
        partition_types=partition_types,
        shows_items=True,
    )
    plan = request.plan
    metrics = [plan.resolved(each, library) for each in asked_metrics(asked, library)]
    shown_models = asked_models(plan, models, "models")
    return interruptible(
        None if request.is_in_memory else request.session,
        lambda: explain_request(request, keys, metrics, shown_models, seen_by_caller(request.session)),
    )
