"""The hash of a value by which Spark's SQL finds it again: ``xxhash64``, for a few values at a time.

Spark hashes the columns of a row one after the other, each with the hash so far as its seed. The hash of bytes is XXH64
of Yann Collet; numbers have shorter ways, by the width of their type.
"""

from __future__ import annotations

import decimal
import struct
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

_MASK = 2**64 - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_SEED = 42
_STRIPE, _WORD, _HALF = 32, 8, 4  # bytes
_HALF_BITS = 32
_NARROW_DECIMAL = 18  # digits that fit 64 bits


def xxhash64(columns: Iterable[pa.Array]) -> list[int]:
    """The number that ``xxhash64(a, b, ...)`` of Spark has for each row of ``columns`` of equal length.

    A type that Spark does not have is hashed as its text.
    """
    hashes: list[int] = []
    for column in columns:
        hashes = hashes or [_SEED] * len(column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)  # noqa: PLW2901 - the same values
        of_type = _plain(column)
        hashes = [_of_value(value, of_type.type, seed) for value, seed in zip(of_type.to_pylist(), hashes, strict=True)]
    return [each - 2**64 if each >> 63 else each for each in hashes]


def _plain(column: pa.Array) -> pa.Array:
    """``column`` with dates and times as whole numbers of Spark's units."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    if pa.types.is_date(column.type):
        return column.cast(pa.date32()).cast(pa.int32())
    return column


def _of_value(value: Any, kind: pa.DataType, seed: int) -> int:
    if value is None:
        return seed
    if isinstance(value, int):
        return (_of_half if kind.bit_width <= _HALF_BITS else _of_word)(value, seed)
    if isinstance(value, float):
        return _of_float(value, kind, seed)
    if isinstance(value, decimal.Decimal):
        return _of_decimal(value, kind, seed)
    return _of_bytes(value if isinstance(value, bytes) else str(value).encode(), seed)


def _of_float(value: float, kind: pa.DataType, seed: int) -> int:
    if pa.types.is_float32(kind):
        return _of_half(struct.unpack("<I", struct.pack("<f", value + 0.0))[0], seed)
    return _of_word(struct.unpack("<Q", struct.pack("<d", value + 0.0))[0], seed)


def _of_decimal(value: decimal.Decimal, kind: pa.DataType, seed: int) -> int:
    whole = int(value.scaleb(kind.scale, decimal.Context(prec=100)))
    if kind.precision <= _NARROW_DECIMAL:
        return _of_word(whole, seed)
    return _of_bytes(whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True), seed)


def _turned(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _MASK


def _finished(found: int) -> int:
    found ^= found >> 33
    found = found * _P2 & _MASK
    found ^= found >> 29
    found = found * _P3 & _MASK
    return found ^ found >> 32


def _with_half(found: int, half: int) -> int:
    return (_turned(found ^ (half * _P1 & _MASK), 23) * _P2 + _P3) & _MASK


def _with_word(found: int, word: int) -> int:
    return (_turned(found ^ _mixed(0, word), 27) * _P1 + _P4) & _MASK


def _mixed(found: int, word: int) -> int:
    return _turned((found + word * _P2) & _MASK, 31) * _P1 & _MASK


def _of_half(half: int, seed: int) -> int:
    return _finished(_with_half((seed + _P5 + _HALF) & _MASK, half & 0xFFFFFFFF))


def _of_word(word: int, seed: int) -> int:
    return _finished(_with_word((seed + _P5 + _WORD) & _MASK, word & _MASK))


def _of_bytes(text: bytes, seed: int) -> int:
    at = 0
    found = (seed + _P5) & _MASK
    if len(text) >= _STRIPE:
        lanes = [(seed + each) & _MASK for each in (_P1 + _P2, _P2, 0, -_P1)]
        for at in range(0, len(text) - _STRIPE + 1, _STRIPE):
            words = struct.unpack_from("<4Q", text, at)
            lanes = [_mixed(lane, word) for lane, word in zip(lanes, words, strict=True)]
        at += _STRIPE
        found = sum(_turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            found = ((found ^ _mixed(0, lane)) * _P1 + _P4) & _MASK
    found = (found + len(text)) & _MASK
    while at + _WORD <= len(text):
        found = _with_word(found, struct.unpack_from("<Q", text, at)[0])
        at += _WORD
    if at + _HALF <= len(text):
        found = _with_half(found, struct.unpack_from("<I", text, at)[0])
        at += _HALF
    for byte in text[at:]:
        found = _turned(found ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    return _finished(found)
