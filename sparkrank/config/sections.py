"""The sections of the spec document: their keys, types and defaults. Every section refuses unknown keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    create_model,
    model_validator,
)

from sparkrank.base.errors import itemize, quote, shorten
from sparkrank.base.redaction import redact, shown_options, shown_url
from sparkrank.config.validators import (
    COLUMN,
    MODELS,
    NAMES,
    NIGHTS,
    POINTS,
    SETTINGS,
    SWITCH,
    as_age,
    as_condition,
    as_filled,
    as_format,
    as_keys,
    as_label,
    as_lane,
    as_list,
    as_marked,
    as_number,
    as_options,
    as_output,
    as_rows,
    as_schema,
    as_size,
    as_whole,
    as_window,
    as_zone,
    column_kind_of,
    kind_of,
    looks_of,
    validate_no_password,
)
from sparkrank.engines.lanes import row_memory_lanes
from sparkrank.engines.request import AUTO, CATALOG_BYTES
from sparkrank.engines.spark.files import FILE_FORMATS
from sparkrank.inputs.buckets import BUCKET_ROWS, MOST_BUCKET_ROWS, MOST_BUCKETS
from sparkrank.inputs.day_marks import check_name
from sparkrank.inputs.role_table import Role, row_roles, truth_roles
from sparkrank.inputs.window import MOST_DAYS
from sparkrank.metrics import Definitions, find_preset
from sparkrank.metrics.slices import SlicedRowsWord
from sparkrank.metrics.uncertainty import LEAST_LEVEL, MOST_LEVEL, MOST_NIGHTS, Comparison, Family, Uncertainty
from sparkrank.sources.colocation import BY_ITSELF, GroupedWord
from sparkrank.sources.folders import PartitionTypes
from sparkrank.sources.lake_formats import LAKES
from sparkrank.sources.lakes import ICEBERG
from sparkrank.sources.reader_options import validate_options
from sparkrank.sources.text_schema import TEXT_FORMATS, DdlField, fields_of
from sparkrank.states.popularity import TierMeasure, Tiers
from sparkrank.stats.corrections import Correction

_Number = Annotated[float, BeforeValidator(as_number)]
Filled = Annotated[str, AfterValidator(as_filled)]
Label = Annotated[str, AfterValidator(as_label), PlainSerializer(redact)]
# A union whose member is chosen by the value's type, so that an error concerns only that member.
_ByModel = Annotated[
    Annotated[str, Tag(COLUMN)] | Annotated[dict[str, str], Tag(MODELS)],
    Discriminator(kind_of, "column_or_models", "a column, or models with a column each, are needed"),
]
_ByLabel = Annotated[
    Annotated[str, Tag(COLUMN)] | Annotated[dict[str, str], Tag(MODELS)],
    Discriminator(kind_of, "column_or_labels", "a column, or labels with a column each, are needed"),
]
_DayCount = Annotated[
    Annotated[int, Field(ge=1, le=MOST_DAYS), Tag(POINTS)] | Annotated[str, AfterValidator(as_window), Tag(COLUMN)],
    Discriminator(kind_of, "days_or_window", "a number of days, or first..last, is needed"),
]


class Section(BaseModel):
    """The base class of the sections of the spec document: immutable, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


def with_row_roles(name: str, base: type[Section], roles: Sequence[Role]) -> type[Section]:
    """Return a subclass of ``base`` with an optional key for each of ``roles``, the roles of row columns."""
    fields: dict[str, Any] = {role.key: (str | None, None) for role in roles}
    return create_model(name, __base__=base, **fields)


class ModelScore(Section):
    """The ``column`` of a model's scores or ranks, and the ``label`` (by default the first) that its metrics read.

    ``among`` names another label: rows without a value above 0 of that label are left out.
    """

    column: str
    label: str | None = None
    among: str | None = None


_ScoreOfModel = Annotated[
    Annotated[str, Tag(COLUMN)] | Annotated[ModelScore, Tag(SETTINGS)],
    Discriminator(column_kind_of, "column_or_score", "a column, or a mapping with its column and label, is needed"),
]
_ScoreByModel = Annotated[
    Annotated[str, Tag(COLUMN)] | Annotated[dict[str, _ScoreOfModel], Tag(MODELS)],
    Discriminator(kind_of, "column_or_models", "a column, or models with a column each, are needed"),
]


class _OfScores(Section):
    group: Annotated[list[str] | None, BeforeValidator(as_list)] = None
    score: _ScoreByModel | None = None
    rank: _ScoreByModel | None = None
    label: _ByLabel | None = None


class _OfKeys(Section):
    group: Annotated[list[str] | None, BeforeValidator(as_list)] = None


if TYPE_CHECKING:
    _OfRows: TypeAlias = _OfScores
    _OfTruth: TypeAlias = _OfKeys
else:
    _OfRows = with_row_roles("_OfRows", _OfScores, row_roles())
    _OfTruth = with_row_roles("_OfTruth", _OfKeys, truth_roles())


class Columns(_OfRows):
    """The columns of the input, by their role. ``score`` is a column, or a mapping from model names to columns.

    ``group`` is the key of a list, for example a user or a query. Without ``group``, all rows belong together, and
    metrics of groups are not available. ``rank`` replaces ``score`` if lower is better. ``label`` is not needed if
    there is a separate truth, or if no metric reads labels. Several labels are a mapping from their names to columns.
    Metrics read the first label unless they name another. A model may have a label of its own, as in ``score: {cvr:
    {column: p_cvr, label: pay, among: click}}``. ``weight`` is the weight of a row in pooled metrics. ``cluster`` is
    the unit of dependent groups, for example the user of sessions. ``title`` is the name of an item for explanations.
    ``time`` is the time of a list, which is compared with the times of the truth, the interactions and the catalog.
    ``propensity`` is the probability of seeing a relevant row, or of taking a logged action; with a truth, it is a
    column of the truth. ``estimate`` and ``policy_estimate`` are the expected rewards of the action and of the policy.
    ``item`` is the key of an item, and ``reference_rank`` an order for metrics that compare with it. ``model`` is the
    column that names the model of each row in one long table. With ``items`` and ``true_items``, each row is a whole
    group, with arrays of items. ``relevance`` is the rule for labels of true items without one: 1 (``membership``), or
    1 / position (``reciprocal_rank``).
    """

    items: _ScoreByModel | None = None
    true_items: str | None = None
    relevance: str = "membership"


class TruthNames(_OfTruth):
    """The columns of the truth.

    ``group`` and ``item`` are those of the lists unless they are named here. ``cluster`` is needed if some groups are
    only in the truth. ``time`` is the time when a row arose. Without ``label``, every row has the label 1.
    ``propensity`` is the probability that a relevant row was seen. ``title`` is the name of an item for explanations.
    """

    label: _ByLabel | None = None


class Expect(Section):
    """The signs of a complete input. If a sign is missing, the day is not written.

    ``marker`` is the name of a file, for example ``_SUCCESS``, in each folder of the path. ``newer_than``, for example
    ``6h``, is the highest age of the newest commit with new rows of the day in a lake table. ``min_rows`` is the
    smallest number of rows. ``min_fraction_of_yesterday`` is the smallest ratio of rows to the rows read on the day
    before. If the day before has no run, as for a first day, the run gives a warning instead.
    """

    marker: Filled | None = None
    newer_than: Annotated[str | None, AfterValidator(as_age)] = None
    min_rows: Annotated[int | None, BeforeValidator(as_whole)] = Field(default=None, ge=1)
    min_fraction_of_yesterday: Annotated[float | None, BeforeValidator(as_number)] = Field(default=None, gt=0, le=1)

    @model_validator(mode="after")
    def _something(self) -> Expect:
        if all(value is None for _, value in self):
            raise ValueError(f"expects nothing: name {itemize(type(self).model_fields)}")
        if self.marker is not None and "/" in self.marker:
            raise ValueError(f"has the marker {quote(self.marker)}: the name of a file is needed, without folders")
        return self


class InputRows(Section):
    """The location of the rows (files at ``path``, or a ``table`` of the catalog), and settings for reading them.

    ``where`` is an SQL condition on the rows. Placeholders such as ``{date}`` stand for days
    (:mod:`sparkrank.inputs.day_marks`). ``format`` is a known format or the class of a data source. ``options`` are
    options of Spark's reader for this format; messages show only options known to be harmless. ``schema`` contains the
    types of the columns of CSV and JSON, in Spark's DDL. ``partition_types`` is ``inferred`` to infer the types of
    values in folder names from all of these values, or ``text``, so that ``007`` and ``7`` remain different. With the
    ``format`` iceberg, ``table`` is catalog.namespace.table, or namespace.table of the default catalog, as defined in
    the configuration of the library pyiceberg. ``version`` is the version of a lake table (in Iceberg, a snapshot id).
    ``as_of`` is a time: the newest version at that time is read. The default is the newest version when the run begins.
    """

    path: Annotated[Filled, AfterValidator(as_rows), PlainSerializer(shown_url)] | None = None
    table: Annotated[Filled, AfterValidator(as_marked(check_name)), PlainSerializer(shown_url)] | None = None
    format: Annotated[str, AfterValidator(as_format)] = "parquet"
    ddl: Annotated[str | None, AfterValidator(as_schema)] = Field(default=None, alias="schema")
    options: Annotated[dict[str, str], BeforeValidator(as_options), PlainSerializer(shown_options)] = Field(
        default_factory=dict, repr=False
    )
    where: Annotated[Filled, AfterValidator(as_condition), PlainSerializer(redact)] | None = None
    partition_types: PartitionTypes = "inferred"
    version: Annotated[int | None, BeforeValidator(as_whole)] = Field(default=None, ge=0)
    as_of: datetime | None = None
    expect: Expect | None = None

    @model_validator(mode="after")
    def _one_source(self) -> InputRows:
        self._validate_source()
        return self

    def _validate_source(self) -> None:
        if (self.path is None) == (self.table is None):
            given = "neither a path nor a table" if self.path is None else "a path and a table"
            raise ValueError(f"names {given}: give one of the two")
        validate_no_password(self.path)
        validate_no_password(self.table)  # a table can be a path too: parquet.`s3a://...`
        if self.path is None or self.format.lower() not in FILE_FORMATS:  # other formats are not plain files
            read = f"format {self.format}" if self.table is None else f"table {self.table}"
            if self.partition_types == "text":
                raise ValueError(f"has partition_types text, but {read}, whose columns have types of their own")
            if self.expect is not None and self.expect.marker is not None:
                raise ValueError(f"has expect.marker, but {read}, which itself tells whether the rows are complete")
        if self.expect is not None and self.expect.newer_than is not None and not self._has_log:
            read = f"format {self.format}" if self.table is None else f"table {self.table}"
            raise ValueError(
                f"has expect.newer_than, but {read}, which has no log of commits: {' and '.join(LAKES)} have one"
            )
        self._validate_version()
        self._validate_reading()

    @property
    def _has_log(self) -> bool:
        """Whether the rows are in a lake table, whose log can be read without Spark."""
        return self.format in LAKES and (self.table is None or self.format == ICEBERG)

    def _validate_version(self) -> None:
        given = [name for name in ("version", "as_of") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError("has a version and as_of: give one of the two")
        if given and not self._has_log:
            named = f"format {self.format}" if self.table is None else "a table"
            raise ValueError(f"has {given[0]}, but reads {named}: only {' and '.join(LAKES)} have versions")

    def _validate_reading(self) -> None:
        """Refuse a schema for data that has types already, and options that have no effect or lose rows or values."""
        is_text = self.path is not None and self.format in TEXT_FORMATS
        if self.ddl is not None and not is_text:
            kind = f"format {self.format}" if self.table is None else "a table"
            raise ValueError(
                f"has a schema, but reads {kind}: {' and '.join(TEXT_FORMATS)} need one, because they have no types"
            )
        if self.table is not None and self.options:
            raise ValueError(f"has options, but a table is read without: {itemize(self.options)}")
        validate_options(self.options, self.format)

    @property
    def fields(self) -> tuple[DdlField, ...] | None:
        """The columns of ``schema`` with their types, or None without a schema."""
        return None if self.ddl is None else fields_of(self.ddl)


_ModelRows = Annotated[
    Annotated[dict[str, InputRows], Tag(MODELS)] | Annotated[list[str], Tag(NAMES)],
    Discriminator(kind_of, "models_or_names", "models with their rows, or a list of names, are needed"),
]


class Input(InputRows):
    """The impressions, or the lists if there is a truth.

    If the lists of each model are in separate places, ``models`` maps the name of each model to a ``path`` or
    ``table``, with the settings for reading it. Rows of several models are joined by group and item. If instead a
    column of one long table (``columns.model``) names the model of each row, ``models`` lists the names. Spark reads
    all rows in the time zone ``time_zone``, whatever the setting of the Spark session. ``grouped`` is the place of all
    rows of a group: in one of the ``files``, in one of the ``folders`` named ``key=value`` (or a partition of an
    Iceberg table, or a bucket of a table that Spark bucketed), or next to one another in one file (``sorted``). With
    ``unchecked`` after the word, this is not checked. With ``shuffle``, rows are shuffled. With ``auto``, they are
    shuffled unless folders, partitions or buckets divide them into large enough parts by columns of the group key.
    """

    columns: Columns
    models: _ModelRows | None = None
    time_zone: Annotated[str | None, AfterValidator(as_zone)] = None
    grouped: GroupedWord = "auto"

    @property
    def by_model(self) -> dict[str, InputRows]:
        """The rows by model, if the lists of each model are in a separate place; otherwise an empty mapping."""
        return self.models if isinstance(self.models, dict) else {}

    def _validate_source(self) -> None:
        if self.grouped not in BY_ITSELF and self.table is not None and self.format != ICEBERG:
            raise ValueError(
                f"has grouped {self.grouped}, but a table, which Spark reads: files named by path are needed"
            )
        column = self.columns.model_dump()["model"]
        if self.models is not None and not self.models:
            raise ValueError("has models without a model: name at least one")
        if isinstance(self.models, dict):
            beside = [name for name in InputRows.model_fields if name in self.model_fields_set]
            if beside:
                raise ValueError(f"has models and {beside[0].replace('ddl', 'schema')}: each model names its own")
            if column is not None:
                raise ValueError(f"has models with rows of their own, and columns.model {shorten(column)}: name one")
            return
        if (column is None) != (self.models is None):
            lacks = "models is no list of them" if self.models is None else "columns.model names no column"
            raise ValueError(
                f"is a long table of several models, but {lacks}: it needs models: [a, b] and columns.model"
            )
        super()._validate_source()


class Truth(InputRows):
    """The truth: the real acts of users, or judgments of items, joined to the lists by group and item."""

    columns: Annotated[TruthNames, BeforeValidator(as_keys)] = TruthNames()


class CatalogNames(Section):
    """The columns of the catalog.

    ``item`` is the column of the items, if its name differs from that in the lists. ``since`` is the column with the
    time at which an item appeared.
    """

    item: str | None = None
    since: str | None = None


class CatalogTable(InputRows):
    """The catalog: one row for each item. Metrics and slices name its columns as ``catalog.price``.

    The items and the columns in use, at most ``most_bytes`` (for example ``1GB``), are sent to every worker.
    """

    columns: Annotated[CatalogNames, BeforeValidator(as_keys)] = CatalogNames()
    most_bytes: Annotated[int, BeforeValidator(as_size)] = CATALOG_BYTES

    @model_validator(mode="after")
    def _no_expectation(self) -> CatalogTable:
        if self.expect is not None:
            raise ValueError("has expect, but a catalog is not the rows of a day")
        return self


class PastNames(_OfKeys):
    """The columns of a table of the past (what groups had before).

    ``group`` and ``item`` are those of the lists unless they are named here.
    """

    item: str | None = None


class PastRows(InputRows):
    """A table of the past (what groups had before), with a row for each time that a group had an item.

    If ``optional`` is true, the table may have no rows, as on the first day.
    """

    columns: Annotated[PastNames, BeforeValidator(as_keys)] = PastNames()
    optional: bool = False


class InteractionNames(PastNames):
    """The columns of the interactions.

    ``group`` and ``item`` are those of the lists unless they are named here. ``time`` is when a group had an item.
    """

    time: str | None = None


class TierSettings(Section):
    """The rule that puts items into tiers, from the most popular item down (:class:`Tiers`).

    An item is in the head if the items before it have a share of less than ``head``, and in the tail if these have a
    share of at least ``tail``. ``of`` is the measure of the shares.
    """

    of: TierMeasure = Tiers.of
    head: Annotated[float, BeforeValidator(as_number)] = Tiers.head
    tail: Annotated[float, BeforeValidator(as_number)] = Tiers.tail

    @property
    def tiers(self) -> Tiers:
        return Tiers.parse(self.model_dump())


class Interactions(PastRows):
    """The interactions (what groups had before), and the rule that puts their items into ``tiers`` of popularity.

    Instead of rows, ``states`` may name an output whose days contain counts of items (``output.popularity``). ``days``
    is then the number of days before the evaluated day, or a window ``first..last``. If ``optional`` is true, days may
    be missing.
    """

    columns: Annotated[InteractionNames, BeforeValidator(as_keys)] = InteractionNames()
    states: Annotated[Filled, AfterValidator(as_output), PlainSerializer(shown_url)] | None = None
    days: _DayCount | None = None
    tiers: TierSettings | None = None

    def _validate_source(self) -> None:
        if self.states is None:
            if self.days is not None:
                raise ValueError("has days, but no states: name the output whose days have counted items")
            super()._validate_source()
            return
        fields = {name: Interactions.model_fields[name] for name in PastRows.model_fields}
        defaults = {name: field.get_default(call_default_factory=True) for name, field in fields.items()}
        beside = [name for name, default in defaults.items() if name != "optional" and getattr(self, name) != default]
        if beside:
            own = beside[0].replace("ddl", "schema")
            raise ValueError(f"has states and {own}: stored days take the place of a table")
        if self.days is None:
            raise ValueError("has states, but no days: a number of days, or first..last, is needed")
        validate_no_password(self.states)


def _kind_of_excluded(value: object) -> str | None:
    return MODELS if isinstance(value, PastRows) else kind_of(value)


Excluded = Annotated[
    Annotated[Literal["interactions"], Tag(COLUMN)] | Annotated[PastRows, Tag(MODELS)],
    Discriminator(_kind_of_excluded, "interactions_or_rows", "interactions, or the place of a table, is needed"),
]


class DefinitionSettings(Section):
    """The rules that determine the meaning of metrics (:class:`sparkrank.metrics.Definitions`).

    ``preset`` names a library, whose rules and metric parameters apply unless the spec sets others. The default of
    ``duplicates`` depends on whether lists are joined with a truth. The default of ``ties`` is ``expected``. Metrics
    that cannot be averaged over the orders of tied rows then order tied rows by item. ``undefined`` sets the value of a
    group for which a metric is undefined, ``unretrieved`` the value of a group without a list, and ``unjudged`` the
    meaning of a row without a label. ``population`` selects the evaluated groups. ``positions`` are those after
    sorting, or the ranks of the input.
    """

    preset: str | None = None
    ties: str | None = None
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
        return Definitions(**self.model_dump(exclude={"preset"}, exclude_none=True))


class Nights(Section):
    """The number of nights over which the chance of a false alarm is spread."""

    nights: Annotated[int, BeforeValidator(as_whole)] = Field(ge=1, le=MOST_NIGHTS)


class UncertaintySettings(Section):
    """The confidence ``level`` of the intervals, and the choice of values with an interval.

    ``off: true`` leaves out the intervals that need parts of the groups, and these parts in the stored states.
    ``slices: false`` leaves out these intervals and parts for the values of slices. With ``sequential``, intervals
    remain valid if somebody looks at them every night. The value is ``true`` for windows that grow from a fixed first
    day, or a number of ``nights`` over which the chance of a false alarm is spread.
    """

    level: Annotated[float, BeforeValidator(as_number)] = Field(default=0.95, ge=LEAST_LEVEL, le=MOST_LEVEL)
    off: bool = False
    slices: bool = True
    sequential: Annotated[
        Annotated[bool, Tag(SWITCH)] | Annotated[Nights, Tag(NIGHTS)],
        Discriminator(looks_of, "true_or_nights", "true, false, or nights are needed"),
    ] = False

    @property
    def uncertainty(self) -> Uncertainty:
        return Uncertainty.of(self.model_dump())


class SliceSettings(Section):
    """A ``column`` of a slice, divided into the intervals between ``edges``: ``[18, 25]`` gives ``[18, 25)``.

    With ``top``, only this many values, those with the most groups, have rows of their own. The other values are pooled
    as ``(other)``. With ``of: relevant``, lists stay whole, and relevant rows of other values count as not relevant.
    """

    column: str
    edges: list[Annotated[float, BeforeValidator(as_number)]] | None = None
    top: Annotated[int | None, BeforeValidator(as_whole)] = None
    of: SlicedRowsWord = "rows"

    @property
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


SlicedColumn = Annotated[
    Annotated[str, Tag(COLUMN)] | Annotated[SliceSettings, Tag(SETTINGS)],
    Discriminator(column_kind_of, "column_or_settings", "a column, or a mapping with the key column, is needed"),
]


class CompareSettings(Section):
    """The ``baseline`` with which all other models are compared, and the correction of p-values.

    ``correction`` applies within each ``family`` of comparisons. Gates do not decide if the share of groups with a
    value of only one of two models exceeds ``most_unpaired``.
    """

    baseline: str
    correction: Correction = "holm"
    family: Family = "slice_column"
    most_unpaired: Annotated[float, BeforeValidator(as_number)] = Field(default=0.01, ge=0.0, le=1.0)

    @property
    def comparison(self) -> Comparison:
        return Comparison(**self.model_dump())


class Quality(Section):
    """Limits for the input. A day that exceeds one of them is not written.

    ``max_bad_fraction`` limits the share of rejected rows. ``limits`` maps the names of other checks in the table
    ``quality`` to limits on their shares or counts.
    """

    max_bad_fraction: _Number = Field(default=0.0, ge=0.0, le=1.0)
    limits: Annotated[dict[str, _Number], BeforeValidator(as_keys)] = Field(default_factory=dict)


class ReportSettings(Section):
    """The content of the report. ``keys: false`` hides the keys of single groups, which may identify persons."""

    keys: bool = True


class Engine(Section):
    """The lane that reads the rows, and the division of the work. The results do not depend on these settings.

    ``lane`` is the name of the lane, or ``auto`` for a choice by rule. ``buckets`` is the number of buckets, in place
    of ``bucket_rows``. ``bucket_rows`` is the approximate number of rows evaluated at once for up to eight models; more
    models use fewer rows. ``row_memory``, for example ``2GB`` or ``500MiB``, is the memory that the local lane uses for
    rows before it writes rows to disk.
    """

    lane: Annotated[str, BeforeValidator(as_lane)] = AUTO
    bucket_rows: Annotated[int, BeforeValidator(as_whole)] = Field(default=BUCKET_ROWS, ge=1, le=MOST_BUCKET_ROWS)
    buckets: Annotated[int | None, BeforeValidator(as_whole)] = Field(default=None, ge=1, le=MOST_BUCKETS)
    row_memory: Annotated[int | None, BeforeValidator(as_size)] = None

    @model_validator(mode="after")
    def _of_local(self) -> Engine:
        holding = row_memory_lanes()
        if self.row_memory is not None and self.lane not in holding:
            raise ValueError(f"has row_memory, but lane {self.lane}: only the lane {itemize(holding)} holds rows")
        return self
