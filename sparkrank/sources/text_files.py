"""CSV and JSON lines, read by Arrow with the types that the schema, or the roles of columns, give them.

The reader is Arrow's whatever a file holds: what it refuses stops the evaluation.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import csv as pa_csv
from pyarrow import json as pa_json

from sparkrank.base.errors import InputError, SpecError, did_you_mean, listed, shortened, unreadable
from sparkrank.inputs.field_paths import Place
from sparkrank.inputs.roles import Roles
from sparkrank.sources.conditions import Condition, UntranslatableError, pushed_down
from sparkrank.sources.files import without_password
from sparkrank.sources.folders import FolderColumns
from sparkrank.sources.integrity import Stamp, unchanged
from sparkrank.sources.missing_columns import READING_THREADS, FileColumns, columns_asked, json_columns
from sparkrank.sources.nested import columns_at
from sparkrank.sources.scanning import filtered, gathered
from sparkrank.sources.stored_files import StoredFiles, validate_spelled_once
from sparkrank.sources.text_schema import Field, arrow_type, is_set, option, typed_columns

BLOCK = 2 << 20  # bytes that are parsed at once; no record is longer
LARGE = 1 << 30  # bytes of a file that are too many for one reader
MOST_SHARED = 64  # files that one task reads
SAMPLE = 64 << 10  # bytes that tell how long records are
PACKED, RATIO = (".gz", ".bz2", ".zst", ".lz4"), 5  # which Arrow unpacks, to about so many times the bytes
_OPTIONS = {
    "csv": ("header", "sep", "delimiter", "quote", "escape", "nullValue", "encoding", "charset", "multiLine", "mode"),
    "json": ("mode",),
}
# What Arrow says before, and the number of a record within a block of JSON, which nobody knows the place of.
_NOISE = re.compile(r"Could not open \w+ input source '.*?': Invalid: | in row \d+", re.DOTALL)


@dataclass(frozen=True)
class Share:
    """Files that one task reads, and their stamps, by which it knows whether they changed since they were listed."""

    fragments: tuple[ds.FileFragment, ...]
    stamps: tuple[Stamp | None, ...]
    options: ds.FragmentScanOptions  # which fragments lose where they travel


@dataclass(frozen=True)
class TextInput:
    """Files of CSV or JSON with the schema that holds for all of them.

    ``folders`` are the columns of folders. A byte of an unpacked file makes about ``rows_per_byte`` bucket rows.
    """

    schema: pa.Schema
    fragments: tuple[ds.FileFragment, ...]
    folders: FolderColumns
    stored: StoredFiles
    options: ds.FragmentScanOptions
    rows_per_byte: float

    @classmethod
    def at(
        cls,
        path: str,
        kind: str,
        options: Mapping[str, str],
        fields: Sequence[Field] | None,
        where: str | None,
        roles: Roles,
        what: str = "input",
        inferred: bool = True,
    ) -> TextInput:
        """The files of ``kind`` at ``path``, with the columns of a schema (``fields``), where there is one.

        The types of folder columns are ``inferred``, or they are texts. Raises :class:`InputError` where nothing is
        there or files do not fit together, :class:`StoreError` where the store fails, and :class:`SpecError` for an
        option or a type that Arrow does not know.
        """
        _validate_options(options, kind, what)
        stored = StoredFiles.at(path, what, kind)
        folders = stored.folder_columns(inferred)
        declared = {field.name: field.kind for field in fields or ()}
        validate_spelled_once(folders, what, [column for _, column in roles.columns()], where)
        for index, field in enumerate(folders.schema):
            if kind_of := declared.get(field.name):
                typed = field.with_type(arrow_type(field.name, kind_of, what))
                folders = replace(folders, schema=folders.schema.set(index, typed))
        fields = None if fields is None else [field for field in fields if field.name not in folders.schema.names]
        made = _json_format() if kind == "json" else _csv_format(options, what, _names(fields, options))
        if kind == "csv" and fields is None and not is_set(options, "header"):
            width = len(_columns_of(_fragments(stored, made, folders)[0], kind, what))
            made = _csv_format(options, what, [f"_c{index}" for index in range(width)])
        fragments = _fragments(stored, made, folders)
        with ThreadPoolExecutor(READING_THREADS) as pool:
            schemas = list(pool.map(lambda each: _columns_of(each, kind, what), fragments))
        read = _csv_schema if kind == "csv" else _json_schema
        schema = read(schemas, stored, fields, roles, where)
        for field in folders.schema:
            schema = schema.remove(schema.names.index(field.name)) if field.name in schema.names else schema
            schema = schema.append(field)
        with _reading_errors(fragments[0].path, kind, what):
            rows_per_byte = _rows_per_byte(fragments[0], b"," if roles.arrays else b"\n")
        return cls(schema, fragments, folders, stored, made.default_fragment_scan_options, rows_per_byte)

    @property
    def rows(self) -> int:
        """About how many bucket rows there are: the number of buckets is chosen by it."""
        return sum(self._rows_of(fragment.path) for fragment in self.fragments)

    @property
    def large_files(self) -> list[str]:
        return [file for file, (size, _) in self.stored.listing.stamps.items() if size > LARGE]

    def shares(self, split_rows: int) -> list[Share]:
        """The files for each task, small ones together, the largest first."""
        shares: list[tuple[int, list[ds.FileFragment]]] = []
        for fragment in self.fragments:
            rows = self._rows_of(fragment.path)
            if not shares or shares[-1][0] + rows > split_rows or len(shares[-1][1]) == MOST_SHARED:
                shares.append((0, []))
            shares[-1] = (shares[-1][0] + rows, [*shares[-1][1], fragment])
        stamps = self.stored.listing.stamps
        largest = sorted(shares, key=itemgetter(0), reverse=True)
        return [
            Share(tuple(files), tuple(stamps.get(each.path) for each in files), self.options) for _, files in largest
        ]

    def _rows_of(self, file: str) -> int:
        size, _ = self.stored.listing.stamps.get(file, (0, 0))
        return int(size * self.rows_per_byte * (RATIO if file.endswith(PACKED) else 1)) + 1


def read_share(
    share: Share, schema: pa.Schema, at: Mapping[str, Place], where: Condition | None, batch_rows: int
) -> Iterator[pa.Table]:
    """The columns ``at`` these places, of the rows of ``share`` that ``where`` holds for, about ``batch_rows`` at once.

    Raises :class:`InputError` where a file cannot be read, has gone or was written anew, and :class:`StoreError` where
    the store fails.
    """
    columns = list(dict.fromkeys(place.column for place in at.values()))
    files = zip(share.fragments, share.stamps, strict=True)
    batches = itertools.chain.from_iterable(
        _batches(file, stamp, share.options, schema, columns, where) for file, stamp in files
    )
    for table in gathered(batches, batch_rows):
        yield columns_at(table, at)


def condition_of(where: str | None, schema: pa.Schema, what: str) -> Condition | None:
    """``where`` over columns of ``schema``; raises :class:`SpecError` where Arrow cannot decide it."""
    try:
        return None if where is None else pushed_down(where, schema)
    except UntranslatableError as error:
        raise SpecError(f"{what}.where needs Spark's SQL ({error}): lane: frame reads the {what} with Spark") from None


def _batches(
    fragment: ds.FileFragment,
    stamp: Stamp | None,
    options: ds.FragmentScanOptions,
    schema: pa.Schema,
    columns: Sequence[str],
    where: Condition | None,
) -> Iterator[pa.RecordBatch]:
    def scan(**asked: object) -> Iterator[pa.RecordBatch]:
        yield from fragment.to_batches(schema=schema, fragment_scan_options=options, batch_readahead=2, **asked)

    with _reading_errors(fragment.path), unchanged(fragment.filesystem, fragment.path, stamp):
        yield from filtered(scan, columns, where)


def _validate_options(options: Mapping[str, str], kind: str, what: str) -> None:
    known = _OPTIONS[kind]
    for name in options:
        if name.lower() not in map(str.lower, known):
            near = did_you_mean(name, known)
            raise SpecError(
                f"{what}.options.{name} is none of Arrow's reader of {kind}{near} (known: {listed(known)}): leave it "
                f"out, or lane: frame reads the {what} with Spark"
            )


def _names(fields: Sequence[Field] | None, options: Mapping[str, str]) -> list[str]:
    """The columns of files of CSV that have no header; empty where they have one, or nobody knows them."""
    return [] if fields is None or is_set(options, "header") else [field.name for field in fields]


def _csv_format(options: Mapping[str, str], what: str, names: Sequence[str]) -> ds.CsvFileFormat:
    sep = option(options, "sep") or option(options, "delimiter", ",")
    letters = {
        "sep": "\t" if sep == "\\t" else sep,
        "quote": option(options, "quote", '"'),
        "escape": option(options, "escape"),
    }
    for name, letter in letters.items():
        if len(letter.encode()) > 1 or letter in ("\r", "\n"):
            raise SpecError(f"{what}.options.{name} is {shortened(letter)!r}: a single letter of ASCII is needed")
    encoding = option(options, "encoding") or option(options, "charset", "utf8")
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise SpecError(f"{what}.options.encoding is {shortened(encoding)}, which is no known encoding") from None
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
            column_names=list(names),
            autogenerate_column_names=not names and not is_set(options, "header"),
        ),
    )


def _json_format() -> ds.JsonFileFormat:
    return ds.JsonFileFormat(read_options=pa_json.ReadOptions(block_size=BLOCK))


def _fragments(stored: StoredFiles, made: ds.FileFormat, folders: FolderColumns) -> tuple[ds.FileFragment, ...]:
    base = stored.listing.base
    dataset = ds.dataset(
        list(stored.listing.files),
        folders.schema,
        made,
        filesystem=stored.store,
        partition_base_dir=base,
        partitioning=None if base is None else ds.partitioning(folders.schema, flavor="hive"),
    )
    return tuple(dataset.get_fragments())


def _columns_of(fragment: ds.FileFragment, kind: str, what: str) -> pa.Schema:
    """The columns in the first block of a file, with the types that Arrow infers there."""
    with _reading_errors(fragment.path, kind, what):
        return fragment.physical_schema


def _csv_schema(
    schemas: Sequence[pa.Schema], stored: StoredFiles, fields: Sequence[Field] | None, roles: Roles, where: str | None
) -> pa.Schema:
    what = stored.what
    files = FileColumns.of([schema.names for schema in schemas], stored.listing.files)
    for field in fields or ():
        if field.name not in files.names:
            near = did_you_mean(field.name, files.names)
            raise InputError(
                f'the column "{shortened(field.name)}" of {what}.schema is not in the {what}{near} '
                f"({listed(files.names)})"
            )
    files.validate_has_columns(roles, what, where)
    return _schema_of(files.names, fields, roles, what)


def _schema_of(names: Sequence[str], fields: Sequence[Field] | None, roles: Roles, what: str) -> pa.Schema:
    """The columns ``names`` with the types that schema and roles give them."""
    kinds = typed_columns(names, roles, fields)
    return pa.schema([(name, arrow_type(name, kind, what)) for name, kind in kinds.items()])


def _json_schema(
    schemas: Sequence[pa.Schema], stored: StoredFiles, fields: Sequence[Field] | None, roles: Roles, where: str | None
) -> pa.Schema:
    """The types of the schema, or those that Arrow infers from the first block of each file.

    Numbers of roles are doubles, and what looks like an instant is a text.
    """
    what, declared = stored.what, [field.name for field in fields or ()]
    files = FileColumns.of([schema.names for schema in schemas], stored.listing.files)
    asked = columns_asked(list(dict.fromkeys((*files.names, *declared))), roles, where)
    if any(name in files.lacking or name not in files.names for name in asked):
        files = json_columns(stored, set(asked), by_lines=True)  # further than the first block
        files.validate_present([name for name in declared if name in asked], what)
        files.validate_has_columns(roles, what, where)
    if fields is not None:
        return _schema_of(declared, fields, roles, what)
    try:
        inferred = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as error:
        raise unreadable(f"the files of the {what} differ", error, f": {what}.schema says which type it is") from error
    numbers = {column for role, _, column in roles.played() if role.takes[-1] in ("number", "label", "numbers")}
    return pa.schema([(field.name, _json_type(field.type, field.name, numbers)) for field in inferred])


def _json_type(kind: pa.DataType, name: str, numbers: set[str]) -> pa.DataType:
    """The type of the column or field ``name`` that Arrow infers to be of ``kind``; ``numbers`` are names of such."""
    if pa.types.is_list(kind):
        return pa.list_(_json_type(kind.value_type, name, numbers))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _json_type(field.type, f"{name}.{field.name}", numbers)) for field in kind])
    if name in numbers and (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        return pa.float64()
    return pa.string() if pa.types.is_null(kind) or pa.types.is_timestamp(kind) else kind


def _rows_per_byte(fragment: ds.FileFragment, mark: bytes) -> float:
    """How many bucket rows a byte of a file makes, by how often ``mark`` stands in its beginning."""
    with fragment.filesystem.open_input_stream(fragment.path) as stream:
        sample: bytes = stream.read(SAMPLE)
    return (sample.count(mark) + 1) / max(1, len(sample))


@contextmanager
def _reading_errors(file: str, kind: str | None = None, what: str | None = None) -> Iterator[None]:
    """A context in which errors of Arrow and of the store become those of sparkrank, with the name of the ``file``."""
    place = without_password(file) + ("" if what is None else f" of the {what}")
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{place} was deleted while the job ran") from None
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        said = type(error)(_NOISE.sub("", str(error))) if isinstance(error, pa.ArrowInvalid) else error
        raise unreadable(f"{place} cannot be read{'' if kind is None else f' as {kind}'}", said) from error
