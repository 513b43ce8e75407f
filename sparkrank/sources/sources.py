"""What Arrow reads: Parquet files or a table in memory, as splits of rows that have the columns of a bucket."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from sparkrank.base.errors import CodedSentence, InputError, first_line, shortened
from sparkrank.inputs.field_paths import Place, nan_ratings, places, with_nan_ratings
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.columns import bucket_rows, bucket_schema, check_arrow_schema, needed_columns
from sparkrank.sources.conditions import Condition
from sparkrank.sources.files import without_password
from sparkrank.sources.joined_types import check_joined
from sparkrank.sources.nested import columns_at, shape_of, taken_type
from sparkrank.sources.parquet import ParquetInput, read_split
from sparkrank.sources.sizes import as_rows, bytes_of_elements, elements_in, in_parts, plain_bytes, stored_bytes
from sparkrank.sources.stored_files import validate_same_spelling
from sparkrank.sources.text_files import LARGE, TextInput, read_share
from sparkrank.sources.types import plain_schema

SplitReader: TypeAlias = Callable[[], Iterator[pa.Table]]


class Split(NamedTuple):
    """What reads a split of some rows, of which the ``first`` has this number; a split has as many numbers as rows."""

    first: int
    read: SplitReader


MOST_ROWS = 1 << 40  # of a split of texts
SideSplit: TypeAlias = tuple[int, Split]  # 0 for impressions, 1 for the truth, and a split of them


@dataclass(frozen=True)
class Source:
    """A table in memory, or files of Parquet or text, of which the rows that ``where`` holds for are read."""

    data: ParquetInput | TextInput | pa.Table
    where: Condition | None = None
    nested: Mapping[str, Place] = field(default_factory=dict)

    @classmethod
    def of(
        cls, data: ParquetInput | TextInput | pa.Table, roles: Roles, what: str, where: Condition | None = None
    ) -> Source:
        """What :class:`Source` says, with the places of columns of ``roles`` that lie inside of others.

        Raises :class:`InputError` where one of these names no place, or it is not plain which; ``what`` has them.
        """
        return cls(data, where, places(roles, {each.name: shape_of(each.type) for each in data.schema}, what))

    @property
    def schema(self) -> pa.Schema:
        """The columns with those inside of others, under the names by which roles ask for them."""
        schema: pa.Schema = self.data.schema
        schema = plain_schema(schema) if isinstance(self.data, pa.Table) else schema
        for name, place in self.nested.items():
            asked = pa.field(name, taken_type(self.data.schema.field(place.column).type, place.steps))
            schema = schema.set(schema.names.index(name), asked) if name in schema.names else schema.append(asked)
        return schema

    @property
    def rows(self) -> int:
        """Rows before any condition."""
        return int(self.data.num_rows if isinstance(self.data, pa.Table) else self.data.rows)

    def bucket_rows(self, columns: list[str], arrays: Sequence[str] = ()) -> int:
        """The bucket rows that these make, one for each element of ``arrays``, where there are some.

        A row of long texts in ``columns`` counts as several.
        """
        data, stored = self.data, self._stored(columns)
        if isinstance(data, pa.Table):
            return as_rows(self._elements(arrays), plain_bytes(data.select(stored)))
        if isinstance(data, TextInput):
            return self.rows
        return as_rows(data.bucket_rows(self._stored(arrays)), stored_bytes(data.fragments, stored))

    def splits(self, columns: list[str], split_rows: int, arrays: Sequence[str] = ()) -> list[Split]:
        """Readers of ``columns``, each of rows that make about ``split_rows`` bucket rows; they travel to tasks."""
        data = self.data
        if isinstance(data, pa.Table):
            at = self._at(self._and_ratings(columns))
            table = data.select(list(dict.fromkeys(place.column for place in at.values())))
            step = max(1, split_rows * table.num_rows // max(1, self._elements(arrays)))
            starts = range(0, table.num_rows, step)
            return [Split(start, functools.partial(_slice, table, start, step, at)) for start in starts]
        if isinstance(data, TextInput):
            at = self._at(self._and_ratings(columns))
            return [  # nobody knows yet how many rows each has: fewer than MOST_ROWS
                Split(index * MOST_ROWS, functools.partial(read_share, share, data.schema, at, self.where, split_rows))
                for index, share in enumerate(data.shares(split_rows))
            ]
        splits = data.splits(split_rows, self.where, self._stored(arrays))
        columns, nested = self._and_ratings(columns), self._places
        firsts = itertools.accumulate((split.rows for split in splits), initial=0)
        return [
            Split(first, functools.partial(read_split, split, data.schema, columns, self.where, nested))
            for first, split in zip(firsts, splits, strict=False)
        ]

    def read(self, columns: list[str]) -> pa.Table:
        """The ``columns`` of a table in memory."""
        return columns_at(self.data, self._at(self._and_ratings(columns)))

    def _stored(self, columns: Sequence[str]) -> list[str]:
        """The columns of the data that have ``columns``, or what these lie in."""
        return list(dict.fromkeys(place.column for place in self._at(columns).values()))

    def _elements(self, arrays: Sequence[str]) -> int:
        """The elements of ``arrays`` in a table in memory, or its rows where it has more."""
        return elements_in(self.read(list(arrays)), arrays) if arrays else self.rows

    @functools.cached_property
    def _places(self) -> dict[str, Place]:
        return with_nan_ratings(self.nested)

    def _and_ratings(self, columns: list[str]) -> list[str]:
        """``columns``, and of items that have a rating how many of these are NaN."""
        return columns + [beside for name in columns if (beside := nan_ratings(name)) in self._places]

    def _at(self, columns: Sequence[str]) -> dict[str, Place]:
        return {name: self._places.get(name, Place(name, ())) for name in columns}


@dataclass(frozen=True)
class Sides:
    """An impression log, or lists and the truth beside them, with the roles of their columns."""

    impressions: Source
    truth: Source | None
    roles: Roles

    @property
    def rows(self) -> int:
        """Bucket rows of all sides before any condition, one of long texts counted as several."""
        return sum(
            source.bucket_rows(list(dict.fromkeys(column for _, column in roles.columns())), roles.arrays)
            for source, roles in self._pairs()
        )

    @property
    def warnings(self) -> list[str]:
        """A sentence for each file of text that is too large for one reader."""
        texts = [source.data for source, _ in self._pairs() if isinstance(source.data, TextInput)]
        return [
            CodedSentence(
                "large_text_file",
                f"{without_password(file)} is read from its beginning to its end by one task: store it in pieces below "
                f"{LARGE >> 30} GiB, or as Parquet",
            )
            for data in texts
            for file in data.large_files
        ]

    def check(self, plan: Plan) -> None:
        """Raise :class:`sparkrank.base.errors.InputError` for a column that is missing or cannot play its role."""
        check_arrow_schema(self.impressions.schema, self.roles, plan)
        if self.truth is not None and self.roles.truth is not None:
            check_arrow_schema(self.truth.schema, self.roles.truth, plan, "truth")
            check_joined(self.impressions.schema, self.truth.schema, self.roles)
            lists, truth = self.impressions.data, self.truth.data
            if not isinstance(lists, pa.Table) and not isinstance(truth, pa.Table):
                validate_same_spelling(lists.folders, truth.folders, self.roles)

    def schema(self, plan: Plan) -> pa.Schema:
        """The schema of every row of a bucket."""
        return bucket_schema([(source.schema, roles) for source, roles in self._pairs()], plan)

    def splits(self, plan: Plan, split_rows: int) -> list[SideSplit]:
        """Splits of all sides, each of which travels to the task that reads it."""
        return [
            (side, split)
            for side, (source, roles) in enumerate(self._pairs())
            for split in source.splits(needed_columns(roles, plan), split_rows, roles.arrays)
        ]

    def reader(self, plan: Plan) -> Callable[[SideSplit], Iterator[pa.Table]]:
        """What reads any split of :meth:`splits` as rows with the columns of a bucket; it travels to all tasks."""
        return functools.partial(_bucket_rows, [roles for _, roles in self._pairs()], plan, self.schema(plan))

    def _pairs(self) -> Sequence[tuple[Source, Roles]]:
        if self.truth is None or self.roles.truth is None:
            return [(self.impressions, self.roles)]
        return [(self.impressions, self.roles), (self.truth, self.roles.truth)]


def _bucket_rows(sides: Sequence[Roles], plan: Plan, schema: pa.Schema, split: SideSplit) -> Iterator[pa.Table]:
    side, (first, read) = split
    roles = sides[side]
    names = [column for role, _, column in roles.played() if role.is_name]
    size = bytes_of_elements(roles.arrays, names) if roles.arrays else None
    for table in itertools.chain.from_iterable(in_parts(whole, size) for whole in read()):
        try:
            made = bucket_rows(table, roles, plan, first)
            first += table.num_rows
            made = [rows if rows.schema == schema else rows.cast(schema) for rows in made]
        except pa.ArrowInvalid as error:
            what = ("the lists", "the truth")[side] if plan.joins else "the input"
            raise InputError(f"a value of {what} cannot be evaluated: {shortened(first_line(error))}") from error
        yield from made


def _slice(table: pa.Table, start: int, rows: int, at: Mapping[str, Place]) -> Iterator[pa.Table]:
    for part in in_parts(table.slice(start, rows)):
        yield columns_at(part, at)
