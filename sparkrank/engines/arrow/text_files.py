"""CSV and JSON lines, read by Arrow a block at a time: what Spark would read there, or a sentence that leaves it to it.

Files are looked through before they are read: Arrow and Spark agree on most texts, and where a text is one on which
they do not, Spark decides. Both are done part by part, by the threads of this process or by the tasks of a session.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from sparkrank.engines.arrow.conditions import Condition, UntranslatableError, pushed_down
from sparkrank.engines.arrow.csv_files import CsvLook, Dialect, csv_columns, csv_tables, first_names, look_at_csv
from sparkrank.engines.arrow.files import file_system, without_password
from sparkrank.engines.arrow.integrity import unchanged
from sparkrank.engines.arrow.json_files import JsonLook, json_columns, json_tables, look_at_json
from sparkrank.engines.arrow.sizes import MOST_BYTES
from sparkrank.engines.arrow.stored_files import StoredFiles
from sparkrank.engines.arrow.text_columns import Columns
from sparkrank.engines.arrow.text_parts import PACKED, SHARED_FILES, Part, parts_of, reading_errors
from sparkrank.engines.arrow.text_schema import NO_NUMBER, WHOLE, Field, arrow_kind, fitting, is_set, typed
from sparkrank.engines.crew import Crew
from sparkrank.errors import FrameLaneNeededError, SparkrankError, listed
from sparkrank.numeric.array_types import Flags
from sparkrank.roles import Roles

# Others than those that Arrow unpacks as Hadoop does.
_PACKED_FOR_SPARK = (".lz4", ".snappy", ".deflate", ".zstd", ".lzo", ".br")
_CSV_OPTIONS = ("header", "sep", "delimiter", "quote", "escape", "nullvalue", "encoding", "charset", "multiline")
_TYPED_OPTIONS = ("inferschema", "mode")
Reader: TypeAlias = Callable[[], Iterator[pa.Table]]
PartLook: TypeAlias = CsvLook | JsonLook
# What a part has, as far as the function that it is given wants to know it; an error is a value, so that it travels.
Look: TypeAlias = Callable[[Part, Callable[[], bool]], PartLook | SparkrankError]


class Lookers(Protocol):
    """Who looks through parts side by side."""

    def __call__(self, look: Look, parts: Sequence[Part], doing: str) -> list[PartLook | SparkrankError]:
        """What ``look`` finds in each of ``parts``, in their order, up to an error; ``doing`` says it in sentences."""


@dataclass(frozen=True)
class TextReader:
    """How parts of files become tables. A condition on their rows reads the columns ``asked``."""

    store: fs.FileSystem
    columns: Columns
    dialect: Dialect | None
    asked: frozenset[str]

    def tables(
        self, parts: Sequence[Part], columns: Sequence[str], where: Condition | None, batch_rows: int
    ) -> Iterator[pa.Table]:
        """The ``columns`` of the rows of ``parts`` that ``where`` holds for, in tables of about ``batch_rows`` rows.

        Another column says whether a text among them is no number.
        """
        read: list[pa.Table] = []
        rows = size = 0
        for table in itertools.chain.from_iterable(self._of_part(part, columns, where) for part in parts):
            read.append(table)
            rows, size = rows + table.num_rows, size + table.nbytes
            if rows >= batch_rows or size >= MOST_BYTES:
                yield pa.concat_tables(read)
                read, rows, size = [], 0, 0
        if rows:
            yield pa.concat_tables(read)

    def _of_part(self, part: Part, columns: Sequence[str], where: Condition | None) -> Iterator[pa.Table]:
        read = [*columns, *(self.asked.difference(columns) if where is not None else ())]
        with reading_errors(f"{part.file} cannot be read"), unchanged(self.store, part.file, part.stamp):
            if self.dialect is None:
                for table in json_tables(self.store, part, self.columns, read):
                    yield _evaluated(table, None, self.columns, columns, where)
            else:
                for table, spoiled in csv_tables(self.store, part, self.dialect, self.columns, read, columns):
                    yield _evaluated(table, spoiled, self.columns, columns, where)


@dataclass(frozen=True)
class TextInput:
    """Files of a text format, as ``parts`` of about so many ``rows_of_parts`` each."""

    reader: TextReader
    parts: tuple[Part, ...]
    rows_of_parts: tuple[int, ...]

    @property
    def schema(self) -> pa.Schema:
        return self.reader.columns.schema

    @property
    def rows(self) -> int:
        return sum(self.rows_of_parts)

    def splits(self, columns: Sequence[str], where: Condition | None, split_rows: int) -> list[Reader]:
        """Readers of ``columns``, and of whether a text among them is no number, each of about ``split_rows`` rows."""
        shares: list[list[Part]] = []
        sum_of_share = 0
        for part, rows in zip(self.parts, self.rows_of_parts, strict=True):
            if not shares or sum_of_share + rows > split_rows or len(shares[-1]) == SHARED_FILES:
                shares.append([])
                sum_of_share = 0
            shares[-1].append(part)
            sum_of_share += rows
        return [
            functools.partial(self.reader.tables, tuple(share), tuple(columns), where, split_rows) for share in shares
        ]


def look_in_threads(look: Look, parts: Sequence[Part], doing: str) -> list[PartLook | SparkrankError]:
    """What :class:`Lookers` says, by a thread for each core of this process.

    Nobody looks at what is behind a part that has something wrong, so the first is told, whoever was faster.
    """
    crew, wrong = Crew(), len(parts)

    def look_at(place: int) -> PartLook | SparkrankError:
        nonlocal wrong

        def goes_on() -> bool:
            crew.moved()
            return not crew.failed.is_set() and place <= wrong

        found = look(parts[place], goes_on)
        if isinstance(found, SparkrankError):
            wrong = min(wrong, place)
        return found

    return crew.all(pa.cpu_count(), look_at, range(len(parts)), doing)


def open_texts(
    path: str,
    kind: str,
    options: Mapping[str, str],
    fields: Sequence[Field] | None,
    where: str | None,
    roles: Roles,
    what: str,
    lookers: Lookers = look_in_threads,
) -> TextInput:
    """The CSV or JSON at ``path``, whose columns are those of a schema (``fields``), where there is one.

    ``lookers`` look through the files. Raises :class:`InputError` where nothing is there or files do not fit together,
    and :class:`FrameLaneNeededError` where Spark might read something else than Arrow does.
    """
    _validate_options(options, kind, where, what)
    stored = _stored(path, kind, what)
    store, listing = file_system(path)[0], stored.listing
    dialect = Dialect.of(options, what) if kind == "csv" else None
    parts = parts_of(listing.files, listing.stamps, by_line=dialect is None or not dialect.multi_line)
    if dialect is not None:
        _validate_header(store, parts[0], dialect, fields, where, roles, what)
    look = functools.partial(_looked_at, store, dialect, fields, what)
    looks: list[tuple[Part, PartLook]] = []
    found = lookers(look, parts, f"the {what} was looked through")
    for part, each in zip(parts, found, strict=False):
        if isinstance(each, SparkrankError):
            raise each
        looks.append((part, each))
    if dialect is None:
        of_json = [(part, each) for part, each in looks if isinstance(each, JsonLook)]
        columns = json_columns(of_json, fields, roles, where, what)
    else:
        of_csv = [(part, each) for part, each in looks if isinstance(each, CsvLook)]
        columns = csv_columns(of_csv, fields, roles, what)
    words = frozenset(re.findall(r"\w+", where or ""))
    asked = frozenset(
        name for name in columns.kinds if name in words or (not name.isidentifier() and name in str(where))
    )
    return TextInput(TextReader(store, columns, dialect, asked), parts, tuple(each.rows for _, each in looks))


def translated(where: str | None, schema: pa.Schema, what: str) -> Condition | None:
    """``where`` over columns of ``schema``; raises :class:`FrameLaneNeededError` where only Spark can decide it."""
    try:
        return None if where is None else pushed_down(where, schema)
    except UntranslatableError as error:
        raise FrameLaneNeededError(f"{what}.where needs Spark's SQL: {error}") from None


def _validate_header(
    store: fs.FileSystem,
    part: Part,
    dialect: Dialect,
    fields: Sequence[Field] | None,
    where: str | None,
    roles: Roles,
    what: str,
) -> None:
    """Raise what the columns of the first file have wrong, before all files are looked through for nothing."""
    with reading_errors(f"{without_password(part.file)} of the {what} cannot be read as csv"):
        names = first_names(store, part, dialect, fields, what)
    if names is not None:
        translated(where, csv_columns([(part, CsvLook(0, names))], fields, roles, what).schema, what)


def _looked_at(
    store: fs.FileSystem,
    dialect: Dialect | None,
    fields: Sequence[Field] | None,
    what: str,
    part: Part,
    goes_on: Callable[[], bool],
) -> PartLook | SparkrankError:
    """What ``part`` has, or what is wrong with it."""
    kind = "json" if dialect is None else "csv"
    try:
        with reading_errors(f"{without_password(part.file)} of the {what} cannot be read as {kind}"):
            if dialect is None:
                return look_at_json(store, part, what, goes_on)
            return look_at_csv(store, part, dialect, fields, what, goes_on)
    except SparkrankError as error:
        return error


def _validate_options(options: Mapping[str, str], kind: str, where: str | None, what: str) -> None:
    known = (*_CSV_OPTIONS, *_TYPED_OPTIONS) if kind == "csv" else _TYPED_OPTIONS[1:]
    for name in options:
        if name.lower() not in known:
            raise FrameLaneNeededError(f"{what}.options.{name} is Spark's alone (known to Arrow: {listed(known)})")
    if is_set(options, "inferSchema") and where is not None:
        raise FrameLaneNeededError(f"{what}.where asks for columns whose types Spark infers")


def _stored(path: str, kind: str, what: str) -> StoredFiles:
    stored = StoredFiles.at(path, what, kind)
    if names := stored.folder_columns(True).schema.names:
        raise FrameLaneNeededError(
            f"the {what} has columns in the names of folders ({listed(names)}): Spark reads these"
        )
    for file in stored.listing.files:
        name = file.lower()  # Hadoop does not tell letters by their case
        if name.endswith(_PACKED_FOR_SPARK) or (name.endswith(PACKED) and not file.endswith(PACKED)):
            raise FrameLaneNeededError(f"{file} of the {what} is packed as Spark alone unpacks it")
    return stored


def _evaluated(
    table: pa.Table, known: Flags | None, of: Columns, columns: Sequence[str], where: Condition | None
) -> pa.Table:
    """The rows of ``table`` with columns of their kinds, and whether what stands in ``columns`` is no such value.

    Of columns that have their kinds already, that is ``known``.
    """
    spoiled = pa.chunked_array([pa.repeat(False, table.num_rows) if known is None else pa.array(known)])
    values: dict[str, pa.ChunkedArray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = of.kinds[name]
        if pa.types.is_string(column.type):
            values[name] = typed(column, kind)
        else:
            values[name] = fitting(column, kind) if kind in WHOLE and column.type != arrow_kind(kind) else column
        if name in of.numbers and name in columns and values[name] is not column:
            spoiled = pc.or_(spoiled, pc.and_(pc.is_valid(column), pc.is_null(values[name])))
    found = pa.table({**values, NO_NUMBER: spoiled})
    for condition in () if where is None else (where.of_groups, where.of_rows):
        found = found if condition is None else found.filter(condition)
    return found.select([*columns, NO_NUMBER])
