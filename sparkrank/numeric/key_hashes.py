"""A 64-bit hash of group keys. It is the same in every process, and determines the bucket and the part of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.text_arrays import is_text, text_bytes, text_ends

Hashes = NDArray[np.uint64]

PART_BITS = 6
PARTS = 1 << PART_BITS  # the sets of groups from which standard errors are resampled
# Raise this when the hash of any key changes, because groups are then in other parts than on the days before.
HASH_VERSION = 1

_WHOLE_OF = {kind.bit_width: kind for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())}

# Odd multipliers with well-mixed bits: those of Steele, Lea and Flood's SplitMix64 (OOPSLA 2014).
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)
_BATCH = 1 << 15  # values mixed at a time: intermediate arrays stay in the cache, which halves the time
_NONE = np.uint64(0)
MAX_LOOP_BUCKETS = 1 << 16  # compiled loops store the number of a bucket in 16 bits
_HALF = np.uint64(32)  # bits
_NULL_HASH = np.uint64(0xD6E8FEB86659FD93)  # the hash of a null key
_COLUMN = np.uint64(0x100000001B3)  # distinguishes a column of the key from the one before (FNV's prime)
_WORD = 8  # bytes
_FIRST_BYTES = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], np.uint64)  # masks of a word


def hash_keys(keys: Sequence[pa.Array]) -> Hashes:
    """Return a 64-bit hash of each row's key in the columns ``keys``. Nulls in keys are equal to each other."""
    total = _mixed(_numbers_of(keys[0]), _STEP)
    for key in keys[1:]:
        total = _mixed(total * _COLUMN + _numbers_of(key), _STEP)
    return total


def buckets_of(hashes: Hashes, buckets: int) -> NDArray[np.unsignedinteger[Any]]:
    """Return the bucket of each hash, in the narrowest integer type.

    The bucket is (upper 32 bits of the hash) · ``buckets`` / 2^32, rounded down.
    """
    bucket = np.empty(len(hashes), np.min_scalar_type(buckets - 1))
    for start in range(0, len(hashes), _BATCH):
        upper = hashes[start : start + _BATCH] >> _HALF
        upper *= np.uint64(buckets)  # scaling needs no division
        bucket[start : start + _BATCH] = upper >> _HALF
    return bucket


def parts_of(hashes: Hashes) -> NDArray[np.int32]:
    """Return the part (one of 64 sets of groups) of each hash: the leading bits of the hash.

    The part of a group is the same on every day and in every kind of run.
    """
    return (hashes >> np.uint64(64 - PART_BITS)).astype(np.int32)


def buckets_of_keys(keys: Sequence[pa.Array], buckets: int) -> NDArray[np.unsignedinteger[Any]]:
    """Return the bucket of each row from the hash of its key in the columns ``keys``. No key may be null."""
    key, bucket = keys[0], np.empty(len(keys[0]), np.uint16)
    is_whole = pa.types.is_signed_integer(key.type)
    serves = len(keys) == 1 and buckets <= MAX_LOOP_BUCKETS and (is_whole or is_text(key.type))
    if native.runs("buckets", serves):
        if is_whole:
            native.buckets.buckets_of(key.to_numpy(), buckets, bucket)
        else:
            native.texts.buckets_of(text_ends(key), text_bytes(key), buckets, bucket)
        return bucket
    return buckets_of(hash_keys(keys), buckets)


def _numbers_of(key: pa.Array) -> Hashes:
    """Return a number for each value, not yet mixed into a hash. Equal values have equal numbers."""
    if pa.types.is_dictionary(key.type):
        numbers = np.append(_numbers_of(key.dictionary), _NULL_HASH)  # a null code has the number of a null
        of_codes: Hashes = numbers[key.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)]
        return of_codes
    if pa.types.is_timestamp(key.type):
        key = key.cast(pa.timestamp("us", key.type.tz), safe=False)  # in one unit, whatever the reader
    if pa.types.is_floating(key.type) or pa.types.is_temporal(key.type):
        key = key.view(_WHOLE_OF[key.type.bit_width])
    if pa.types.is_integer(key.type) or pa.types.is_boolean(key.type):
        whole = key.cast(pa.int64(), safe=False)
        numbers = whole.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    else:
        is_fixed = pa.types.is_fixed_size_binary(key.type)  # its bytes may be invalid UTF-8
        numbers = _hash_texts(key if is_text(key.type) else key.cast(pa.binary() if is_fixed else pa.string()))
    return np.where(pc.is_null(key).to_numpy(zero_copy_only=False), _NULL_HASH, numbers) if key.null_count else numbers


def _hash_texts(texts: pa.Array) -> Hashes:
    """Return the hash of each string.

    Each word is mixed with its offset; the sum of these is mixed with the string's length.
    """
    ends, data = text_ends(texts), text_bytes(texts)
    if native.runs("hashes"):
        hashes = np.empty(len(texts), np.uint64)
        native.texts.hashes(ends, data, hashes)
        return hashes
    if len(data) < int(ends[-1]) + _WORD:  # Arrow pads its buffers, but other libraries may not
        data = np.concatenate([data[: int(ends[-1])], np.zeros(_WORD, np.uint8)])
    words = np.ndarray(len(data) - _WORD + 1, "<u8", data, strides=(1,))  # the eight bytes that start at each place
    lengths = np.diff(ends).astype(np.int64)
    counts = -(-lengths // _WORD)
    through = np.cumsum(counts)
    places = (np.arange(int(counts.sum())) - np.repeat(through - counts, counts)) * _WORD
    word = words[np.repeat(ends[:-1].astype(np.int64), counts) + places]
    word &= _FIRST_BYTES[np.minimum(np.repeat(lengths, counts) - places, _WORD)]  # the bytes that belong to the text
    sums = np.append(_NONE, np.cumsum(_mixed(word + places.astype(np.uint64) * _STEP)))  # modulo 2^64
    return _mixed(sums[through] - sums[through - counts] + lengths.view(np.uint64) * _STEP)


def _mixed(values: Hashes, added: np.uint64 = _NONE) -> Hashes:
    """Return ``values`` plus ``added``, mixed so that every bit of a result depends on every bit of the sum."""
    mixed = np.empty_like(values)
    for start in range(0, len(values), _BATCH):
        part = values[start : start + _BATCH] + added
        part = (part ^ (part >> np.uint64(30))) * _MIX[0]
        part = (part ^ (part >> np.uint64(27))) * _MIX[1]
        np.bitwise_xor(part, part >> np.uint64(31), out=mixed[start : start + _BATCH])
    return mixed
