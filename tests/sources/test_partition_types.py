"""Values in the names of folders: kept apart as texts, or refused where two of them meet in one number."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, SpecError
from sparkrank.config import Spec
from sparkrank.config.sections import Columns, Engine, Input, Output, Truth, TruthNames
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.support.parquet_files import write

ROLES = {"group": "user", "score": "score", "label": "label"}
SPELLED = ["7", "07", "007"]


def _write_users(path: Path) -> None:
    """Of each user two items, of which the second is relevant."""
    for user in SPELLED:
        write(path / f"user={user}/a.parquet", item=[1, 2], score=[0.5, 0.25], label=[0, 1])


def _spec(tmp_path: Path, **rows) -> Spec:
    _write_users(tmp_path / "log")
    columns = Columns(group="user", score="score", label="label")
    log = Input(path=str(tmp_path / "log"), columns=columns, **rows)
    return Spec(input=log, metrics=["rr"], output=Output(path=str(tmp_path / "tables")), engine=Engine(lane="local"))


def test_texts_by_the_spec_and_by_a_call(tmp_path: Path) -> None:
    spec = _spec(tmp_path, partition_types="text")
    [metrics] = evaluate_day(spec, "2026-11-19", None, Stages()).metrics.to_pylist()
    assert (metrics["n_groups"], metrics["value"]) == (3, 1 / 2)
    groups = sr.evaluate(tmp_path / "log", ["rr"], partition_types="text", **ROLES).groups
    assert sorted(groups["user"].to_pylist()) == sorted(SPELLED)
    with pytest.raises(InputError, match=r'"user=007" and "user=07", which are one .*input.partition_types: text'):
        evaluate_day(_spec(tmp_path), "2026-11-19", None, Stages())


def test_texts_of_a_truth(tmp_path: Path) -> None:
    """Lists whose users are texts find those of the folders."""
    _write_users(tmp_path / "truth")
    write(tmp_path / "lists/a.parquet", user=["07", "007", "7"], item=[2, 2, 2], score=[1.0, 1.0, 1.0])
    write(tmp_path / "numbers/a.parquet", user=[7], item=[2], score=[1.0])
    asked = {"group": "user", "score": "score", "item": "item", "truth": tmp_path / "truth", "label": "label"}
    table = sr.evaluate(tmp_path / "lists", ["rr"], partition_types="text", **asked).table
    assert (table["n_groups"].to_pylist(), table["value"].to_pylist()) == ([3], [1.0])
    with pytest.raises(InputError, match=r'the truth has the folders "user=007" and "user=07".*truth.partition_types'):
        sr.evaluate(tmp_path / "numbers", ["rr"], **asked)


def test_values_of_no_role_are_kept_apart_too(tmp_path: Path) -> None:
    for hour in SPELLED:
        write(tmp_path / f"log/user={hour}/a.parquet", who=[1, 1], score=[0.5, 0.25], label=[0, 1])
    asked = {"group": "who", "score": "score", "label": "label"}
    with pytest.raises(InputError, match="which are one value of the column user"):
        sr.evaluate(tmp_path / "log", ["rr"], **asked)
    assert sr.evaluate(tmp_path / "log", ["rr"], partition_types="text", **asked).table["n_rows"].to_pylist() == [6]


def test_the_choice_changes_what_the_numbers_are_of(tmp_path: Path) -> None:
    inferred, text = (_spec(tmp_path, partition_types=types) for types in ("inferred", "text"))
    assert inferred.hash() != text.hash()
    assert inferred.source() == _spec(tmp_path).source()
    assert text.source() == f"{inferred.source()}, partition_types=text"
    lists = Input(path="lists", columns=Columns(group="user", score="score", item="item"))
    truths = [Truth(path="truth", columns=TruthNames(label="label"), partition_types=t) for t in ("inferred", "text")]
    inferred, text = (Spec(input=lists, truth=t, metrics=["rr"], output=Output(path="tables")) for t in truths)
    assert inferred.hash() != text.hash()
    assert text.source() == f"{inferred.source()}, truth partition_types=text"


@pytest.mark.parametrize("rows", [{"table": "impressions"}, {"path": "log", "format": "delta"}])
def test_texts_are_refused_where_columns_have_types(rows: dict) -> None:
    with pytest.raises(
        ValueError, match=r"has partition_types text, but (table impressions|format delta), whose columns"
    ):
        Truth(partition_types="text", **rows)


def test_texts_are_refused_where_there_are_no_folders() -> None:
    rows = pa.table({"user": ["7"], "score": [0.5], "label": [1]})
    with pytest.raises(SpecError, match="partition_types is text, but no path is given"):
        sr.evaluate(rows, ["rr"], partition_types="text", **ROLES)
    with pytest.raises(SpecError, match=r'partition_types is "txt", did you mean "text"\? \(allowed: inferred, text\)'):
        sr.evaluate(rows, ["rr"], partition_types="txt", **ROLES)  # type: ignore[arg-type]


@pytest.mark.parametrize("side", ["input", "truth"])
@pytest.mark.parametrize("lacks", ["user", "item", "label"])
def test_a_file_of_a_truth_may_lack_no_column_either(tmp_path: Path, side: str, lacks: str) -> None:
    rows = {"user": [1], "item": [1], "label": [1], "score": [0.5]}
    for name in ("a", "b"):
        write(tmp_path / f"whole/{name}.parquet", **rows)
        write(tmp_path / f"part/{name}.parquet", **{key: rows[key] for key in rows if (key, name) != (lacks, "b")})
    given = {"group": "user", "score": "score", "item": "item", "label": "label"}
    if side == "truth":
        given |= {"truth": str(tmp_path / "part")}
    role = "group" if lacks == "user" else lacks
    with pytest.raises(InputError, match=rf'part/b.parquet of the {side} lacks the {role} column "{lacks}"'):
        sr.evaluate(tmp_path / ("whole" if side == "truth" else "part"), ["rr"], **given)
