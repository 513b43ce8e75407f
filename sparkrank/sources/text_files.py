"""CSV files and files of JSON lines, read by Arrow with column types from the schema or the roles."""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import csv as pa_csv
from pyarrow import json as pa_json

from sparkrank.base.errors import CodedSentence, InputError, SpecError, hint, itemize, shorten, unreadable
from sparkrank.inputs.field_paths import Place
from sparkrank.inputs.roles import Roles
from sparkrank.sources.arrow_scan import filtered, gathered, in_splits
from sparkrank.sources.conditions import Condition
from sparkrank.sources.files import without_password
from sparkrank.sources.folders import folder_values
from sparkrank.sources.integrity import Stamp, unchanged
from sparkrank.sources.joined_types import HEADER_REMEDY
from sparkrank.sources.missing_columns import READING_THREADS, lacking_columns, outer_column, validate_columns
from sparkrank.sources.nested import columns_at
from sparkrank.sources.protocol import FileSplit, Partitioning, Split
from sparkrank.sources.stored_files import StoredFiles
from sparkrank.sources.text_schema import DdlField, arrow_type, is_set, option, typed_columns
from sparkrank.sources.values import is_array

if TYPE_CHECKING:
    from sparkrank.sources.side_rows import SideRows

BLOCK = 2 << 20  # bytes that are parsed at once; no record may be longer
LARGE = 1 << 30  # bytes of a file that are too many for one reader
MOST_SHARED = 64  # files that one task reads
SAMPLE = 64 << 10  # bytes from which the length of records is estimated
PACKED, RATIO = (".gz", ".bz2", ".zst", ".lz4"), 5  # compressed files, and their growth when Arrow unpacks them
MOST_ROWS = 1 << 40  # more rows than a split has, as their number is unknown before reading
_OPTIONS = {
    "csv": ("header", "sep", "delimiter", "quote", "escape", "nullValue", "encoding", "charset", "multiLine", "mode"),
    "json": ("mode",),
}
# Words that Arrow puts before its reason, and the number of a record within a block of JSON, which says little.
_NOISE = re.compile(r"Could not open \w+ input source '.*?': (?:Invalid|IOError): | in row \d+", re.DOTALL)
_CSV_COLUMN = re.compile(r"In CSV column #(?P<column>\d+): Row #(?P<row>\d+): (?P<rest>.*)", re.DOTALL)
EXACT = 2.0**53  # up to here, doubles have all whole numbers
_BEYOND = re.compile(r"Failed to convert JSON to int64, couldn't parse:(-?\d+)\Z")
_AS_TEXTS = ": write its numbers as texts, in quotes, or lane: frame reads them with Spark"
_REMEDY = ", so write null where there is no value, or name the types of all columns in {}.schema"


class TextContentError(InputError):
    """The error for files with unreadable content. No lane tries another reader, because its rows could differ."""


@dataclass(frozen=True)
class TextSplit:
    """The files that one task reads, with their stamps (size and time) at the time of listing.

    ``names`` lists the columns of keys, items and other names whose types Arrow has inferred.
    """

    fragments: tuple[ds.FileFragment, ...]
    stamps: tuple[Stamp | None, ...]
    options: ds.FragmentScanOptions  # fragments lose these when they are sent to a task
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TextInput:
    """The source of CSV or JSON files. ``lacking`` maps a column's name to a file whose beginning lacks the column."""

    pushes_conditions: ClassVar[bool] = False
    leaves_to_spark: ClassVar[bool] = False

    schema: pa.Schema
    fragments: tuple[ds.FileFragment, ...]
    lacking: Mapping[str, str]
    stored: StoredFiles
    options: ds.FragmentScanOptions
    rows_per_byte: float
    remedy: str = ""
    names: frozenset[str] = frozenset()

    @classmethod
    def open(cls, side: SideRows, roles: Roles) -> TextInput:
        _validate_options(side.options, side.format, side.what)
        stored = StoredFiles.at(str(side.path), side.what, side.format)
        try:
            return cls._of_files(stored, side, roles)
        except InputError as error:
            raise TextContentError(error) from error

    @classmethod
    def _of_files(cls, stored: StoredFiles, side: SideRows, roles: Roles) -> TextInput:
        kind, what, fields = side.format, side.what, side.fields
        declared = {field.name: field.kind for field in fields or ()}
        folders = pa.schema(
            [
                field.with_type(arrow_type(field.name, declared[field.name], what)) if field.name in declared else field
                for field in stored.folder_columns(side.partition_types)
            ]
        )
        if fields is not None:
            fields = tuple(field for field in fields if field.name not in folders.names)
        json = ds.JsonFileFormat(read_options=pa_json.ReadOptions(block_size=BLOCK))
        reader = json if kind == "json" else _csv_format(side.options, what, fields or ())
        fragments = stored.fragments(reader, folders)
        if kind == "csv" and fields is None and not is_set(side.options, "header"):
            width = len(_first_columns(fragments[0], kind, what))
            unnamed = [DdlField(f"_c{index}", "string") for index in range(width)]
            fragments = stored.fragments(reader := _csv_format(side.options, what, unnamed), folders)
        with ThreadPoolExecutor(READING_THREADS) as pool:
            schemas = list(pool.map(lambda fragment: _first_columns(fragment, kind, what), fragments))
        names = list(dict.fromkeys(name for columns in schemas for name in columns.names))
        # a JSON record may lack a field without a role
        read = None if kind == "csv" else {outer_column(column, names) for _, column in roles.columns()}
        for field in fields or ():
            if field.name not in names and names and (read is None or field.name in read):
                lacks = f'the column "{shorten(field.name)}" of {what}.schema is not in the {what}'
                raise InputError(f"{lacks}{hint(field.name, names, '')}")
        lacking = lacking_columns([columns.names for columns in schemas], stored.listing.files)
        if kind == "json" and fields is not None:  # a record without a key that the schema declares has null there
            lacking, names = {}, [field.name for field in fields]
        if kind == "json" and fields is None:
            schema = _inferred(schemas, roles, what)
        else:
            kinds = typed_columns(names, roles, fields)
            schema = pa.schema([(name, arrow_type(name, text, what)) for name, text in kinds.items()])
        schema = pa.schema([*(column for column in schema if column.name not in folders.names), *folders])
        with _reading_errors(fragments[0].path, kind, what):
            rows_per_byte = _rows_per_byte(fragments[0], b"," if roles.arrays else b"\n")
        remedy = _REMEDY.format(what) if kind == "json" else ""
        inferred = roles.in_use() if kind == "json" and fields is None else ()
        names_of = frozenset(column for role, _, column in inferred if role.is_name or role.is_array)
        options = reader.default_fragment_scan_options
        return cls(schema, fragments, lacking, stored, options, rows_per_byte, remedy, names_of)

    @property
    def partitionings(self) -> list[Partitioning]:
        return [{name: (name,) for name in folder_values(self.fragments[0])}]

    @property
    def warnings(self) -> list[str]:
        return [
            CodedSentence(
                "large_text_file",
                f"{without_password(file)} is read from its beginning to its end by one task: store it in pieces below "
                f"{LARGE >> 30} GiB, or as Parquet",
            )
            for file, (size, _) in self.stored.listing.stamps.items()
            if size > LARGE
        ]

    def check(self, roles: Roles, where: str | None) -> None:
        validate_columns(self.lacking, self.schema.names, roles, self.stored.what, where, self.remedy)

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:  # noqa: ARG002
        return sum(self._rows_of(fragment.path) for fragment in self.fragments)

    def splits(
        self,
        places: Mapping[str, Place],
        split_rows: int,
        where: Condition | None,
        arrays: Mapping[str, Place],  # noqa: ARG002
    ) -> list[Split]:
        return [
            Split(index * MOST_ROWS, functools.partial(read_texts, split, self.schema, places, where, split_rows))
            for index, split in enumerate(self.file_splits(split_rows))
        ]

    def files(self, places: Mapping[str, Place], batch_rows: int, where: Condition | None) -> list[FileSplit]:
        stamps, files = self.stored.listing.stamps, []
        for file in self.fragments:
            split = TextSplit((file,), (stamps.get(file.path),), self.options)
            read = functools.partial(read_texts, split, self.schema, places, where, batch_rows)
            files.append(FileSplit(file.path, self._rows_of(file.path), folder_values(file), read))
        return files

    def file_splits(self, split_rows: int) -> list[TextSplit]:
        """Return one split of files per task, largest first. Small files are combined."""
        stamps = self.stored.listing.stamps
        sized = ((file, self._rows_of(file.path)) for file in self.fragments)
        return [
            TextSplit(tuple(files), tuple(stamps.get(file.path) for file in files), self.options, self.names)
            for files in in_splits(sized, split_rows, MOST_SHARED)
        ]

    def _rows_of(self, file: str) -> int:
        size, _ = self.stored.listing.stamps.get(file, (0, 0))
        return int(size * self.rows_per_byte * (RATIO if file.endswith(PACKED) else 1)) + 1


def read_texts(
    split: TextSplit, schema: pa.Schema, places: Mapping[str, Place], where: Condition | None, batch_rows: int
) -> Iterator[pa.Table]:
    """Read the columns at ``places`` for the rows that meet ``where``, in tables of about ``batch_rows`` rows."""
    columns = list(dict.fromkeys(place.column for place in places.values()))
    names = {name: place for name, place in places.items() if name in split.names}

    def batches() -> Iterator[pa.RecordBatch]:
        settings = {"schema": schema, "fragment_scan_options": split.options, "batch_readahead": 2}
        for file, stamp in zip(split.fragments, split.stamps, strict=True):
            with (
                _reading_errors(file.path),
                _named_columns(file, split.options, schema),
                unchanged(file.filesystem, file.path, stamp),
            ):
                for batch in filtered(functools.partial(file.to_batches, **settings), columns, where):
                    if isinstance(file.format, ds.JsonFileFormat):  # Arrow's JSON reader accepts invalid UTF-8
                        batch.validate(full=True)
                        if names:
                            _validate_exact(batch, names)
                    yield batch

    for table in gathered(batches(), batch_rows):
        yield columns_at(table, places)


def _validate_exact(batch: pa.RecordBatch, names: Mapping[str, Place]) -> None:
    """Raise an error if a column of ``names`` has doubles too large to tell neighbouring whole numbers apart."""
    columns = columns_at(pa.Table.from_batches([batch]), names)
    for name in columns.column_names:
        values = pc.list_flatten(columns[name]) if is_array(columns[name].type) else columns[name]
        if pa.types.is_floating(values.type) and (largest := pc.max(pc.abs(values)).as_py() or 0.0) >= EXACT:
            digits = f"near {largest:.0f}, of which doubles keep the first digits alone"
            raise pa.ArrowInvalid(f'the column "{shorten(name)}" has whole numbers {digits}{_AS_TEXTS}')


def _validate_options(options: Mapping[str, str], kind: str, what: str) -> None:
    known = _OPTIONS[kind]
    for name in options:
        if name.lower() not in map(str.lower, known):
            problem = f"{what}.options.{name} is none of Arrow's reader of {kind}{hint(name, known, 'known')}"
            raise SpecError(f"{problem}: leave it out, or lane: frame reads the {what} with Spark")


def _csv_format(options: Mapping[str, str], what: str, fields: Sequence[DdlField]) -> ds.CsvFileFormat:
    has_header = is_set(options, "header")
    sep = option(options, "sep") or option(options, "delimiter", ",")
    letters = {
        "sep": "\t" if sep == "\\t" else sep,
        "quote": option(options, "quote", '"'),
        "escape": option(options, "escape"),
    }
    for name, letter in letters.items():
        if len(letter.encode()) > 1 or letter in ("\r", "\n"):
            raise SpecError(f"{what}.options.{name} is {shorten(letter)!r}: a single letter of ASCII is needed")
    encoding = option(options, "encoding") or option(options, "charset", "utf8")
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise SpecError(f"{what}.options.encoding is {shorten(encoding)}, which is not a known encoding") from None
    quote, escape = letters["quote"], letters["escape"]
    return ds.CsvFileFormat(
        pa_csv.ParseOptions(
            delimiter=letters["sep"],
            quote_char=quote or False,
            double_quote=bool(quote) and escape in ("", quote),
            escape_char=escape if escape not in ("", quote) else False,
            newlines_in_values=is_set(options, "multiLine"),
        ),
        convert_options=pa_csv.ConvertOptions(
            null_values=["", option(options, "nullValue")], strings_can_be_null=True, quoted_strings_can_be_null=True
        ),
        read_options=pa_csv.ReadOptions(
            block_size=BLOCK,
            encoding=encoding,
            column_names=[] if has_header else [field.name for field in fields],
            autogenerate_column_names=not fields and not has_header,
        ),
    )


def _first_columns(fragment: ds.FileFragment, kind: str, what: str) -> pa.Schema:
    with _reading_errors(fragment.path, kind, what):
        columns = fragment.physical_schema
        _ = columns.names  # invalid UTF-8 fails here
        if kind == "json" and not _has_line_end(fragment):
            raise InputError(
                f"{without_password(fragment.path)} of the {what} has no line end, so Arrow would read only nulls: "
                "end each record with a line end"
            )
        return columns


def _has_line_end(fragment: ds.FileFragment) -> bool:
    """Return whether a line of the file ends. In a file without line ends, Arrow 26 finds keys but loses all values."""
    with fragment.filesystem.open_input_stream(fragment.path) as stream:
        return any(b"\n" in part or b"\r" in part for part in iter(functools.partial(stream.read, SAMPLE), b""))


def _inferred(schemas: Sequence[pa.Schema], roles: Roles, what: str) -> pa.Schema:
    """Return the schema that Arrow infers from the first block of each JSON file, with doubles for numeric roles."""
    try:
        inferred = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise unreadable(f"the files of the {what} differ", error, f": {what}.schema says which type it is") from error
    numbers = {column for role, _, column in roles.in_use() if role.takes[-1] in ("number", "label", "numbers")}
    return pa.schema([(field.name, _json_type(field.type, field.name, numbers)) for field in inferred])


def _json_type(kind: pa.DataType, name: str, numbers: set[str]) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_json_type(kind.value_type, name, numbers))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _json_type(field.type, f"{name}.{field.name}", numbers)) for field in kind])
    if name in numbers and (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        return pa.float64()
    return pa.string() if pa.types.is_null(kind) or pa.types.is_timestamp(kind) else kind


def _rows_per_byte(fragment: ds.FileFragment, mark: bytes) -> float:
    """Estimate the number of bucket rows per byte of a file by counting ``mark`` at the beginning of the file."""
    with fragment.filesystem.open_input_stream(fragment.path) as stream:
        sample: bytes = stream.read(SAMPLE)
    return (sample.count(mark) + 1) / max(1, len(sample))


@contextmanager
def _named_columns(file: ds.FileFragment, options: ds.FragmentScanOptions, schema: pa.Schema) -> Iterator[None]:
    """Context manager that names the column in Arrow's errors about CSV values and large numbers of JSON."""
    try:
        yield
    except pa.ArrowInvalid as error:
        if beyond := _BEYOND.search(str(error)):
            whole = itemize(column.name for column in schema if column.type == pa.int64())
            raise pa.ArrowInvalid(f"a column among {whole} has {beyond[1]}, beyond 64 bits{_AS_TEXTS}") from error
        numbered = _CSV_COLUMN.search(str(error))
        if numbered is None:
            raise
        remedy = HEADER_REMEDY if numbered["row"] == "1" and options.read_options.column_names else ""
        name = shorten(file.physical_schema.names[int(numbered["column"])])
        raise pa.ArrowInvalid(f'in the column "{name}", row {numbered["row"]}: {numbered["rest"]}{remedy}') from error


@contextmanager
def _reading_errors(file: str, kind: str | None = None, what: str | None = None) -> Iterator[None]:
    """Context manager that re-raises Arrow and storage errors as sparkrank errors that name ``file``."""
    place = without_password(file) + ("" if what is None else f" of the {what}")
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{place} was deleted while the job ran") from None
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        said = type(error)(_NOISE.sub("", str(error))) if isinstance(error, (pa.ArrowInvalid, OSError)) else error
        raise unreadable(f"{place} cannot be read{'' if kind is None else f' as {kind}'}", said) from error
