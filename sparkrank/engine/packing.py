"""Rows on their way to their bucket: which bucket, and many rows as one piece of bytes.

A piece is an Arrow record batch without its schema, which both ends know, but for the width of whole numbers: keys and
labels mostly need a half or an eighth of theirs. Texts go as codes, with the texts of the piece behind the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.engine.texts import alike, coded, decoded, plain, solved_schema, with_own_texts
from sparkrank.impressions import key_columns, one_array

Hashes = NDArray[np.uint64]

_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_WHOLE_OF = {kind.bit_width: kind for kind in _WHOLE}
_CODES = 16  # and the place of the width in _WHOLE: codes of texts
_AS_AGREED = 255  # the type of a column that both ends know
_WORD = 8  # bytes
_TEXTS = ("texts",)  # the column of a batch of texts

# Odd multipliers with well-mixed bits: those of Steele, Lea and Flood's SplitMix64 (OOPSLA 2014).
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)
_STRETCH = 1 << 15  # values mixed at once: what is in between stays in the cache, which halves the time
_NULL = np.uint64(0xD6E8FEB86659FD93)  # the hash of a missing key
_BYTES = np.uint64(0x100000001B3)  # the multiplier of the byte hash, FNV's prime


def pieces_by_bucket(rows: pa.Table, buckets: int, code_texts: bool = True) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a split as buckets get them: the number of each of ``buckets`` that has any, and its rows.

    Whole numbers are narrow. With ``code_texts``, texts are dictionaries where they repeat.
    """
    rows = narrowed(decoded(rows))
    rows = coded(rows) if code_texts else rows
    keys = [rows[name].combine_chunks() for name in key_columns(rows)]
    hashes = hash_keys(keys)
    for key in keys:
        if key.null_count:  # rows without a key would all meet in one bucket; they form no group, so they may spread
            missing = pc.indices_nonzero(pc.is_null(key))
            others = rows.drop_columns(key_columns(rows)).take(missing).combine_chunks()
            # by what they hold: a task that Spark runs again may get its rows in another order
            hashes[missing.to_numpy()] = hash_keys([one_array(column) for column in others.columns])
    for bucket, piece in cut(rows, buckets_of(hashes, buckets), buckets):
        yield bucket, with_own_texts(piece)


def hash_keys(keys: Sequence[pa.Array]) -> Hashes:
    """A 64-bit hash of each row's key: equal keys, equal hashes. A null is a value of its own."""
    total = _mixed(_hash_column(keys[0]) + _STEP)
    for key in keys[1:]:
        total = _mixed(total * _BYTES + _STEP + _hash_column(key))
    return total


def buckets_of(hashes: Hashes, buckets: int) -> NDArray[np.uint32]:
    """The bucket of each hash: its upper half, scaled, so that no division is needed."""
    return (((hashes >> np.uint64(32)) * np.uint64(buckets)) >> np.uint64(32)).astype(np.uint32)


def _hash_column(key: pa.Array) -> Hashes:
    if pa.types.is_dictionary(key.type):
        return _by_code(_hash_column(key.dictionary), key.indices)
    if pa.types.is_integer(key.type) or pa.types.is_boolean(key.type):
        whole = key.cast(pa.int64(), safe=False)
        hashes = _mixed(whole.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64))
        return (
            hashes if key.null_count == 0 else np.where(pc.is_null(key).to_numpy(zero_copy_only=False), _NULL, hashes)
        )
    if pa.types.is_floating(key.type) or pa.types.is_temporal(key.type):
        return _hash_column(key.view(_WHOLE_OF[key.type.bit_width]))
    is_bytes = pa.types.is_binary(key.type) or pa.types.is_large_binary(key.type)
    text = key if pa.types.is_string(key.type) else key.cast(pa.binary() if is_bytes else pa.string())
    encoded = text.dictionary_encode()  # each distinct text is hashed once
    return _by_code(_hash_texts(encoded.dictionary), encoded.indices)


def _by_code(hashes: Hashes, codes: pa.Array) -> Hashes:
    """The hash of each code; a null code is the one behind the last."""
    found: Hashes = np.append(hashes, _NULL)[codes.fill_null(len(hashes)).to_numpy(zero_copy_only=False)]
    return found


def _hash_texts(texts: pa.Array) -> Hashes:
    """A polynomial of the bytes of each text, mixed with its length."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    lengths = np.diff(offsets)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    starts = offsets[:-1] - offsets[0]
    place = np.arange(len(data)) - np.repeat(starts, lengths)
    powers = _BYTES ** np.arange(int(lengths.max(initial=0)) + 1, dtype=np.uint64)
    terms = (data + np.uint64(1)) * powers[place]
    sums = np.zeros(len(texts), np.uint64)
    filled = np.flatnonzero(lengths)
    if len(filled):
        sums[filled] = np.add.reduceat(terms, starts[filled])
    return _mixed(sums + lengths.astype(np.uint64) * _STEP)


def _mixed(values: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of the value."""
    mixed = np.empty_like(values)
    for start in range(0, len(values), _STRETCH):
        part = values[start : start + _STRETCH]
        part = (part ^ (part >> np.uint64(30))) * _MIX[0]
        part = (part ^ (part >> np.uint64(27))) * _MIX[1]
        np.bitwise_xor(part, part >> np.uint64(31), out=mixed[start : start + _STRETCH])
    return mixed


def cut(rows: pa.Table, buckets: NDArray[np.unsignedinteger[Any]], count: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """``rows`` by bucket: for each of ``count`` buckets that has any, its number and its rows in their order."""
    order = np.argsort(buckets.astype(np.uint16) if count <= 1 << 16 else buckets, kind="stable")
    sizes = np.bincount(buckets, minlength=count)
    ends = np.cumsum(sizes)
    for batch in rows.take(pa.array(order)).combine_chunks().to_batches():  # one, or none without rows
        for bucket in np.flatnonzero(sizes):
            yield int(bucket), batch.slice(ends[bucket] - sizes[bucket], sizes[bucket])


def narrow_piece(rows: pa.Table) -> pa.RecordBatch:
    """``rows``, at least one, as a piece with narrow whole numbers."""
    (batch,) = narrowed(rows).combine_chunks().to_batches()
    return batch


def narrowed(rows: pa.Table) -> pa.Table:
    """``rows`` with every column of whole numbers in the narrowest type that holds them."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_signed_integer(field.type) and rows.num_rows > rows[index].null_count:
            least, most = (limit.as_py() for limit in pc.min_max(rows[index]).values())
            kind = next(kind for kind in _WHOLE if _least(kind) <= least and most <= -_least(kind) - 1)
            if kind.bit_width < field.type.bit_width:
                rows = rows.set_column(index, field.name, rows[index].cast(kind))
    return rows


def _least(kind: pa.DataType) -> int:
    return -(1 << (int(kind.bit_width) - 1))


def pack_pieces(pieces: Iterable[pa.RecordBatch]) -> pa.Array:
    """Each piece as bytes, all of them in one buffer: copied twice, not once more into Python's own.

    Before the batch stand the types of its columns of whole numbers and codes, a byte each, in full words so that what
    follows is aligned. The texts of each column of codes follow as batches of their own.
    """
    sink = pa.BufferOutputStream()
    ends = [0]
    for piece in pieces:
        is_coded = [pa.types.is_dictionary(kind) for kind in piece.schema.types]
        sent = [column.indices if codes else column for column, codes in zip(piece.columns, is_coded, strict=True)]
        types = bytes(
            _CODES * codes + _WHOLE.index(column.type) if column.type in _WHOLE else _AS_AGREED
            for column, codes in zip(sent, is_coded, strict=True)
        )
        sink.write(types.ljust(_types_size(piece.num_columns)))
        sink.write(pa.record_batch(sent, piece.schema.names).serialize())
        for column in piece.columns:
            if pa.types.is_dictionary(column.type):
                sink.write(pa.record_batch([column.dictionary], _TEXTS).serialize())
        ends.append(sink.tell())
    offsets = pa.py_buffer(np.array(ends, np.int32))
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, offsets, sink.getvalue()])


def unpack_pieces(packed: Iterable[pa.Buffer], schema: pa.Schema) -> pa.Table:
    """The rows of several pieces with the columns of ``schema``, of which keys that came as codes are dictionaries.

    Only whole numbers that came narrow are copied, and texts other than keys.
    """
    return joined([_unpacked(piece, schema) for piece in packed], schema)


def joined(pieces: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of ``pieces`` as :func:`pieces_by_bucket` gives them, with the columns of :func:`unpack_pieces`."""
    agreed = solved_schema(schema, pieces)
    return pa.concat_tables([alike(piece, agreed).cast(agreed) for piece in pieces])


def _unpacked(packed: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    codes = packed[: len(schema)].to_pybytes()
    came = pa.schema([field.with_type(_came(code, field.type)) for field, code in zip(schema, codes, strict=True)])
    messages = pa.BufferReader(packed.slice(_types_size(len(schema))))
    columns = pa.ipc.read_record_batch(pa.ipc.read_message(messages), came).columns
    for index, code in enumerate(codes):
        if _CODES <= code < _AS_AGREED:
            texts = pa.schema({_TEXTS[0]: plain(schema.field(index).type)})
            dictionary = pa.ipc.read_record_batch(pa.ipc.read_message(messages), texts).column(0)
            columns[index] = pa.DictionaryArray.from_arrays(columns[index], dictionary)
    return pa.record_batch(columns, schema.names)


def _came(code: int, agreed: pa.DataType) -> pa.DataType:
    """The type in which a column stands in the batch."""
    return plain(agreed) if code == _AS_AGREED else _WHOLE[code % _CODES]


def _types_size(columns: int) -> int:
    return -(-columns // _WORD) * _WORD
