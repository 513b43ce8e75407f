"""Columns that stand in the names of folders, ``key=value``: their types, as Spark infers them from all the values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.errors import InputError

# Arrow itself knows whole numbers of 32 bits and texts. Texts of whole numbers come first: they are floats as well.
_TYPES = (pa.int64(), pa.float64(), pa.date32())
_MARKS = {pa.int64(): "0123456789-", pa.float64(): "0123456789-.", pa.date32(): "0123456789-"}  # no 1e5, no inf
_FLOAT_DIGITS = 16  # whole numbers as long as that are not all floats


def folder_columns(fragments: Sequence[ds.Fragment], found: pa.Schema) -> pa.Schema:
    """The columns of the folders of ``fragments``, of which Arrow ``found`` the names, with the types of Spark.

    Whole numbers may be long, and texts numbers or dates. Spark's timestamps, and its whole numbers beyond 64 bits,
    stay texts.
    """
    keys = [ds.get_partition_keys(fragment.partition_expression) for fragment in fragments]
    names = {name: None for each in keys for name in each}
    return pa.schema([_typed(found.field(name), [each.get(name) for each in keys]) for name in names])


def _typed(field: pa.Field, values: Sequence[object]) -> pa.Field:
    if not pa.types.is_string(field.type):
        return field
    texts = {str(value) for value in values if value is not None}
    return field.with_type(next((kind for kind in _TYPES if _all_are(texts, kind)), field.type))


def _all_are(texts: Collection[str], kind: pa.DataType) -> bool:
    if not texts or any(set(text) - set(_MARKS[kind]) for text in texts):
        return False
    if kind == pa.float64() and not all("." in text or len(text) < _FLOAT_DIGITS for text in texts):
        return False
    try:
        pa.array(list(texts)).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def refuse_uneven(path: str, files: Sequence[str], base: str) -> None:
    """Raise :class:`InputError` where some of ``files`` below ``base`` stand in folders that others have not.

    Spark would leave some of them out: it reads the folder itself, or the folders of one set of columns.
    """
    kinds: dict[tuple[str, ...], str] = {}
    for file in files:
        inside = file[len(base) :].strip("/")
        kinds.setdefault(tuple(part.partition("=")[0] for part in inside.split("/")[:-1]), inside)
        if any("=" not in part for part in inside.split("/")[:-1]):
            raise InputError(f"the input {path} has {inside} in a folder that is no key=value: name it by a pattern")
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise InputError(f"the input {path} has {one} and {other}: name files of folders of one kind by a pattern")
