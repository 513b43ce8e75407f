"""The keys of the document, their types and defaults. A loaded :class:`Spec` is what ``runs`` stores.

Every model refuses keys that it does not know and is frozen once loaded.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sparkrank.engine.buckets import BUCKET_ROWS
from sparkrank.metrics import Definitions, Plan
from sparkrank.roles import Roles

DATE = "{date}"  # stands for the day in a path or a condition


class Section(BaseModel):
    """A part of the document."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Columns(Section):
    """Which column plays which role. ``score`` is a column, or a mapping of model names to columns.

    ``weight`` multiplies what a row counts in the metrics of the whole day.
    """

    group: Annotated[list[str], BeforeValidator(_as_list)]
    score: str | dict[str, str]
    label: str
    item: str | None = None
    reference_rank: str | None = None
    weight: str | None = None

    @property
    def roles(self) -> Roles:
        """The roles; raises :class:`sparkrank.errors.SpecError` when a column has two."""
        return Roles.of(self.group, self.label, self.score, self.item, self.reference_rank, self.weight)


class Input(Section):
    """Where the impressions are: files at ``path``, or a ``table`` of the catalog, narrowed by the SQL of ``where``.

    ``{date}`` in ``path`` and ``where`` stands for the day. ``options`` go to Spark's reader of the ``format``.
    """

    columns: Columns
    path: str | None = None
    table: str | None = None
    format: str = "parquet"
    options: dict[str, str] = Field(default_factory=dict)
    where: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Input:
        if (self.path is None) == (self.table is None):
            raise ValueError("names a path or a table: one of the two")
        return self


class DefinitionSettings(Section):
    """Settings of the evaluation that change what its numbers mean (:class:`sparkrank.metrics.Definitions`)."""

    ties: str = "expected"
    undefined: str = "skip"

    @property
    def definitions(self) -> Definitions:
        return Definitions(self.ties, self.undefined)


class Quality(Section):
    """What the input may be like. Above ``max_bad_fraction`` of rejected rows, nothing is written."""

    max_bad_fraction: float = Field(default=0.0, ge=0.0, le=1.0)


class Output(Section):
    """Where the tables go, and which of the large ones are written.

    ``curves`` is about how many points of each ROC and PR curve are written, or ``false``.
    """

    path: str
    groups: bool = True
    blocks: bool = True
    curves: Annotated[int, Field(ge=10)] | Literal[False] = 1000


class Engine(Section):
    """By which lane the rows come, and how the work is cut. Results do not depend on either."""

    lane: Literal["auto", "frame", "scan", "local"] = "auto"
    bucket_rows: int = Field(default=BUCKET_ROWS, ge=1)
    buckets: int | None = Field(default=None, ge=1)


class Spec(Section):
    """The whole document."""

    input: Input
    metrics: list[str]
    output: Output
    day: dt.date | None = None
    definitions: DefinitionSettings = DefinitionSettings()
    quality: Quality = Quality()
    engine: Engine = Engine()

    def plan(self) -> Plan:
        """What the document asks for. Raises :class:`sparkrank.errors.SpecError` when it makes no sense."""
        roles = self.input.columns.roles
        return Plan.of(
            self.metrics,
            tuple(roles.scores),
            roles.group,
            self.definitions.definitions,
            group_table=self.output.groups,
            score_sums=self.output.blocks,
            weighted=roles.weight is not None,
            curve_points=int(self.output.curves),
        )

    def source(self) -> str:
        """What makes a row, a group and a label, as stored states name it: states of other sources do not merge.

        Where the rows lie may change from day to day, and a model is known by its name.
        """
        columns = self.input.columns.roles.columns()
        kept = [f"{role}={column}" for role, column in columns if role != "item" and not role.startswith("score of ")]
        return ", ".join(kept if self.input.where is None else [*kept, f"where {self.input.where}"])

    def as_text(self) -> str:
        """The resolved document as JSON, every default written out."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)

    def hash(self) -> str:
        """Twelve hex digits that change when anything that can change a number does; not where and how it runs."""
        resolved = self.model_dump(mode="json")
        numbers: Mapping[str, object] = {
            "input": resolved["input"],
            "metrics": [str(metric) for metric in self.plan().metrics],
            "definitions": resolved["definitions"],
        }
        return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:12]
