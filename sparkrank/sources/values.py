"""Conversion of input columns to the form that a bucket requires for keys, items, labels and numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.inputs.role_table import Reader, Takes
from sparkrank.ranking.value_columns import SEPARATOR


def is_number(kind: pa.DataType) -> bool:
    """Return whether ``kind`` is a numeric type or the null type."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(number or pa.types.is_null(kind))


def is_slice_value(kind: pa.DataType) -> bool:
    """Return whether every engine writes values of the type ``kind`` as the same string."""
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    return bool(text or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind))


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return ``column`` without dictionary encoding, because two tables cannot share a dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def key_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column  # -0.0 is 0.0


def item_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return items as doubles (if they are floats; NaN becomes null), integers or, for all other types, strings."""
    column = decoded(column)
    kind = column.type
    if pa.types.is_floating(kind):
        numbers = key_values(column.cast(pa.float64()))
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return column if plain else column.cast(pa.string(), safe=False)


def text_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts, integers, dates and booleans as strings, in the form of SQL."""
    return decoded(column).cast(pa.string())


def name_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return names as strings, in a dictionary if ``column`` has one, because few names repeat in many rows."""
    return column if column.type == pa.dictionary(pa.int32(), pa.string()) else text_values(column)


def label_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.int8())
    return float_values(column) if pa.types.is_decimal(column.type) else column


def float_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type):
        return column
    if pa.types.is_decimal(column.type):  # through strings, as Arrow's cast turns 0.3 into 0.30000000000000004
        column = column.cast(pa.string())
    return pc.cast(column, pa.float64(), safe=False)


def double_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return float_values(column).cast(pa.float64())


def time_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return timestamps in microseconds (in UTC if they have a zone), dates, and others as 64-bit integers."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", None if kind.tz is None else "UTC"), safe=False)
    return column if pa.types.is_date32(kind) or pa.types.is_null(kind) else column.cast(pa.int64())


def joined_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Join the strings of each array, without nulls, with :data:`SEPARATOR`. An empty result becomes null."""
    kind = pa.list_(pa.string())
    joined = [pc.binary_join(_without_nulls(part), SEPARATOR) for part in column.cast(kind).chunks]
    texts = pa.chunked_array(joined, pa.string())
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _without_nulls(arrays: pa.ListArray) -> pa.ListArray:
    values = arrays.flatten()
    if not values.null_count:
        return arrays
    kept = values.is_valid()
    ends = np.append(0, np.cumsum(kept.to_numpy(zero_copy_only=False)))
    lengths = arrays.value_lengths().fill_null(0).to_numpy()
    offsets = ends[np.append(0, np.cumsum(lengths))].astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values.filter(kept))


def arrays_of_doubles(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.list_(pa.float64()))


def is_array(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_plain(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind))


def time_kind(kind: pa.DataType) -> str | None:
    """Return the kind of time of the type ``kind``, or None for other types. Only times of one kind can be compared."""
    if pa.types.is_timestamp(kind):
        return "instant" if kind.tz is not None else "timestamp without a zone"
    names = {"whole number": pa.types.is_integer, "date": pa.types.is_date32, "null": pa.types.is_null}
    return next((name for name, is_kind in names.items() if is_kind(kind)), None)


def _is_label(kind: pa.DataType) -> bool:
    return is_number(kind) or bool(pa.types.is_boolean(kind))


# Both are keyed by names in the table of roles.
READERS: dict[Reader, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {
    "key": key_values,
    "item": item_values,
    "label": label_values,
    "float": float_values,
    "double": double_values,
    "text": text_values,
    "name": name_values,
    "time": time_values,
    "texts": joined_texts,
    "doubles": arrays_of_doubles,
}
FITS: dict[Takes, Callable[[pa.DataType], bool]] = {
    "plain": _is_plain,
    "slice": is_slice_value,
    "category": lambda kind: is_slice_value(kind) or is_number(kind),
    "number": is_number,
    "label": _is_label,
    "time": lambda kind: time_kind(kind) is not None,
    "array": lambda kind: is_array(kind) and _is_plain(kind.value_type),
    "numbers": lambda kind: is_array(kind) and _is_label(kind.value_type),
}
