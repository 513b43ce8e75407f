"""The local lane: threads that solve runs of buckets, the files of their groups, and what a failure leaves."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.bucket import BucketResult
from sparkrank.engines import bucket_evaluation as evaluation
from sparkrank.engines import local
from sparkrank.metrics import Plan

USERS = 500


def log() -> pa.Table:
    """Two rows of each user: the relevant one is the first of every second user's, and the second of the others'."""
    users = np.arange(USERS)
    return pa.table(
        {
            "user": np.repeat(users, 2),
            "score": np.tile([0.75, 0.25], USERS),
            "label": np.column_stack([users % 2, 1 - users % 2]).ravel(),
        }
    )


@given(st.integers(1, 300), st.integers(1, 40))
def test_runs_are_all_buckets_in_order_and_of_one_length(buckets: int, most: int) -> None:
    runs = local._runs(buckets, most)
    assert list(itertools.chain(*runs)) == list(range(buckets))
    assert len(runs) == min(buckets, most)
    assert max(map(len, runs)) - min(map(len, runs)) <= 1


@pytest.mark.parametrize("threads", [1, 3])
def test_every_group_is_in_one_file_and_again_in_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """In what order groups stand in a file is left to the threads that cut the splits."""
    monkeypatch.setattr(local.pa, "cpu_count", lambda: threads)
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", 100)
    found = []
    for name in ("first", "again"):
        folder = tmp_path / name
        evaluation = sr.evaluate(
            log(), ["rr"], group="user", score="score", label="label", buckets=40, group_table=folder
        )
        assert evaluation.metrics["value"].to_pylist() == [0.75]  # 1 for half of the users, 1/2 for the others
        found.append({file.name.rpartition("-")[0]: pq.read_table(file).sort_by("user") for file in folder.iterdir()})
    assert len(found[0]) == local.RUNS_PER_THREAD * threads
    assert found[0] == found[1]
    groups = pq.read_table(tmp_path / "first").sort_by("user")
    assert groups["user"].to_pylist() == list(range(USERS))
    assert groups["rr"].to_pylist() == [1.0 if user % 2 else 0.5 for user in range(USERS)]


def test_where_a_bucket_fails_no_thread_goes_on_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = evaluation.evaluate_bucket
    begun: list[int] = []

    def failing(rows: pa.Table, plan: Plan) -> BucketResult:
        begun.append(rows.num_rows)
        if len(begun) == 3:
            raise RuntimeError("the third bucket")
        time.sleep(0.05)
        return solve(rows, plan)

    monkeypatch.setattr(local.pa, "cpu_count", lambda: 2)
    monkeypatch.setattr(evaluation, "evaluate_bucket", failing)
    with pytest.raises(RuntimeError, match="the third bucket"):
        sr.evaluate(log(), ["rr"], group="user", score="score", label="label", buckets=200, group_table=tmp_path / "t")
    assert len(begun) < 50  # of 200, of which a run that went on would solve 50
    assert list(tmp_path.iterdir()) == []


def test_where_a_split_fails_the_others_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = local.pieces_by_bucket
    begun: list[int] = []

    def failing(rows: pa.Table, buckets: int, code_texts: bool) -> Iterator[tuple[int, pa.RecordBatch]]:
        begun.append(rows.num_rows)
        if len(begun) == 3:
            raise RuntimeError("the third split")
        time.sleep(0.05)
        return cut(rows, buckets, code_texts)

    monkeypatch.setattr(local.pa, "cpu_count", lambda: 2)
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", 10)
    monkeypatch.setattr(local, "pieces_by_bucket", failing)
    with pytest.raises(RuntimeError, match="the third split"):
        sr.evaluate(log(), ["rr"], group="user", score="score", label="label")
    assert len(begun) < 20  # of 100


def test_one_split_is_read_while_the_cores_cut_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one core two threads read: each of two splits here goes on when both have begun."""
    cut, begun = local.pieces_by_bucket, threading.Barrier(2, timeout=20)

    def waiting(rows: pa.Table, buckets: int, code_texts: bool) -> Iterator[tuple[int, pa.RecordBatch]]:
        begun.wait()
        return cut(rows, buckets, code_texts)

    monkeypatch.setattr(local.pa, "cpu_count", lambda: 1)
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", USERS)
    monkeypatch.setattr(local, "pieces_by_bucket", waiting)
    found = sr.evaluate(log(), ["rr"], group="user", score="score", label="label")
    assert found.metrics["value"].to_pylist() == [0.75]


def test_an_evaluation_is_itself_alone() -> None:
    first, second = (sr.evaluate(log(), ["rr", "auc"], group="user", score="score", label="label") for _ in range(2))
    assert first == first  # noqa: PLR0124 - of equal tables pyarrow has no hash
    assert len({first, second}) == 2


def test_no_place_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(
        sr.SparkrankError, match=r"no temporary file can be made \(.*nowhere.*\): name a folder in TMPDIR"
    ):
        sr.evaluate(log(), ["rr"], group="user", score="score", label="label")
