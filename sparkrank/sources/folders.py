"""Columns from folder names (``key=value``). The type of each column is inferred from all of its values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.base.errors import InputError, shorten

PartitionTypes: TypeAlias = Literal["inferred", "text"]
_WHOLE = re.compile(r"-?\d+")
_TYPES = (  # integers come first, because they are floats as well
    (pa.int32(), _WHOLE),
    (pa.int64(), _WHOLE),
    (pa.float64(), re.compile(r"-?(\d*\.)?\d+")),
    (pa.date32(), re.compile(r"\d+-\d+-\d+")),
)
_NULL = "__HIVE_DEFAULT_PARTITION__"


def folder_columns(what: str, files: Sequence[str], base: str, partition_types: PartitionTypes) -> pa.Schema:
    """Return the columns from the names of the folders between ``base`` and ``files``. Messages name ``what``.

    Numbers with a letter (``7d``, ``1e5``), integers beyond 64 bits, timestamps and columns without a value become
    strings. Raise :class:`InputError` if two folder names give the same value, as ``7`` and ``007`` do, because their
    groups would merge.
    """
    values: dict[str, set[str]] = {}
    for part in {part: None for file in files for part in _folders(file, base)}:
        name, _, value = (unquote(text) for text in part.partition("="))
        values.setdefault(name, set()).update(() if value == _NULL else (value,))
    if partition_types == "text":
        return pa.schema({name: pa.string() for name in values})
    schema = pa.schema({name: _type_of(texts) for name, texts in values.items()})
    for name, kind in zip(schema.names, schema.types, strict=True):
        texts = sorted(values[name])
        spelled: dict[object, str] = {}
        for text, value in zip(texts, pa.array(texts, pa.string()).cast(kind).to_pylist(), strict=True):
            if (other := spelled.setdefault(value, text)) != text:
                raise InputError(
                    f'the {what} has the folders "{name}={other}" and "{name}={text}", which are one value of the '
                    f"column {name}: write {what}.partition_types: text to keep them apart (sr.evaluate has "
                    "partition_types), or rename one"
                )
    return schema


def folder_values(file: ds.Fragment) -> dict[str, str]:
    """Return the values of the columns from the folder names of ``file``, as text."""
    return {name: str(value) for name, value in ds.get_partition_keys(file.partition_expression).items()}


def _folders(file: str, base: str) -> list[str]:
    return file[len(base) :].strip("/").split("/")[:-1]


def _type_of(texts: AbstractSet[str]) -> pa.DataType:
    for kind, form in _TYPES:
        if texts and all(map(form.fullmatch, texts)) and _can_be(texts, kind):
            return kind
    return pa.string()


def _can_be(texts: AbstractSet[str], kind: pa.DataType) -> bool:
    whole = [text for text in texts if "." not in text]
    if kind == pa.float64() and whole and not _can_be(set(whole), pa.int32()):  # Spark reads these as strings
        return False
    try:
        pa.array(list(texts)).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def validate_even_folders(subject: str, files: Sequence[str], base: str) -> None:
    """Raise :class:`InputError` if folders of ``files`` give different columns. The message begins with ``subject``."""
    kinds: dict[tuple[str, ...], str] = {}
    for file in files:
        inside, folders = file[len(base) :].strip("/"), _folders(file, base)
        for part in folders:
            name, mark, value = part.partition("=")
            if not mark:
                problem = "a folder that is not named key=value: name the files by a pattern"
                raise InputError(f"{subject} has {inside} in {problem}")
            if not (name and value):
                lacking = "value" if name else "name"
                raise InputError(f'{subject} has {inside} in the folder "{part}", which has no {lacking}: rename it')
        names = tuple(part.partition("=")[0] for part in folders)
        if len({unquote(name).lower() for name in names}) < len(names):
            raise InputError(f"{subject} has {inside}, in two folders of one column: rename one")
        kinds.setdefault(names, inside)
    if len(kinds) > 1:
        one, other = map(shorten, list(kinds.values())[:2])
        raise InputError(
            f"{subject} has {one} and {other}, in folders of different columns: name files of one kind by a pattern"
        )
