"""Columns that stand in the names of folders, ``key=value``: their types, as Spark infers them from all the values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from sparkrank.base.errors import InputError, shortened

PartitionTypes: TypeAlias = Literal["inferred", "text"]
_TYPES = (pa.int32(), pa.int64(), pa.float64(), pa.date32())  # whole numbers come first: they are floats as well
_NULL = "__HIVE_DEFAULT_PARTITION__"
# What is no text for Spark, or may be none: numbers as Java writes them, days and instants.
_MAY_BE_NO_TEXT = re.compile(
    r"\s*([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[df]?|[+-]?(nan|infinity)|\d{4}-\d\d-\d\d( \d.*)?)\s*", re.IGNORECASE
)


@dataclass(frozen=True)
class FolderColumns:
    """The columns of folders, with the types of Spark.

    Of the columns ``unlike`` Spark may make something else. ``twice`` has, of a column of numbers or dates, two names
    of folders that are one value, and ``spelled`` all values of such a column, as they are written.
    """

    schema: pa.Schema
    unlike: frozenset[str]
    twice: Mapping[str, tuple[str, str]]
    spelled: Mapping[str, frozenset[str]]

    def spelled_otherwise(self, column: str, other: FolderColumns, other_column: str) -> tuple[str, str] | None:
        """Two folders that are one value of ``column`` here and of ``other_column`` there, and not written alike."""
        if column not in self.spelled or other_column not in other.spelled:
            return None
        ours, theirs = self.spelled[column], other.spelled[other_column]
        kinds = {self.schema.field(column).type, other.schema.field(other_column).type}
        kind = pa.float64() if pa.float64() in kinds and pa.string() not in kinds else pa.int64()
        found = {_value_of(text.strip(), kind): text for text in ours - theirs}
        for text in sorted(theirs):
            value = _value_of(text.strip(), kind)
            if value in found and found[value] != text:
                return f"{column}={found[value]}", f"{other_column}={text}"
        return None


NO_COLUMNS = FolderColumns(pa.schema([]), frozenset(), {}, {})


def folder_columns(files: Sequence[str], base: str, inferred: bool) -> FolderColumns:
    """The columns of the folders below ``base`` that ``files`` stand in. Where types are not ``inferred``, all are
    texts.

    Arrow would take ``0x10`` for a whole number, and knows none of 64 bits. Spark's timestamps, its doubles such as
    ``7d`` or ``1e-5`` and its decimals, which are ``1.`` and whole numbers beyond 64 bits, are texts here: such columns
    are named, and so are values that are no texts once they are decoded, and letters beyond ASCII that are written as
    ``%xx``. What is null everywhere is a text.
    """
    values: dict[str, set[str]] = {}
    encoded: set[str] = set()
    unlike: set[str] = set()
    for part in {part: None for file in files for part in _folders(file, base)}:
        name, _, value = (unquote(text) for text in part.partition("="))
        values.setdefault(name, set()).update(() if value == _NULL else (value,))
        if not part.endswith(f"={value}"):
            encoded.add(name)
        if unquote(part, "latin-1") != unquote(part):  # Spark takes every %xx for a letter
            unlike.add(name)
    schema = pa.schema({name: _type_of(texts) if inferred else pa.string() for name, texts in values.items()})
    if not inferred:
        return FolderColumns(schema, frozenset(unlike), {}, {})
    twice: dict[str, tuple[str, str]] = {}
    spelled: dict[str, frozenset[str]] = {}
    for field in schema:
        texts = values[field.name]
        no_texts = bool(texts) and all(map(_MAY_BE_NO_TEXT.fullmatch, texts))
        if no_texts if field.type == pa.string() else field.name in encoded:
            unlike.add(field.name)
        if no_texts:
            spelled[field.name] = frozenset(texts)
        if no_texts and (pair := _spelled_twice(texts, field.type)) is not None:
            twice[field.name] = (f"{field.name}={pair[0]}", f"{field.name}={pair[1]}")
    return FolderColumns(schema, frozenset(unlike), twice, spelled)


def _spelled_twice(texts: AbstractSet[str], kind: pa.DataType) -> tuple[str, str] | None:
    """Two of ``texts``, which are numbers, days or instants, that mean one value to a column of ``kind``."""
    spelled: dict[object, str] = {}
    for text in sorted(texts):
        value = _value_of(text.strip(), kind)
        if value in spelled:
            return spelled[value], text
        spelled[value] = text
    return None


def _value_of(text: str, kind: pa.DataType) -> object:
    if kind == pa.float64():
        return float(text)
    try:
        return Decimal(text.rstrip("dDfF"))
    except InvalidOperation:
        pass
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return text


def _folders(file: str, base: str) -> list[str]:
    return file[len(base) :].strip("/").split("/")[:-1]


def _type_of(texts: AbstractSet[str]) -> pa.DataType:
    return next((kind for kind in _TYPES if _all_are(texts, kind)), pa.string())


def _all_are(texts: AbstractSet[str], kind: pa.DataType) -> bool:
    marks = set("0123456789-." if kind == pa.float64() else "0123456789-")  # no 1e5, no inf
    if not texts or any(set(text) - marks for text in texts):
        return False
    if kind == pa.float64():  # beside a whole number of 64 bits Spark takes it for a text
        whole = {text for text in texts if "." not in text}
        if any(text.endswith(".") for text in texts):
            return False
        return (not whole or _all_are(whole, pa.int32())) and _can_be(texts - whole, kind)
    return _can_be(texts, kind)


def _can_be(texts: AbstractSet[str], kind: pa.DataType) -> bool:
    try:
        pa.array(list(texts)).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def validate_even_folders(subject: str, files: Sequence[str], base: str) -> None:
    """Raise :class:`InputError` where some of ``files`` below ``base`` stand in folders that others have not.

    ``subject`` names them in the sentence. Spark would leave some of them out: it reads the folder itself, or the
    folders of one set of columns.
    """
    kinds: dict[tuple[str, ...], str] = {}
    for file in files:
        inside, folders = file[len(base) :].strip("/"), _folders(file, base)
        names = tuple(part.partition("=")[0] for part in folders)
        if names not in kinds and len({unquote(name).lower() for name in names}) < len(names):
            raise InputError(f"{subject} has {inside}, in two folders of one column: rename one")
        kinds.setdefault(names, inside)
        for part in folders:
            name, mark, value = part.partition("=")
            if not mark:
                raise InputError(
                    f"{subject} has {inside} in a folder that is not named key=value: name the files by a pattern"
                )
            if not (name and value):
                lacking = "value" if name else "name"
                raise InputError(f'{subject} has {inside} in the folder "{part}", which has no {lacking}: rename it')
    if len(kinds) > 1:
        one, other = map(shortened, list(kinds.values())[:2])
        raise InputError(
            f"{subject} has {one} and {other}, in folders of different columns: name files of one kind by a pattern"
        )
