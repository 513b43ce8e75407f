"""The plan for the metrics and columns that a user names. Impossible or contradictory requests are refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sparkrank.base.errors import SpecError, did_you_mean, hint, itemize, quote, shorten
from sparkrank.inputs.buckets import validate_buckets
from sparkrank.inputs.popularity_days import validate_popularity
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Definitions, Metric, Plan, plan_of
from sparkrank.metrics.needs import INTERACTIONS, TRUTH
from sparkrank.metrics.parameters import ORDERS
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.slices import slice_name
from sparkrank.ranking.value_columns import (
    CATALOG,
    GROUP_ITEMS,
    ITEM_RANK,
    POPULARITY,
    POPULARITY_COLUMNS,
    TIER,
    catalog_column,
)
from sparkrank.states.popularity import TIERS, Tiers


def plan_request(
    roles: Roles,
    metrics: Sequence[str | Metric],
    definitions: Definitions,
    preset: Preset | None = None,
    *,
    buckets: int | None = None,
    has_ties: bool = True,
    has_catalog: bool = False,
    has_since: bool = False,
    tiers: Tiers | None = None,
    disparities: Sequence[str] = (),
    gains: bool = False,
    **settings: Any,
) -> tuple[Roles, Plan]:
    """Return ``roles`` with the group weights added, and the plan for ``metrics``. Strings are parsed with ``preset``.

    If the user chose no rule for ties (``has_ties`` is false), metrics without an expectation over tied rows get
    ``ties=item``, or ``ties=worst`` without an item column. ``has_catalog`` is true if there is a catalog, and
    ``has_since`` if the catalog contains the times at which items appeared. ``tiers`` is the user's rule for the tiers
    of items, or None. ``gains`` and ``settings``, such as ``curve_points``, are fields of the plan.
    """
    given: object = disparities
    if isinstance(given, str) or not isinstance(given, Iterable):
        shown = f'"{shorten(disparities)}", one text' if isinstance(disparities, str) else quote(disparities)
        raise SpecError(f"disparities is {shown}: a list of slices is needed")
    if not isinstance(gains, bool):
        raise SpecError(f"gains is {quote(gains)}: True or False is needed")
    order = None if has_ties or roles.by_rank else ORDERS[roles.item is None]
    plan = plan_of(
        metrics,
        tuple(roles.scores),
        roles.group,
        definitions,
        weighted=roles.weight is not None,
        joins=roles.joins,
        preset=preset,
        order=order,
        slices=roles.slices,
        labels=tuple((roles if roles.truth is None else roles.truth).labels),
        own_labels=roles.own_labels,
        item=roles.item,
        arrays=roles.true_items is not None,
        by_rank=roles.by_rank,
        long=roles.long,
        exclude=roles.exclude,
        cluster=roles.cluster,
        disparities=tuple(disparities),
        has_catalog=has_catalog,
        has_interactions=INTERACTIONS in roles.past or roles.popularity_days > 0,
        tiers=Tiers() if tiers is None else tiers,
        times=_times(roles, has_since),
        popularity_days=roles.popularity_days,
        gains=gains,
        **settings,
    )
    if tiers is not None and not plan.reads_tiers and not plan.shows_items:
        raise SpecError("tiers defines the column tier of interactions, but no metric and no slice uses it")
    of_items = frozenset([*plan.item_columns, *([GROUP_ITEMS] if plan.items_had else [])])
    truth = roles.truth
    roles = replace(
        roles,
        labels=_labels_read(roles, plan),
        truth=None
        if truth is None
        else replace(truth, item_columns=of_items, values=plan.truth_gains, labels=_labels_read(truth, plan)),
        item_columns=of_items,
        group_weights=plan.group_weights,
        values=tuple(value for _, value in plan.row_values if value in plan.listed_values),
    )
    _validate_values(plan)
    if plan.has_catalog and roles.weight is not None and catalog_column(roles.weight) is not None:
        raise SpecError(
            f"weight is {shorten(roles.weight)}, a column of items, but a weight of rows is needed, in a column of the "
            "lists: join it to them"
        )
    roles.validate_positions(definitions.positions, preset)
    roles.validate_weight_is_read(bool(plan.pooled_metrics) or plan.metric_reading("weight") is not None)
    validate_popularity(plan)
    roles.validate_past_is_read(plan)
    roles.validate_required_roles(plan)
    validate_buckets(buckets, plan)
    return roles, plan


def _labels_read(roles: Roles, plan: Plan) -> dict[str, str]:
    """Return the columns of the first label and of the labels that metrics of ``plan`` name, by label."""
    read = (*plan.labels[:1], *plan.further_labels)
    return {name: column for name, column in roles.labels.items() if name in read}


def _times(roles: Roles, has_since: bool) -> tuple[str, ...]:
    """Return the tables (truth, interactions or catalog) whose times are compared with those of the lists.

    Raise :class:`SpecError` if only the lists have times, or if the catalog has times and the lists have none.
    """
    beside = {TRUTH: roles.truth, INTERACTIONS: roles.past.get(INTERACTIONS)}
    timed = [name for name, own in beside.items() if own is not None and own.time is not None]
    timed += [CATALOG] if has_since else []
    if roles.time is None:
        if has_since:
            raise SpecError("the catalog has times (since), but the lists name no time to compare with")
        return ()
    if not timed:
        raise SpecError(
            f'time="{shorten(roles.time)}" says when a list was made, but nothing has a time to compare with it: name '
            f"that of the truth, of the interactions, or since of the catalog"
        )
    return tuple(timed)


def _validate_values(plan: Plan) -> None:
    """Raise :class:`SpecError` if ``plan`` reads values that the input lacks."""
    for column in plan.group_weights:
        if plan.table_of(column) is not None:
            raise SpecError(
                f"weight={shorten(column)} is a column of items, but a weight of groups is needed: name a column of "
                "the rows"
            )
    _validate_item_columns(plan)
    for metric, declared in plan.catalogue_metrics if plan.has_catalog else ():
        if "items" in declared.defaults and metric["items"] is not None:
            raise SpecError(f"{shorten(metric)} gives the number of items, but there is a catalog, which has them")
    _validate_values_of_rows(plan)


def _validate_values_of_rows(plan: Plan) -> None:
    """Raise :class:`SpecError` if a metric reads a column that some of its rows lack."""
    for metric in plan.metrics if plan.joins else ():
        for value in metric.relevant_columns:
            if plan.table_of(value.name) is None and value not in metric.gain_columns:
                raise SpecError(
                    f"{shorten(metric)} takes subtopics from the column {shorten(value.name)} of the lists, but an "
                    f"item of the truth that no list has would have none: a column of the catalog is needed"
                )
    for metric in plan.metrics if plan.arrays else ():
        for value in metric.value_columns:
            if value.name not in plan.item_columns:
                raise SpecError(
                    f"{shorten(metric)} reads the column {shorten(value.name)} of rows, but the rows are arrays: a "
                    f"column of the catalog is needed"
                )


def _validate_item_columns(plan: Plan) -> None:
    """Raise :class:`SpecError` if the columns of items in ``plan`` and the tables of items do not fit each other."""
    for column, what in plan.item_columns.items():
        if plan.table_of(column) == POPULARITY:
            if not plan.has_interactions:
                raise SpecError(f"{shorten(what)} reads {column} of an item, but there are no interactions")
        elif not plan.has_catalog:
            raise SpecError(
                f"{shorten(what)} reads the column {shorten(catalog_column(column))} of a catalog, but there is none"
            )
    for metric in plan.metrics:
        if not plan.has_interactions and any(column.share_of == POPULARITY for column in metric.value_columns):
            raise SpecError(f"{shorten(metric)} compares with the interactions, but no interactions are given")
    of_catalog = any(plan.table_of(column) == CATALOG or column == ITEM_RANK for column in plan.item_columns)
    is_read = of_catalog or plan.catalogue_metrics or CATALOG in plan.times
    if plan.has_catalog and not is_read and not plan.shows_items:  # an explanation may be of one metric among several
        raise SpecError("there is a catalog, but no metric counts its items, and none names a column as catalog.price")
    for source in plan.slice_sources:
        if source.column == GROUP_ITEMS and not plan.has_interactions:
            raise SpecError(f"a slice reads {GROUP_ITEMS} of a group, but there are no interactions")
        if source.column == GROUP_ITEMS and not source.is_number:
            raise SpecError(f"a slice reads {GROUP_ITEMS}, which is a number: give edges, for example [1, 5, 20]")
    _validate_tiers(plan)


def _validate_tiers(plan: Plan) -> None:
    """Raise :class:`SpecError` if ``plan`` reads tiers as numbers, or a column that interactions do not have."""
    columns = [(value.name, str(metric)) for metric in plan.metrics for value in metric.value_columns]
    sliced = ((part.column, f"the slice {slice_name(parts)}") for parts in plan.slices for part in parts)
    columns += [(column, what) for column, what in sliced if column != GROUP_ITEMS]
    for column, what in columns if plan.has_interactions else ():
        if column.startswith(f"{POPULARITY}.") and column not in POPULARITY_COLUMNS:
            near = did_you_mean(column, POPULARITY_COLUMNS)
            allowed = itemize(POPULARITY_COLUMNS)
            raise SpecError(f"{shorten(what)} reads {shorten(column)}{near} (interactions give {allowed})")
    if not plan.reads_tiers:
        return
    as_number = "as a number, but a tier is head, torso, tail or new"
    for metric in plan.metrics:
        for value in (own for own in metric.value_columns if own.name == TIER):
            if (tier := value.equals) is not None and tier not in TIERS:
                near = hint(tier, TIERS, "known")
                raise SpecError(f"{shorten(metric)} counts items of the tier {shorten(tier)}{near}")
            if value.kind == "number":
                raise SpecError(f"{shorten(metric)} reads tier {as_number}: add is=tail to count items of the tail")
    if any(source.column == TIER and source.is_number for source in plan.slice_sources):
        raise SpecError(f"a slice reads tier {as_number}: leave out edges")
