"""Files that hold whole groups: the same bits as with the shuffle, and a group that is torn is refused by name."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, SpecError
from sparkrank.engines import file_evaluation
from sparkrank.numeric.key_hashes import hash_keys
from sparkrank.sources import colocation
from tests.extent import IS_LONG
from tests.wide_logs import LOGS, differences, written_whole

OF_LISTS = {"arrays", "labels_of_arrays", "recommendations", "past_of_arrays", "times_of_arrays", "catalog_of_arrays"}
OF_GROUPS = [name for name in LOGS if name not in OF_LISTS | {"no_groups"}]
SHORT = ["slices", "exact", "truth", "weights"]  # one of each thing that rows meet in a bucket
METRICS = ["rr", "ndcg@2", "auc"]
COLUMNS = {"group": "user_id", "score": "score", "label": "label"}


def written(folder: Path, **files: list[tuple[int, float, int]]) -> str:
    """Files of rows (user, score, label), in row groups of two rows."""
    for name, rows in files.items():
        user, score, label = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
        kinds = {"user_id": pa.int64(), "score": pa.float64(), "label": pa.int8()}
        columns = {"user_id": user, "score": score, "label": label}
        table = pa.table({key: pa.array(columns[key], kind) for key, kind in kinds.items()})
        place = folder / f"{name.replace('__', '/')}.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place, row_group_size=2)
    return str(folder)


def lists(*users: int) -> list[tuple[int, float, int]]:
    """Two rows of each user; the relevant one is the first of even users, and the second of odd users."""
    return [row for user in users for row in ((user, 0.75, (user + 1) % 2), (user, 0.25, user % 2))]


def evaluated(path: str, grouped: str, **more: Any) -> sr.Evaluation:
    return sr.evaluate(path, METRICS, grouped=grouped, **{**COLUMNS, **more})


@pytest.mark.parametrize("name", OF_GROUPS if IS_LONG else SHORT)
def test_whole_files_give_the_bits_of_the_shuffle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    log = LOGS[name]()
    expected = log.bits(*log.in_memory(), buckets=3)
    wrong = {}
    for grouped, run_rows, memory in (
        ("files", 1 << 21, None),
        ("folders", 20, 1),  # the files of a folder are cut into buckets on disk, and some of these are cut again
        ("sorted", 1 << 21, None),
    ):
        folder = tmp_path / grouped
        path, truth = written_whole(log, folder, grouped)
        monkeypatch.setattr(file_evaluation, "WHOLE_ROWS", run_rows)
        monkeypatch.setattr(file_evaluation, "bucket_count", lambda rows: 1 + rows // 60)
        monkeypatch.setattr(file_evaluation, "FILE_BATCH_ROWS", 50)
        monkeypatch.setattr("sparkrank.engines.local.FILE_BATCH_ROWS", 50)
        tables = log.bits(path, truth, buckets=3, grouped=grouped, row_memory=memory)
        if names := differences(expected, tables):
            wrong[grouped, run_rows, memory] = names
    assert wrong == {}


def test_a_group_in_two_files_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, a=lists(7, 1842), b=[*lists(8), (1842, 0.5, 1)])
    for grouped in ("files", "sorted"):
        with pytest.raises(InputError) as refused:
            evaluated(path, grouped)
        sentence = f"user_id 1842 is in a.parquet and b.parquet: grouped: {grouped} does not hold; leave it out"
        assert str(refused.value) == sentence
    with pytest.raises(InputError, match=r"^a group is in a.parquet and b.parquet: grouped: files does not hold"):
        evaluated(path, "files", group_table=False)
    # three users, of whom 1842 has three rows: the relevant ones are the first, at 0.75, and the second, at 0.5
    assert evaluated(path, "shuffle")["rr"] == (1 / 2 + 1 + 1) / 3
    assert evaluated(path, "files unchecked")["rr"] == (1 / 2 + 1 + 1 + 1) / 4  # the word says that nobody looks


def test_what_groups_had_before_stands_in_the_files_of_their_lists(tmp_path: Path) -> None:
    """Also of groups without a list: that one of them is in two places tells that the files are not cut alike."""
    lists_of = {"part-00000": [7, 7], "part-00001": [8]}
    for name, users in lists_of.items():
        columns = {"user_id": users, "item": ["a", "b"][: len(users)], "score": [2.0, 1.0][: len(users)]}
        had = {"user_id": users[:1], "item": ["a"]}
        (tmp_path / "lists").mkdir(exist_ok=True)
        (tmp_path / "had").mkdir(exist_ok=True)
        pq.write_table(pa.table({**columns, "label": [1] * len(users)}), tmp_path / "lists" / f"{name}.parquet")
        pq.write_table(pa.table(had), tmp_path / "had" / f"{name}.parquet")
    asked = {"item": "item", "interactions": str(tmp_path / "had"), "metrics": ["new", "rr"], **COLUMNS}
    found = sr.evaluate(str(tmp_path / "lists"), grouped="files", **asked)
    assert (found["new"], found["rr"]) == ((1 / 2 + 0) / 2, 1.0)
    pq.write_table(pa.table({"user_id": [9, 8], "item": ["a", "b"]}), tmp_path / "had" / "part-00000.parquet")
    with pytest.raises(InputError, match=r"^user_id 8 is in .*part-00001.parquet.*grouped: files does not hold"):
        sr.evaluate(str(tmp_path / "lists"), grouped="files", **asked)


def test_a_refusal_leaves_no_group_table(tmp_path: Path) -> None:
    path = written(tmp_path / "in", a=lists(1), b=lists(1))
    with pytest.raises(InputError):
        evaluated(path, "files", group_table=str(tmp_path / "out"))
    assert [place.name for place in tmp_path.iterdir()] == ["in"]


def test_a_group_that_stands_apart_in_a_sorted_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkrank.engines.local.FILE_BATCH_ROWS", 2)
    path = written(tmp_path, a=[*lists(3, 5), (3, 0.5, 1)])
    with pytest.raises(InputError, match=r"^user_id 3 stands in two places of a.parquet: grouped: sorted does not"):
        evaluated(path, "sorted")
    assert evaluated(path, "files")["rr"] == (1 / 2 + 1 / 2) / 2


def test_a_group_longer_than_batches_of_a_sorted_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkrank.engines.local.FILE_BATCH_ROWS", 2)
    long = [(4, 1.0 - place / 10, int(place == 6)) for place in range(7)]
    path = written(tmp_path, a=[*lists(1), *long, *lists(9, 2)])
    assert evaluated(path, "sorted")["rr"] == (1 / 2 + 1 / 7 + 1 / 2 + 1) / 4


def colliding() -> tuple[tuple[int, int], tuple[int, int]]:
    """Two keys of two columns with one hash: the hash of the second column is added to that of the first, mixed."""
    one = pa.array([1, 2])
    first, second = hash_keys([one]).tolist()
    step = (first - second) * 0x100000001B3 % 2**64
    keys = (1, 10), (2, 10 + step if step < 2**63 - 10 else 10 + step - 2**64)
    columns = [pa.array(column, pa.int64()) for column in zip(*keys, strict=True)]
    assert len(set(hash_keys(columns).tolist())) == 1
    return keys


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("grouped", ["files", "sorted"])
def test_two_groups_of_one_hash_are_looked_at_by_their_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grouped: str, apart: bool
) -> None:
    monkeypatch.setattr("sparkrank.engines.local.FILE_BATCH_ROWS", 2)
    rows = [{"a": a, "b": b, "score": score, "label": score < 0.5} for a, b in colliding() for score in (0.75, 0.25)]
    files = [rows[:2], rows[2:]] if apart else [rows]
    for number, of_file in enumerate(files):
        pq.write_table(pa.Table.from_pylist(of_file), tmp_path / f"{number}.parquet", row_group_size=2)
    asked: dict[str, Any] = {**COLUMNS, "group": ["a", "b"]}
    assert sr.evaluate(str(tmp_path), ["rr"], grouped=grouped, **asked)["rr"] == 1 / 2
    pq.write_table(pa.Table.from_pylist(rows[:1]), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"^a 1, b 10 is in 0.parquet and 2.parquet"):
        sr.evaluate(str(tmp_path), ["rr"], grouped=grouped, **asked)


def truth_beside(tmp_path: Path, left: dict[str, list[int]], right: dict[str, list[int]]) -> dict[str, Any]:
    """Lists and truth by file and user: user u has the items 1 and 2 in this order, and 1 + u % 2 is true."""
    for side, files in (("lists", left), ("truth", right)):
        for name, users in files.items():
            rows = [(user, 1, 0.75) for user in users] + [(user, 2, 0.25) for user in users]
            rows = rows if side == "lists" else [(user, 1 + user % 2, 0.0) for user in users]
            kinds = pa.schema({"u": pa.int64(), "i": pa.int64(), "s": pa.float64()})
            place = tmp_path / side / f"{name}.parquet"
            place.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist([dict(zip("uis", row, strict=True)) for row in rows], kinds), place)
    asked = {"group": "u", "item": "i", "score": "s", "truth": str(tmp_path / "truth")}
    return {"impressions": str(tmp_path / "lists"), "metrics": ["rr"], **asked}


def test_lists_and_truth_are_joined_by_the_numbers_of_their_files(tmp_path: Path) -> None:
    """Numbers that one side lacks, and a file without rows, are no trouble."""
    left = {"part-00000-x_00007.c000": [1, 2], "part-00001-x_00003.c000": [3], "part-00002-x_00005.c000": []}
    right = {"part-00009-y_00007.c000": [1, 2], "part-00008-y_00005.c000": [], "part-00000-y_00004.c000": [4]}
    asked = truth_beside(tmp_path, left, right)
    values = {grouped: sr.evaluate(**asked, grouped=grouped)["rr"] for grouped in ("files", "sorted", "shuffle")}
    assert set(values.values()) == {(1 / 2 + 1 + 0) / 3}  # user 3 has no truth, and user 4 no list


def test_numbers_that_lead_to_other_users_are_refused(tmp_path: Path) -> None:
    asked = truth_beside(tmp_path, {"part-00000": [2], "part-00001": [3]}, {"part-00000": [3], "part-00001": [2]})
    with pytest.raises(
        InputError, match=r"^u [23] is in .*/(lists|truth)/part-0000[01].parquet and .*/(lists|truth)/part"
    ):
        sr.evaluate(**asked, grouped="files")


def test_lists_and_truth_are_joined_by_the_values_of_their_folders(tmp_path: Path) -> None:
    left = {"bucket=7/part-00000": [1, 2], "bucket=8/part-00000": [3], "bucket=8/part-00001": [5]}
    right = {"bucket=8/part-00002": [3, 5], "bucket=7/part-00001": [1, 2]}
    asked = truth_beside(tmp_path, left, right)
    values = {grouped: sr.evaluate(**asked, grouped=grouped)["rr"] for grouped in ("files", "folders", "shuffle")}
    assert set(values.values()) == {(1 / 2 + 1 + 1 / 2 + 1 / 2) / 4}


def test_text_files_are_evaluated_as_whole_files(tmp_path: Path) -> None:
    from sparkrank.jobs import evaluate_day
    from sparkrank.run.stages import Stages
    from tests.support.commands import local_spec  # needs pydantic

    (tmp_path / "in").mkdir()
    for number, users in enumerate(([1, 2], [3])):
        rows = pa.Table.from_pylist([dict(zip(("u", "s", "y"), row, strict=True)) for row in lists(*users)])
        pa_csv.write_csv(rows, tmp_path / "in" / f"{number}.csv")
    source = {"path": f"{tmp_path}/in", "format": "csv", "options": {"header": "true"}, "grouped": "files"}
    source |= {"columns": {"group": "u", "score": "s", "label": "y"}}
    result = evaluate_day(local_spec(tmp_path, source, engine={"lane": "local"}), "2026-01-01", None, Stages())
    assert result.lane_reason.endswith("; grouped is files")
    groups = pq.read_table(f"{tmp_path}/out/groups/day=2026-01-01").to_pylist()
    assert {row["u"]: row["rr"] for row in groups} == {"1": 1 / 2, "2": 1.0, "3": 1 / 2}


@pytest.mark.parametrize("word", ["files", "files unchecked"])
def test_a_run_says_whether_its_word_was_checked(tmp_path: Path, word: str) -> None:
    from sparkrank.jobs import evaluate_day
    from sparkrank.run.stages import Stages
    from tests.support.commands import local_spec  # needs pydantic

    source = {"path": written(tmp_path / "in", a=lists(1, 2), b=lists(3)), "grouped": word, "columns": COLUMNS}
    result = evaluate_day(local_spec(tmp_path, source, engine={"lane": "local"}), "2026-01-01", None, Stages())
    (run,) = pq.read_table(result.folders["runs"]).to_pylist()
    said = {"files": "; grouped is files", "files unchecked": "; grouped is files, which is not checked"}
    assert run["lane_reason"].endswith(said[word])
    assert f'"grouped":"{word}"' in run["spec"].replace(": ", ":")


def test_auto_takes_folders_of_the_group_that_keep_all_cores_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sparkrank")
    monkeypatch.setattr("sparkrank.engines.local_lane.pa.cpu_count", lambda: 2)
    for country in range(4):
        for number, user in enumerate((1, 2)):
            written(tmp_path / f"country={country}", **{f"part-{number}": [*lists(user), (1, 0.5, 0)]})
    asked = {"group": ["country", "user_id"], "lane": "local"}

    def reason(**more: Any) -> str:
        caplog.clear()
        evaluation = evaluated(str(tmp_path), "auto", **{**asked, **more})
        if not more:  # of user 1 the relevant row is the last of four
            assert evaluation["rr"] == (1 / 4 + 1) / 2
        [sentence] = [record.getMessage() for record in caplog.records if record.getMessage().startswith("lane ")]
        return sentence

    assert "partitions by country hold whole groups, but they have few rows: 24 in 4" in reason()
    monkeypatch.setattr(colocation, "LEAST_PARTITION_ROWS", 6)
    assert reason().endswith("partitions by country hold whole groups, so that no rows are shuffled")
    monkeypatch.setattr("sparkrank.engines.local_lane.pa.cpu_count", lambda: 3)
    assert "would leave some of 3 cores idle" in reason()
    assert "partitions" not in reason(group="user_id")


def test_where_grouped_can_do_nothing_it_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, a=lists(1))
    table = pq.read_table(path)
    arrays = {"items": "i", "true_items": "t", "score": None, "label": None}
    refused = {}
    for name, rows, more in (
        ("table", table, {}),
        ("no group", path, {"group": None}),
        ("arrays", path, arrays),
        ("no folders", path, {"grouped": "folders"}),
        ("unknown", path, {"grouped": "file"}),
    ):
        asked = {"metrics": ["auc"] if name == "no group" else ["rr"], "grouped": "files", **COLUMNS, **more}
        with pytest.raises(SpecError) as error:
            sr.evaluate(rows, **asked)
        refused[name] = str(error.value)
    assert refused == {
        "table": "grouped is files, but the input is a table in memory: files named by path are needed",
        "no group": "grouped is files, but no group column is named: rows are evaluated where they are read",
        "arrays": "grouped is files, but each row is a list, and so a group by itself: rows are evaluated where they "
        "are read",
        "no folders": "grouped is folders, but no folder name (key=value) gives a column that all inputs have",
        "unknown": 'grouped is "file", did you mean "files"? (allowed: auto, files, folders, sorted, files unchecked, '
        "folders unchecked, sorted unchecked, shuffle)",
    }


def test_batches_are_cut_between_groups() -> None:
    """Whatever the batches are, tables have whole groups, and all rows in their order."""
    rng = np.random.default_rng(2)
    for draw in range(30):
        keys = np.repeat(np.arange(12), rng.integers(1, 9, 12))
        names = np.char.add("k", keys.astype("U2"))
        rows = pa.table({"key_0": names, "row": np.arange(len(keys))})
        ends = np.sort(rng.integers(0, len(keys), draw % 7))
        batches = [rows[start:end] for start, end in zip([0, *ends], [*ends, len(keys)], strict=True)]
        tables = list(file_evaluation.cut_between_groups(batches))
        assert pa.concat_tables(tables).equals(rows)
        of_tables = [set(pc.unique(table["key_0"]).to_pylist()) for table in tables]
        assert sum(map(len, of_tables)) == 12


def test_numbers_are_those_of_spark_and_hive() -> None:
    numbers = {
        "a/part-00007-1f0e-c000.snappy.parquet": 7,
        "a/part-00003-1f0e_00007.c000.snappy.parquet": 7,
        "a/part-00003_00000": 0,
        "a/000012_0": 12,
        "a/000012_1.gz": 12,
        "part-9/lists_20260131.parquet": None,
        "a/2.parquet": None,
    }
    assert {path: colocation.file_number(path) for path in numbers} == numbers
