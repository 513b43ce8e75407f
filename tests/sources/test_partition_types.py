"""Values in the names of folders: kept apart as texts, or refused where two of them meet in one number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, SpecError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.support.commands import local_spec
from tests.support.parquet_files import write

ROLES = {"group": "user", "score": "score", "label": "label"}
SPELLED = ["7", "07", "007"]


def _write_users(path: Path) -> None:
    """Of each user two items, of which the second is relevant."""
    for user in SPELLED:
        write(path / f"user={user}/a.parquet", item=[1, 2], score=[0.5, 0.25], label=[0, 1])


def _spec(tmp_path: Path, **rows: Any) -> Spec:
    _write_users(tmp_path / "log")
    return local_spec(tmp_path, {"path": str(tmp_path / "log"), "columns": ROLES, **rows})


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
    lists = {"path": "lists", "columns": {"group": "user", "score": "score", "item": "item"}}
    truth = {"path": "truth", "columns": {"label": "label"}}
    inferred, text = (local_spec(tmp_path, lists, truth={**truth, "partition_types": t}) for t in ("inferred", "text"))
    assert inferred.hash() != text.hash()
    assert text.source() == f"{inferred.source()}, truth partition_types=text"


def test_texts_are_refused_where_there_are_no_folders_or_columns_have_types(tmp_path: Path) -> None:
    rows = pa.table({"user": ["7"], "score": [0.5], "label": [1]})
    with pytest.raises(SpecError, match="partition_types is text, but no path is given"):
        sr.evaluate(rows, ["rr"], partition_types="text", **ROLES)
    with pytest.raises(SpecError, match=r'partition_types is "txt", did you mean "text"\? \(allowed: inferred, text\)'):
        sr.evaluate(rows, ["rr"], partition_types="txt", **ROLES)  # type: ignore[arg-type]
    for source in ({"table": "impressions"}, {"path": "log", "format": "delta"}):
        told = r"has partition_types text, but (table impressions|format delta), whose columns"
        with pytest.raises(ValueError, match=told):
            local_spec(tmp_path, {**source, "columns": ROLES, "partition_types": "text"})
