"""Large buckets in runs of whole groups: the bits of the whole bucket, whatever the pieces and where they wait."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import InputError, OutOfMemoryError
from sparkrank.bucket import evaluate_bucket
from sparkrank.engines import bucket_evaluation as evaluation
from sparkrank.engines.bucket_evaluation import evaluate_buckets
from sparkrank.engines.shuffle import group_runs as runs
from sparkrank.engines.shuffle.packing import join_pieces, pieces_by_bucket
from sparkrank.engines.shuffle.piece_join import joined_in_turn
from sparkrank.engines.shuffle.spill import LazyFile, PieceStore
from sparkrank.engines.spark import tasks
from sparkrank.engines.spark.gather import gather_states
from sparkrank.engines.spark.tasks import solve_pieces
from sparkrank.metrics import Plan, plan_of
from sparkrank.ranking import hit_sums
from sparkrank.states import Partials
from sparkrank.states.largest import LargeGroup
from sparkrank.states.pickling import stream_of
from tests.extent import examples
from tests.support.buckets import bits_of_groups, bits_of_partials
from tests.support.random_buckets import buckets, plans
from tests.support.strategies import PATIENT


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "RUN_ROWS", 50)
    monkeypatch.setattr(evaluation, "RUN_ROWS", 50)
    monkeypatch.setattr(runs, "LARGE_ROWS", 20)


KEY_0 = plan_of(["ndcg@2"], ["m"], ["user"])


def rows_of(keys: np.ndarray, **more: Any) -> pa.Table:
    columns = {"key_0": keys, "label": np.arange(len(keys)) % 2, "score_0": np.arange(float(len(keys)))}
    return pa.table({**columns, **more})


def in_runs(rows: pa.Table, plan: Plan, split: int, row_memory: int, buckets: int = 1) -> list[Any]:
    with closing(LazyFile()) as file:
        store = PieceStore(rows.schema, file, row_memory)
        for start in range(0, len(rows), split):
            store.add(list(pieces_by_bucket(rows.slice(start, split), buckets)))
        return list(evaluate_buckets(store, range(buckets), plan))


@pytest.mark.slow
@given(st.data())
@settings(PATIENT, max_examples=examples(25))
def test_runs_of_buckets_add_up_to_the_bits_of_the_whole(data: st.DataObject) -> None:
    plan = data.draw(plans())
    rows = data.draw(buckets(plan))
    try:
        whole = evaluate_bucket(rows, plan)
    except InputError:
        return
    with pytest.MonkeyPatch.context() as patch:
        for module in (runs, evaluation):
            patch.setattr(module, "RUN_ROWS", data.draw(st.sampled_from([1, 10, 50])))
        patch.setattr(runs, "LARGE_ROWS", data.draw(st.sampled_from([5, 20])))
        patch.setattr(hit_sums, "LARGE_ROWS", data.draw(st.sampled_from([0, 1 << 17])))
        patch.setattr(runs, "SHARED_ROWS", data.draw(st.sampled_from([0, 20, 1000])))
        split, row_memory = data.draw(st.sampled_from([7, 40, 1000])), data.draw(st.sampled_from([0, 1 << 20]))
        found = in_runs(rows, plan, split, row_memory, data.draw(st.sampled_from([1, 5, 30])))
    if not found:
        assert not len(rows)
        return
    assert len({number for number, _ in found}) == len(found)
    merged, expected = Partials.merged(result.partials for _, result in found), Partials.merged([whole.partials])
    assert bits_of_partials(merged) == bits_of_partials(expected)
    assert merged.largest == expected.largest
    groups = pa.concat_tables([result.groups for _, result in found])
    assert bits_of_groups(groups, plan.keys) == bits_of_groups(whole.groups, plan.keys)


def test_a_bucket_is_cut_at_all(short_runs: None) -> None:
    found = in_runs(rows_of(np.repeat(np.arange(40), 10)), KEY_0, 100, 0)
    assert len(found) > 6
    assert all(result.groups.num_rows <= 5 for _, result in found)


def store_of(rows: pa.Table, sizes: Iterable[int], file: Any, row_memory: int = 1 << 20) -> PieceStore:
    """Buckets from 0 with so many of the ``rows`` each."""
    store, start = PieceStore(rows.schema, file, row_memory), 0
    for bucket, size in enumerate(sizes):
        store.add([(bucket, piece) for piece in rows.slice(start, size).to_batches()])
        start += size
    return store


def test_small_buckets_that_follow_one_another_are_evaluated_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 rows at most: 10 and 30, then 31, for 15 more were too many, then 15 and none and 25; 500 stay alone."""
    monkeypatch.setattr(runs, "SHARED_ROWS", 40)
    sizes = [10, 30, 31, 15, 0, 25, 500, 1]
    with closing(LazyFile()) as file:
        found = list(evaluate_buckets(store_of(rows_of(np.arange(612)), sizes, file), range(8), KEY_0))
    sizes_of_runs = [(bucket, result.groups.num_rows) for bucket, result in found]
    assert sizes_of_runs == [(0, 40), (2, 31), (3, 40), (6, 500), (7, 1)]


def test_buckets_of_wide_rows_share_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three buckets of ten rows, some 1,000 bytes each, fit 32,000 bytes: more buckets help where texts are long."""
    monkeypatch.setattr(runs, "SHARED_BYTES", 32_000)
    rows = rows_of(np.arange(70), text=["x" * 980] * 70)
    for row_memory in (1 << 20, 0):
        with closing(LazyFile()) as file:
            store = store_of(rows, [10] * 7, file, row_memory)
            assert list(runs.small_together(store, range(7))) == [[0, 1, 2], [3, 4, 5], [6]]


def test_runs_hold_at_most_their_rows_and_large_groups_stay_apart() -> None:
    counts = np.zeros(runs.HASHES, np.int64)
    counts[[3, 9, 20000]] = [runs.RUN_ROWS * 3, runs.LARGE_ROWS + 1, runs.LARGE_ROWS + 1]
    counts[100:1100] = 100_000
    run_of_hash, number = runs.runs_of_hashes(counts)
    rows = np.bincount(run_of_hash, weights=counts)
    assert (rows.sum(), len(rows)) == (counts.sum(), number)
    assert np.flatnonzero(rows > runs.RUN_ROWS).tolist() == [run_of_hash[3]]
    assert run_of_hash[9] == run_of_hash[20000]
    assert not {*run_of_hash[[3, 9]]} & {*run_of_hash[100:1100]}


def piece_of(key: int, label: int | None, score: float | None, items: pa.Array) -> pa.RecordBatch:
    columns = {"key_0": pa.array([key] * 3, pa.int8()), "score_0": [0.5, score, 2.0], "item": items}
    label_type = pa.int16() if label == 1000 else pa.int8()
    return pa.record_batch({**columns, "label": pa.array([label] * 3, label_type)})


def test_pieces_joined_in_turn_are_pieces_joined() -> None:
    """Of one key, of several, of labels that grow wider, with nulls and without."""
    kinds = {"key_0": pa.int64(), "score_0": pa.float64(), "item": pa.string(), "label": pa.int64()}
    plain, coded = pa.array(["c", None, "d"]), pa.array(["a", "b", None]).dictionary_encode()
    labels_of_both = ([0, 1], [0, 1000], [None, 1000], [None, 1])
    for keys, labels in itertools.product(([5, 5], [5, 6], [6, 5]), labels_of_both):
        score = None if labels[0] is None else 1.0
        pieces = [
            piece_of(*of_piece, score, items) for *of_piece, items in zip(keys, labels, (plain, coded), strict=True)
        ]
        found = joined_in_turn(pieces, 6, pa.schema(kinds))
        assert found.to_pylist() == join_pieces(pieces, pa.schema(kinds)).to_pylist()
        assert found.schema.field("key_0").type in (pa.int64(), pa.dictionary(pa.int8(), pa.int64()))


def ended(*_: object) -> None:
    raise MemoryError("Unable to allocate 1.49 GiB for an array")


def ended_in_arrow(pieces: Iterator[pa.RecordBatch], *_: object) -> None:
    next(pieces)
    raise pa.ArrowMemoryError("malloc of size 64 failed")


@pytest.mark.parametrize(
    ("module", "step", "fails", "size"),
    [(evaluation, "evaluate_bucket", ended, "3,000"), (runs, "joined_in_turn", ended_in_arrow, "about 3,000")],
)
def test_memory_that_ends_is_told_with_the_group_and_its_rows(
    short_runs: None, monkeypatch: pytest.MonkeyPatch, module: Any, step: str, fails: Any, size: str
) -> None:
    monkeypatch.setattr(module, step, fails)
    rows = pa.table({"user": ["a"] * 3000 + ["b"], "score": np.arange(3001.0), "clicked": [0] * 3001})
    with pytest.raises(OutOfMemoryError, match=rf'^the group user "a" has {size} rows,') as caught:
        sr.evaluate(rows, metrics=["ndcg@5"], group="user", score="score", label="clicked", lane="local")
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("lists", "sentence"),
    [
        ([3000, 1], r'^the group user "a" has 3,001 rows, .*: give executors more memory .*, take this group out'),
        ([5, 4, 5], r"^a bucket has 17 rows, .*: give executors more memory \(spark\.executor\.pyspark\.memory\)$"),
    ],
)
def test_memory_that_ends_in_lists_given_as_arrays(
    monkeypatch: pytest.MonkeyPatch, lists: list[int], sentence: str
) -> None:
    """Each list is a group, whoever has it, and other buckets would change nothing where it is read."""
    monkeypatch.setattr(evaluation, "evaluate_bucket", ended)
    columns = {"items": [list(range(length)) for length in lists], "actual": [[1]] * len(lists)}
    rows = pa.table({"user": ["a"] * len(lists), **columns})
    with pytest.raises(OutOfMemoryError, match=sentence):
        sr.evaluate(rows, ["ap"], group="user", items="items", true_items="actual")


def test_a_failure_outlives_merges() -> None:
    failed = Partials(failure="no memory", largest=(LargeGroup(5),))
    assert Partials.merged([Partials(), failed, Partials()]).failure == "no memory"
    assert Partials.unpack([Partials().pack(), failed.pack()]).failure == "no memory"


def solved(rows: pa.Table, buckets: int) -> list[Any]:
    pieces = [(bucket, stream_of(piece)) for bucket, piece in pieces_by_bucket(rows, buckets)]
    return list(solve_pieces(pieces, rows.schema, KEY_0, None))


@pytest.mark.parametrize(("module", "step"), [(evaluation, "evaluate_bucket"), (PieceStore, "_spill")])
def test_a_task_returns_its_failure_once_and_the_driver_raises_it(
    monkeypatch: pytest.MonkeyPatch, module: Any, step: str
) -> None:
    """An error that a task raises is tried again three times. The key is told as the input has it."""
    monkeypatch.setattr(module, step, ended)
    monkeypatch.setattr(tasks, "ROW_MEMORY_BYTES", 0 if step == "_spill" else 1 << 30)
    found = solved(rows_of(np.full(60, 7)), 1)
    with pytest.raises(OutOfMemoryError, match='the group user "7" has 60 rows'):
        gather_states([(pa.py_buffer(row["states"]), None) for row in found if row["states"]], None)


def test_tasks_of_large_buckets_have_the_rows_of_all_groups(short_runs: None) -> None:
    """In runs, with a group table whose parts have numbers of their own."""
    found = solved(rows_of(np.arange(900) % 30), 2)
    groups = [pa.ipc.open_stream(row["groups"]).read_all() for row in found if row["groups"] and not row["states"]]
    assert sorted(pa.concat_tables(groups)["user"].to_pylist()) == list(range(30))
    assert Partials.unpack([row["states"] for row in found if row["states"]]).largest == (LargeGroup(30),) * 3
