"""Cutting rows by bucket: whole groups, no row lost, and pieces that come back as they went."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank import native
from sparkrank.bucket.grouping import groups_of
from sparkrank.engines.shuffle.packing import (
    buckets_of_piece,
    by_side,
    join_pieces,
    narrow_piece,
    narrowed,
    pack_pieces,
    pieces_by_bucket,
    pieces_by_task,
    unpack_piece,
)
from sparkrank.engines.shuffle.partition import order_by_bucket
from sparkrank.engines.shuffle.texts import with_own_texts
from sparkrank.inputs.buckets import task_of
from sparkrank.states.pickling import stream_of


def carried(pieces: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    apart = join_pieces([unpack_piece(stream_of(piece)) for piece in pieces], schema)
    in_one_buffer = join_pieces([unpack_piece(piece.as_buffer()) for piece in pack_pieces(pieces)], schema)
    assert in_one_buffer.equals(apart)
    assert in_one_buffer.schema == apart.schema
    return apart


EDGES = [edge for bits in (7, 15, 31) for edge in (-(2**bits) - 1, -(2**bits), 2**bits - 1, 2**bits)]


@pytest.mark.parametrize("wide", [pa.int16(), pa.int64(), pa.float64()], ids=str)
def test_whole_labels_stay_narrow(wide: pa.DataType) -> None:
    """Keys do not: the group table has them in the type that they came in."""
    schema = pa.schema({"key_0": pa.int64(), "label": wide})
    pieces = [pa.record_batch({"key_0": pa.array([1, 2], pa.int8()), "label": pa.array([0, 3], pa.int8())})] * 2
    rows = join_pieces(pieces, schema)
    assert rows.schema.types == [pa.int64(), pa.int8()]
    assert rows.to_pydict() == {"key_0": [1, 2, 1, 2], "label": [0, 3, 0, 3]}


@pytest.mark.parametrize("compiled", [True, False])
def test_clicks_are_bits_in_pieces_and_numbers_in_buckets(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of 0 and 1 alone; what else is in the type of a byte stays one, as a label of -1 does."""
    monkeypatch.setattr(native, "COMPILED", native.COMPILED and compiled)
    kinds = {
        "label": [0, 1, 1],
        "label_1": [1, 0, None],
        "label_2": [-1, 0, 1],
        "label_3": [0, 2, 1],
        "score_0": [0, 1, 1],
    }
    table = pa.table({"key_0": [5, 6, 7] * 9, **{name: pa.array(own * 9, pa.int32()) for name, own in kinds.items()}})
    pieces = [piece for _, piece in pieces_by_bucket(table, 2)]
    for piece in pieces:
        assert piece.schema.types == [pa.int8(), pa.bool_(), pa.bool_(), pa.int8(), pa.int8(), pa.int8()]
    rows = carried(pieces, table.schema)
    assert rows.schema.types == [pa.int64(), *[pa.int8()] * 4, pa.int32()]
    assert rows.sort_by("key_0").to_pydict() == table.sort_by("key_0").to_pydict()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("cut", [partial(pieces_by_bucket, buckets=3), partial(pieces_by_task, buckets=30, tasks=2)])
def test_rows_without_a_propensity_take_no_memory_for_one(
    cut: Callable[[pa.Table], Iterator[tuple[int, pa.RecordBatch]]], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fifth row has one, which stays with it. They are in pieces of their own, also after a spill."""
    monkeypatch.setattr(native, "COMPILED", native.COMPILED and compiled)
    row = np.arange(1000)
    propensity = pa.array(np.append(7.0, row / 1000), mask=np.append(False, row % 5 != 0))
    chunks = pa.chunked_array([propensity[1:334], propensity[334:335], propensity[335:]])
    table = pa.table({"key_0": row % 77, "propensity": chunks, "score_0": row / 2})
    pieces = [piece for first, part in cut(table) for _, piece in buckets_of_piece(first, part)]
    spilled = [narrow_piece(join_pieces(side, table.schema)) for side in by_side(pieces)]
    for own in (pieces, spilled):
        without = [piece for piece in own if piece["propensity"].type == pa.null()]
        assert sum(map(len, without)) == 800
        assert all(piece["propensity"].null_count == 0 for piece in own if piece["propensity"].type != pa.null())
        rows = carried(own, table.schema)
        assert rows.schema == table.schema
        assert rows.sort_by("score_0").to_pydict() == table.to_pydict()


def test_texts_of_pieces_may_need_a_wider_code_together_than_each() -> None:
    """Each piece has 100 texts, which codes of 8 bits number; the 300 of all pieces do not fit."""
    texts = [[f"{part}-{number}" for number in range(100)] for part in range(3)]
    code = pa.array(np.arange(100, dtype=np.int8))
    pieces = [pa.record_batch({"key_0": code, "item": pa.DictionaryArray.from_arrays(code, own)}) for own in texts]
    rows = join_pieces(pieces, pa.schema({"key_0": pa.int64(), "item": pa.string()}))
    assert rows["item"].to_pylist() == list(itertools.chain(*texts))


@pytest.mark.parametrize("buckets", [1, 3, 70_000])
def test_what_a_side_does_not_have_takes_no_room_and_lists_come_first(buckets: int) -> None:
    """Of more than 65,536 buckets numpy cuts the rows, of fewer the loops."""
    keys, nothing, numbers = pa.array([1, 2, 3, 4] * 50), pa.nulls(200, pa.float64()), pa.array([0.5] * 200)
    truth = pa.table({"key_0": keys, "label": numbers, "score_0": nothing, "truth": pa.array([True] * 200)})
    lists = pa.table({"key_0": keys, "label": nothing, "score_0": numbers, "truth": pa.array([False] * 200)})
    pieces = []
    for side, missing in ((truth, "score_0"), (lists, "label"), (truth, "score_0")):
        pieces += [piece for _, piece in pieces_by_bucket(side, buckets)]
        assert pieces[-1].schema.field(missing).type == pa.null()
    joined = carried(pieces, truth.schema)
    assert joined.schema == truth.schema
    assert joined["truth"].to_pylist() == [False] * 200 + [True] * 400
    assert joined["label"].to_pylist() == [None] * 200 + [0.5] * 400
    assert joined["score_0"].to_pylist() == [0.5] * 200 + [None] * 400
    assert sorted(joined["key_0"].to_pylist()) == sorted(keys.to_pylist() * 3)


def test_a_bucket_gets_no_texts_of_others() -> None:
    """Of a piece of several buckets, of one task, whose texts are in one dictionary."""
    rows = pa.table({"key_0": [f"user-{each % 60}" for each in range(3000)], "row": range(3000)})
    buckets, pieces = set(), list(pieces_by_task(rows, 40, 2))
    for first, piece in pieces:
        assert pa.types.is_dictionary(piece["key_0"].type)
        for bucket, part in buckets_of_piece(first, piece):
            assert task_of(bucket, 40, 2) == task_of(first, 40, 2)
            assert len(part["key_0"].dictionary) == len(set(part["key_0"].to_pylist()))
            assert bucket not in buckets
            buckets.add(bucket)
    assert len(buckets) > 20
    assert len(pieces) == 2


def test_rows_without_a_key_spread() -> None:
    rows = pa.table({"key_0": pa.array([None] * 300 + [1] * 300, pa.int64()), "row": range(600)})
    sizes = {bucket: piece["row"].to_pylist() for bucket, piece in pieces_by_bucket(rows, 6)}
    assert all(any(row < 300 for row in found) for found in sizes.values())
    assert len(sizes) == 6
    assert sum(any(row >= 300 for row in found) for found in sizes.values()) == 1  # while a group stays whole
    assert sorted(row for found in sizes.values() for row in found) == list(range(600))


def test_rows_without_a_key_go_the_same_way_in_any_order() -> None:
    """A task that Spark runs again may get its rows in another order, and some buckets are done by then."""
    columns = {
        "key_0": [None if row % 2 else row for row in range(400)],
        "key_1": [None if row % 3 else "a" for row in range(400)],
        "label": [row % 4 for row in range(400)],
        "score_0": [None if row % 7 == 0 else row / 400 for row in range(400)],
        "item": [f"i{row // 2}" for row in range(400)],
    }
    rows = pa.table(columns)
    shuffled = rows.take(np.random.default_rng(5).permutation(400))
    first, again = (
        {bucket: sorted(map(repr, carried([piece], rows.schema).to_pylist())) for bucket, piece in pieces}
        for pieces in (pieces_by_bucket(rows, 5), pieces_by_bucket(shuffled, 5))
    )
    assert len(first) == 5
    assert first == again


@given(
    st.lists(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from(EDGES), max_size=5), min_size=1)
)
def test_whole_numbers_come_out_as_they_went(splits: list[list[int | None]]) -> None:
    """Pieces of one bucket may have been narrowed to types of their own."""
    schema = pa.schema({"text": pa.string(), "whole": pa.int64(), "short": pa.int16(), "score": pa.float32()})
    sent = []
    for values in splits:
        short = [None if value is None else value % 2**15 for value in values]
        columns = [map(str, values), values, short, [0.5] * len(values)]
        sent.append(pa.table([*map(pa.array, map(list, columns), schema.types)], schema=schema))
    pieces = [batch for table in sent for batch in narrowed(table).to_batches()]
    if pieces:
        assert carried(pieces, schema).equals(pa.concat_tables(sent))


def test_the_narrowest_type_of_all_chunks() -> None:
    for chunks, kind in (
        ([[0, 127]], pa.int8()),
        ([[-129]], pa.int16()),
        ([[2**15]], pa.int32()),
        ([[-(2**31)]], pa.int32()),
        ([[1], [2**31], [3]], pa.int64()),
        ([[None]], pa.int64()),
        ([[-(2**15)], [], [None], [2**15 - 1]], pa.int16()),
    ):
        column = pa.chunked_array(chunks, pa.int64())
        narrow = narrowed(pa.table({"key_0": column}))["key_0"]
        assert (narrow.type, narrow.to_pylist()) == (kind, column.to_pylist())


@pytest.mark.parametrize("buckets", [3, 300])
def test_the_bucket_of_a_row_does_not_depend_on_the_chunks_that_it_came_in(buckets: int) -> None:
    """Neither of one whole number nor of several columns with nulls, nor of rows without a key."""
    keys = {"key_0": [None if row % 9 == 0 else row for row in range(100)], "key_1": [f"t{row}" for row in range(100)]}
    for names in (["key_0"], ["key_1"], ["key_0", "key_1"]):
        table = pa.table({name: keys[name] for name in names} | {"score_0": [row / 7 for row in range(100)]})
        parts = pa.concat_tables([table.slice(0, 41), table.slice(41, 0), table.slice(41)])
        one, several = ({b: p.to_pydict() for b, p in pieces_by_bucket(rows, buckets)} for rows in (table, parts))
        assert len(one) > 1
        assert several == one


WIDTH_16 = [f"{number:016x}" for number in range(100)]
TEXTS = {"repeated": ["a", "", None, "long " * 100, "ü"] * 20, "distinct": [*map(str, range(99)), None]}
TEXTS |= {"of one width": WIDTH_16, "and one missing": [*WIDTH_16[1:], None], "none": [None] * 100, "empty": [""] * 100}


def forms_of(texts: list[str | None], kind: pa.DataType) -> dict[str, pa.ChunkedArray]:
    plain = pa.array(texts, pa.string()).cast(kind)
    # every value twice, null among them, and one that no row has
    once = plain.dictionary_encode(null_encoding="encode")
    codes = once.indices.to_numpy() + np.random.default_rng(1).integers(0, 2, 100) * len(once.dictionary)
    values = pa.concat_arrays([once.dictionary, once.dictionary, pa.array(["unused"], pa.string()).cast(kind)])
    return {
        "plain": pa.chunked_array([plain]),
        "chunks": pa.chunked_array([plain.slice(0, 30), plain.slice(30)]),
        "dictionary": pa.chunked_array([plain.dictionary_encode()]),
        "sloppy dictionary": pa.chunked_array([pa.DictionaryArray.from_arrays(codes, values)]),
    }


@pytest.mark.parametrize("code_texts", [True, False])
def test_texts_come_out_as_they_went(code_texts: bool) -> None:
    """In any mix of splits and buckets, whatever the input's own dictionaries hold."""
    kinds = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    for (name, texts), kind in itertools.product(TEXTS.items(), kinds):
        for form, column in forms_of(texts, kind).items():
            rows = pa.table({"key_0": column, "item": column, "row": range(100)})
            pieces: dict[int, list[pa.RecordBatch]] = {}
            for split in (rows.slice(0, 50), rows.slice(50, 1), rows.slice(51)):
                for bucket, piece in pieces_by_bucket(split, 3, code_texts):
                    pieces.setdefault(bucket, []).append(piece)
            out = [carried(parts, rows.schema) for parts in pieces.values()]
            held = [join_pieces(parts, rows.schema) for parts in pieces.values()]
            assert [part.to_pylist() for part in held] == [part.to_pylist() for part in out]
            assert all(part["item"].type == kind for part in out)
            came = sorted((row for part in out for row in part.to_pylist()), key=lambda row: row["row"])
            went = column.cast(kind).to_pylist()
            expected = [{"key_0": text, "item": text, "row": place} for place, text in enumerate(went)]
            assert came == expected, (name, kind, form)
            for part in out:
                groups = groups_of([part["key_0"]])
                texts_of = part["key_0"].to_pylist()
                assert [texts_of[row] for row in groups.row[groups.codes]] == texts_of
                assert groups.count == len(set(texts_of))


def test_few_texts_are_codes_in_every_piece_and_many_are_not() -> None:
    rng = np.random.default_rng(6)
    rows = pa.table({"key_0": [f"user {n}" for n in range(20_000)], "item": rng.choice(["a", "bb", "ccc"], 20_000)})
    for code_texts in (False, True):
        for _, piece in pieces_by_bucket(rows, 3, code_texts):
            assert piece.schema.types == [pa.string(), pa.dictionary(pa.int8(), pa.string())]


def test_texts_are_narrow_codes_where_each_is_there_twice() -> None:
    for texts, kind in ((128, pa.int8()), (129, pa.int16()), (32_769, pa.int32()), (10, None)):
        column = pa.array([str(row % texts) for row in range(2 * texts - (kind is None))])
        for form in (column, column.dictionary_encode()):
            own = with_own_texts(pa.record_batch([form], ["key_0"]), code_texts=True)["key_0"]
            assert own.type == (pa.string() if kind is None else pa.dictionary(kind, pa.string()))
            assert own.cast(pa.string()).equals(column)


def test_a_piece_may_have_many_columns() -> None:
    rows = pa.table({f"c{column}": [column, 2**column % 2**62] for column in range(70)})
    assert carried([narrow_piece(rows)], rows.schema).equals(rows)


def test_a_text_is_in_a_piece_once() -> None:
    rows = pa.table({"key_0": ["a long key of some user"] * 500 + ["another"] * 500})
    ((_, piece),) = pieces_by_bucket(rows, 1)
    (packed,) = pack_pieces([piece])
    assert packed.as_buffer().to_pybytes().count(b"a long key of some user") == 1
    assert len(packed.as_buffer()) < 2000  # a byte for the code of each row, and what Arrow adds


# numbers of rows and buckets, and the type that holds the bits of both
ORDERS = [(0, 5, np.uint32), (1000, 1, np.uint32), (1000, 300, np.uint32), (1 << 16, 1 << 16, np.uint32)]
ORDERS += [((1 << 16) + 1, 1 << 16, np.uint64), (1 << 16, (1 << 16) + 1, np.uint64), (40_000, 1 << 18, np.uint64)]


@pytest.mark.parametrize(("rows", "count", "kind"), ORDERS)
def test_rows_stand_bucket_after_bucket_in_their_order(rows: int, count: int, kind: type) -> None:
    buckets = np.random.default_rng(3).integers(0, count, rows).astype(np.min_scalar_type(count - 1))
    order, ends = order_by_bucket(buckets, count)
    assert order.dtype == kind
    assert order.tolist() == sorted(range(rows), key=lambda row: buckets[row])
    assert ends == np.bincount(buckets, minlength=count).cumsum().tolist()
