"""The rows of one group, as every lane finds them: by a condition on the key that readers push down, and by its values.

Pushing down saves reading and decides nothing: what a reader lets through is compared with the key once more, as values
of a bucket.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, SpecError, did_you_mean, listed, shortened, shown
from sparkrank.bucket.impressions import key_column
from sparkrank.sources.conditions import Condition
from sparkrank.sources.parquet import ParquetInput

if TYPE_CHECKING:
    from sparkrank.inputs.roles import Roles
    from sparkrank.sources.sources import Sides, Source

MOST_ROWS = 1_000_000  # of a group that is explained: who shall read more?
MOST_NEAR = 200  # keys that are looked at for the nearest
Pick: TypeAlias = Callable[[pa.Table], pa.Table]  # of rows with the columns of a bucket; it travels to tasks


@dataclass(frozen=True)
class GroupKeys:
    """The keys of some groups: of each a value for every column, as a person gave it, or of the column's own type.

    Parameters
    ----------
    columns : tuple of str
        The columns of the group key, in their order.
    keys : tuple of tuple
        The values of each key. A text stands for a value of any type.
    """

    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[str], given: Mapping[str, Any]) -> GroupKeys:
        """The key that ``given`` names, by column.

        Raises :class:`SpecError` where there are no groups, a column is none of the key, or one is missing or null.
        """
        if not columns:
            raise SpecError("no group column is named: without groups there is none to explain")
        for name in given:
            if name not in columns:
                near = did_you_mean(name, columns)
                raise SpecError(f'group names "{shortened(name)}"{near} (the group key is {listed(columns)})')
        missing = [name for name in columns if name not in given]
        if missing:
            raise SpecError(f"group lacks {listed(missing)}: the group key is {listed(columns)}")
        for name, value in given.items():
            if value is None or (isinstance(value, float) and math.isnan(value)):
                raise SpecError(f"group has {shown(value)} for {shortened(name)}: rows without a key are in no group")
        return cls(tuple(columns), (tuple(given[name] for name in columns),))

    def named(self, key: Sequence[Any]) -> str:
        """One of the keys as sentences have it: ``user_id=42``."""
        pairs = zip(self.columns, key, strict=True)
        return ", ".join(f"{shortened(name)}={shortened(value)}" for name, value in pairs)

    def typed(self, schema: pa.Schema) -> list[tuple[pa.Scalar, ...]]:
        """The keys in the types that those of a bucket of ``schema`` have.

        Raises :class:`SpecError` for a value that is none of its type.
        """
        kinds = [schema.field(key_column(index)).type for index in range(len(self.columns))]
        return [tuple(map(_as_kind, self.columns, key, kinds)) for key in self.keys]

    def of_rows(self, schema: pa.Schema) -> Pick:
        """What picks the rows of the groups out of rows of ``schema``."""
        return functools.partial(_rows_of, self._plain(schema), schema)

    def near(self, schema: pa.Schema) -> Pick:
        """What picks the keys nearest to the first, column by column: rows of a column's number and a text."""
        return functools.partial(_near, self._plain(schema)[0], schema)

    def _plain(self, schema: pa.Schema) -> list[tuple[Any, ...]]:
        return [tuple(scalar.as_py() for scalar in key) for key in self.typed(schema)]


def _as_kind(name: str, value: Any, kind: pa.DataType) -> pa.Scalar:
    try:
        plain = value.item() if hasattr(value, "item") and not isinstance(value, (str, bytes)) else value  # of numpy
        if isinstance(plain, pa.Scalar):
            plain = plain.as_py()
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        found = pa.scalar(str(plain) if is_text else plain).cast(kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise SpecError(f"group has {shown(value)} for {shortened(name)}, which is no {shortened(kind)}") from None
    if pa.types.is_floating(kind):
        found = pa.scalar(found.as_py() + 0.0, kind)  # -0.0 is 0.0
    return found


def _rows_of(keys: Sequence[Sequence[Any]], schema: pa.Schema, rows: pa.Table) -> pa.Table:
    names = [key_column(index) for index in range(len(keys[0]))]
    for index, name in enumerate(names):  # most rows are of none of the groups
        kind = schema.field(name).type
        rows = rows.filter(pc.is_in(rows[name], pa.array([key[index] for key in keys], kind)))
    if len(names) == 1 or not rows.num_rows:
        return rows
    return pa.concat_tables([rows_of_key(rows, key, schema) for key in dict.fromkeys(map(tuple, keys))])


def rows_of_key(rows: pa.Table, key: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """Those of ``rows`` that have one key, given as plain values."""
    for index, value in enumerate(key):
        name = key_column(index)
        rows = rows.filter(pc.equal(rows[name], pa.scalar(value, schema.field(name).type)))
    return rows


NEAR_SCHEMA = pa.schema({"column": pa.int32(), "key": pa.string()})


def _near(values: Sequence[Any], schema: pa.Schema, rows: pa.Table) -> pa.Table:
    found: list[tuple[int, str]] = []
    for index, value in enumerate(values):
        keys = pc.unique(rows[key_column(index)]).drop_null()
        found += [(index, text) for text in _near_keys(keys, value, schema.field(key_column(index)).type)]
    columns, keys = zip(*found, strict=True) if found else ((), ())
    return pa.table([pa.array(columns, pa.int32()), pa.array(keys, pa.string())], schema=NEAR_SCHEMA)


def _near_keys(keys: pa.Array, value: Any, kind: pa.DataType) -> list[str]:
    """Those of ``keys`` right below and above ``value``, itself, and texts that have one half of it."""
    scalar = pa.scalar(value, kind)
    try:
        ends = [
            pc.max(keys.filter(pc.less(keys, scalar))),
            pc.min(keys.filter(pc.greater(keys, scalar))),
            pc.max(keys.filter(pc.equal(keys, scalar))),
        ]
    except pa.ArrowNotImplementedError:  # a type that has no order
        return []
    found = [str(each.as_py()) for each in ends if each.is_valid]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        half = len(value) // 2
        parts = [part for part in (value[:half], value[half:]) if part]
        for part in parts:
            held = keys.filter(pc.match_substring(keys, part, ignore_case=True))
            size = pc.abs(pc.subtract(pc.utf8_length(held), len(value)))
            held = held.filter(pc.less_equal(size, 2))
            found += sorted(held.to_pylist())[:MOST_NEAR]
    return list(dict.fromkeys(found))


def raise_no_rows(keys: GroupKeys, near: Iterable[pa.Table], schema: pa.Schema) -> None:
    """Raise :class:`InputError`: no row has the first of ``keys``, and which keys are ``near``."""
    texts: dict[int, list[str]] = {}
    for table in near:
        for row in table.to_pylist():
            texts.setdefault(row["column"], []).append(row["key"])
    told = f"no row has {keys.named(keys.keys[0])}"
    for index, (name, scalar) in enumerate(zip(keys.columns, keys.typed(schema)[0], strict=True)):
        there = sorted(set(texts.get(index, ())))
        if str(scalar.as_py()) in there:
            continue
        closest = _closest(scalar, there)
        nearest = f" (nearest in {shortened(name)}: {listed(closest)})" if closest else ""
        raise InputError(f"{told}{did_you_mean(scalar.as_py(), there)}{nearest}")
    raise InputError(f"{told}: each of the values is there, and no row has all of them")


def _closest(scalar: pa.Scalar, there: Sequence[str]) -> list[str]:
    """The nearest below and above, of all tasks together."""
    if not there:
        return []
    keys = pa.array(there, pa.string())
    kind = scalar.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        try:
            keys = keys.cast(kind)
        except (pa.ArrowException, TypeError):
            return list(there[:2])
    else:
        keys = keys.cast(kind)
    ends = [pc.max(keys.filter(pc.less(keys, scalar))), pc.min(keys.filter(pc.greater(keys, scalar)))]
    return [str(each.as_py()) for each in ends if each.is_valid]


def narrowed(sides: Sides, keys: GroupKeys) -> Sides:
    """``sides`` whose Parquet is read where the group key may be one of ``keys``."""
    truth, of_truth = sides.truth, sides.roles.truth
    narrow_truth = None if truth is None or of_truth is None else _narrowed(truth, of_truth, keys)
    return replace(sides, impressions=_narrowed(sides.impressions, sides.roles, keys), truth=narrow_truth)


def _narrowed(source: Source, roles: Roles, keys: GroupKeys) -> Source:
    data = source.data
    if not isinstance(data, ParquetInput):
        return source
    asked = source.where or Condition(None, None)
    holds = asked.of_groups
    for index, column in enumerate(roles.group):
        if column in source.nested or column not in data.schema.names:
            continue
        kind = data.schema.field(column).type
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
            continue
        try:
            values = [_as_kind(column, key[index], kind).as_py() for key in keys.keys]
        except SpecError:  # of a narrower type than the other side's: no row of this one has it
            continue
        own = pc.field(column).isin(pa.array(values, kind))
        holds = own if holds is None else holds & own
    if holds is None:
        return source
    return replace(source, where=Condition(holds, asked.of_rows, asked.columns))


def validate_few(rows: int) -> None:
    """Raise :class:`InputError` where the groups have more rows than anybody could read."""
    if rows > MOST_ROWS:
        raise InputError(f"the groups have {rows:,} rows: up to {MOST_ROWS:,} are explained")
