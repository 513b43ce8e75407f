"""The section ``output`` of the spec document, and the places for published copies of stored days."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainSerializer, Tag, model_validator

from sparkrank.base.errors import hint, itemize, shorten
from sparkrank.base.redaction import redact, shown_url
from sparkrank.config.sections import Filled, Section
from sparkrank.config.validators import (
    NOTHING,
    POINTS,
    SWITCH,
    as_number,
    as_output,
    as_points,
    as_publisher,
    as_whole,
    depth_of,
    kind_of,
    validate_no_password,
)
from sparkrank.metrics.plan import MOST_CURVE_POINTS
from sparkrank.metrics.position_sums import DEFAULT_DEPTH, MOST_POSITIONS
from sparkrank.sources.delta_log import SETTINGS, unknown_settings
from sparkrank.tables.commit.days import local_path
from sparkrank.tables.copies.day_copies import PUBLISHERS
from sparkrank.tables.copies.publisher import Publisher
from sparkrank.tables.rows.outputs import written_tables

KEEP_RUNS, MOST_KEPT_RUNS = 1, 100
MOST_EXPLAINED = 20  # groups that a report explains: the ten worst and the ten that moved most

_CurvePoints = Annotated[
    Annotated[int, Field(ge=10, le=MOST_CURVE_POINTS), Tag(POINTS)] | Annotated[Literal[False], Tag(NOTHING)],
    Discriminator(kind_of, "points_or_none", "a whole number from 10, or false, is needed"),
    BeforeValidator(as_points),
]
_Depth = Annotated[
    Annotated[int, Field(ge=1, le=MOST_POSITIONS), Tag(POINTS)] | Annotated[bool, Tag(SWITCH)],
    Discriminator(depth_of, "depth_or_switch", f"a whole number from 1 to {MOST_POSITIONS}, true or false is needed"),
    BeforeValidator(as_points),
    AfterValidator(lambda depth: DEFAULT_DEPTH if depth is True else depth),
]
_Name = Annotated[Filled, PlainSerializer(redact)]  # some people take an address for the name of a catalog


class PublishSettings(Section):
    """A place that gets copies of stored days: tables of ``format``, one for each table of the output.

    Delta tables are in the folder ``path``, Iceberg tables in a ``namespace`` of a ``catalog`` in the configuration of
    pyiceberg. Tables of the format ``catalog`` are in a ``schema`` of Spark's catalogs, such as main.eval. ``tables``
    names the tables to copy, by default all. ``runs`` is always copied.
    """

    format: Annotated[str, BeforeValidator(as_publisher)]
    path: Annotated[Filled, AfterValidator(as_output), PlainSerializer(shown_url)] | None = None
    catalog: _Name | None = None
    namespace: _Name | None = None
    database: _Name | None = Field(default=None, alias="schema")
    tables: list[str] | None = None

    @model_validator(mode="after")
    def _one_table_for_all_days(self) -> PublishSettings:
        keys, given = PUBLISHERS[self.format].keys, self._places
        if given.keys() != set(keys):
            there = itemize(given) if given else "none"
            raise ValueError(f"has format {self.format}, which needs {itemize(keys)}, but names {there}")
        validate_no_password(self.path)
        if self.database is not None and not re.fullmatch(r"[\w-]+(\.[\w-]+)*", self.database):
            raise ValueError(
                f"has schema {shorten(self.database)}: a name is needed, or several with dots between them"
            )
        if self.path is not None and "{" in self.path:
            raise ValueError(f"has a placeholder for a day in path {shorten(self.path)}, but one table has all days")
        if self.path is not None and (strange := sorted({*"%#"}.intersection(self.path))):
            raise ValueError(
                f"has {itemize(strange)} in path {shorten(self.path)}, which addresses of lakes read otherwise"
            )
        if self.path is not None and (unknown := unknown_settings(self.path)):
            raise ValueError(f"has the setting {shorten(unknown[0])} in path{hint(unknown[0], SETTINGS)}")
        known = written_tables()
        for name in self.tables or ():
            if name not in known:
                raise ValueError(f'has no table "{shorten(name)}" to publish{hint(name, known, "there are")}')
        return self

    @property
    def publisher(self) -> Publisher:
        """The publisher that writes the copies of stored days."""
        kind: Any = PUBLISHERS[self.format]
        return cast(Publisher, kind(**self._places))

    @property
    def _places(self) -> dict[str, str]:
        """The values of all keys of publishers that are given."""
        keys = {key for kind in PUBLISHERS.values() for key in kind.keys}
        fields = {own.alias or name: name for name, own in PublishSettings.model_fields.items()}
        given = {key: getattr(self, name) for key, name in fields.items() if key in keys}
        return {key: value for key, value in given.items() if value is not None}


class Output(Section):
    """The place of the tables, and the choice of the large tables to write.

    ``path`` is the folder of all tables. ``groups`` requests the group table, and ``blocks`` the score bins. ``curves``
    is the approximate number of points of each ROC and PR curve, or ``false`` for no curves. ``positions`` requests the
    table of that name, up to this position of the lists (``true``: 50). ``gains`` requests the table of that
    name, by twentieths of all rows, from the score bins of ``auc``, ``capture`` or ``lift``. ``keep_runs`` is the
    number of earlier runs of a day to keep until ``sparkrank clean``, for readers with open files. ``popularity``
    requests counts of the items of the day's relevant rows, for ``interactions.states`` of later days. ``plain``
    requests real folders instead of links, for programs that do not follow links. ``report`` requests the HTML report.
    ``explain`` is the number of explained groups under "Look closer" in the report, with another pass over the input.
    ``publish`` lists places outside of the folder that get copies of a day after it is stored.
    """

    path: Annotated[Filled, AfterValidator(as_output), PlainSerializer(shown_url)]
    groups: bool = True
    blocks: bool = True
    curves: _CurvePoints = 1000
    positions: _Depth = False
    gains: bool = False
    keep_runs: Annotated[int, BeforeValidator(as_whole)] = Field(default=KEEP_RUNS, ge=0, le=MOST_KEPT_RUNS)
    popularity: bool = False
    plain: bool = False
    report: bool = False
    publish: list[PublishSettings] = Field(default_factory=list)
    explain: Annotated[int, BeforeValidator(as_number)] = Field(default=0, ge=0, le=MOST_EXPLAINED)

    @model_validator(mode="after")
    def _no_password_and_plain_of_links(self) -> Output:
        validate_no_password(self.path)
        if self.plain and local_path(self.path) is None:
            where = "on local and mounted file systems alone links would show the tables"
            raise ValueError(f"has plain, but path {shorten(self.path)}: {where}")
        return self
