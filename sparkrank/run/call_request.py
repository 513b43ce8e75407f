"""The request for an evaluation that the arguments of ``sr.evaluate`` or ``sr.explain`` describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparkrank.base.errors import SpecError, did_you_mean, quote, shorten
from sparkrank.engines.request import AUTO, CatalogRows, Request
from sparkrank.inputs.catalog_columns import CatalogPlan, columns_of_catalog
from sparkrank.inputs.popularity_days import PopularityDays
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.role_table import MODEL
from sparkrank.inputs.roles import COLUMN_ROLES, PastColumns, Roles, TruthColumns
from sparkrank.metrics import Definitions, Metric, Plan, find_preset
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.needs import EXCLUDE, INTERACTIONS
from sparkrank.metrics.slices import Slices
from sparkrank.run.arguments import validate_argument_words
from sparkrank.run.model_names import model_names, roles_of_names
from sparkrank.sources.colocation import GroupedWord
from sparkrank.sources.in_memory import is_path, readable_again, readable_rows
from sparkrank.sources.pandas_rows import out_of_pandas
from sparkrank.sources.side_rows import SideRows
from sparkrank.states.popularity import Tiers
from sparkrank.tables.rows.limits import limits_of


def request_of_call(
    impressions: Any,
    metrics: Sequence[str | Metric],
    options: Mapping[str, Any],
    group: str | Sequence[str] | None,
    slices: Slices = (),
    *,
    bad: float = 0.0,
    limits: Mapping[str, float] | None = None,
    buckets: int | None = None,
    row_memory: int | None = None,
    grouped: GroupedWord = AUTO,
    **settings_of_plan: Any,
) -> tuple[Request, TruthColumns | None]:
    """Return the request for ``impressions``, and the caller's names of the columns of the truth, or None.

    ``options`` contains the :class:`sparkrank.doors.keywords.InputOptions`, with defaults, and ``cluster``.
    ``settings_of_plan`` contains further arguments of :func:`sparkrank.inputs.request_plan.plan_request`. Raise
    :class:`SpecError` if the arguments are invalid.
    """
    truth, truth_columns, label = (options.get(name) for name in ("truth", "truth_columns", "label"))
    lane, partition_types, spark = options["lane"], options["partition_types"], options.get("spark")
    columns = {name: options.get(name) for name in (*COLUMN_ROLES, "cluster")}
    settings = {name: options.get(name) for name in ALLOWED}
    library = find_preset(options.get("preset"))
    apart = dict(impressions) if isinstance(impressions, Mapping) else None  # the rows of each model
    sides = [impressions] if apart is None else list(apart.values())
    had = options.get(INTERACTIONS)
    stored = PopularityDays.parse(had) if isinstance(had, Mapping) else None
    past_rows, past = _past(options if stored is None else {**options, INTERACTIONS: None}, stored)
    given = (*sides, truth, *past_rows.values())
    validate_argument_words(lane, partition_types, grouped, any(map(is_path, given)))
    beside = None if truth is None else TruthColumns.of(label, truth_columns)
    if truth_columns is not None and truth is None:
        raise SpecError("truth_columns is given, but truth is not")
    models = None if apart is None else tuple(apart)
    if (column := columns[MODEL.key]) is not None:
        if apart is not None:
            raise SpecError(
                f"model={quote(column)} names the models of a long table, but the input is one table a model"
            )
        impressions = sides[0] = readable_again("the impressions are", impressions)
        rows = readable_rows("the impressions are", impressions, roles_of_names(column))
        rows = out_of_pandas(rows, roles_of_names(column), Plan((), (), ()), "input", Counter())
        models = model_names(SideRows.of("input", rows, partition_types), column, lane, spark)
    label = label if truth is None else None
    named = Roles.named(columns, group, label, beside, options["relevance"], slices, models, past)
    definitions = Definitions.of(library, settings, joins=named.joins)
    settings_of_plan = {**settings_of_plan, "buckets": buckets, "has_ties": settings["ties"] is not None}
    settings_of_plan["tiers"] = None if options.get("tiers") is None else Tiers.parse(options["tiers"])
    settings_of_plan["has_catalog"] = options.get("catalog") is not None
    of_catalog = _catalog_columns(options, named)
    settings_of_plan["has_since"] = of_catalog is not None and of_catalog[1] is not None
    roles, plan = plan_request(named, metrics, definitions, library, **settings_of_plan)
    counts: Counter[tuple[str, str]] = Counter()

    def side(subject: str, given: Any, own: Roles, what: str) -> SideRows:
        rows = out_of_pandas(readable_rows(subject, given, own), own, plan, what, counts)
        return SideRows.of(what, rows, partition_types)

    lists = [
        side("the impressions are", rows, own, "input")
        if apart is None
        else side(f"the rows of {shorten(model)} are", rows, own, f"input of {shorten(model)}")
        for model, rows, own in zip(models or ("",) * len(sides), sides, roles.of_lists, strict=False)
    ]
    request = Request(
        tuple(lists),
        None if truth is None else side("the truth is", truth, roles.truth or roles, "truth"),
        roles,
        plan,
        limits_of(plan, bad, limits, also={check for check, _ in counts}),
        lane,
        spark,
        buckets,
        row_memory=row_memory,
        grouped=grouped,
        counts=counts,
        catalog=None if of_catalog is None else _catalog_called(options["catalog"], *of_catalog, plan, partition_types),
        past={name: side(f"{name} is", rows, roles.past[name], name) for name, rows in past_rows.items()},
        popularity=stored,
    )
    return request, beside


def _catalog_columns(options: Mapping[str, Any], roles: Roles) -> tuple[str, str | None] | None:
    """Return the catalog's columns for its items and for ``since``, or None if ``options`` has no catalog."""
    columns = options.get("catalog_columns")
    if options.get("catalog") is not None:
        return columns_of_catalog(columns, roles)
    if columns is not None:
        raise SpecError("catalog_columns is given, but catalog is not")
    return None


def _catalog_called(given: Any, item: str, since: str | None, plan: Plan, partition_types: Any) -> CatalogRows:
    own = CatalogPlan.of_items(plan, item, since)
    rows = out_of_pandas(readable_rows("the catalog is", given, own.roles), own.roles, own, "catalog", Counter())
    return CatalogRows(SideRows.of("catalog", rows, partition_types), item, since=since)


def _past(options: Mapping[str, Any], stored: PopularityDays | None) -> tuple[dict[str, Any], PastColumns]:
    """Return the rows of each table of the past (what groups had before) in ``options``, and its columns.

    ``stored`` contains the days that take the place of interactions, or is None.
    """
    rows = {name: options.get(name) for name in (INTERACTIONS, EXCLUDE)}
    exclude = None if rows[EXCLUDE] is None else EXCLUDE
    if isinstance(word := rows[EXCLUDE], str) and word == INTERACTIONS:  # the word, not a path
        rows[EXCLUDE], exclude = None, INTERACTIONS
    elif isinstance(word, str) and "/" not in word and not Path(word).exists():
        _refuse_near_word(word)
    columns = {}
    for name, given in rows.items():
        if given is not None:
            columns[name] = options.get(f"{name}_columns") or {}
        elif options.get(f"{name}_columns") is not None:
            raise SpecError(f"{name}_columns is given, but {name} is not")
    days = 0 if stored is None else len(stored.days)
    return {name: given for name, given in rows.items() if given is not None}, PastColumns(columns, exclude, days)


def _refuse_near_word(word: str) -> None:
    """Raise :class:`SpecError` if ``word``, which names no path, looks like the word that ``exclude`` takes."""
    if near := did_you_mean(word, [INTERACTIONS]):
        raise SpecError(f"exclude is {quote(word)}, which is no path{near}")
