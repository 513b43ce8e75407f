"""The columns that a user names for each role, known to this module only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from sparkrank.base.errors import SpecError, hint, itemize, quote, shorten, validate_names
from sparkrank.inputs.role_table import (
    CLUSTER,
    GROUP,
    GROUP_WEIGHT,
    ITEMS,
    LABEL,
    LABELS,
    MODEL,
    RANK,
    SCORE,
    SLICE,
    SLICE_NUMBER,
    TIME,
    TRUE_ITEMS,
    VALUES,
    Role,
    row_roles,
    slice_role,
    truth_roles,
)
from sparkrank.metrics import Plan
from sparkrank.metrics.labels import Judging, validate_label_names
from sparkrank.metrics.needs import EXCLUDE, INTERACTIONS
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.role_reasons import label_reason
from sparkrank.metrics.slices import Slice, Slices, SliceSource, named_slices, sources_of
from sparkrank.ranking.value_columns import (
    ValueColumn,
)

# A column, or the names of several labels with a column each.
NamedLabels: TypeAlias = "str | Mapping[str, str] | None"
# A column, or models with a column each, or with a mapping that also names a label of the model's own.
ScoreColumns: TypeAlias = "str | Mapping[str, str | Mapping[str, str]]"


@dataclass(frozen=True)
class TruthColumns:
    """The columns of a truth (a table of relevant items) that a user names, by role.

    Any other column has the same name as the column of the lists.
    """

    group: str | Sequence[str] | None = None
    label: NamedLabels = None
    row_columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, label: NamedLabels, named: Mapping[str, Any] | None) -> TruthColumns:
        """Return the columns in ``named``, which maps roles to columns.

        ``label`` is the label column if ``named`` contains no label.
        """
        if named is not None and not isinstance(named, Mapping):
            raise SpecError(f"truth_columns is {quote(named)}: a mapping of roles to columns of the truth is needed")
        given = {"label": label, **(named or {})}
        of_truth = [role.key for role in truth_roles()]
        roles = ("group", *of_truth, "label")
        validate_names("truth_columns names", given, roles)
        row_columns = {key: given[key] for key in of_truth if given.get(key) is not None}
        return cls(given.get("group"), given["label"], row_columns)


@dataclass(frozen=True)
class PastColumns:
    """The user's names for the tables of the past (what groups had before) and their columns.

    ``columns`` maps the name of each table (``interactions`` or ``exclude``) to its columns for ``group`` and ``item``;
    the default is the name of the lists' column. Interactions may have a column for ``time`` too. ``exclude`` is the
    name of the table of excluded pairs (group, item), or None. ``popularity_days`` is the number of stored days in
    place of ``interactions``, or 0.
    """

    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    exclude: str | None = None
    popularity_days: int = 0

    def __post_init__(self) -> None:
        for name, named in self.columns.items():
            if not isinstance(named, Mapping):
                raise SpecError(f"{name}_columns is {quote(named)}: a mapping of roles to columns is needed")
            validate_names(f"{name}_columns names", named, PAST_ROLES[name])
        if self.exclude is not None and self.exclude not in self.columns:
            none = "stored days have no pairs of group and item" if self.popularity_days else "there are none"
            raise SpecError(f"exclude is {INTERACTIONS}, but {none}: name the rows of the interactions")

    def validate_keys(self, group: Any, item: Any, *, arrays: bool) -> None:
        """Raise :class:`SpecError` if the lists have no group, or if they have no item and are not ``arrays``."""
        for name in self.columns:
            needs = f"{EXCLUDE if name == self.exclude else name} needs the item of each row and its group"
            if item is None and not arrays:
                raise SpecError(f"{needs}, but no item column is named")
            if group is None:
                raise SpecError(f"{needs}, but no group column is named")

    def roles(self, lists: Roles) -> dict[str, Roles]:
        """Return the roles of each table's columns, by table. ``lists`` are the roles of the lists."""
        roles = {}
        for name, named in self.columns.items():
            keys = lists.group if named.get("group") is None else columns_of_key(named["group"])
            item = lists.item if named.get("item") is None else named["item"]
            if item is None:
                raise SpecError(f"{name} names no item column, and the lists are arrays, which have none")
            if len(keys) != len(lists.group):
                raise SpecError(f"the group key has {len(lists.group)} columns in the lists and {len(keys)} in {name}")
            row_columns = {"item": item} | ({} if (time := named.get("time")) is None else {"time": time})
            roles[name] = Roles(keys, {}, {}, row_columns, past_name=name)
            roles[name].validate_roles(beside=f"of the {name}")
        return roles


PAST_ROLES = {INTERACTIONS: ("group", "item", "time"), EXCLUDE: ("group", "item")}


def columns_of_key(group: Any) -> tuple[str, ...]:
    """Return the columns of the group key. :meth:`Roles.validate_roles` checks later that they are strings."""
    return tuple(group) if isinstance(group, Iterable) and not isinstance(group, (str, bytes)) else (group,)


def by_model(role: str, named: Any, what: str = "model") -> dict[str, str]:
    """Return the columns by model. If ``named`` is a single column, the model is called like the column."""
    if isinstance(named, str):
        return {named: named}
    if not hasattr(named, "items"):
        raise SpecError(f"{role} is {quote(named)}: a column, or a mapping of names of {what}s to columns, is needed")
    models = dict(named)
    for model in models:
        if not isinstance(model, str):
            raise SpecError(f"{role} names a {what} {quote(model)}: a text is needed")
        if not model:  # the empty name means all models in counts of rows
            raise SpecError(f"{role} names a {what} '': a text that is not empty is needed")
    return models


def own_labels_by_model(role: str, named: Any) -> tuple[Any, dict[str, Judging]]:
    """Return the columns in ``named`` by model, and the labels of those models that have a label of their own.

    Such a model is a mapping: ``{"column": "p_cvr", "label": "pay", "among": "click"}``.
    """
    if not isinstance(named, Mapping):
        return named, {}
    columns: dict[Any, Any] = dict(named)
    labels: dict[str, Judging] = {}
    for model, own in named.items():
        if not isinstance(own, Mapping):
            continue
        where, keys = f"{role} of {shorten(model)}", ("column", *Judging._fields)
        validate_names(f"{where} names", own, keys)
        for key, value in own.items():
            if value is not None and not isinstance(value, str):
                raise SpecError(f"{where} has {key} {quote(value)}: a text is needed")
        columns[model] = own.get("column")
        labels[model] = Judging(own.get("label"), own.get("among"))
    return columns, labels


def labels_by_name(named: Any) -> dict[str, str]:
    """Return the label columns by label. A single column is a label of the same name. None gives no labels."""
    if named is not None and not isinstance(named, (str, Mapping)):
        return {"label": named}  # refused with the sentence for other columns
    labels = {} if named is None else by_model("label", named, "label")
    if named is not None and not labels:
        raise SpecError("label is a mapping without any label: name at least one")
    validate_label_names(tuple(labels))
    return labels


def role_title(model: str, what: str, column: str) -> str:
    """Return a name for messages of the role ``what`` of a ``column``.

    The name begins with the model's name, unless that is the column's name.
    """
    return what if model == column else f"{shorten(model)} {what}"


MOST_MODELS = 200  # that have separate rows; a column with more distinct values is not a column of models
Relevance: TypeAlias = Literal["membership", "reciprocal_rank"]
RELEVANCE: tuple[str, ...] = get_args(Relevance)
# The arguments that name columns, besides group and label.
COLUMN_ROLES = ("score", "rank", *(role.key for role in row_roles()), "items", "true_items")
# Columns that tables always have, besides those of the group key.
RESERVED = ("day", "model", "n_rows", "n_retrieved", "n_relevant")


def _truth_roles(
    truth: TruthColumns, group: tuple[str, ...], row_columns: Mapping[str, str], slices: tuple[Slice, ...]
) -> Roles:
    if "item" not in row_columns:
        raise SpecError("lists and truth are joined by item, but no item column is named")
    keys = group if truth.group is None else columns_of_key(truth.group)
    if len(keys) != len(group):
        raise SpecError(f"the group key has {len(group)} columns in the lists and {len(keys)} in the truth")
    for key, column in truth.row_columns.items():
        if key not in (*row_columns, *(role.key for role in truth_roles() if role.side == "truth")):
            raise SpecError(f'the truth has a {key} column, "{shorten(column)}", but the lists name none')
    shared = (role.key for role in truth_roles() if not role.needs_own_name)
    both = {key: row_columns[key] for key in shared if key in row_columns}
    return Roles(keys, labels_by_name(truth.label), {}, {**both, **truth.row_columns}, slices=slices)


@dataclass(frozen=True)
class Roles:
    """The columns of an impression log, or the columns of lists and, in ``truth``, those of the truth.

    ``scores`` maps each model's name to its score column, which contains ranks if ``by_rank`` is true. ``row_columns``
    maps row roles (:data:`sparkrank.inputs.role_table.ROW_ROLES`) to the user's columns. ``labels`` maps the name of
    each label to its column. By default, metrics read the first label; there is none if labels come from the truth, or
    if no metric reads labels. The ``scores`` of a truth are empty. If a truth has no label either, the label of each of
    its rows is 1.

    If ``true_items`` names a column, each row is a group with its list: ``scores`` maps each model's name to an array
    of items in rank order, ``true_items`` is the array of true items, and ``labels`` names the arrays of their labels.
    Without ``labels``, the rule ``relevance`` defines the labels. Columns in ``slices``, ``group_weights`` (weights of
    groups in the mean of a metric) and ``values`` (read by metrics as they are) may have another role too.

    If ``long`` is true, each row contains the score of one model. Either each model has a separate set of rows, or a
    column with the role ``model`` names the model of each row.

    ``past`` maps the name of each table of the past (what groups had before) to its roles; their ``past_name`` is that
    name. ``exclude`` is the name of the table of excluded pairs. ``item_columns`` are looked up by item, or counted in
    the interactions; the rows themselves lack them. ``popularity_days`` is the number of stored days in place of the
    interactions, or 0. ``own_labels`` maps models with a label of their own to these labels.
    """

    group: tuple[str, ...]
    labels: Mapping[str, str]
    scores: Mapping[str, str]
    row_columns: Mapping[str, str] = field(default_factory=dict)
    by_rank: bool = False
    truth: Roles | None = None
    true_items: str | None = None
    relevance: str = "membership"
    slices: tuple[Slice, ...] = ()
    group_weights: tuple[str, ...] = ()
    values: tuple[ValueColumn, ...] = ()
    long: bool = False
    past: Mapping[str, Roles] = field(default_factory=dict)
    exclude: str | None = None
    past_name: str | None = None
    item_columns: frozenset[str] = frozenset()
    popularity_days: int = 0
    own_labels: Mapping[str, Judging] = field(default_factory=dict)

    @classmethod
    def named(
        cls,
        columns: Mapping[str, Any],
        group: str | Sequence[str] | None,
        label: NamedLabels,
        truth: TruthColumns | None,
        relevance: str,
        slices: Slices = (),
        models: Sequence[str] | None = None,
        past: PastColumns | None = None,
    ) -> Roles:
        """Return the roles in ``columns``. Raise :class:`SpecError` if roles of single rows and of arrays are mixed.

        ``models`` contains the names of models with separate rows, in separate inputs or identified by the column
        ``model``.
        """
        if past is not None:
            past.validate_keys(group, columns["item"], arrays=columns["items"] is not None)
            roles = cls.named(columns, group, label, truth, relevance, slices, models)
            days = past.popularity_days
            return replace(roles, past=past.roles(roles), exclude=past.exclude, popularity_days=days)
        if models is not None:
            return _roles_of_models(columns, group, label, truth, slices, models)
        if columns["items"] is None and columns["true_items"] is None:
            if relevance != "membership":
                raise SpecError(f"relevance={shorten(relevance)} describes true_items, but that column is not named")
            row_columns = {name: column for name, column in columns.items() if name not in ("items", "true_items")}
            return cls.of(group, label, truth=truth, slices=slices, **row_columns)
        of_single_rows = (role.key for role in row_roles() if not role.is_group_value)
        for role in ("score", "rank", *of_single_rows, "items", "true_items"):
            column, of_arrays = columns.get(role), role in ("items", "true_items")
            if (column is None) == of_arrays:
                state = "is missing" if of_arrays else f'is "{shorten(column)}"'
                raise SpecError(
                    f"{role} {state}: a table of arrays has items and true_items, and no columns of single rows"
                )
        if truth is not None:
            raise SpecError("true_items and a truth are given: give one of the two")
        if group is None:
            raise SpecError("items and true_items are lists of groups, but no group column is named")
        beside = {role.key: columns.get(role.key) for role in row_roles() if role.is_group_value}
        return cls.of_arrays(group, columns["items"], columns["true_items"], label, relevance, slices, **beside)

    @classmethod
    def of_arrays(
        cls,
        group: str | Sequence[str],
        items: ScoreColumns,
        true_items: str,
        label: NamedLabels = None,
        relevance: str = "membership",
        slices: Slices = (),
        **row_columns: str | None,
    ) -> Roles:
        """Return the roles of a table with one row per group, in which ``items`` is an array, or one array per model.

        The label of a true item is 1 (``membership``), the element at the same index in the array ``label``, or 1
        divided by its rank among the true items (``reciprocal_rank``). ``row_columns`` maps row roles with one
        value per group to their columns.
        """
        if relevance not in RELEVANCE:
            raise SpecError(f'relevance is "{shorten(relevance)}"{hint(relevance, RELEVANCE)}')
        labels = labels_by_name(label)
        if label is not None and relevance != "membership":
            column = next(iter(labels.values()))
            raise SpecError(f'label="{shorten(column)}" and relevance={relevance}: labels come from one of the two')
        items, own_labels = own_labels_by_model("items", items)
        roles = cls(
            columns_of_key(group),
            labels,
            by_model("items", items),
            {key: column for key, column in row_columns.items() if column is not None},
            by_rank=True,
            true_items=true_items,
            relevance=relevance,
            slices=named_slices(slices),
            own_labels=own_labels,
        )
        roles.validate_roles()
        return roles

    @classmethod
    def of(
        cls,
        group: str | Sequence[str] | None,
        label: NamedLabels,
        score: ScoreColumns | None,
        item: str | None = None,
        *,
        rank: ScoreColumns | None = None,
        truth: TruthColumns | None = None,
        slices: Slices = (),
        **row_columns: str | None,
    ) -> Roles:
        """Return the roles of single rows, from ``score`` or ``rank``, and from ``label`` or ``truth`` or neither."""
        ordered = rank if score is None else score
        if ordered is None or (score is not None and rank is not None):
            given = "neither score nor rank names" if ordered is None else "both score and rank name"
            raise SpecError(f"{given} a column: one of the two orders a list")
        keys = () if group is None else columns_of_key(group)
        if group is None and truth is not None:
            raise SpecError("lists and truth are joined by group and item, but no group column is named")
        role = "rank" if score is None else "score"
        ordered, own_labels = own_labels_by_model(role, ordered)
        scores = by_model(role, ordered)
        sliced = named_slices(slices)
        beside = {"item": item, **row_columns}
        named = {role.key: column for role in row_roles() if (column := beside.get(role.key)) is not None}
        joined = None if truth is None else _truth_roles(truth, keys, named, sliced)
        if joined is not None:
            named = {role.key: named[role.key] for role in row_roles() if role.key in named and role.side != "truth"}
        labels = labels_by_name(label)
        roles = cls(keys, labels, scores, named, score is None, joined, slices=sliced, own_labels=own_labels)
        if label is not None and truth is not None:
            raise SpecError(
                f'label="{shorten(roles.label)}" and a truth: labels come from a column of the input or from the truth'
            )
        if group is not None and not keys:
            raise SpecError("group names no column: name at least one, or leave it out if no metric needs groups")
        roles.validate_roles()
        if joined is not None:
            joined.validate_roles(beside="of the truth")
        return roles

    def validate_roles(self, *, beside: str = "") -> None:
        """Raise :class:`SpecError` if a group column has a reserved name, or if two roles of a column are incompatible.

        ``beside`` names the table of these columns in messages, if it is not the lists.
        """
        if not self.scores and not beside:
            raise SpecError("score names no column: name at least one")
        role_of: dict[str, tuple[Role, str]] = {}
        for role, title, column in self.in_use():
            if not isinstance(column, str):
                raise SpecError(
                    f"the {title} column is {quote(column)}: a name, which is a text, is needed (columns of pandas get "
                    f"such names by rows.columns = rows.columns.map(str))"
                )
            first, first_title = role_of.setdefault(column, (role, title))
            shares = role in (SLICE, SLICE_NUMBER, GROUP_WEIGHT, CLUSTER, TIME, *VALUES.values())
            if shares or title == first_title or (first != GROUP and role != LABELS):
                continue
            side, why = f" {beside}" if beside else "", "labels are numbers beside the items"
            if first == GROUP:
                why = "in a group all rows have the same"
            raise SpecError(f'column "{shorten(column)}"{side} is both {first_title} and {title}: {why}')
        for column in self.group:
            if column.lower() in RESERVED:  # Spark ignores the case of column names
                raise SpecError(
                    f'the group column "{shorten(column)}" has the name of a column of the tables: rename it '
                    f"(reserved: {itemize(RESERVED)})"
                )
            if self.group.count(column) > 1:
                raise SpecError(f'the group column "{shorten(column)}" is named twice')
        if self.cluster is not None and not beside:
            self._validate_cluster(f'cluster="{shorten(self.cluster)}"')

    def _validate_cluster(self, named: str) -> None:
        if not self.group:
            raise SpecError(f"{named} names the unit behind a group, but no group column is named")
        if self.group == (self.cluster,) and self.true_items is None:
            raise SpecError(f"{named} is the group column: leave it out, because each group is then its own cluster")

    def validate_positions(self, positions: str, preset: Preset | None) -> None:
        if positions != "dense" and not self.by_rank:
            of = f", set by preset={preset.name}," if preset and "positions" in preset.definitions else ""
            raise SpecError(
                f"positions={positions}{of} takes ranks as positions, but no rank column is named: name it as rank, in "
                f"place of score, or set positions=dense"
            )
        if positions == "given_from_0" and self.true_items is not None:
            raise SpecError(f"positions={positions} takes ranks from 0, but places in arrays of items count from 1")

    def validate_weight_is_read(self, is_read: bool) -> None:
        """Raise :class:`SpecError` if a row weight is named but no metric reads the weight."""
        if self.weight is not None and not is_read and self.weight not in self.group_weights:
            raise SpecError(
                f'weight="{shorten(self.weight)}" is the weight of rows in metrics of all rows together, such as auc, '
                f"but none is requested: a weight of groups in a mean is named in the metric, as in "
                f"ndcg(weight={shorten(self.weight)})@10"
            )

    def validate_past_is_read(self, plan: Plan) -> None:
        """Raise :class:`SpecError` if ``plan`` lacks a table of the past that it needs, or does not use a table.

        The metrics of an explanation need not use all tables.
        """
        for metric in plan.metrics:
            if metric.declaration.reads_interactions and INTERACTIONS not in self.past:
                raise SpecError(f"{metric} reads interactions, but no interactions are given")
        for name in self.past if not plan.shows_items else ():
            if name not in plan.past and not (name == INTERACTIONS and plan.reads_popularity):
                raise SpecError(f"{name} are given, but no metric reads them, and exclude does not name them")

    def validate_required_roles(self, plan: Plan) -> None:
        keys = [role.key for role in row_roles()]
        for metric in plan.metrics:
            validate_names(f"{metric} reads the role", metric.group_metric.roles, keys, "roles of a row")
        for role in row_roles():
            known = role.key in self.row_columns or (self.true_items is not None and role.key == "item")
            if role.side == "truth" and self.truth is not None:
                known = role.key in self.truth.row_columns
            of_others = (not self.scores and role.side == "lists") or (self.past_name and role.side == "truth")
            if not known and not of_others and (reason := role.needed_by(plan)) is not None:
                raise SpecError(f"{reason}, but no {role.key} column is named")
        labelled = self.label is not None or self.joins or not self.scores
        if label_reason(plan) is not None and not labelled:
            raise SpecError(f"{label_reason(plan)}, but neither label nor a truth is given")

    @property
    def of_lists(self) -> tuple[Roles, ...]:
        """The roles of each input with lists: one input for all models, or a separate input per model."""
        if not self.long:
            return (self,)
        if MODEL.key in self.row_columns:  # one input, whose score column has the scores of all models
            return (replace(self, scores={column: column for column in self.scores.values()}),)
        return tuple(replace(self, scores={model: column}) for model, column in self.scores.items())

    @property
    def slice_sources(self) -> tuple[SliceSource, ...]:
        """The columns of slices in the rows themselves (not looked up by item)."""
        return tuple(source for source in sources_of(self.slices) if source.column not in self.item_columns)

    @property
    def label(self) -> str | None:
        """The column of the first label."""
        return next(iter(self.labels.values()), None)

    @property
    def joins(self) -> bool:
        """Whether labels come from a truth that is joined with the lists."""
        return self.truth is not None or self.true_items is not None

    @property
    def item(self) -> str | None:
        return self.row_columns.get("item")

    @property
    def weight(self) -> str | None:
        return self.row_columns.get("weight")

    @property
    def cluster(self) -> str | None:
        return self.row_columns.get("cluster")

    @property
    def time(self) -> str | None:
        return self.row_columns.get("time")

    @property
    def arrays(self) -> list[str]:
        """The array columns with one element for each row of a group's list or truth."""
        return list(dict.fromkeys(column for role, _, column in self.in_use() if role in (ITEMS, TRUE_ITEMS)))

    def columns(self) -> Iterator[tuple[str, str]]:
        yield from ((title, column) for _, title, column in self.in_use())

    def in_use(self) -> Iterator[tuple[Role, str, str]]:
        """Yield every role in use, with the role's name in messages and its column."""
        yield from ((GROUP, GROUP.name, column) for column in self.group)
        yield from ((role := slice_role(source), role.name, source.column) for source in self.slice_sources)
        yield from ((GROUP_WEIGHT, GROUP_WEIGHT.name, column) for column in self.group_weights)
        yield from ((VALUES[value.kind], VALUES[value.kind].name, value.name) for value in self.values)
        of_arrays = self.true_items is not None
        if not of_arrays:
            yield from self._label_roles(LABEL)
        scored = ITEMS if of_arrays else RANK if self.by_rank else SCORE
        yield from ((scored, role_title(model, scored.name, column), column) for model, column in self.scores.items())
        if self.true_items is not None:
            yield TRUE_ITEMS, TRUE_ITEMS.name, self.true_items
            yield from self._label_roles(LABELS)
        yield from (
            (role, role.name, self.row_columns[role.key]) for role in row_roles() if role.key in self.row_columns
        )

    def _label_roles(self, role: Role) -> Iterator[tuple[Role, str, str]]:
        for name, column in self.labels.items():
            yield role, role.name if len(self.labels) == 1 else role_title(name, role.name, column), column


def _roles_of_models(
    columns: Mapping[str, Any],
    group: str | Sequence[str] | None,
    label: NamedLabels,
    truth: TruthColumns | None,
    slices: Slices,
    models: Sequence[str],
) -> Roles:
    """Return the roles for a request in which each row has the score of only one model."""
    if not models:
        raise SpecError("the input is a mapping without a model: name at least one")
    if len(models) > MOST_MODELS:
        raise SpecError(f"there are {len(models)} models with rows of their own: up to {MOST_MODELS} are allowed")
    for role in ("items", "true_items"):
        if columns[role] is not None:
            raise SpecError(
                f'{role} is "{shorten(columns[role])}", but the rows of models are apart: arrays of several models are '
                f"columns of one table, and {role} names them"
            )
    for role in ("score", "rank"):
        if isinstance(columns[role], Mapping):
            raise SpecError(
                f"{role} is a mapping of models to columns, but the rows of models are apart: one column, which all "
                f"models have, is needed"
            )
    row_columns = {name: column for name, column in columns.items() if name not in ("items", "true_items")}
    roles = Roles.of(group, label, truth=truth, slices=slices, **row_columns)
    if group is None:
        raise SpecError("rows of several models are joined by group and item, but no group column is named")
    (column,) = roles.scores.values()
    return replace(roles, scores=by_model("models", dict.fromkeys(models, column)), long=True)
