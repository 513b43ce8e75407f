"""CSV and JSON lines, read by Arrow a block at a time: what Spark would read there, or a sentence that leaves it to it.

Files are looked through before they are read: Arrow and Spark agree on most texts, and where a text is one on which
they do not, Spark decides.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as pa_csv
from pyarrow import fs
from pyarrow import json as pa_json

from sparkrank.engines.arrow.conditions import Condition
from sparkrank.engines.arrow.csv_records import Block, Letters, count, line_ends
from sparkrank.engines.arrow.files import file_system, without_password
from sparkrank.engines.arrow.integrity import Stamp, unchanged
from sparkrank.engines.arrow.joined_types import validate_column
from sparkrank.engines.arrow.missing_columns import WRITE_NULL, FileColumns, columns_asked
from sparkrank.engines.arrow.sizes import MOST_BYTES
from sparkrank.engines.arrow.stored_files import StoredFiles
from sparkrank.engines.arrow.text_schema import (
    NO_NUMBER,
    WHOLE,
    Field,
    arrow_kind,
    fitting,
    is_set,
    number_kinds,
    option,
    typed,
    typed_columns,
)
from sparkrank.engines.crew import Crew
from sparkrank.errors import (
    FrameLaneNeededError,
    InputError,
    SparkrankError,
    did_you_mean,
    first_line,
    listed,
    shortened,
    unreadable,
)
from sparkrank.numeric.array_types import Flags
from sparkrank.roles import Roles

BLOCK = 2 << 20  # bytes that are looked through and parsed at once
MOST_RECORD = 64 << 20
# Arrow unpacks .gz, .bz2 and .zst as Hadoop does.
_PACKED_FOR_SPARK = (".lz4", ".snappy", ".deflate", ".zstd", ".lzo", ".br")
_UTF8 = ("utf-8", "utf8")
_ONE_BYTE = ("us-ascii", "ascii", "iso-8859-1", "latin1", "latin-1")
_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*")
_RECORD = re.compile(rb"[^\r\n]*[^\s][^\r\n]*")
_CSV_OPTIONS = ("header", "sep", "delimiter", "quote", "escape", "nullvalue", "encoding", "charset", "multiline")
_TYPED_OPTIONS = ("inferschema", "mode")
Reader: TypeAlias = Callable[[], Iterator[pa.Table]]


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written, with Spark's defaults."""

    header: bool
    sep: str
    quote: str
    escape: str
    null: str
    encoding: str
    multi_line: bool

    @classmethod
    def of(cls, options: Mapping[str, str], what: str) -> Dialect:
        """The dialect of Spark's ``options``; raises :class:`FrameLaneNeededError` where Arrow reads no such files."""
        sep = option(options, "sep") or option(options, "delimiter", ",")
        found = cls(
            is_set(options, "header"),
            "\t" if sep == "\\t" else sep,
            option(options, "quote", '"'),
            option(options, "escape", "\\"),
            option(options, "nullValue"),
            (option(options, "encoding") or option(options, "charset", "UTF-8")).lower(),
            is_set(options, "multiLine"),
        )
        for name, letter in (("sep", found.sep), ("quote", found.quote), ("escape", found.escape)):
            if len(letter.encode()) > 1 or letter in ("\r", "\n"):
                raise FrameLaneNeededError(
                    f"{what}.options.{name} is left to Spark: Arrow takes it for no single letter"
                )
        if found.encoding not in (*_UTF8, *_ONE_BYTE):
            raise FrameLaneNeededError(
                f"{what}.options.encoding is left to Spark (known to Arrow: {listed((*_UTF8, *_ONE_BYTE))})"
            )
        return found

    @property
    def letters(self) -> Letters:
        """Those by which records are told apart."""
        quote, escape = self.quote.encode(), self.escape.encode()
        return Letters(self.sep.encode(), quote, bool(quote) and escape == quote, self.multi_line)

    def fields(self, line: bytes) -> list[str]:
        """The fields of a line, the header's or the first."""
        text = line.removeprefix(_BOM).decode("utf-8" if self.encoding in _UTF8 else "latin-1")
        quote = self.quote or "\0"  # which no line has
        rows = csv.reader([text], delimiter=self.sep, quotechar=quote)
        return next(rows, [])


@dataclass(frozen=True)
class Columns:
    """The columns of files: the types in which Arrow reads them, and the kinds that they become, where it knows these.

    Of the ``numbers``, what is no value of the kind spoils its row.
    """

    stored: pa.Schema
    kinds: Mapping[str, str]
    numbers: frozenset[str]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, _type_of(self.stored.field(name).type, kind)) for name, kind in self.kinds.items()])


@dataclass(frozen=True)
class TextInput:
    """Files of a text format under one or several paths. A condition on their rows reads the columns ``asked``."""

    path: str
    store: fs.FileSystem
    files: tuple[str, ...]
    columns: Columns
    rows: int
    dialect: Dialect | None
    asked: frozenset[str]
    stamps: Mapping[str, Stamp]

    @property
    def schema(self) -> pa.Schema:
        return self.columns.schema

    def splits(self, columns: Sequence[str], where: Condition | None, split_rows: int) -> list[Reader]:
        """Readers of ``columns``, and of whether a text among them is no number; one for each file."""
        return [functools.partial(_read_file, self, file, tuple(columns), where, split_rows) for file in self.files]


def open_texts(
    path: str,
    kind: str,
    options: Mapping[str, str],
    fields: Sequence[Field] | None,
    where: str | None,
    roles: Roles,
    what: str,
) -> TextInput:
    """The CSV or JSON at ``path``, whose columns are those of a schema (``fields``), where there is one.

    Raises :class:`InputError` where nothing is there or files do not fit together, and :class:`FrameLaneNeededError`
    where Spark might read something else than Arrow does.
    """
    _validate_options(options, kind, where, what)
    stored = _stored(path, kind, what)
    store, files = file_system(path)[0], stored.listing.files
    words = frozenset(re.findall(r"\w+", where or ""))
    dialect = Dialect.of(options, what) if kind == "csv" else None
    with _reading_errors(f"the {what} {without_password(path)} cannot be read as {kind}"):
        if dialect is None:
            columns, rows = _look_at_json(store, files, fields, roles, where, what)
        else:
            columns, rows = _look_at_csv(store, files, dialect, fields, roles, what)
    asked = frozenset(
        name for name in columns.kinds if name in words or (not name.isidentifier() and name in str(where))
    )
    return TextInput(path, store, files, columns, rows, dialect, asked, stored.listing.stamps)


def _type_of(stored: pa.DataType, kind: str) -> pa.DataType:
    return arrow_kind(kind) if pa.types.is_string(stored) or kind in WHOLE else stored


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
        if file.endswith(_PACKED_FOR_SPARK):
            raise FrameLaneNeededError(f"{file} of the {what} is packed as Spark alone unpacks it")
    return stored


@contextmanager
def _reading_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise unreadable(what, error) from error


def _blocks(store: fs.FileSystem, file: str, end_of: Callable[[bytearray, int], int]) -> Iterator[memoryview]:
    """The bytes of ``file`` in blocks of whole records, unpacked and without a byte order mark.

    All stand in the same memory, one after the other: a block lasts until the next is asked for.
    """
    room, size, is_first = bytearray(2 * BLOCK), 0, True
    with store.open_input_stream(file) as stream:  # unpacks what its name says is packed
        while True:
            if size + BLOCK > len(room):
                room = room[:size] + bytearray(size + BLOCK)
            read = stream.readinto(memoryview(room)[size : size + BLOCK])
            size += read
            if is_first and room.startswith(_BOM):
                size -= len(_BOM)
                room[:size] = room[len(_BOM) : len(_BOM) + size]
            is_first = False
            if not read:
                break
            if end := end_of(room, size):
                yield memoryview(room)[:end].toreadonly()
                size -= end
                room[:size] = room[end : end + size]
            if size > MOST_RECORD:
                raise InputError(f"{file} has a record of more than {MOST_RECORD >> 20} MiB")
    if size:
        yield memoryview(room)[:size].toreadonly()


def _end_of_line(room: bytearray, size: int) -> int:
    """Where the last whole line of the first ``size`` bytes of ``room`` ends."""
    return (room.rfind(b"\n", 0, size) + 1) or (room.rfind(b"\r", 0, size) + 1)


# CSV


def _look_at_csv(
    store: fs.FileSystem,
    files: Sequence[str],
    dialect: Dialect,
    fields: Sequence[Field] | None,
    roles: Roles,
    what: str,
) -> tuple[Columns, int]:
    names: list[str] | None = None
    rows = 0
    for file, (first, of_file) in zip(files, _looked_at(store, files, dialect, fields, what), strict=True):
        rows += of_file
        if first is not None and names is not None and first != names:
            raise InputError(
                f"{file} of the {what} has the columns {listed(first)[:200]}, and {files[0]} has {listed(names)[:200]}"
            )
        names = names or first
    names = names or [field.name for field in fields or ()]
    for field in fields or ():
        if field.name not in names:
            near = did_you_mean(field.name, names)
            raise InputError(
                f'the column "{shortened(field.name)}" of {what}.schema is not in the {what}{near} ({listed(names)})'
            )
    kinds = _known_kinds(names, roles, fields, what)
    return Columns(pa.schema([(name, pa.string()) for name in names]), kinds, _numbers(roles, fields)), rows


def _looked_at(
    store: fs.FileSystem, files: Sequence[str], dialect: Dialect, fields: Sequence[Field] | None, what: str
) -> list[tuple[list[str] | None, int]]:
    """The columns of each of ``files``, None where it is empty, and about how many rows it has. On all cores.

    Raises what is wrong with the first of them that has something wrong, whichever was looked through first.
    """
    crew, wrong = Crew(), len(files)

    def look(place: int) -> tuple[list[str] | None, int] | SparkrankError:
        nonlocal wrong
        names: list[str] | None = None
        rows, file = 0, files[place]
        try:
            for block in _blocks(store, file, functools.partial(_end_of_record, dialect=dialect)):
                crew.moved()
                if crew.failed.is_set() or wrong < place:
                    break
                if names is None:
                    names = _names(block, dialect, fields, file, what)
                rows += _lines_read_alike(block, dialect, file, what) + 1
        except SparkrankError as error:
            wrong = min(wrong, place)
            return error
        return names, rows

    found = []
    for each in crew.all(pa.cpu_count(), look, range(len(files)), f"the {what} was looked through"):
        if isinstance(each, SparkrankError):
            raise each
        found.append(each)
    return found


def _known_kinds(names: Sequence[str], roles: Roles, fields: Sequence[Field] | None, what: str) -> dict[str, str]:
    """The kinds of columns; raises :class:`FrameLaneNeededError` where a role has one that only Spark knows."""
    kinds = typed_columns(names, roles, fields, {})
    declared = {field.name: field.kind for field in fields or ()}
    plain = {field.name: field for field in fields or () if field.is_plain}
    for role, title, column in roles.played():
        is_float = role.is_name and column in plain and plain[column].kind in ("float", "double")
        if is_float or (
            column in kinds and any(field.name == column for field in fields or ()) and column not in plain
        ):
            raise FrameLaneNeededError(
                f"the {title} column {column} is of type {declared[column]} in {what}.schema, which is left to Spark"
            )
    return {name: kind for name, kind in kinds.items() if name in plain or name not in {f.name for f in fields or ()}}


def _numbers(roles: Roles, fields: Sequence[Field] | None) -> frozenset[str]:
    """The columns of roles in which a text must be a value of its kind."""
    declared = {field.name for field in fields or () if field.is_plain and field.kind != "string"}
    return frozenset({*number_kinds(roles, fields), *(column for _, column in roles.columns() if column in declared)})


def _names(block: Block, dialect: Dialect, fields: Sequence[Field] | None, file: str, what: str) -> list[str]:
    found = _LINE.match(block)
    line = b"" if found is None else bytes(found[0])
    if not line.strip() or line.count(dialect.quote.encode() or b"\0") % 2:
        raise FrameLaneNeededError(f"{file} of the {what} begins with no whole line, which is left to Spark")
    fields_found = dialect.fields(line)
    if dialect.header:
        names = [name if name not in ("", dialect.null) else f"_c{index}" for index, name in enumerate(fields_found)]
        if len({name.lower() for name in names}) < len(names):
            raise FrameLaneNeededError(f"{file} of the {what} has two columns of one name, which Spark renames")
        return names
    if fields is None:
        return [f"_c{index}" for index in range(len(fields_found))]
    if len(fields_found) != len(fields):
        raise InputError(f"{file} of the {what} has {len(fields_found)} columns, and {what}.schema {len(fields)}")
    return [field.name for field in fields]


def _end_of_record(room: bytearray, size: int, dialect: Dialect) -> int:
    """Where the last whole record of the first ``size`` bytes of ``room`` ends."""
    end = _end_of_line(room, size)
    quote = dialect.quote.encode()
    while end and dialect.multi_line and quote and room.count(quote, 0, end) % 2:
        end = room.rfind(b"\n", 0, end - 1) + 1
    return end


def _lines_read_alike(block: Block, dialect: Dialect, file: str, what: str) -> int:
    """How many lines of ``block`` end; raises :class:`FrameLaneNeededError` where Arrow and Spark may differ on it."""
    quote, escape = dialect.quote.encode(), dialect.escape.encode()
    found = None
    if escape and escape != quote and count(block, escape):
        found = f"the letter {dialect.escape!r}, by which quotes are escaped"
    elif count(block, b"\0"):
        found = "bytes of 0"
    elif dialect.multi_line and count(block, b"\r"):
        found = "line ends of more than one letter and option multiLine"
    elif dialect.letters.has_loose_quote(block):
        found = f"quotes {dialect.quote!r} that do not enclose a field"
    lines = line_ends(block) if found is None else -1
    if lines < 0:
        raise FrameLaneNeededError(f"{file} of the {what} has {found or 'a line of blanks'}, which is left to Spark")
    return lines


def _csv_columns(
    texts: TextInput, dialect: Dialect, file: str, columns: Sequence[str], needed: Sequence[str]
) -> Iterator[tuple[pa.Table, Flags | None]]:
    """The ``columns`` of ``file``, and which rows have a text of those ``needed`` that is no number, where it is known.

    Loops read block after block, up to one that they leave to Arrow, which then reads all the rest.
    """
    done = 0
    if not dialect.null and dialect.encoding in _UTF8:
        names, kinds = texts.columns.stored.names, texts.columns.kinds
        asked = {name: kinds[name] if name in columns else None for name in names}
        numbers = texts.columns.numbers.intersection(needed)
        blocks = _blocks(texts.store, file, functools.partial(_end_of_record, dialect=dialect))
        for index, block in enumerate(blocks):
            read = dialect.letters.read(block, asked, numbers, header=dialect.header and not index)
            if read is None:
                break
            done += read[0].num_rows
            yield read
        else:
            return
    for table in _csv_tables(texts, dialect, file, columns):
        if table.num_rows > done:
            yield table.slice(done), None
        done = max(done - table.num_rows, 0)


def _has_records(texts: TextInput, dialect: Dialect, file: str) -> bool:
    """Whether ``file`` has more lines than its header, which may lack its end."""
    lines = (count(block, b"\n") + count(block, b"\r") for block in _blocks(texts.store, file, _end_of_line))
    return not dialect.header or any(lines)


def _csv_tables(texts: TextInput, dialect: Dialect, file: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    names = texts.columns.stored.names
    read = pa_csv.ReadOptions(
        use_threads=False,
        block_size=BLOCK,
        skip_rows=int(dialect.header),
        column_names=names,
        encoding="utf8" if dialect.encoding in _UTF8 else dialect.encoding,
    )
    parse = pa_csv.ParseOptions(
        delimiter=dialect.sep,
        quote_char=dialect.quote or False,
        double_quote=bool(dialect.quote) and dialect.escape == dialect.quote,
        escape_char=False,
        newlines_in_values=dialect.multi_line,
    )
    convert = pa_csv.ConvertOptions(
        include_columns=list(columns),
        column_types={name: pa.string() for name in names},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=not dialect.null,
    )
    with texts.store.open_input_stream(file) as stream:
        try:
            reader = pa_csv.open_csv(stream, read, parse, convert)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error) or not _has_records(texts, dialect, file):  # a header alone
                return
            raise
        for batch in reader:
            table = pa.Table.from_batches([batch])
            if dialect.null:
                nothing = pa.scalar(None, pa.string())
                nulled = [pc.if_else(pc.equal(column, dialect.null), nothing, column) for column in table.columns]
                table = pa.Table.from_arrays(nulled, schema=table.schema)
            yield table


# JSON


def _look_at_json(
    store: fs.FileSystem,
    files: Sequence[str],
    fields: Sequence[Field] | None,
    roles: Roles,
    where: str | None,
    what: str,
) -> tuple[Columns, int]:
    found: dict[str, set[str]] = {}
    keys: list[dict[str, None]] = []
    with_rows: list[str] = []
    rows = 0
    for file in files:
        before = rows
        keys.append({})
        for block in map(bytes, _blocks(store, file, _end_of_line)):
            table = _parsed(block, None, file, what)
            if table.num_rows not in (block.count(b"\n"), _records(block)):
                raise FrameLaneNeededError(f"{file} of the {what} has lines that are not one record each")
            rows += table.num_rows
            for field in table.schema:
                found.setdefault(field.name, set()).add(_json_kind(field.type))
                keys[-1][field.name] = None
        with_rows.append(file if rows > before else "")
    words = frozenset(re.findall(r"\w+", where or ""))
    declared = {field.name: field for field in fields or ()}
    for role, column in roles.columns() if fields is None else ():
        validate_column(role, column, list(found), what)
    of_files = FileColumns.of(list(map(list, keys)), with_rows, WRITE_NULL)
    of_files.validate_present(columns_asked(list(declared), roles, where), what)
    of_files.validate_has_columns(roles, what, where)
    is_name = {column: role.is_name for role, _, column in roles.played()}
    stored: list[tuple[str, pa.DataType]] = []
    for name in declared if fields is not None else found:
        if name in is_name or name in words:
            here = found.get(name, set()) - {"null"}
            stored.append((name, _json_type(name, here, declared.get(name), is_name.get(name, False), what)))
    names = [name for name, _ in stored]
    kinds = _known_kinds(names, roles, [each for each in fields or () if each.name in names] or None, what)
    return Columns(pa.schema(stored), kinds, _numbers(roles, fields)), rows


def _records(block: bytes) -> int:
    """The lines of ``block`` that are not empty."""
    return len(_RECORD.findall(block))


def _json_kind(kind: pa.DataType) -> str:
    if pa.types.is_null(kind):
        return "null"
    if pa.types.is_string(kind) or pa.types.is_timestamp(kind):  # Spark infers no instants
        return "string"
    return str(kind)


def _json_type(name: str, found: AbstractSet[str], declared: Field | None, is_name: bool, what: str) -> pa.DataType:
    """The type in which Arrow reads the column ``name``, whose values are of the kinds ``found``."""
    kind = None if declared is None or not declared.is_plain else declared.kind
    left = FrameLaneNeededError(
        f"the column {name} of the {what} holds {listed(sorted(found))}"
        f"{'' if declared is None else f', and is {declared.kind} in {what}.schema'}, which is left to Spark"
    )
    if found == {"int64", "double"}:
        found = {"double"}
    if len(found) > 1:
        raise left
    only = next(iter(found), "string")
    if only == "string":
        return pa.string()
    if only == "bool" and kind in (None, "boolean") and not is_name:
        return pa.bool_()
    if only == "int64" and (kind is None or kind in WHOLE):
        return pa.int64()
    if only in ("int64", "double") and (kind in ("float", "double") or (kind is None and not is_name)):
        return pa.float32() if kind == "float" else pa.float64()
    raise left


def _parsed(block: bytes, schema: pa.Schema | None, file: str, what: str) -> pa.Table:
    if not block.strip():
        return pa.table({})
    behavior = "infer" if schema is None else "ignore"
    try:
        return pa_json.read_json(
            io.BytesIO(block),
            pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=behavior),
        )
    except pa.ArrowInvalid as error:
        if any(words in str(error) for words in ("changed from", "specified twice", "too big")):
            raise FrameLaneNeededError(f"{file} of the {what} is left to Spark: {first_line(error)}") from None
        raise


def _json_tables(texts: TextInput, file: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    schema = pa.schema([texts.columns.stored.field(name) for name in columns])
    for block in map(bytes, _blocks(texts.store, file, _end_of_line)):
        table = _parsed(block, schema, file, "input")
        if table.num_rows:
            yield table.select(list(columns))


# Both


def _read_file(
    texts: TextInput, file: str, columns: Sequence[str], where: Condition | None, batch_rows: int
) -> Iterator[pa.Table]:
    """The ``columns`` of the rows of ``file`` that ``where`` holds for, in tables of about ``batch_rows`` rows."""
    read = [*columns, *(texts.asked.difference(columns) if where is not None else ())]
    parts: list[pa.Table] = []
    rows = size = 0
    with _reading_errors(f"{file} cannot be read"), unchanged(texts.store, file, texts.stamps.get(file)):
        dialect = texts.dialect
        of_json = ((table, None) for table in _json_tables(texts, file, read))
        of_csv = None if dialect is None else _csv_columns(texts, dialect, file, read, columns)
        for table, spoiled in of_csv or of_json:
            part = _evaluated(table, spoiled, texts.columns, columns, where)
            parts.append(part)
            rows, size = rows + part.num_rows, size + part.nbytes
            if rows >= batch_rows or size >= MOST_BYTES:
                yield pa.concat_tables(parts)
                parts, rows, size = [], 0, 0
    if rows:
        yield pa.concat_tables(parts)


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
