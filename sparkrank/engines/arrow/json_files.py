"""Parts of files of JSON lines: the kinds of their columns, whether Arrow and Spark read them alike, and their rows."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import pyarrow as pa
from pyarrow import fs
from pyarrow import json as pa_json

from sparkrank.engines.arrow.joined_types import validate_column
from sparkrank.engines.arrow.missing_columns import WRITE_NULL, FileColumns, columns_asked
from sparkrank.engines.arrow.text_columns import Columns, counted_numbers, known_kinds
from sparkrank.engines.arrow.text_parts import Part, blocks, end_of_line, is_utf8
from sparkrank.engines.arrow.text_schema import WHOLE, Field
from sparkrank.errors import FrameLaneNeededError, first_line, listed
from sparkrank.roles import Roles

_LINE = re.compile(rb"[^\r\n]*[^\s][^\r\n]*")  # that is not empty
_RECORD = re.compile(rb"(?:(?<=[\r\n])|\A)[ \t]*\{[^\r\n]*\}[ \t]*(?=[\r\n]|\Z)")  # on a line of its own
# A word for infinity that Arrow takes and Spark does not.
_INF = re.compile(rb"[:,\[\s][+-]?Inf(?!inity)")
_IN_ROW = re.compile(r" in row \d+")  # where Arrow says it, it counts from the beginning of a block


class JsonLook(NamedTuple):
    """What a part of a file of JSON lines has: how many ``rows``, and of each column the ``kinds`` of its values."""

    rows: int
    kinds: Mapping[str, frozenset[str]]


def look_at_json(store: fs.FileSystem, part: Part, what: str, goes_on: Callable[[], bool]) -> JsonLook:
    """What ``part`` has, as far as ``goes_on`` wants to know it, which is asked for each block.

    Raises :class:`FrameLaneNeededError` where Arrow and Spark may read something else, and what Arrow raises.
    """
    found: dict[str, set[str]] = {}
    rows = 0
    for block in map(bytes, blocks(store, part, end_of_line)):
        if not goes_on():
            break
        if (unlike := _unlike(block)) is not None:
            raise FrameLaneNeededError(f"{part.file} of the {what} has {unlike}, which is left to Spark")
        try:
            table = _parsed(block, None)
        except pa.ArrowInvalid as error:
            told = _IN_ROW.sub("", first_line(error))
            raise FrameLaneNeededError(f"{part.file} of the {what} is left to Spark: {told}") from None
        if table.num_rows != _count(_LINE, block) or table.num_rows != _count(_RECORD, block):
            raise FrameLaneNeededError(f"{part.file} of the {what} has lines that are not one record each")
        rows += table.num_rows
        for field in table.schema:
            found.setdefault(field.name, set()).add(_json_kind(field.type))
    return JsonLook(rows, {name: frozenset(kinds) for name, kinds in found.items()})


def json_columns(
    looks: Sequence[tuple[Part, JsonLook]],
    fields: Sequence[Field] | None,
    roles: Roles,
    where: str | None,
    what: str,
) -> Columns:
    """The columns of files whose parts have such ``looks``: those of a schema (``fields``), or all that are asked for.

    Raises :class:`InputError` where a column is missing, and :class:`FrameLaneNeededError` where one has values of
    several kinds, or of one that only Spark knows.
    """
    found: dict[str, set[str]] = {}
    keys: dict[str, dict[str, None]] = {}
    rows: dict[str, int] = {}
    for part, look in looks:
        for name, kinds_of_part in look.kinds.items():
            found.setdefault(name, set()).update(kinds_of_part)
        keys.setdefault(part.file, {}).update(dict.fromkeys(look.kinds))
        rows[part.file] = rows.get(part.file, 0) + look.rows
    words = frozenset(re.findall(r"\w+", where or ""))
    declared = {field.name: field for field in fields or ()}
    for role, column in roles.columns() if fields is None else ():
        if column not in found and any(column.startswith(f"{name}.") for name in found):
            raise FrameLaneNeededError(f"the {role} column {column} of the {what} lies inside another: Spark reads it")
        validate_column(role, column, list(found), what)
    with_rows = [file if count else "" for file, count in rows.items()]
    of_files = FileColumns.of(list(map(list, keys.values())), with_rows, WRITE_NULL)
    of_files.validate_present(columns_asked(list(declared), roles, where), what)
    of_files.validate_has_columns(roles, what, where)
    is_name = {column: role.is_name for role, _, column in roles.played()}
    stored: list[tuple[str, pa.DataType]] = []
    for name in declared if fields is not None else found:
        if name in is_name or name in words:
            here = found.get(name, set()) - {"null"}
            stored.append((name, _json_type(name, here, declared.get(name), is_name.get(name, False), what)))
    names = [name for name, _ in stored]
    kinds = known_kinds(names, roles, [each for each in fields or () if each.name in names] or None, what)
    return Columns(pa.schema(stored), kinds, counted_numbers(roles, fields))


def json_tables(store: fs.FileSystem, part: Part, of: Columns, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The ``columns`` of ``part``, in tables that have rows."""
    schema = pa.schema([of.stored.field(name) for name in columns])
    for block in map(bytes, blocks(store, part, end_of_line)):
        table = _parsed(block, schema)
        if table.num_rows:
            yield table.select(list(columns))


def _unlike(block: bytes) -> str | None:
    """What ``block`` has that Arrow reads and Spark may not, or reads otherwise."""
    if not is_utf8(block):
        return "bytes that are no UTF-8"
    return "the number Inf" if b"Inf" in block and _INF.search(block) else None


def _count(pattern: re.Pattern[bytes], block: bytes) -> int:
    return len(pattern.findall(block))


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


def _parsed(block: bytes, schema: pa.Schema | None) -> pa.Table:
    if not block.strip():
        return pa.table({})
    behavior = "infer" if schema is None else "ignore"
    return pa_json.read_json(
        io.BytesIO(block),
        pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=behavior),
    )
