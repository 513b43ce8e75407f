"""The whole document. A loaded :class:`Spec` is what ``runs`` stores."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from sparkrank.base.checks import Limits
from sparkrank.base.errors import SpecError, did_you_mean, itemize, shorten
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
from sparkrank.config.places import among, in_place_of
from sparkrank.config.sections import (
    CompareSettings,
    DefinitionSettings,
    Engine,
    Input,
    InputRows,
    Output,
    Quality,
    ReportSettings,
    Section,
    Truth,
    UncertaintySettings,
)
from sparkrank.config.validators import as_day, as_keys, as_list
from sparkrank.engines.lanes import time_zone_lanes
from sparkrank.gates.judge import Judge
from sparkrank.gates.register import KINDS
from sparkrank.inputs.role_table import CLUSTER, GROUP_WEIGHT, ITEMS, RANK, SCORE, SLICE
from sparkrank.inputs.roles import Roles, TruthColumns, planned
from sparkrank.inputs.spec_hash import hash_of_plan
from sparkrank.metrics import Plan, find_preset
from sparkrank.metrics.definitions import default_duplicates
from sparkrank.metrics.registry import import_plugins
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.sources.text_schema import TEXT_FORMATS, number_kinds
from sparkrank.tables.rows.limits import limits_of


class Spec(Section):
    """What is evaluated, with which metrics, and where the tables are written."""

    input: Input
    metrics: list[str]
    output: Output
    slices: list[Annotated[list[str], BeforeValidator(as_list)]] = Field(default_factory=list)
    truth: Truth | None = None
    day: Annotated[dt.date | None, BeforeValidator(as_day)] = None
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

    _file: str = PrivateAttr("sparkrank.yaml")

    @property
    def file(self) -> str:
        """The path from which it was loaded, as commands name it."""
        return self._file

    @model_validator(mode="after")
    def _plugins_imported(self) -> Spec:
        """Import the modules that register metrics, before anybody looks for these."""
        import_plugins(self.plugins, "plugins[{}]")
        return self

    @model_validator(mode="before")
    @classmethod
    def _duplicates_resolved(cls, given: Any) -> Any:
        """Write out the default of ``duplicates`` where neither the document nor a preset sets it."""
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
        """Refuse tables below the rows: the next run, and other readers of the rows, would take them for rows."""
        for what, rows in (("input", self.input), ("truth", self.truth)):
            if rows is None or rows.path is None:
                continue
            if among(self.output.path, rows.path):
                raise ValueError(
                    f"has output.path {shorten(self.output.path)} within {what}.path {shorten(rows.path)}: tables "
                    "would be read as rows"
                )
            if (own := in_place_of(self.output.path, rows.path)) is not None:
                raise ValueError(
                    f"has {what}.path {shorten(rows.path)} in the place of {own} under output.path "
                    f"{shorten(self.output.path)}: rows and tables would be in one folder"
                )
        return self

    @model_validator(mode="after")
    def _zone_of_spark(self) -> Spec:
        """Refuse a time zone for a lane that does not use it: Arrow reads instants as they are."""
        if self.input.time_zone is not None and self.engine.lane not in (allowed := time_zone_lanes()):
            raise ValueError(
                f"has input.time_zone {self.input.time_zone}, but lane {self.engine.lane}: Spark's SQL alone "
                f"asks for it, in the lanes {' and '.join(allowed)}"
            )
        return self

    @property
    def roles(self) -> Roles:
        """The roles of the columns. Raises :class:`sparkrank.base.errors.SpecError` if they make no sense."""
        return self.roles_and_plan[0]

    def plan(self) -> Plan:
        """The plan that the document asks for. Raises :class:`sparkrank.base.errors.SpecError` if it makes no sense."""
        return self.roles_and_plan[1]

    @cached_property
    def roles_and_plan(self) -> tuple[Roles, Plan]:
        """The roles of the columns and the plan, made once: a backfill needs both many times a day."""
        columns, truth = self.input.columns, None
        if self.truth is not None:
            beside = self.truth.columns
            truth = TruthColumns.of(beside.label, beside.model_dump())
        named = columns.model_dump(exclude={"group", "label", "relevance"})
        roles, plan = planned(
            Roles.named(named, columns.group, columns.label, truth, columns.relevance, self.slices),
            self.metrics,
            self.definitions.definitions,
            find_preset(self.definitions.preset),
            group_table=self.output.groups,
            score_sums=self.output.blocks,
            curve_points=int(self.output.curves),
            buckets=self.engine.buckets,
            uncertainty=self.uncertainty.uncertainty,
            compare=None if self.compare is None else self.compare.comparison,
        )
        for what, rows, own in (("input", self.input, roles), ("truth", self.truth, roles.truth)):
            if rows is not None and own is not None:
                _validate_schema_columns(what, rows, own)
        least = self.least_groups.tables
        if least > 1 and not plan.slices:
            raise SpecError(f"least_groups.tables is {least}, but the spec has no slices that it could be about")
        return roles, replace(plan, least_groups=least)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Spec:
        """A copy with other values, without the cached results of this one."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("roles_and_plan", None)
        return copied

    def limits(self, plan: Plan) -> Limits:
        """The limits of checks. Raises :class:`sparkrank.base.errors.SpecError` for one that ``plan`` lacks."""
        return limits_of(plan, self.quality.max_bad_fraction, self.quality.limits, "quality.limits")

    def judge(self, plan: Plan) -> Judge | None:
        """The judge of a day by the gates, or None without gates.

        Raises :class:`sparkrank.base.errors.SpecError` for a gate that names what ``plan`` does not evaluate.
        """
        history = self.history.history
        without_gates, least = "but the spec has no gates that it could be about", self.least_groups
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
        """The definition of a row, a group and a label that stored states name: states of other sources do not merge.

        The place of the rows is left out, as it may change from day to day, and so are the models, which are known by
        name; but a score is not a rank. The item is included if it decides what is relevant, or which of the tied rows
        is shown.
        """
        roles, definitions = self.roles, self.definitions.definitions
        by_item = roles.joins or definitions.duplicates != "keep" or self.plan().orders_by_item
        parts = _source(roles, self.input, by_item)
        if roles.truth is not None and self.truth is not None:
            parts += [f"truth {part}" for part in _source(roles.truth, self.truth, by_item)]
        if roles.true_items is not None:
            parts += [f"relevance={roles.relevance}", "each row a list"]  # once all rows with one key were one group
        if self.input.time_zone is not None:
            parts.append(f"time zone {self.input.time_zone}")
        return ", ".join(parts)

    def resolved(self) -> dict[str, Any]:
        """The document as plain values, every default written out."""
        return self.model_dump(mode="json", by_alias=True)

    def as_text(self) -> str:
        """The resolved document as JSON, every default written out."""
        return json.dumps(self.resolved(), sort_keys=True)

    def hash(self, session: Mapping[str, str] | None = None) -> str:
        """Twelve hex digits that change with anything that can change a number, but not with where and how it runs.

        ``session`` are the settings of the Spark session that reading depended on.
        """
        resolved = self.resolved()
        truth = None if self.truth is None else _asked(resolved["truth"], self.truth)
        asked = _asked(resolved["input"], self.input)
        return hash_of_plan(self.plan(), asked, truth, plugins=resolved["plugins"], session=session)


def _asked(resolved: Mapping[str, Any], rows: InputRows) -> dict[str, Any]:
    """The ``resolved`` values of ``rows`` without secrets and without what changes no number."""
    asked = {**resolved, "options": options_to_hash(rows.options), "where": rows.where}
    return {key: value for key, value in asked.items() if key != "expect"}


def _validate_schema_columns(what: str, rows: InputRows, roles: Roles) -> None:
    """Raise :class:`SpecError` if the schema of ``rows`` lacks a column of ``roles``, or leaves its type open."""
    if rows.format in TEXT_FORMATS and rows.path is not None:
        number_kinds(roles, rows.fields)
    names = [field.name for field in rows.fields or ()]
    for role, column in roles.columns() if names else ():
        if column not in names:
            near = did_you_mean(column, names)
            raise SpecError(f'{what}.schema lacks the {role} column "{shorten(column)}"{near} ({itemize(names)})')


def _source(roles: Roles, rows: InputRows, by_item: bool) -> list[str]:
    """The columns of ``roles`` that determine what a row means, how columns of folders are read, and the condition."""
    left_out = {SLICE, GROUP_WEIGHT, SCORE, RANK, ITEMS, CLUSTER}  # the cluster matters for parts alone, which name it
    kept = [
        f"{title}={column}"
        for role, title, column in roles.played()
        if role not in left_out and (by_item or role.key != "item")
    ]
    if roles.by_rank and roles.true_items is None:
        kept.append("models by rank")
    if rows.partition_types != "inferred":
        kept.append(f"partition_types={rows.partition_types}")
    if rows.fields is not None:
        kept.append(f"schema {', '.join(map(str, rows.fields))}")
    return kept if rows.where is None else [*kept, f"where {rows.where}"]
