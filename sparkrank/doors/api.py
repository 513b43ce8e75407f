"""The function ``sr.evaluate``: metrics of impressions in one call."""

from __future__ import annotations

import datetime as dt
import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import MOST_SENTENCE, SpecError, short_traceback, shorten
from sparkrank.doors.keywords import INPUT_DEFAULTS, InputOptions, with_options
from sparkrank.doors.write_api import EvaluationWriter, document_of_call
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.request import CatalogRows, Request
from sparkrank.inputs.role_table import truth_roles
from sparkrank.inputs.roles import COLUMN_ROLES, Roles, columns_of_key
from sparkrank.inputs.spec_hash import hash_of_plan, rows_section
from sparkrank.metrics import Metric, find_preset
from sparkrank.metrics.slices import Slices
from sparkrank.metrics.uncertainty import Comparison, Uncertainty
from sparkrank.results.evaluation import Evaluation
from sparkrank.run.arguments import validate_argument_numbers, validate_least_groups, validate_other_arguments
from sparkrank.run.call_request import request_of_call
from sparkrank.run.execute import EvaluationOutcome, open_request
from sparkrank.run.interruption import interruptible
from sparkrank.run.run_tables import RunParts
from sparkrank.run.stages import Stages, seen_stages
from sparkrank.sources.side_rows import SideRows
from sparkrank.tables.rows.quality import doubts_of
from sparkrank.tables.rows.results import Origin, with_origin

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sparkrank.sources.colocation import GroupedWord
    from sparkrank.sources.in_memory import Rows


@short_traceback
@with_options(InputOptions, INPUT_DEFAULTS)
def evaluate(
    impressions: Rows | Mapping[str, Rows],
    metrics: Sequence[str | Metric],
    *,
    group: str | Sequence[str] | None = None,
    cluster: str | None = None,
    slices: Slices = (),
    group_table: bool | str | os.PathLike[str] = True,
    score_sums: bool = False,
    curve_points: int = 0,
    position_depth: int = 0,
    gains: bool = False,
    max_bad_fraction: float = 0.0,
    limits: Mapping[str, float] | None = None,
    buckets: int | None = None,
    row_memory: int | None = None,
    grouped: GroupedWord = "auto",
    uncertainty: Mapping[str, Any] | bool = True,
    compare: str | None = None,
    disparities: Sequence[str] = (),
    popularity: bool = False,
    least_groups: int = 1,
    **options: Unpack[InputOptions],
) -> Evaluation:
    """Evaluate rankings of rows by score, with metrics for each group and metrics for all rows together.

    Parameters
    ----------
    impressions : DataFrame, pyarrow Table or Dataset, path, or any object that exports Arrow data
        One row for each impression or, with ``items``, for each list. If ``spark`` is given, Spark's tasks read a path
        to Parquet. Folders of a path that are named ``key=value`` become columns. NaN in pandas counts as null. In a
        mapping from model names to such tables, each model has its own lists, in columns with the same names; the lists
        are joined by ``group`` and ``item``. An item that a model does not list counts as not retrieved.
    metrics : sequence of str or Metric
        Strings such as ``"ndcg@10"``, ``"ap(over=min_k_relevant)@10"`` or ``"auc"``. ``sparkrank metrics`` lists all.
    group : str or sequence of str, optional
        The columns that identify a group, such as a user or a query. Metrics of all rows together need no group.
    score : str or mapping of str to str, optional
        A column, or a mapping from model names to columns. A higher score is better; null means judged, not retrieved.
        A model may have a label of its own, ``{"column": "p_cvr", "label": "pay", "among": "click"}``, which its
        metrics read unless their text names another.
    rank : str or mapping of str to str, optional
        A column or columns of ranks, used in place of ``score``. A lower rank is better.
    label : str or mapping of str to str, optional
        A column of numbers; null means not judged. With ``truth``, it is a column of the truth, and 1 by default. A
        mapping such as ``{"click": "clicked", "pay": "paid"}`` names several labels: metrics read the first unless
        their text contains ``label=pay``, and with ``among=click`` only rows with a label ``click`` above 0.
    item : str, optional
        The column of items. A truth, ``ties="item"``, ``duplicates`` and metrics that count items need it.
    reference_rank : str, optional
        A column with the order for metrics that compare with it. The lowest number comes first; null is left out.
    weight : str, optional
        A column with the weight, at least 0, of each row in metrics of all rows together. The weight of a group in a
        mean is a parameter of the metric: ``"ndcg(weight=revenue)@10"``.
    propensity : str, optional
        A column with the probability that a relevant row was seen (for ``"r(propensity=snips)@10"``), or that a logged
        action was taken (for ``"value(by=snips)"``). With ``truth``, it is a column of the truth.
    estimate, policy_estimate : str, optional
        Columns with the expected rewards of the logged action, and of the policy whose value ``"value(by=dr)"``
        estimates.
    model : str, optional
        The column that names the model of each row, if one long table has the lists of several models.
    cluster : str, optional
        The column of the unit behind a group, such as the user behind a session. All rows of a group must have the same
        value. Intervals and tests then treat clusters, not groups, as independent.
    time : str, optional
        A column with the time when the list of a row was made: an instant, a date or a whole number. It is compared
        with the times of the truth, the interactions or the catalog (``since``), and :attr:`Evaluation.quality` counts
        rows and items that came too early. Rows of the interactions that are later than the list are left out.
    truth : as impressions, optional
        The relevant items, one row for each group and item, joined by ``group`` and ``item`` to ``impressions``, which
        has the lists. An item that is in no list still counts in the ideal list and in R, the number of relevant items.
    truth_columns : mapping of str to str or sequence of str, optional
        The truth's columns for ``group``, ``item``, ``label`` or ``cluster``, if their names differ from the lists',
        and for ``time`` and ``propensity``.
    catalog : as impressions, optional
        The items, one row for each. Metrics and slices name its columns as ``catalog.price``, as in
        ``"shown(of=catalog.price)@10"``; the items and the columns in use are sent to every worker. The catalogue of
        ``coverage`` and ``gini`` is then this table.
    catalog_columns : mapping of str to str, optional
        The column of the catalog for ``item``, if its name differs from the lists', and for ``since``, the time at
        which an item appeared.
    interactions : as impressions, optional
        What groups had before: a row for each time that a group had an item, for metrics such as ``new``. Metrics and
        slices name ``interactions.users`` and ``interactions.rows``, the numbers of groups and of rows with an item,
        and the item's ``tier``: ``head``, ``torso``, ``tail``, or ``new`` without a row. ``{"states": folder, "days":
        "2026-11-01..2026-11-28"}`` reads ``interactions.rows`` and ``tier`` from the counts of days stored with
        ``popularity``; with ``"optional": True``, days may be missing.
    tiers : mapping, optional
        The rule for tiers, by default ``{"of": "rows", "head": 0.8, "tail": 0.95}``. An item is in the head if the more
        popular items have less than that share of the rows, or of the ``"users"`` or ``"items"``.
    exclude : "interactions" or as impressions, optional
        Pairs of group and item to leave out of lists and truth before positions are assigned: the pairs of the
        ``interactions``, or of another table. A path that is called ``interactions`` is ``"./interactions"``.
    interactions_columns, exclude_columns : mapping of str to str or sequence of str, optional
        The columns of that table for ``group`` and ``item``, if their names differ from the lists', and for ``time`` of
        the interactions.
    items : str or mapping of str to str, optional
        An array column with the items in the order of a model, the best first. Each row is then a separate group.
    true_items : str, optional
        The array column of the relevant items. ``label`` may name an array column of their labels, or several.
    relevance : {"membership", "reciprocal_rank"}
        The labels of ``true_items`` if ``label`` is not given: 1 for each item, or 1 / position.
    slices : sequence of str, of mappings, or of sequences of them
        Columns, or combinations of columns. All metrics are evaluated again for each slice value, from only the rows
        with that value. Rows without a value belong to the value None. A mapping divides a column by a rule:
        ``{"column": "age", "edges": [18, 25]}`` by intervals, ``{"column": "brand", "top": 50}`` by the values with the
        most groups and ``(other)``, and ``{"column": "tier", "of": "relevant"}`` by the relevant rows of whole lists:
        those of other values count as not relevant. The name of this slice is ``tier of relevant``.
    preset : str, optional
        A library in :data:`sparkrank.metrics.PRESETS`. Its definitions and parameters apply unless others are given.
    ties, undefined, unretrieved, unjudged, duplicates, population, positions : str, optional
        The definitions, see :class:`sparkrank.Definitions`. By default ``duplicates`` is ``"once"`` if lists are joined
        with a truth (a table or arrays), and ``"keep"`` otherwise.
    group_table : bool or path
        Whether to make the group table. If it is a path, tasks write the table there as Parquet, so that the whole
        table is never in the memory of one process. An evaluation that fails leaves no file there.
    score_sums : bool
        Whether :attr:`Evaluation.blocks` contains the sum of scores in each score bin even if no metric reads it.
    curve_points : int
        The approximate number of points of each ROC and PR curve; 0 for no curves.
    position_depth : int
        The number of first positions of the lists in :attr:`Evaluation.positions`; 0 for no such table.
    gains : bool
        Whether to make :attr:`Evaluation.gains`, by twentieths of all rows, from the score bins of ``auc``, ``capture``
        or ``lift``.
    max_bad_fraction : float
        The largest share of rows, from 0 to 1, that may be rejected. A row is rejected for a null in the group key, a
        NaN score, a label that is NaN or infinite, a weight (other than 0) outside of 1e-15 to 1e288, and, where they
        matter, a missing item or an invalid rank.
    limits : mapping of str to float, optional
        Upper limits for checks in :attr:`Evaluation.quality`, by the name of the check: ``{"truth in no list": 0.8}``.
        A limit is a share from 0 to 1, or a count if the table has no share for the check.
    buckets : int, optional
        The number of buckets for the groups. By default, it follows from the number of rows.
    row_memory : int, optional
        The bytes of rows that the local lane keeps in memory before it writes rows to disk, without effect on results.
    grouped : {"auto", "files", "folders", "sorted", "shuffle"}
        The place of all rows of a group: in one of the files, in one of the folders named ``key=value``, or next to one
        another in one file. The tasks that read files then evaluate them. With ``"shuffle"``, rows are shuffled, and
        also with ``"auto"`` unless folders, or partitions of an Iceberg table, are by a column of the group or its
        bucket. The place is checked, except with a word such as ``"files unchecked"``.
    uncertainty : mapping or bool
        The choice of values with an interval: with True, every value for which a valid interval exists; with False,
        which is faster, only means over groups. A mapping sets the ``level`` (0.95), or ``slices`` to False.
    compare : str, optional
        The baseline with which :meth:`Evaluation.compare` compares models group by group. With other baselines, models
        are compared by part (one of 64 fixed subsets of groups).
    disparities : sequence of str
        The names of the slices in :attr:`Evaluation.disparities`, the distances between slice values.
    least_groups : int
        Values of slices with fewer groups have no rows in the tables; :attr:`Evaluation.quality` counts them.
    popularity : bool
        Whether :meth:`Evaluation.write` also stores the number of relevant rows of each item, for ``interactions`` of
        later days.
    spark : SparkSession, optional
        The session that reads a path.
    lane : {"auto", "scan", "local", "frame"}
        The way of reading rows: as files in Spark's tasks (scan), in this process (local), or as a Spark DataFrame
        (frame). All lanes give bit-identical results.
    partition_types : {"inferred", "text"}
        The types of columns from folder names: inferred from all values by Spark's rules, or strings.

    Returns
    -------
    Evaluation
        :attr:`Evaluation.metrics` contains a row per model, slice and metric, and :attr:`Evaluation.groups` a row per
        model and group. Both are pyarrow Tables in the local lane, and otherwise Spark DataFrames. ``ev["ndcg@10"]`` is
        one value.

    Raises
    ------
    SpecError
        If the arguments are invalid. No input has been read.
    InputError
        If the input cannot be evaluated: a column is missing or of the wrong type, the lists or the truth have no
        rows, too many rows are rejected, or a check is over its limit.
    StoreError
        If the storage of the input fails. The same call may succeed later.
    SparkrankError
        The base class of the errors above; itself if the group table, or rows that outgrow memory, cannot be written.

    Notes
    -----
    A column can also be a level of pandas' index, or a part of a column: ``m.prob``, ``scores[2]``, or
    ``probability[1]`` for a Spark ML vector. A vector of two elements is read as its second element. Arrays of structs,
    such as those of ALS, are read as arrays of items with the highest rating first. Warnings about results that
    probably come from an unsuitable input are logged.

    Examples
    --------
    Two users: the first clicked the second row of the list, the other the first.

    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b", "b"], "score": [0.9, 0.5, 0.7, 0.2], "click": [0, 1, 1, 0]})
    >>> ev = sr.evaluate(log, ["mrr", "hit@1", "auc"], group="user", score="score", label="click")
    >>> ev["mrr"], ev["hit@1"], ev["auc"]
    (0.75, 0.5, 0.5)
    >>> ev.groups.select(["user", "rr", "hit@1"]).to_pylist()
    [{'user': 'a', 'rr': 0.5, 'hit@1': 0.0}, {'user': 'b', 'rr': 1.0, 'hit@1': 1.0}]

    Lists and their truth are two tables. Item ``y`` is in no list, but counts in recall.

    >>> lists = pa.table({"user": ["a", "a"], "item": ["x", "z"], "score": [2.0, 1.0]})
    >>> truth = pa.table({"user": ["a", "a"], "item": ["x", "y"]})
    >>> sr.evaluate(lists, ["r@2"], truth=truth, group="user", item="item", score="score")["r@2"]
    0.5
    """
    validate_argument_numbers(buckets, curve_points, max_bad_fraction, row_memory, position_depth)
    validate_least_groups(least_groups, slices)
    validate_other_arguments(group_table, options.get("spark"))
    arguments = {**INPUT_DEFAULTS, **options}
    library = find_preset(options.get("preset"))
    folder = None if isinstance(group_table, bool) else os.fspath(group_table)
    if folder is not None and group is None:
        raise SpecError(f"group_table is {folder}, but no group column is named")
    planned: Any = {
        "group_table": bool(group_table),
        "score_sums": score_sums,
        "curve_points": curve_points,
        "uncertainty": Uncertainty.of(uncertainty),
        "compare": None if compare is None else Comparison(compare),
        "disparities": disparities,
        "stores_popularity": popularity,
        "least_groups": least_groups,
        "position_depth": position_depth,
        "gains": gains,
    }
    of_request: Any = {"bad": max_bad_fraction, "limits": limits, "buckets": buckets, "row_memory": row_memory}
    of_request["grouped"] = grouped
    request, beside = request_of_call(
        impressions, metrics, {**arguments, "cluster": cluster}, group, slices, **of_request, **planned
    )
    plan, stages, started_at = request.plan, seen_stages(), dt.datetime.now(dt.timezone.utc)
    read_by = None if request.is_in_memory else request.session
    outcome = interruptible(read_by, lambda: _evaluated(request, folder, stages))
    doubts = doubts_of(outcome.solved.partials, plan, request.limits)  # a job shows these warnings with the table
    for sentence in (*outcome.warnings, *doubts):
        own = {"code": getattr(sentence, "code", None)}  # an attribute of the log record, for handlers
        logging.getLogger(__name__).warning("%s", shorten(sentence, MOST_SENTENCE), extra=own)
    session = request.session if outcome.lane.needs_session else None
    solved = outcome.solved.leased()
    columns = {name: arguments.get(name) for name in COLUMN_ROLES} | {"group": group, "cluster": cluster}
    label = options.get("label") if beside is None else None
    of_lists = {**columns, "label": label, "relevance": arguments["relevance"]}
    of_truth: dict[str, Any] | None = None
    if beside is not None:
        of_both = {role.key: beside.row_columns.get(role.key) for role in truth_roles()}
        of_truth = {"group": beside.group, "label": beside.label, **of_both}
    apart = {"models": list(impressions)} if isinstance(impressions, Mapping) else {}
    of_past = {name: _columns_of_past(roles) for name, roles in request.roles.past.items()}
    origin = Origin(_hash_of(request, {**of_lists, **apart}, of_truth, of_past))
    table = with_origin(outcome.metrics, origin)
    document = document_of_call(request, of_lists, of_truth, of_past, limits)
    parts = RunParts.of(outcome, own_zone=False)
    writer, lane = EvaluationWriter(document, parts, started_at, stages), outcome.lane.name
    return Evaluation(plan, solved, lane, table, request.limits, session, library, origin, writer, parts.inputs)


def _evaluated(request: Request, folder: str | None, stages: Stages) -> EvaluationOutcome:
    opened = open_request(request, stages)
    return opened.evaluate(stages, None if folder is None else GroupFiles.at(folder))


def _columns_of_past(roles: Roles) -> dict[str, Any]:
    return {"group": list(roles.group), "item": roles.item, "time": roles.time}


def _hash_of(
    request: Request, lists: Mapping[str, Any], truth: Mapping[str, Any] | None, past: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the hash of the request, made like the hash of a spec but without the location and reader of the rows."""

    def section(side: SideRows, columns: Mapping[str, Any]) -> dict[str, Any]:
        group = None if columns["group"] is None else columns_of_key(columns["group"])
        return rows_section({**columns, "group": group}, side.partition_types)

    true = None if truth is None or request.truth is None else section(request.truth, truth)
    catalog = None if request.catalog is None else _catalog_section(request.catalog)
    of_lists = {**section(request.impressions[0], lists), "time_zone": None}
    of_past = {name: section(request.past[name], columns) for name, columns in past.items()}
    return hash_of_plan(request.plan, of_lists, true, catalog, past=of_past)


def _catalog_section(catalog: CatalogRows) -> dict[str, Any]:
    return rows_section({"item": catalog.item, "since": catalog.since}, catalog.rows.partition_types)
