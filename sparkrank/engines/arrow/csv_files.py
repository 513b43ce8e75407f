"""Parts of CSV files: whether Arrow and Spark read them alike, the columns of their header, and their rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as pa_csv
from pyarrow import fs

from sparkrank.engines.arrow.csv_records import Letters, count, line_ends
from sparkrank.engines.arrow.text_columns import Columns, counted_numbers, known_kinds
from sparkrank.engines.arrow.text_parts import Block, Part, blocks, end_of_line, is_utf8
from sparkrank.engines.arrow.text_schema import Field, is_set, option
from sparkrank.errors import FrameLaneNeededError, InputError, did_you_mean, listed, shortened
from sparkrank.numeric.array_types import Flags
from sparkrank.roles import Roles

_UTF8 = ("utf-8", "utf8")
_ASCII = ("us-ascii", "ascii")
_ONE_BYTE = (*_ASCII, "iso-8859-1", "latin1", "latin-1")
_LINE = re.compile(rb"[^\r\n]*")
_ROW = re.compile(r"Row #\d+: ")  # where Arrow says it, it counts from the beginning of a block


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
        text = line.decode("utf-8" if self.encoding in _UTF8 else "latin-1")
        quote = self.quote or "\0"  # which no line has
        rows = csv.reader([text], delimiter=self.sep, quotechar=quote)
        return next(rows, [])


class CsvLook(NamedTuple):
    """What a part of a CSV file has: about how many ``rows``, and the columns of its file, where these begin it."""

    rows: int
    names: list[str] | None


def look_at_csv(
    store: fs.FileSystem,
    part: Part,
    dialect: Dialect,
    fields: Sequence[Field] | None,
    what: str,
    goes_on: Callable[[], bool],
) -> CsvLook:
    """What ``part`` has, as far as ``goes_on`` wants to know it, which is asked for each block.

    Raises :class:`FrameLaneNeededError` where Arrow and Spark may read something else, :class:`InputError` where the
    columns are not those of a schema (``fields``), and what Arrow raises.
    """
    names: list[str] | None = None
    rows = 0
    for block in blocks(store, part, _ends(dialect)):
        if not goes_on():
            break
        rows += _lines_read_alike(block, dialect, part.file, what) + (block[-1] not in b"\r\n")
        if names is None and part.start == 0:
            names = _names(block, dialect, fields, part.file, what)
            rows -= dialect.header
    return CsvLook(max(rows, 0), names)


def first_names(
    store: fs.FileSystem, part: Part, dialect: Dialect, fields: Sequence[Field] | None, what: str
) -> list[str] | None:
    """The columns that begin the file of ``part``, None where it is empty.

    Raises what :func:`look_at_csv` does of its first block.
    """
    for block in blocks(store, part, _ends(dialect)):
        _lines_read_alike(block, dialect, part.file, what)  # first: what is no CSV at all has no columns
        return _names(block, dialect, fields, part.file, what)
    return None


def csv_columns(
    looks: Sequence[tuple[Part, CsvLook]], fields: Sequence[Field] | None, roles: Roles, what: str
) -> Columns:
    """The columns of files whose parts have such ``looks``.

    Raises :class:`InputError` where the files have not the same, or not those of a schema (``fields``).
    """
    names: list[str] | None = None
    begins = ""
    for part, look in looks:
        if look.names is not None and names is not None and look.names != names:
            raise InputError(
                f"{part.file} of the {what} has the columns {listed(look.names)[:200]}, and {begins} has "
                f"{listed(names)[:200]}"
            )
        if names is None and look.names is not None:
            names, begins = look.names, part.file
    names = names or [field.name for field in fields or ()]
    for field in fields or ():
        if field.name not in names:
            near = did_you_mean(field.name, names)
            raise InputError(
                f'the column "{shortened(field.name)}" of {what}.schema is not in the {what}{near} ({listed(names)})'
            )
    kinds = known_kinds(names, roles, fields, what)
    return Columns(pa.schema([(name, pa.string()) for name in names]), kinds, counted_numbers(roles, fields))


def csv_tables(
    store: fs.FileSystem,
    part: Part,
    dialect: Dialect,
    of: Columns,
    columns: Sequence[str],
    needed: Sequence[str],
) -> Iterator[tuple[pa.Table, Flags | None]]:
    """The ``columns`` of ``part``, and which rows have a text of those ``needed`` that is no number, where it is known.

    Loops read block after block, and leave those to Arrow that have what they do not read.
    """
    asked = {name: of.kinds[name] if name in columns else None for name in of.stored.names}
    numbers = of.numbers.intersection(needed)
    by_loops = not dialect.null and dialect.encoding in _UTF8
    for index, block in enumerate(blocks(store, part, _ends(dialect))):
        header = dialect.header and part.start == 0 and not index
        read = dialect.letters.read(block, asked, numbers, header=header) if by_loops else None
        yield (_read_by_arrow(block, dialect, of, columns, header=header), None) if read is None else read


def _read_by_arrow(block: Block, dialect: Dialect, of: Columns, columns: Sequence[str], *, header: bool) -> pa.Table:
    """The ``columns`` of ``block`` as texts, null where nothing stands there, or the word for null."""
    names = of.stored.names
    read = pa_csv.ReadOptions(
        use_threads=False,
        block_size=len(block) + 1,
        skip_rows=int(header),
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
    try:
        table = pa_csv.read_csv(pa.BufferReader(block), read, parse, convert)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or (header and line_ends(block) <= 1):  # a header alone, which may lack its end
            return pa.table({name: pa.array([], pa.string()) for name in columns})
        raise pa.ArrowInvalid(_ROW.sub("", str(error))) from None
    if not dialect.null:
        return table
    nothing = pa.scalar(None, pa.string())
    nulled = [pc.if_else(pc.equal(column, dialect.null), nothing, column) for column in table.columns]
    return pa.Table.from_arrays(nulled, schema=table.schema)


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


class _RecordEnds:
    """Where the last whole record of the first bytes of a buffer ends, where a record may be of several lines.

    An end of a line is one of a record where an even number of quotes stands before it. Bytes in which no record ends
    are not looked at again when the buffer has grown.
    """

    def __init__(self, quote: bytes) -> None:
        self._quote = quote
        self._seen, self._is_odd = 0, False  # bytes in which no record ends, and whether their quotes are odd

    def __call__(self, room: bytearray, size: int) -> int:
        end = last = max(end_of_line(room, size), self._seen)
        is_odd = after = self._is_odd ^ bool(room.count(self._quote, self._seen, end) % 2)
        while is_odd and end > self._seen:
            line = max(room.rfind(b"\n", self._seen, end - 1) + 1, self._seen)
            is_odd ^= bool(room.count(self._quote, line, end) % 2)
            end = line
        if is_odd or end <= self._seen:
            self._seen, self._is_odd = last, after
            return 0
        self._seen, self._is_odd = 0, False
        return end


def _ends(dialect: Dialect) -> Callable[[bytearray, int], int]:
    """What tells where records end in the blocks of one part."""
    quote = dialect.quote.encode()
    return _RecordEnds(quote) if dialect.multi_line and quote else end_of_line


def _is_encoded(block: Block, dialect: Dialect) -> bool:
    """Whether Arrow and Spark make the same letters of all bytes of ``block``."""
    if dialect.encoding in _UTF8:
        return is_utf8(block)
    return dialect.encoding not in _ASCII or bytes(block).isascii()


def _lines_read_alike(block: Block, dialect: Dialect, file: str, what: str) -> int:
    """How many lines of ``block`` end; raises :class:`FrameLaneNeededError` where Arrow and Spark may differ on it."""
    quote, escape = dialect.quote.encode(), dialect.escape.encode()
    found = None
    if escape and escape != quote and count(block, escape):
        found = f"the letter {dialect.escape!r}, by which quotes are escaped"
    elif count(block, b"\0"):
        found = "bytes of 0"
    elif not _is_encoded(block, dialect):
        found = f"bytes that are none of {dialect.encoding} (options.encoding)"
    elif dialect.multi_line and count(block, b"\r"):
        found = "line ends of more than one letter and option multiLine"
    elif dialect.letters.has_loose_quote(block):
        found = f"quotes {dialect.quote!r} that do not enclose a field"
    lines = line_ends(block) if found is None else -1
    if lines < 0:
        raise FrameLaneNeededError(f"{file} of the {what} has {found or 'a line of blanks'}, which is left to Spark")
    return lines
