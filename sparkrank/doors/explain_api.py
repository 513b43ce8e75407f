"""The function ``sr.explain``: the computation of a metric for one group of impressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError, quote, short_traceback
from sparkrank.doors.keywords import INPUT_DEFAULTS, ExplainOptions, with_options
from sparkrank.engines.one_group import GroupKeys
from sparkrank.jobs.explain_job import explain_request, explained_models
from sparkrank.metrics import Metric, find_preset
from sparkrank.metrics.metric import distinct_metrics
from sparkrank.results.explanation import Explanation
from sparkrank.run.arguments import validate_other_arguments
from sparkrank.run.call_request import request_of_call
from sparkrank.run.interruption import interruptible
from sparkrank.run.stages import seen_stages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sparkrank.sources.in_memory import Rows


@short_traceback
@with_options(ExplainOptions, INPUT_DEFAULTS)
def explain(
    impressions: Rows | Mapping[str, Rows],
    metric: str | Metric | Sequence[str | Metric],
    *,
    group: Mapping[str, Any],
    models: Sequence[str] = (),
    **options: Unpack[ExplainOptions],
) -> Explanation:
    """Return the computation of a metric from the rows of one group, without an evaluation of other groups.

    Parameters
    ----------
    impressions : as for :func:`sparkrank.evaluate`
        The rows of all groups. The reader skips rows of groups other than ``group`` if it can.
    metric : str, Metric or sequence of these
        The metrics to explain, such as ``"ndcg@10"``. For a metric of all rows, only the group's amount is explained.
    group : mapping of str to object
        The columns of the group key, in their order, and the values of one key: ``{"user": 42}``. A string stands for
        a value of any type.
    models : sequence of str
        The models to show. By default, all models are shown.
    score, rank, label, item, reference_rank, weight, model, time, title : str, or mapping of str to str
        The columns of the rows, as for :func:`sparkrank.evaluate`. Items are shown if ``item`` is given, and their
        titles if ``title`` is given.
    propensity, estimate, policy_estimate : str, optional
        The propensities and estimates, as for :func:`sparkrank.evaluate`.
    truth, truth_columns, catalog, catalog_columns, items, true_items, relevance : optional
        The truth, the catalog, or arrays of items, as for :func:`sparkrank.evaluate`.
    interactions, interactions_columns, tiers, exclude, exclude_columns : optional
        What groups had before, as for :func:`sparkrank.evaluate`. The metrics need not read the interactions, or the
        catalog.
    preset, ties, undefined, unretrieved, unjudged, duplicates, population, positions : str, optional
        The definitions, as for :func:`sparkrank.evaluate`.
    spark, lane, partition_types : optional
        The reading of the rows, as for :func:`sparkrank.evaluate`. All lanes give the same explanation.

    Returns
    -------
    Explanation
        The list of each model with the terms of the metric, and the steps to the value. ``print`` and notebooks show
        the explanation, and :meth:`Explanation.to_dict` returns it as plain values.

    Raises
    ------
    SpecError
        If the arguments are invalid, or a value of the key cannot occur in its column.
    InputError
        If the key is in no row (the message names the nearest keys), or if the rows cannot be evaluated.

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
    position  item  score  label  relevant  gain  discount  contribution
    --------  ----  -----  -----  --------  ----  --------  ------------
    1            x    0.9      0               0         1             0
    2            y    0.5      1       yes     1    0.6309        0.6309
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
        raise SpecError(f'group is {quote(named)}: a mapping of columns to the values of one key, as {{"user": 42}}')
    validate_other_arguments(False, options.get("spark"))
    keys = GroupKeys.of(tuple(group), group)
    library = find_preset(options.get("preset"))
    requests = [metric] if isinstance(metric, (str, Metric)) else list(metric)
    given = {**INPUT_DEFAULTS, **options}
    request, _ = request_of_call(impressions, requests, given, list(group), shows_items=True)
    plan = request.plan
    metrics = [own for one in distinct_metrics(requests, library) for own in plan.readings(one)]
    shown_models = explained_models(plan, models, "models")
    return interruptible(
        None if request.is_in_memory else request.session,
        lambda: explain_request(request, keys, metrics, shown_models, seen_stages()),
    )
