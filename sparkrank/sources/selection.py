"""Selections of the rows of a source by a condition, with the columns that have roles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from sparkrank.base.errors import FrameLaneNeededError, SpecError, shorten
from sparkrank.inputs.field_paths import Place, places
from sparkrank.inputs.role_table import MODEL, TIME
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.colocation import Colocation, FileSet
from sparkrank.sources.columns import bucket_schema, bucket_tables, check_schema, key_rows, needed_columns
from sparkrank.sources.conditions import Condition, UntranslatableError, pushed_down
from sparkrank.sources.formats import opener_of
from sparkrank.sources.joined_types import check_joined
from sparkrank.sources.lakes import HUDI
from sparkrank.sources.nested import nested_schema, shape_of
from sparkrank.sources.protocol import FileSplit, Partitioning, Source, Split
from sparkrank.sources.reader_options import spark_package
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.stored_files import validate_present
from sparkrank.sources.values import is_array

SideSplit: TypeAlias = tuple[int, Split]  # the number of a side, and a split of that side

MOST_DIGITS = 38  # of a decimal that Spark reads


@dataclass(frozen=True)
class Selection:
    """The rows of ``source`` that meet the condition ``where``.

    ``inner_places`` maps the name of each column with a role inside another column to its place. ``what`` is the name
    of the input in messages, such as truth.
    """

    source: Source
    where: Condition | None = None
    inner_places: Mapping[str, Place] = field(default_factory=dict)
    what: str = "input"

    @classmethod
    def of(cls, source: Source, roles: Roles, what: str, where: Condition | None = None) -> Selection:
        """Return the selected rows of ``source``, the input named ``what`` in messages, with nested columns located."""
        shapes = {column.name: shape_of(column.type) for column in source.schema}
        return cls(source, where, places(roles, shapes, what), what)

    @classmethod
    def open(cls, side: SideRows, roles: Roles, plan: Plan, opened: dict[str, Source]) -> Selection:
        """Open the rows of ``side`` (an input or a truth) without Spark.

        Add the source to ``opened``, in place, so that a lane that is tried later need not open it again.

        Raise :class:`FrameLaneNeededError` if only Spark can read the rows, and the errors of an
        :data:`~sparkrank.sources.protocol.Opener`.
        """
        what = side.what
        open_source = opener_of(side)
        if open_source is None:
            if side.path is not None and side.format == HUDI:
                package = spark_package(HUDI)
                raise FrameLaneNeededError(f"{what}.format is hudi, which Spark reads with the package {package}")
            raise FrameLaneNeededError(f"the {what} is not plain Parquet named by path")
        validate_present(side.paths, side.format, what)
        source = opened[what] = open_source(side, roles)
        return cls.checked(source, side, roles, plan)

    @classmethod
    def checked(cls, source: Source, side: SideRows, roles: Roles, plan: Plan) -> Selection:
        """Return the rows of ``side`` in its opened ``source``. Raise the errors of :meth:`open`."""
        what, where = side.what, side.where
        selection = cls.of(source, roles, what, _condition(where, source, what))
        check_schema(selection.schema, roles, plan, what)
        source.check(roles, where)
        if source.leaves_to_spark:
            _validate_types(selection.schema, roles)
        return selection

    @property
    def schema(self) -> pa.Schema:
        """The schema of all columns. A column inside another column is called as in the roles."""
        return nested_schema(self.source.schema, self.inner_places)

    def bucket_rows(self, columns: Sequence[str], arrays: Sequence[str] = ()) -> int:
        """Return the number of rows of the source before any condition, counted as in :meth:`Source.rows`.

        Each row of ``arrays`` yields one row for each element.
        """
        stored = dict.fromkeys(place.column for place in self._at(columns).values())
        return self.source.rows(list(stored), self._at(arrays))

    def splits(
        self, columns: Sequence[str], split_rows: int, arrays: Sequence[str] = (), few: str | None = None
    ) -> list[Split]:
        """Return splits of about ``split_rows`` bucket rows that read ``columns``.

        The column ``few`` contains few distinct strings, so a split may return it dictionary-encoded.
        """
        return self.source.splits(self._places(columns, few), split_rows, self.where, self._at(arrays))

    def files(self, columns: Sequence[str], batch_rows: int, few: str | None = None) -> list[FileSplit]:
        """Return splits of one file each that read ``columns``, in tables of about ``batch_rows`` rows."""
        return self.source.files(self._places(columns, few), batch_rows, self.where)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read all rows of ``columns`` as one table, for callers with all rows in memory anyway."""
        tables = [table for split in self.splits(columns, max(1, self.source.rows((), {}))) for table in split.read()]
        return pa.concat_tables(tables) if tables else pa.schema(map(self.schema.field, columns)).empty_table()

    def narrowed(self, holds: Callable[[pa.Schema], Sequence[pa.compute.Expression]]) -> Selection:
        """Return a selection that may skip rows for which an expression returned by ``holds(schema)`` is false."""
        if not self.source.pushes_conditions:
            return self
        stored = [column for column in self.source.schema if column.name not in self.inner_places]
        where = self.where or Condition(None, None)
        for expression in holds(pa.schema(stored)):
            both = expression if where.row_group_filter is None else where.row_group_filter & expression
            where = replace(where, row_group_filter=both)
        return replace(self, where=where)

    def _places(self, columns: Sequence[str], few: str | None) -> dict[str, Place]:
        return {name: replace(place, few=name == few) for name, place in self._at(columns).items()}

    def _at(self, columns: Sequence[str]) -> dict[str, Place]:
        return {name: self.inner_places.get(name, Place(name, ())) for name in columns}


def _condition(where: str | None, source: Source, what: str) -> Condition | None:
    """Translate ``where`` to a condition that Arrow can evaluate. Raise an error if only Spark can evaluate it."""
    try:
        return None if where is None else pushed_down(where, source.schema)
    except UntranslatableError as error:
        problem = f"{what}.where needs Spark's SQL"
        if source.leaves_to_spark:
            raise FrameLaneNeededError(f"{problem}: {error}") from None
        raise SpecError(f"{problem} ({error}): lane: frame reads the {what} with Spark") from None


def _validate_types(schema: pa.Schema, roles: Roles) -> None:
    """Raise :class:`FrameLaneNeededError` for a column type whose values Spark and Arrow read differently."""
    for role, title, column in roles.in_use():
        kind = schema.field(column).type
        if not (_is_of_every_lane(kind) or (role is TIME and pa.types.is_timestamp(kind))):
            problem = f"the {title} column {shorten(column)} is of type {shorten(kind)}"
            raise FrameLaneNeededError(f"{problem}, which Spark and Arrow read differently")


def _is_of_every_lane(kind: pa.DataType) -> bool:
    if is_array(kind):
        return _is_of_every_lane(kind.value_type)
    number = pa.types.is_signed_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    number = number or (pa.types.is_decimal(kind) and kind.precision <= MOST_DIGITS)
    return bool(number or text or pa.types.is_boolean(kind) or pa.types.is_date32(kind))


@dataclass(frozen=True)
class Sides:
    """All inputs of an evaluation with the roles of their columns: a log, or lists (of one or all models) and truth."""

    pairs: Sequence[tuple[Selection, Roles]]
    roles: Roles

    @classmethod
    def open(
        cls, sides: Sequence[tuple[SideRows, Roles]], roles: Roles, plan: Plan, opened: dict[str, Source]
    ) -> Sides:
        """Open every input with :meth:`Selection.open`."""
        return cls([(Selection.open(side, of_side, plan, opened), of_side) for side, of_side in sides], roles)

    @property
    def rows(self) -> int:
        """The number of bucket rows of all inputs before any condition. A row with long strings counts as several."""
        return sum(
            selection.bucket_rows(list(dict.fromkeys(column for _, column in roles.columns())), roles.arrays)
            for selection, roles in self.pairs
        )

    @property
    def warnings(self) -> list[str]:
        """Warnings about properties of the inputs that slow reading down."""
        return [sentence for selection, _ in self.pairs for sentence in selection.source.warnings]

    def check(self, plan: Plan) -> None:
        """Raise :class:`InputError` for a column that is missing or does not fit its role."""
        for selection, roles in self.pairs:
            check_schema(selection.schema, roles, plan, selection.what)
        (first, of_first), *others = self.pairs
        name = first.what if plan.long else "lists"
        for selection, roles in others:
            check_joined(first.schema, selection.schema, of_first, roles, (name, selection.what))

    def schema(self, plan: Plan) -> pa.Schema:
        """Return the schema of bucket rows, which is the same for all inputs."""
        return bucket_schema([(selection.schema, roles) for selection, roles in self.pairs], plan)

    def splits(self, plan: Plan, split_rows: int) -> list[SideSplit]:
        """Return the splits of all inputs. The driver sends each split only to the task that reads it."""
        return [
            (side, split)
            for side, (selection, roles) in enumerate(self.pairs)
            for split in selection.splits(
                needed_columns(roles, plan), split_rows, roles.arrays, roles.row_columns.get(MODEL.key)
            )
        ]

    @property
    def group_partitions(self) -> list[Partitioning]:
        """The partitionings of all inputs by values made of group columns with the same name in all inputs.

        Floating-point columns do not count: 0.0 and -0.0 are one group, but may be in two partitions.
        """
        columns = set()
        for names in zip(*(roles.group for _, roles in self.pairs), strict=True):
            kinds = [selection.schema.field(name).type for (selection, _), name in zip(self.pairs, names, strict=True)]
            if len(set(names)) == 1 and not any(map(pa.types.is_floating, kinds)):
                columns.add(names[0])
        return [
            {name: made_of for name, made_of in way.items() if columns.issuperset(made_of)}
            for selection, _ in self.pairs
            for way in selection.source.partitionings
        ]

    def file_sets(self, plan: Plan, colocation: Colocation, batch_rows: int) -> list[FileSet]:
        """Return the files of all inputs in sets of whole groups by ``colocation``."""
        return colocation.file_sets(
            [
                selection.files(needed_columns(roles, plan), batch_rows, roles.row_columns.get(MODEL.key))
                for selection, roles in self.pairs
            ]
        )

    def key_reader(self, plan: Plan, batch_rows: int) -> Callable[[int, str], Iterator[pa.Table]]:
        """Return a function that reads only the group keys of a file, given the number of its input and its path."""
        schema = self.schema(plan)
        files = {
            (side, file.path): (roles, file)
            for side, (selection, roles) in enumerate(self.pairs)
            for file in selection.files(list(dict.fromkeys(roles.group)), batch_rows)
        }

        def read(side: int, path: str) -> Iterator[pa.Table]:
            roles, file = files[side, path]
            for rows in file.read():
                keys = key_rows(rows, roles)
                yield keys.cast(pa.schema(map(schema.field, keys.column_names)))

        return read

    def reader(self, plan: Plan) -> Callable[[SideSplit], Iterator[pa.Table]]:
        """Return a function for all tasks that reads a split from :meth:`splits` as bucket rows."""
        return partial(_bucket_rows, [roles for _, roles in self.pairs], plan, self.schema(plan))

    def narrowed(self, holds: Callable[[Roles, pa.Schema], Sequence[pa.compute.Expression]]) -> Sides:
        """Return all inputs. Each may skip rows by ``holds`` (see :meth:`Selection.narrowed`)."""
        narrowed = [(part.narrowed(partial(holds, roles)), roles) for part, roles in self.pairs]
        return replace(self, pairs=narrowed)


def _bucket_rows(sides: Sequence[Roles], plan: Plan, schema: pa.Schema, split: SideSplit) -> Iterator[pa.Table]:
    side, (first, read) = split
    return bucket_tables(read(), sides[side], plan, schema, first)
