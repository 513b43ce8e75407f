"""The keys of the document, their types and defaults. A loaded :class:`Spec` is what ``runs`` stores.

Every model refuses keys that it does not know and is frozen once loaded.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from sparkrank.engine.buckets import BUCKET_ROWS, MOST_BUCKETS
from sparkrank.engine.kinds import refuse_unnamed
from sparkrank.metrics import Definitions, Plan, find_preset
from sparkrank.roles import SLICE, Roles, TruthColumns
from sparkrank.spec.values import (
    as_day,
    as_keys,
    as_list,
    as_number,
    as_output,
    as_path,
    refuse_password,
    without_secrets,
)


class Section(BaseModel):
    """A part of the document."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Columns(Section):
    """Which column plays which role. ``score`` is a column, or a mapping of model names to columns.

    ``rank`` stands in place of ``score`` where lower is better. ``label`` is absent where there is a truth. ``weight``
    multiplies what a row counts in the metrics of the whole day. With ``items`` and ``true_items``, a row is a whole
    group with arrays of items.
    """

    group: Annotated[list[str], BeforeValidator(as_list)]
    score: str | dict[str, str] | None = None
    rank: str | dict[str, str] | None = None
    label: str | None = None
    item: str | None = None
    reference_rank: str | None = None
    weight: str | None = None
    items: str | dict[str, str] | None = None
    true_items: str | None = None
    relevance: str = "membership"


class TruthNames(Section):
    """The columns of the truth: group and item where its names differ from those of the lists, and its label.

    Without ``label`` every row has label 1.
    """

    group: Annotated[list[str] | None, BeforeValidator(as_list)] = None
    item: str | None = None
    label: str | None = None


class Rows(Section):
    """Where rows are: files at ``path``, or a ``table`` of the catalog, narrowed by the SQL of ``where``.

    ``{date}`` in ``path`` and ``where`` stands for the day. ``options`` go to Spark's reader of the ``format``; those
    that look like a password go nowhere else.
    """

    path: Annotated[str, Field(min_length=1), AfterValidator(as_path)] | None = None
    table: Annotated[str, Field(min_length=1)] | None = None
    format: str = "parquet"
    options: Annotated[dict[str, str], BeforeValidator(as_keys), PlainSerializer(without_secrets)] = Field(
        default_factory=dict
    )
    where: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Rows:
        if (self.path is None) == (self.table is None):
            raise ValueError("names a path or a table: one of the two")
        refuse_password(self.path)
        return self


class Input(Rows):
    """The impressions, or the lists where a truth stands beside them."""

    columns: Columns


class Truth(Rows):
    """What users really did, or what was judged, to be joined to the lists by group and item."""

    columns: Annotated[TruthNames, BeforeValidator(as_keys)] = TruthNames()


class DefinitionSettings(Section):
    """Settings of the evaluation that change what its numbers mean (:class:`sparkrank.metrics.Definitions`).

    ``preset`` names a library; it sets those that are not given, and parameters of the metrics.
    """

    preset: str | None = None
    ties: str = "expected"
    undefined: str = "skip"
    unretrieved: str = "zero"
    unjudged: str = "nonrelevant"
    duplicates: str = "keep"
    population: str = "all"
    positions: str = "dense"

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("preset"), str):
            return given
        preset = find_preset(given["preset"])
        return given if preset is None else {**preset.definitions, **given}

    @property
    def definitions(self) -> Definitions:
        return Definitions(**self.model_dump(exclude={"preset"}))


class Quality(Section):
    """What the input may be like. Above ``max_bad_fraction`` of rejected rows, nothing is written."""

    max_bad_fraction: Annotated[float, BeforeValidator(as_number)] = Field(default=0.0, ge=0.0, le=1.0)


class Output(Section):
    """Where the tables go, and which of the large ones are written.

    ``curves`` is about how many points of each ROC and PR curve are written, or ``false``.
    """

    path: Annotated[str, AfterValidator(as_output)] = Field(min_length=1)
    groups: bool = True
    blocks: bool = True
    curves: Annotated[int, Field(ge=10)] | Literal[False] = 1000

    @model_validator(mode="after")
    def _no_password(self) -> Output:
        refuse_password(self.path)
        return self


class Engine(Section):
    """By which lane the rows come, and how the work is cut. Results do not depend on either."""

    lane: Literal["auto", "frame", "scan", "local"] = "auto"
    bucket_rows: Annotated[int, BeforeValidator(as_number)] = Field(default=BUCKET_ROWS, ge=1)
    buckets: Annotated[int | None, BeforeValidator(as_number)] = Field(default=None, ge=1, le=MOST_BUCKETS)


class Spec(Section):
    """The whole document."""

    input: Input
    metrics: list[str]
    output: Output
    slices: list[Annotated[list[str], BeforeValidator(as_list)]] = Field(default_factory=list)
    truth: Truth | None = None
    day: Annotated[dt.date | None, BeforeValidator(as_day)] = None
    definitions: Annotated[DefinitionSettings, BeforeValidator(as_keys)] = DefinitionSettings()
    quality: Annotated[Quality, BeforeValidator(as_keys)] = Quality()
    engine: Annotated[Engine, BeforeValidator(as_keys)] = Engine()

    @model_validator(mode="after")
    def _output_apart(self) -> Spec:
        """Refuse tables below the rows, which the next run, and whoever else reads the rows, would take for rows."""
        for what, rows in (("input", self.input), ("truth", self.truth)):
            if rows is not None and rows.path is not None and PurePath(self.output.path).is_relative_to(rows.path):
                raise ValueError(
                    f"has output.path {self.output.path} within {what}.path {rows.path}: tables would be read as rows"
                )
        return self

    @property
    def roles(self) -> Roles:
        """The roles of the columns; raises :class:`sparkrank.errors.SpecError` when these make no sense."""
        columns, truth = self.input.columns, None
        if self.truth is not None:
            beside = self.truth.columns
            truth = TruthColumns(beside.group, beside.item, beside.label)
        named = columns.model_dump(exclude={"group", "label", "relevance"})
        return Roles.named(named, columns.group, columns.label, truth, columns.relevance, self.slices)

    def plan(self) -> Plan:
        """What the document asks for. Raises :class:`sparkrank.errors.SpecError` when it makes no sense."""
        roles, definitions = self.roles, self.definitions.definitions
        roles.refuse_positions(definitions.positions)
        plan = Plan.of(
            self.metrics,
            tuple(roles.scores),
            roles.group,
            definitions,
            group_table=self.output.groups,
            score_sums=self.output.blocks,
            weighted=roles.weight is not None,
            joins=roles.joins,
            preset=find_preset(self.definitions.preset),
            curve_points=int(self.output.curves),
            slices=roles.slices,
            item=roles.item,
        )
        refuse_unnamed(roles, plan)
        return plan

    def source(self) -> str:
        """What makes a row, a group and a label, as stored states name it: states of other sources do not merge.

        Where the rows lie may change from day to day, and a model is known by its name, but a score is not a rank. The
        item stands there where it decides what is relevant, or who of the tied is shown.
        """
        roles, definitions = self.roles, self.definitions.definitions
        by_item = roles.joins or definitions.duplicates != "keep" or definitions.ties == "item"
        parts = _source(roles, self.input.where, by_item)
        if roles.truth is not None and self.truth is not None:
            parts += [f"truth {part}" for part in _source(roles.truth, self.truth.where, by_item)]
        if roles.true_items is not None:
            parts.append(f"relevance={roles.relevance}")
        return ", ".join(parts)

    def as_text(self) -> str:
        """The resolved document as JSON, every default written out."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)

    def hash(self) -> str:
        """Twelve hex digits that change when anything that can change a number does; not where and how it runs."""
        resolved = self.model_dump(mode="json")
        numbers: Mapping[str, object] = {
            "input": resolved["input"],
            "truth": resolved["truth"],
            "metrics": [str(metric) for metric in self.plan().metrics],
            "slices": resolved["slices"],
            "definitions": {name: word for name, word in resolved["definitions"].items() if name != "preset"},
        }
        return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:12]


def _source(roles: Roles, where: str | None, by_item: bool) -> list[str]:
    """The columns of ``roles`` that say what a row means, and the condition."""
    left_out = {SLICE} if by_item else {SLICE, "item"}
    kept = [f"{role}={column}" for role, column in roles.columns() if role not in left_out and " of " not in role]
    if roles.by_rank and roles.true_items is None:
        kept.append("models by rank")
    return kept if where is None else [*kept, f"where {where}"]
