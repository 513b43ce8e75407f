"""The parts of the document: their keys, types and defaults. Every part refuses unknown keys."""

from __future__ import annotations

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
    NIGHTS,
    NOTHING,
    POINTS,
    SWITCH,
    as_filled,
    as_format,
    as_keys,
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
    as_zone,
    kind_of,
    looks_of,
    validate_no_password,
)
from sparkrank.engines.lanes import row_memory_lanes
from sparkrank.engines.request import AUTO
from sparkrank.engines.spark.files import FILE_FORMATS
from sparkrank.inputs.buckets import BUCKET_ROWS, MOST_BUCKET_ROWS, MOST_BUCKETS
from sparkrank.inputs.day_marks import check_name, check_sql
from sparkrank.inputs.role_table import RoleSide, row_roles
from sparkrank.metrics import Definitions, find_preset
from sparkrank.metrics.plan import MOST_CURVE_POINTS
from sparkrank.metrics.uncertainty import LEAST_LEVEL, MOST_LEVEL, MOST_NIGHTS, Comparison, Family, Uncertainty
from sparkrank.sources.folders import PartitionTypes
from sparkrank.sources.text_schema import STRICT, TEXT_FORMATS, DdlField, fields_of, is_set, option
from sparkrank.stats.corrections import Correction
from sparkrank.tables.commit.days import local_path

KEEP_RUNS, MOST_KEPT_RUNS = 1, 100

_Number = Annotated[float, BeforeValidator(as_number)]
_Filled = Annotated[str, AfterValidator(as_filled)]
# A union whose kind is chosen by the value, so that an error concerns that kind alone.
_ByModel = Annotated[
    Annotated[str, Tag(COLUMN)] | Annotated[dict[str, str], Tag(MODELS)],
    Discriminator(kind_of, "column_or_models", "a column, or models with a column each, are needed"),
]
_Points = Annotated[
    Annotated[int, Field(ge=10, le=MOST_CURVE_POINTS), Tag(POINTS)] | Annotated[Literal[False], Tag(NOTHING)],
    Discriminator(kind_of, "points_or_none", "a whole number from 10, or false, is needed"),
]


class Section(BaseModel):
    """A part of the document."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


def with_row_roles(name: str, base: type[Section], side: RoleSide | None = None) -> type[Section]:
    """``base`` with a column for each role of rows, so that the document has all roles of the table."""
    fields: dict[str, Any] = {role.key: (str | None, None) for role in row_roles(side)}
    return create_model(name, __base__=base, **fields)


class _OfScores(Section):
    group: Annotated[list[str] | None, BeforeValidator(as_list)] = None
    score: _ByModel | None = None
    rank: _ByModel | None = None
    label: str | None = None


class _OfKeys(Section):
    group: Annotated[list[str] | None, BeforeValidator(as_list)] = None


if TYPE_CHECKING:
    _OfRows: TypeAlias = _OfScores
    _OfTruth: TypeAlias = _OfKeys
else:
    _OfRows, _OfTruth = with_row_roles("_OfRows", _OfScores), with_row_roles("_OfTruth", _OfKeys, "both")


class Columns(_OfRows):
    """Which column plays which role. ``score`` is a column, or a mapping of model names to columns.

    Without ``group`` all rows are together, and no metric is of groups. ``rank`` stands in place of ``score`` where
    lower is better. ``label`` is None where there is a truth, or no metric reads labels. ``weight``
    multiplies what a row counts in pooled metrics. ``cluster`` is who stands behind a group, as the user behind a
    session. With ``items`` and ``true_items``, a row is a whole group with arrays of items.
    """

    items: _ByModel | None = None
    true_items: str | None = None
    relevance: str = "membership"


class TruthNames(_OfTruth):
    """The columns of the truth: group and item where its names differ from those of the lists, and its label.

    ``cluster`` is needed where groups are in no list. Without ``label`` every row has label 1.
    """

    label: str | None = None


class Expect(Section):
    """What the rows of a complete day have, without which nothing is written.

    ``marker`` is a file, as ``_SUCCESS``, in each folder that the path stands for; ``min_rows`` the least rows read;
    ``min_fraction_of_yesterday`` the least share of those that the run of the day before has read. A first day has no
    such run, which is a warning.
    """

    marker: _Filled | None = None
    min_rows: Annotated[int | None, BeforeValidator(as_whole)] = Field(default=None, ge=1)
    min_fraction_of_yesterday: Annotated[float | None, BeforeValidator(as_number)] = Field(default=None, gt=0, le=1)

    @model_validator(mode="after")
    def _something(self) -> Expect:
        if self.marker is None and self.min_rows is None and self.min_fraction_of_yesterday is None:
            raise ValueError(f"expects nothing: name {itemize(type(self).model_fields)}")
        if self.marker is not None and "/" in self.marker:
            raise ValueError(f"has the marker {quote(self.marker)}: the name of a file is needed, without folders")
        return self


class InputRows(Section):
    """Where rows are: files at ``path``, or a ``table`` of the catalog, narrowed by the SQL of ``where``.

    Marks as ``{date}`` stand for days (:mod:`sparkrank.inputs.day_marks`). ``options`` go to Spark's reader of the
    ``format``; nobody is shown those that are not known to be harmless. ``schema`` gives the columns of CSV and JSON
    their types, in Spark's DDL. ``partition_types`` says of which types the values in the names of folders are:
    ``inferred`` from all of them, or ``text``, which keeps ``007`` from ``7``.
    """

    path: Annotated[_Filled, AfterValidator(as_rows), PlainSerializer(shown_url)] | None = None
    table: Annotated[_Filled, AfterValidator(as_marked(check_name)), PlainSerializer(shown_url)] | None = None
    format: Annotated[str, AfterValidator(as_format)] = "parquet"
    ddl: Annotated[str | None, AfterValidator(as_schema)] = Field(default=None, alias="schema")
    options: Annotated[dict[str, str], BeforeValidator(as_options), PlainSerializer(shown_options)] = Field(
        default_factory=dict, repr=False
    )
    where: Annotated[_Filled, AfterValidator(as_marked(check_sql)), PlainSerializer(redact)] | None = None
    partition_types: PartitionTypes = "inferred"
    expect: Expect | None = None

    @model_validator(mode="after")
    def _one_source(self) -> InputRows:
        if (self.path is None) == (self.table is None):
            given = "neither a path nor a table" if self.path is None else "a path and a table"
            raise ValueError(f"names {given}: one of the two is needed")
        validate_no_password(self.path)
        validate_no_password(self.table)  # a path too: parquet.`s3a://...`
        if self.path is None or self.format.lower() not in FILE_FORMATS:  # other formats are more than files
            read = f"format {self.format}" if self.table is None else f"table {self.table}"
            if self.partition_types == "text":
                raise ValueError(f"has partition_types text, but {read}, whose columns have types of their own")
            if self.expect is not None and self.expect.marker is not None:
                raise ValueError(f"has expect.marker, but {read}, which says by itself what is whole")
        self._validate_reading()
        return self

    def _validate_reading(self) -> None:
        """Refuse settings that only CSV and JSON have, and settings that would drop rows of these uncounted."""
        is_text = self.path is not None and self.format in TEXT_FORMATS
        if self.ddl is not None and not is_text:
            kind = f"format {self.format}" if self.table is None else "a table"
            raise ValueError(f"has a schema, but is of {kind}: {' and '.join(TEXT_FORMATS)} have no types of their own")
        mode = option(self.options, "mode", STRICT["mode"])
        if is_text and mode.upper() != STRICT["mode"]:
            told = "has another options.mode, by which rows are dropped or lose values uncounted"
            raise ValueError(f"{told} (allowed: {STRICT['mode']})")
        for name in self.options if is_text else ():
            if name.lower() in ("nanvalue", "positiveinf", "negativeinf", "columnpruning"):
                raise ValueError(f"has options.{name}, but numbers are read by one rule: nan and inf are known as such")
        if is_text and is_set(self.options, "inferSchema"):
            raise ValueError("has options.inferSchema, but types are those of the roles or of schema: leave it out")

    @property
    def fields(self) -> tuple[DdlField, ...] | None:
        """The columns of the schema."""
        return None if self.ddl is None else fields_of(self.ddl)


class Input(InputRows):
    """The impressions, or the lists where a truth stands beside them.

    ``time_zone`` is that in which Spark reads both, whatever its session says.
    """

    columns: Columns
    time_zone: Annotated[str | None, AfterValidator(as_zone)] = None


class Truth(InputRows):
    """What users really did, or what was judged, to be joined to the lists by group and item."""

    columns: Annotated[TruthNames, BeforeValidator(as_keys)] = TruthNames()


class DefinitionSettings(Section):
    """Settings of the evaluation that change what its numbers mean (:class:`sparkrank.metrics.Definitions`).

    ``preset`` names a library; it sets those that are not given, and parameters of the metrics. The document, which
    knows whether lists are joined with a truth, writes the default of ``duplicates``.
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


class Nights(Section):
    """How many nights share the chance of an error."""

    nights: Annotated[int, BeforeValidator(as_whole)] = Field(ge=1, le=MOST_NIGHTS)


class UncertaintySettings(Section):
    """Which values get an interval, and of which ``level``; ``off`` leaves the parts out of the stored states.

    ``sequential`` is for those who look every night: ``true`` for windows that grow from a first day, or the number of
    ``nights`` over which the chance of an error is spent.
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


class CompareSettings(Section):
    """The model that all others are compared with, and how p-values are corrected within which family.

    Above the share ``most_unpaired`` of groups in which one of two models alone is defined, gates do not decide.
    """

    baseline: str
    correction: Correction = "holm"
    family: Family = "slice_column"
    most_unpaired: Annotated[float, BeforeValidator(as_number)] = Field(default=0.01, ge=0.0, le=1.0)

    @property
    def comparison(self) -> Comparison:
        return Comparison(**self.model_dump())


class Quality(Section):
    """What the input may be like. Above ``max_bad_fraction`` of rejected rows, nothing is written.

    Nor is it above the ``limits`` of other checks of the table ``quality``, by their names: shares, or counts.
    """

    max_bad_fraction: _Number = Field(default=0.0, ge=0.0, le=1.0)
    limits: Annotated[dict[str, _Number], BeforeValidator(as_keys)] = Field(default_factory=dict)


class Output(Section):
    """Where the tables go, and which of the large ones are written.

    ``curves`` is about how many points of each ROC and PR curve are written, or ``false``. ``keep_runs`` is how many of
    the runs that a day has shown before stay for readers that have their files open, until ``sparkrank clean``.
    ``plain`` asks for real folders in place of links, for programs that follow none. ``report`` asks for the page that
    people open, which a run writes beside its tables.
    """

    path: Annotated[_Filled, AfterValidator(as_output), PlainSerializer(shown_url)]
    groups: bool = True
    blocks: bool = True
    curves: _Points = 1000
    keep_runs: Annotated[int, BeforeValidator(as_number)] = Field(default=KEEP_RUNS, ge=0, le=MOST_KEPT_RUNS)
    plain: bool = False
    report: bool = False

    @model_validator(mode="after")
    def _no_password_and_plain_of_links(self) -> Output:
        validate_no_password(self.path)
        if self.plain and local_path(self.path) is None:
            where = "on local and mounted file systems alone links would show the tables"
            raise ValueError(f"has plain, but path {shorten(self.path)}: {where}")
        return self


class Engine(Section):
    """By which lane the rows come, and how the work is cut. Results do not depend on either.

    ``bucket_rows`` are about those that are evaluated at once, of up to eight models; with more models they are fewer.
    ``row_memory``, as ``2GB`` or ``500MiB``, is how much of the rows the local lane holds before they go to disk.
    """

    lane: Annotated[str, BeforeValidator(as_lane)] = AUTO
    bucket_rows: Annotated[int, BeforeValidator(as_number)] = Field(default=BUCKET_ROWS, ge=1, le=MOST_BUCKET_ROWS)
    buckets: Annotated[int | None, BeforeValidator(as_number)] = Field(default=None, ge=1, le=MOST_BUCKETS)
    row_memory: Annotated[int | None, BeforeValidator(as_size)] = None

    @model_validator(mode="after")
    def _of_local(self) -> Engine:
        holding = row_memory_lanes()
        if self.row_memory is not None and self.lane not in holding:
            raise ValueError(f"has row_memory, but lane {self.lane}: only the lane {itemize(holding)} holds rows")
        return self
