"""The local lane: threads that solve runs of buckets, the files of their groups, and what a failure leaves."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.engines import bucket_evaluation as evaluation
from sparkrank.engines import local
from sparkrank.engines.shuffle import group_runs
from sparkrank.engines.shuffle.spill import PieceStore

USERS = 500


def log() -> pa.Table:
    """Two rows of each user: the relevant one is the first of every second user's, and the second of the others'."""
    users = np.arange(USERS)
    labels = np.column_stack([users % 2, 1 - users % 2]).ravel()
    return pa.table({"user": np.repeat(users, 2), "score": np.tile([0.75, 0.25], USERS), "label": labels})


@given(st.integers(1, 300), st.integers(1, 40))
def test_runs_are_all_buckets_in_order_and_of_one_length(buckets: int, most: int) -> None:
    runs = local._runs(buckets, most)
    assert list(itertools.chain(*runs)) == list(range(buckets))
    assert len(runs) == min(buckets, most)
    assert max(map(len, runs)) - min(map(len, runs)) <= 1


def rr_of_log(**more: Any) -> sr.Evaluation:
    """The mean is 1 for half of the users, 1/2 for the others."""
    ev = sr.evaluate(log(), ["rr"], group="user", score="score", label="label", **more)
    assert ev["rr"] == 0.75
    return ev


@pytest.mark.parametrize("threads", [1, 3])
def test_every_group_is_in_one_file_and_again_in_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """In what order groups stand in a file is left to the threads that cut the splits."""
    monkeypatch.setattr(local.pa, "cpu_count", lambda: threads)
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", 100)
    stored = []
    for folder in (tmp_path / "first", tmp_path / "again"):
        assert rr_of_log(buckets=40, group_table=str(folder)).groups is None
        stored.append({file.name.rsplit("-", 2)[0]: pq.read_table(file).sort_by("user") for file in folder.iterdir()})
    assert len(stored[0]) == local.RUNS_PER_THREAD * threads
    assert stored[0] == stored[1]
    groups = pq.read_table(tmp_path / "first").sort_by("user")
    assert groups["user"].to_pylist() == list(range(USERS))
    assert groups["rr"].to_pylist() == [1.0 if user % 2 else 0.5 for user in range(USERS)]


@pytest.mark.parametrize(("module", "step"), [(evaluation, "evaluate_bucket"), (local, "pieces_by_bucket")])
def test_what_fails_ends_the_work_of_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, step: str
) -> None:
    """Of 200 buckets, of which a thread's run has 50, and of 100 splits."""
    work, begun = getattr(module, step), []

    def failing(*arguments: Any, **more: Any) -> Any:
        begun.append(arguments)
        if len(begun) == 3:
            raise RuntimeError("the third one")
        time.sleep(0.05)
        return work(*arguments, **more)

    monkeypatch.setattr(local.pa, "cpu_count", lambda: 2)
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", 10)
    monkeypatch.setattr(group_runs, "SHARED_ROWS", 0)  # each bucket is evaluated alone
    monkeypatch.setattr(module, step, failing)
    with pytest.raises(RuntimeError, match="the third one"):
        rr_of_log(buckets=200, group_table=tmp_path / "t")
    assert len(begun) < 20
    assert list(tmp_path.iterdir()) == []


def test_one_split_is_read_while_the_cores_cut_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one core two threads read: each of two splits here goes on when both have begun."""
    cut, begun = local.pieces_by_bucket, threading.Barrier(2, timeout=20)

    def waiting(*arguments: Any, **more: Any) -> Any:
        begun.wait()
        return cut(*arguments, **more)

    monkeypatch.setattr(local.pa, "cpu_count", lambda: 1)
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", USERS)
    monkeypatch.setattr(local, "pieces_by_bucket", waiting)
    rr_of_log()


def test_an_evaluation_is_itself_alone() -> None:
    first, second = rr_of_log(), rr_of_log()
    assert first == first  # noqa: PLR0124 - of equal tables pyarrow has no hash
    assert len({first, second}) == 2


def test_lists_in_arrays_are_evaluated_where_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one list each are stored for another thread; a row that is a list is not."""

    made, make = [], PieceStore.__init__

    def counted(store: PieceStore, *how: Any) -> None:
        made.append(store)
        make(store, *how)

    monkeypatch.setattr(PieceStore, "__init__", counted)
    lists = pa.table({"u": [1, 2], "shown": [["a", "b"], ["c", "d"]], "bought": [["b"], ["c"]]})
    asked = {"group": "u", "items": "shown", "true_items": "bought"}
    assert sr.evaluate(lists, ["rr"], **asked)["rr"] == (1 / 2 + 1) / 2
    assert not made
    rows = pa.table({"u": [1, 1], "s": [2.0, 1.0], "y": [0, 1]})
    assert sr.evaluate(rows, ["rr"], group="u", score="s", label="y")["rr"] == 1 / 2
    assert len(made) == 1


def test_no_place_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    sentence = r"no temporary file can be made \(.*nowhere.*\): name a folder in TMPDIR"
    with pytest.raises(sr.SparkrankError, match=sentence):
        rr_of_log()
