"""The whole spec document. The table ``runs`` stores the loaded :class:`Spec`."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationInfo, model_validator

from sparkrank.base.checks import Limits
from sparkrank.base.errors import SpecError, hint, shorten
from sparkrank.base.redaction import options_to_hash
from sparkrank.config.gate_sections import (
    Gate,
    HistorySettings,
    LeastGroups,
    as_least_groups,
    directions_of,
    metrics_without_interval,
    rules_of,
)
from sparkrank.config.output_sections import Output
from sparkrank.config.places import among, in_place_of, is_within
from sparkrank.config.sections import (
    CatalogTable,
    CompareSettings,
    DefinitionSettings,
    Engine,
    Excluded,
    Input,
    InputRows,
    Interactions,
    Label,
    PastRows,
    Quality,
    ReportSettings,
    Section,
    SlicedColumn,
    Truth,
    UncertaintySettings,
)
from sparkrank.config.track_section import TrackSettings
from sparkrank.config.validators import as_day, as_keys, as_list, as_slice
from sparkrank.engines.lanes import needs_session, time_zone_lanes
from sparkrank.engines.request import AUTO
from sparkrank.gates.judge import Judge
from sparkrank.gates.register import KINDS
from sparkrank.gates.rules import is_pattern
from sparkrank.inputs.catalog_columns import CatalogPlan, columns_of_catalog
from sparkrank.inputs.popularity_days import PopularityDays, window_before, window_of
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.role_table import (
    CLUSTER,
    GROUP_WEIGHT,
    ITEMS,
    MODEL,
    RANK,
    SCORE,
    SLICE,
    SLICE_NUMBER,
    TIME,
    TITLE,
    VALUES,
)
from sparkrank.inputs.roles import PastColumns, Roles, TruthColumns
from sparkrank.inputs.spec_hash import hash_of_plan
from sparkrank.metrics import Metric, Plan, find_preset
from sparkrank.metrics.definitions import default_duplicates
from sparkrank.metrics.grammar import texts_of
from sparkrank.metrics.needs import EXCLUDE, INTERACTIONS
from sparkrank.metrics.registry import import_plugins
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.sources.text_schema import TEXT_FORMATS, number_kinds
from sparkrank.states.popularity import Tiers
from sparkrank.tables.copies.publisher import Publisher
from sparkrank.tables.rows.limits import limits_of

PLUGINS_OPTIONAL = "plugins_optional"  # a key of the validation context: whether plugins may be missing


class Spec(Section):
    """A spec of an evaluation: its rows, its metrics, and the place of its tables.

    ``name`` describes the evaluation, and ``owner`` is responsible for it. Reports and the terminal show both.
    ``metrics`` are texts such as ``ndcg@10``. ``slices`` are columns, or combinations of columns, whose values get rows
    of their own. ``disparities`` names the slices in the table of distances between slice values. ``exclude`` names
    pairs of group and item that are left out of lists and truth: those of the interactions, or of other rows. ``day``
    is the evaluated day if the command names none. ``plugins`` are modules that register metrics. ``undecided`` is the
    policy for undecided gates without a policy of their own. ``notify`` lists the programs that get an event when a day
    starts and when it ends.
    """

    input: Input
    metrics: list[str]
    output: Output
    slices: list[Annotated[list[SlicedColumn], BeforeValidator(as_slice)]] = Field(default_factory=list)
    disparities: Annotated[list[str], BeforeValidator(as_list)] = Field(default_factory=list)
    truth: Truth | None = None
    catalog: CatalogTable | None = None
    interactions: Interactions | None = None
    exclude: Excluded | None = None
    day: Annotated[dt.date | None, BeforeValidator(as_day)] = None
    name: Label | None = None
    owner: Label | None = None
    definitions: Annotated[DefinitionSettings, BeforeValidator(as_keys)] = DefinitionSettings()
    quality: Annotated[Quality, BeforeValidator(as_keys)] = Quality()
    engine: Annotated[Engine, BeforeValidator(as_keys)] = Engine()
    uncertainty: Annotated[UncertaintySettings, BeforeValidator(as_keys)] = UncertaintySettings()
    compare: CompareSettings | None = None
    plugins: list[str] = Field(default_factory=list)
    gates: list[Gate] = Field(default_factory=list)
    report: Annotated[ReportSettings, BeforeValidator(as_keys)] = ReportSettings()
    undecided: Literal["fail", "warn", "pass"] | None = None
    history: Annotated[HistorySettings, BeforeValidator(as_keys)] = HistorySettings()
    least_groups: Annotated[LeastGroups, BeforeValidator(as_keys), BeforeValidator(as_least_groups)] = LeastGroups()
    track: list[TrackSettings] = Field(default_factory=list)
    notify: list[Literal["openlineage"]] = Field(default_factory=list)

    _file: str = PrivateAttr("sparkrank.yaml")
    _plugin_error: SpecError | None = PrivateAttr(None)

    @property
    def file(self) -> str:
        """The path from which the spec was loaded, as it was passed to the command."""
        return self._file

    @property
    def lacks_plugin(self) -> bool:
        """Whether a module in ``plugins`` cannot be imported. The plan then contains only known metrics."""
        return self._plugin_error is not None

    @model_validator(mode="after")
    def _plugins_imported(self, info: ValidationInfo) -> Spec:
        """Import the modules that register metrics, before those metrics are looked up."""
        try:
            import_plugins(self.plugins, "plugins[{}]")
        except SpecError as error:
            if info.context is None or not info.context[PLUGINS_OPTIONAL]:
                raise
            self._plugin_error = error
        return self

    @model_validator(mode="before")
    @classmethod
    def _duplicates_resolved(cls, given: Any) -> Any:
        """Fill in the default of ``duplicates`` unless the document or a preset sets it."""
        if not isinstance(given, dict):
            return given
        definitions = {} if given.get("definitions") is None else given["definitions"]
        if not isinstance(definitions, dict) or definitions.get("preset") is not None:
            return given
        columns = given["input"].get("columns") if isinstance(given.get("input"), dict) else None
        of_arrays = isinstance(columns, dict) and columns.get("true_items") is not None
        duplicates = default_duplicates(given.get("truth") is not None or of_arrays)
        return {**given, "definitions": {"duplicates": duplicates, **definitions}}

    @model_validator(mode="after")
    def _output_apart(self) -> Spec:
        """Refuse an output path below the rows. The next run would take the written tables for rows."""
        for what, rows in self.places:
            if rows.path is None:
                continue
            if among(self.output.path, rows.path):
                raise ValueError(
                    f"has output.path {shorten(self.output.path)} within {what}.path {shorten(rows.path)}: tables "
                    "would be read as rows"
                )
            if (own := in_place_of(self.output.path, rows.path)) is not None:
                raise ValueError(
                    f"has {what}.path {shorten(rows.path)} inside {own}, a folder of sparkrank under output.path "
                    f"{shorten(self.output.path)}: rows and tables would be in one folder"
                )
        return self

    @model_validator(mode="after")
    def _copies_apart(self) -> Spec:
        """Refuse copies inside the tables or below the rows, and two publishers with the same place."""
        seen: list[Publisher] = []
        for own in self.output.publish:
            if own.publisher in seen:
                raise ValueError(f"has output.publish to {shorten(own.publisher.place)} twice")
            seen.append(own.publisher)
            lane = self.engine.lane
            if own.publisher.needs_session and lane != AUTO and not needs_session(lane):
                raise ValueError(f"has output.publish of format {own.format}, which Spark writes, but lane {lane}")
            if own.path is None:
                continue
            if is_within(own.path, self.output.path):
                raise ValueError(
                    f"has output.publish.path {shorten(own.path)} within output.path: choose a folder outside of it"
                )
            if is_within(self.output.path, own.path):
                raise ValueError(
                    f"has output.path within output.publish.path {shorten(own.path)}: choose a folder outside of it"
                )
            for what, rows in self.places:
                if rows.path is not None and among(own.path, rows.path):
                    raise ValueError(
                        f"has output.publish.path {shorten(own.path)} within {what}.path {shorten(rows.path)}: copies "
                        "would be read as rows"
                    )
        return self

    @model_validator(mode="after")
    def _zone_of_spark(self) -> Spec:
        """Refuse a time zone in a lane that ignores it. Only Spark's SQL reads timestamps by a time zone."""
        if self.input.time_zone is not None and self.engine.lane not in (allowed := time_zone_lanes()):
            raise ValueError(
                f"has input.time_zone {self.input.time_zone}, but lane {self.engine.lane}: only Spark's "
                f"SQL reads it, in the lanes {' and '.join(allowed)}"
            )
        return self

    @property
    def lists(self) -> list[tuple[str, InputRows]]:
        """The pairs of document key and rows for the impressions: one for all models, or one for each model."""
        by_model = self.input.by_model
        return [(f"input.models.{name}", rows) for name, rows in by_model.items()] or [("input", self.input)]

    @property
    def places(self) -> list[tuple[str, InputRows]]:
        """The pairs of document key and rows for all inputs: impressions, truth, the past, the catalog."""
        truth = {} if self.truth is None else {"truth": self.truth}
        catalog = {} if self.catalog is None else {"catalog": self.catalog}
        return [*self.lists, *truth.items(), *self.past.items(), *catalog.items()]

    @property
    def past(self) -> dict[str, PastRows]:
        """The sections of the tables of the past (what groups had before), by their keys."""
        had = None if self.interactions is None or self.interactions.states is not None else self.interactions
        named = {INTERACTIONS: had, EXCLUDE: self.exclude}
        return {name: rows for name, rows in named.items() if isinstance(rows, PastRows)}

    def popularity_days(self, day: str) -> PopularityDays | None:
        """Return the stored days that replace the interactions on ``day``, or None without such days."""
        rows = self.interactions
        if rows is None or rows.states is None or rows.days is None:
            return None
        window = window_of(rows.days) if isinstance(rows.days, str) else window_before(day, rows.days)
        return PopularityDays(rows.states, window.days, rows.optional)

    @property
    def roles(self) -> Roles:
        """The roles of the columns. Invalid settings raise :class:`SpecError`."""
        return self.roles_and_plan[0]

    def plan(self) -> Plan:
        """Return the plan of the document. Raise :class:`SpecError` if settings are invalid."""
        return self.roles_and_plan[1]

    @cached_property
    def roles_and_plan(self) -> tuple[Roles, Plan]:
        """The roles of the columns, and the plan.

        Both are computed once, because a backfill needs them many times per day.
        """
        columns, truth = self.input.columns, None
        if self.truth is not None:
            beside = self.truth.columns
            truth = TruthColumns.of(beside.label, beside.model_dump())
        models = None if self.input.models is None else tuple(self.input.models)
        excluded = EXCLUDE if isinstance(self.exclude, PastRows) else self.exclude
        days = None if self.interactions is None else self.interactions.days
        count = window_of(days).count if isinstance(days, str) else days or 0
        past = PastColumns({name: rows.columns.model_dump() for name, rows in self.past.items()}, excluded, count)
        named = columns.model_dump(exclude={"group", "label", "relevance"})
        roles, plan = plan_request(
            Roles.named(named, columns.group, columns.label, truth, columns.relevance, self._slices, models, past),
            self._known_metrics(),
            self.definitions.definitions,
            find_preset(self.definitions.preset),
            group_table=self.output.groups,
            score_sums=self.output.blocks,
            curve_points=int(self.output.curves),
            position_depth=int(self.output.positions),
            gains=self.output.gains,
            buckets=self.engine.buckets,
            uncertainty=self.uncertainty.uncertainty,
            compare=None if self.compare is None else self.compare.comparison,
            has_ties=self.definitions.ties is not None,
            has_catalog=self.catalog is not None,
            has_since=self.catalog is not None and self.catalog.columns.since is not None,
            tiers=self._tiers,
            disparities=self.disparities,
            stores_popularity=self.output.popularity,
            least_groups=self.least_groups.tables,
        )
        of_catalog = None if self.catalog is None else CatalogPlan.of_items(plan, *self.columns_of_catalog(roles)).roles
        others = (roles.truth, *roles.past.values(), of_catalog)
        of_sides = (*roles.of_lists, *(own for own in others if own is not None))
        for (what, rows), own in zip(self.places, of_sides, strict=True):
            _validate_schema_columns(what, rows, own)
        least = self.least_groups.tables
        if least > 1 and not plan.slices:
            raise SpecError(f"least_groups.tables is {least}, but the spec has no slices")
        return roles, plan

    def columns_of_catalog(self, roles: Roles) -> tuple[str, str | None]:
        """Return the columns of the catalog for items (default: the name in the lists) and for ``since``."""
        named = {} if self.catalog is None else self.catalog.columns.model_dump(exclude_none=True)
        return columns_of_catalog(named or None, roles)

    @property
    def _tiers(self) -> Tiers | None:
        named = None if self.interactions is None else self.interactions.tiers
        return None if named is None else named.tiers

    @property
    def _slices(self) -> list[list[str | dict[str, Any]]]:
        return [[part if isinstance(part, str) else part.given for part in columns] for columns in self.slices]

    def _known_metrics(self) -> list[str]:
        """Return the metrics that are known without a missing plugin. Raise the plugin's error if there are none."""
        if self._plugin_error is None:
            return self.metrics
        known = [text for text in self.metrics if self._is_known(text)]
        if not known:
            raise self._plugin_error
        return known

    def _is_known(self, metric: str) -> bool:
        try:
            for one in texts_of(metric):
                Metric.parse(one, find_preset(self.definitions.preset))
        except SpecError:
            return False
        return True

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Spec:
        """Return a copy with the values in ``update``. Roles and plan of the copy are computed again."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("roles_and_plan", None)
        return copied

    def limits(self, plan: Plan) -> Limits:
        """Return the limits of checks. Raise :class:`SpecError` if ``plan`` lacks a check."""
        return limits_of(plan, self.quality.max_bad_fraction, self.quality.limits, "quality.limits")

    def judge(self, plan: Plan) -> Judge | None:
        """Return the judge that applies the gates to a day, or None if the spec has no gates.

        Raise :class:`SpecError` for a gate on a metric, model or slice that ``plan`` lacks, even if only for lack of
        a plugin.
        """
        if self._plugin_error is not None and not all(
            self._is_known(gate.metric) and not is_pattern(gate.metric) for gate in self.gates
        ):
            raise self._plugin_error
        history = self.history.history
        without_gates, least = "but the spec has no gates", self.least_groups
        if not self.gates and self.undecided is not None:
            raise SpecError(f"undecided is {self.undecided}, {without_gates}")
        if not self.gates and least.gates not in (LeastGroups().gates, least.tables):
            raise SpecError(f"least_groups.gates is {least.gates}, {without_gates}")
        baseline = None if self.compare is None else self.compare.baseline
        preset = find_preset(self.definitions.preset)
        rules = rules_of(self.gates, plan, preset, self.undecided, baseline, history=history)
        if history != HistorySettings().history and not any(KINDS[rule.kind].reads_history for rule in rules):
            raise SpecError("history is given, but no gate compares with it: add one with not_worse_than: history")
        if not rules:
            return None
        return Judge(
            rules,
            history,
            directions_of(plan),
            plan.uncertainty.look_level,
            metrics_without_interval(plan),
            Comparison("").most_unpaired if plan.compare is None else plan.compare.most_unpaired,
            least.gates,
        )

    def source(self) -> str:
        """Return a string that defines a row, a group and a label. States with different strings do not merge.

        The location of the rows is left out, because it may change from day to day. The models are left out because
        states contain their names, but the string includes whether models have ranks or scores. The item column is
        included if items determine relevance or the order of tied rows.
        """
        roles, definitions = self.roles, self.definitions.definitions
        is_joined = roles.joins or roles.long or bool(roles.past)
        by_item = is_joined or definitions.duplicates != "keep" or self.plan().orders_by_item
        parts = _columns_of_source(roles, by_item)
        for what, rows in self.lists:
            named = f"{what} " if self.input.by_model else ""
            parts += [f"{named}{part}" for part in _reading_of_source(rows)]
        if roles.truth is not None and self.truth is not None:
            of_truth = [*_columns_of_source(roles.truth, by_item), *_reading_of_source(self.truth)]
            parts += [f"truth {part}" for part in of_truth]
        if self.catalog is not None:
            of_catalog = [f"item={self.columns_of_catalog(roles)[0]}", *_reading_of_source(self.catalog)]
            parts += [f"catalog {part}" for part in of_catalog]
        for name, rows in self.past.items():
            of_past = [*_columns_of_source(roles.past[name], by_item), *_reading_of_source(rows)]
            parts += [f"{name} {part}" for part in of_past]
        if roles.true_items is not None:
            parts += [f"relevance={roles.relevance}", "each row a list"]  # earlier releases joined rows of one key
        if self.input.time_zone is not None:
            parts.append(f"time zone {self.input.time_zone}")
        return ", ".join(parts)

    def resolved(self) -> dict[str, Any]:
        """Return the document as a mapping of plain values for JSON, including every default."""
        return self.model_dump(mode="json", by_alias=True)

    def as_text(self) -> str:
        """Return the document as a JSON string with sorted keys, including every default."""
        return json.dumps(self.resolved(), sort_keys=True)

    def hash(self, session: Mapping[str, str] | None = None) -> str:
        """Return twelve hex digits that depend on all settings with an effect on results.

        Settings that decide only where results are stored, or how the evaluation runs, are left out. ``session``
        contains the Spark session settings on which reading depended.
        """
        resolved = self.resolved()
        truth = None if self.truth is None else _settings_of_rows(resolved["truth"], self.truth)
        described = _settings_of_rows(resolved["input"], self.input)
        catalog = None if self.catalog is None else _settings_of_rows(resolved["catalog"], self.catalog)
        past = {name: _settings_of_rows(resolved[name], rows) for name, rows in self.past.items()}
        return hash_of_plan(
            self.plan(), described, truth, catalog, past=past, plugins=resolved["plugins"], session=session
        )


def _settings_of_rows(resolved: Mapping[str, Any], rows: InputRows) -> dict[str, Any]:
    """Return the ``resolved`` values of ``rows`` without secrets, and without settings that cannot change a result."""
    settings = {**resolved, "options": options_to_hash(rows.options), "where": rows.where}
    if isinstance(rows, Input) and rows.by_model:
        of_models = rows.by_model.items()  # in the order of models, which decides whose label counts
        settings["models"] = [(name, _settings_of_rows(settings["models"][name], own)) for name, own in of_models]
    left_out = [
        "as_of",
        "expect",
        "grouped",
        "most_bytes",
        "optional",
        "tiers",
        "states",
        "days",
        "version",
        *(["models"] if settings.get("models") is None else []),
    ]
    return {key: value for key, value in settings.items() if key not in left_out}


def _validate_schema_columns(what: str, rows: InputRows, roles: Roles) -> None:
    """Raise :class:`SpecError` if the schema of ``rows`` lacks a column of ``roles`` or the type of such a column."""
    if rows.format in TEXT_FORMATS and rows.path is not None:
        number_kinds(roles, rows.fields)
    kinds = {field.name: field.kind for field in rows.fields or ()}
    for role, column in roles.columns() if kinds else ():
        if column not in kinds:
            raise SpecError(f'{what}.schema lacks the {role} column "{shorten(column)}"{hint(column, kinds, "")}')
        if rows.format == "csv" and kinds[column].startswith("array"):
            raise SpecError(
                f'{what}.schema gives the {role} column "{shorten(column)}" the type {shorten(kinds[column])}, but CSV '
                "has no arrays: json or parquet is needed"
            )


def _columns_of_source(roles: Roles, by_item: bool) -> list[str]:
    """Return texts, such as ``label=clicked``, for the columns in ``roles`` that determine what a row means."""
    left_out = {
        SLICE,
        SLICE_NUMBER,
        GROUP_WEIGHT,
        SCORE,
        RANK,
        ITEMS,
        CLUSTER,
        MODEL,
        TITLE,
        TIME,  # definitions mention times that matter
        *VALUES.values(),
    }  # the cluster only matters for parts, and the states of parts name the cluster
    kept = [
        f"{title}={column}"
        for role, title, column in roles.in_use()
        if role not in left_out and (by_item or role.key != "item")
    ]
    if roles.by_rank and roles.true_items is None:
        kept.append("models by rank")
    return kept


def _reading_of_source(rows: InputRows) -> list[str]:
    """Return texts for the condition on rows, and for the settings that give columns their types."""
    kept = []
    if rows.partition_types != "inferred":
        kept.append(f"partition_types={rows.partition_types}")
    if rows.fields is not None:
        kept.append(f"schema {', '.join(map(str, rows.fields))}")
    return kept if rows.where is None else [*kept, f"where {rows.where}"]
