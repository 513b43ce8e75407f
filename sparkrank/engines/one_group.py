"""The selection of the rows of one group, in the same way in every lane.

Readers may skip rows of other groups early, but the key of each row that is read decides.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.byte_texts import bytes_of_text
from sparkrank.base.errors import InputError, SpecError, did_you_mean, itemize, quote, shorten
from sparkrank.bucket.impressions import key_column

if TYPE_CHECKING:
    from sparkrank.inputs.roles import Roles

MOST_ROWS = 1_000_000  # the largest group that can be explained; nobody could read more rows
Pick: TypeAlias = Callable[[pa.Table], pa.Table]  # a function of rows with the columns of a bucket, sent to tasks


@dataclass(frozen=True)
class GroupKeys:
    """The ``keys`` of some groups: tuples with a value per key column. A string may stand for a value of any type."""

    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[str], given: Mapping[str, Any]) -> GroupKeys:
        """Return the keys of one group, whose values are ``given`` by column.

        Raise :class:`SpecError` if no group can have such a key.
        """
        if not columns:
            raise SpecError("no group column is named: explain needs groups")
        for name in given:
            if name not in columns:
                near = did_you_mean(name, columns)
                raise SpecError(f'group names "{shorten(name)}"{near} (the group key is {itemize(columns)})')
        missing = [name for name in columns if name not in given]
        if missing:
            raise SpecError(f"group lacks {itemize(missing)}: the group key is {itemize(columns)}")
        for name, value in given.items():
            if value is None or (isinstance(value, float) and math.isnan(value)):
                raise SpecError(f"group has {quote(value)} for {shorten(name)}: rows without a key are in no group")
        return cls(tuple(columns), (tuple(given[name] for name in columns),))

    def named(self, key: Sequence[Any]) -> str:
        """Return ``key`` in the form for messages, such as ``user_id=42``."""
        pairs = zip(self.columns, key, strict=True)
        return ", ".join(f"{shorten(name)}={shorten(value)}" for name, value in pairs)

    def typed(self, schema: pa.Schema) -> list[tuple[pa.Scalar, ...]]:
        """Return the keys, converted to the types that the key columns have in the bucket ``schema``.

        If a string is given for a column of bytes, the result contains a key for each way to read the string. Raise
        :class:`SpecError` for a value that cannot be converted.
        """
        kinds = [schema.field(key_column(index)).type for index in range(len(self.columns))]
        readings = (map(_readings, self.columns, key, kinds) for key in self.keys)
        return list(itertools.chain.from_iterable(itertools.starmap(itertools.product, readings)))

    def condition(self, roles: Roles, schema: pa.Schema) -> list[pc.Expression]:
        """Return filters on columns of ``schema`` that all rows of these groups pass. ``roles`` names key columns."""
        expressions = []
        for index, column in enumerate(roles.group):
            kind = schema.field(column).type if column in schema.names else pa.null()
            if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
                continue
            try:
                values = [_as_kind(column, key[index], kind).as_py() for key in self.keys]
            except SpecError:  # the value does not fit the type of this column, so no row here has the value
                continue
            expressions.append(pc.field(column).isin(pa.array(values, kind)))
        return expressions

    def of_rows(self, schema: pa.Schema) -> Pick:
        """Return a function that selects the rows of these groups from a table with the columns of ``schema``."""
        return functools.partial(_rows_of, self._plain(schema), schema)

    def near(self, schema: pa.Schema) -> Pick:
        """Return a function that maps a table to the values nearest to the first key (see :data:`NEAR_SCHEMA`)."""
        return functools.partial(_near, self._plain(schema)[0], schema)

    def _plain(self, schema: pa.Schema) -> list[tuple[Any, ...]]:
        return [tuple(scalar.as_py() for scalar in key) for key in self.typed(schema)]


def _readings(name: str, value: Any, kind: pa.DataType) -> list[pa.Scalar]:
    """Return the values of type ``kind`` that ``value`` may mean. A string may mean several values of bytes."""
    if not (_is_bytes(kind) and isinstance(value, str)):
        return [_as_kind(name, value, kind)]
    width = kind.byte_width if pa.types.is_fixed_size_binary(kind) else None
    values = [pa.scalar(read, kind) for read in bytes_of_text(value) if width in (None, len(read))]
    if not values:
        raise _no_such(name, value, kind)
    return values


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _no_such(name: str, value: Any, kind: pa.DataType) -> SpecError:
    return SpecError(f"group has {quote(value)} for {shorten(name)}, which is no {shorten(kind)}")


def _as_kind(name: str, value: Any, kind: pa.DataType) -> pa.Scalar:
    try:
        plain = value.item() if hasattr(value, "item") and not isinstance(value, (str, bytes)) else value  # from numpy
        if isinstance(plain, pa.Scalar):
            plain = plain.as_py()
        reads_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        reads_text |= pa.types.is_decimal(kind) and isinstance(plain, int)  # Arrow asks for room for any integer
        scalar = pa.scalar(str(plain) if reads_text else plain).cast(kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise _no_such(name, value, kind) from None
    if pa.types.is_floating(kind):
        scalar = pa.scalar(scalar.as_py() + 0.0, kind)  # -0.0 is 0.0
    return scalar


def _rows_of(keys: Sequence[Sequence[Any]], schema: pa.Schema, rows: pa.Table) -> pa.Table:
    names = [key_column(index) for index in range(len(keys[0]))]
    for index, name in enumerate(names):  # most rows belong to none of the groups
        kind = schema.field(name).type
        rows = rows.filter(pc.is_in(rows[name], pa.array([key[index] for key in keys], kind)))
    if len(names) == 1 or not rows.num_rows:
        return rows
    return pa.concat_tables([rows_of_key(rows, key, schema) for key in dict.fromkeys(map(tuple, keys))])


def rows_of_key(rows: pa.Table, key: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """Return the ``rows`` whose key is ``key``, given as one plain Python value per key column."""
    for index, value in enumerate(key):
        name = key_column(index)
        rows = rows.filter(pc.equal(rows[name], pa.scalar(value, schema.field(name).type)))
    return rows


NEAR_SCHEMA = pa.schema({"column": pa.int32(), "key": pa.string()})


def _near(values: Sequence[Any], schema: pa.Schema, rows: pa.Table) -> pa.Table:
    near = []
    for index, value in enumerate(values):
        column = pc.unique(rows[key_column(index)]).drop_null()
        values_near = _neighbours(column, pa.scalar(value, schema.field(key_column(index)).type))
        near += [{"column": index, "key": key.hex() if isinstance(key, bytes) else str(key)} for key in values_near]
    return pa.Table.from_pylist(near, NEAR_SCHEMA)


def _neighbours(keys: pa.Array, value: pa.Scalar) -> list[Any]:
    """Return the ``keys`` next below, equal to, and next above ``value``, or an empty list if the type has no order."""
    try:
        keys = keys.cast(value.type)
        sides = [keys.filter(compare(keys, value)) for compare in (pc.less, pc.equal, pc.greater)]
        ends = [pc.max(sides[0]), pc.max(sides[1]), pc.min(sides[2])]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return []
    return [end.as_py() for end in ends if end.is_valid]


def raise_no_rows(keys: GroupKeys, near: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Raise :class:`InputError`, since no row has the first of ``keys``.

    The message suggests the nearest values (``near``).
    """
    rows = pa.concat_tables([NEAR_SCHEMA.empty_table(), *near])
    sentence = f"no row has {keys.named(keys.keys[0])}"
    for index, (name, value) in enumerate(zip(keys.columns, keys.typed(schema)[0], strict=True)):
        texts = rows.filter(pc.equal(rows["column"], index))["key"].unique()
        if _is_bytes(value.type):
            texts = pa.array(map(bytes.fromhex, texts.to_pylist()), value.type)
        closest = _neighbours(texts, value)
        if value.as_py() in closest:
            continue
        nearest = f" (nearest in {shorten(name)}: {itemize(closest)})" if closest else ""
        raise InputError(f"{sentence}{did_you_mean(keys.keys[0][index], closest)}{nearest}")
    raise InputError(f"{sentence}: each value exists, but no row has all of them")


def validate_few(rows: int) -> None:
    """Raise :class:`InputError` if ``rows``, the number of rows of the groups, is above :data:`MOST_ROWS`."""
    if rows > MOST_ROWS:
        raise InputError(f"the groups have {rows:,} rows: up to {MOST_ROWS:,} are explained")
