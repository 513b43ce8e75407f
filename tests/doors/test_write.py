"""``ev.write``: the tables that a job writes of the same question, for everything that reads those of a job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.support.commands import exit_code, write_spec
from tests.support.doors import DAY, GOOD, LOG, OF_ROWS, Asked, document_of, texts, written

APART = {"a": [2.0, 1.0], "b": [1.0, 2.0]}


@pytest.mark.parametrize("asked", GOOD, ids=lambda asked: asked.name)
def test_the_tables_are_those_of_a_job(asked: Asked, tmp_path: Path) -> None:
    paths = written(asked, tmp_path)
    truth = {} if asked.truth is None else {"truth": paths["truth"], "truth_columns": asked.truth_columns}
    of_both = {**asked.columns, **truth, **asked.settings, **asked.quality, **asked.engine}
    depth, gains = 2 if "group" in asked.columns else 0, "auc" in asked.metrics
    ev = sr.evaluate(
        paths["input"], list(asked.metrics), slices=list(asked.slices), score_sums=True, curve_points=10,
        position_depth=depth, gains=gains, **of_both,
    )  # fmt: skip
    folders = ev.write(tmp_path / "tables", day=DAY)
    document = document_of(asked, paths, tmp_path)
    document["output"] |= {"positions": depth or False, "gains": gains}
    job = evaluate_day(Spec.model_validate(document), DAY, None, Stages()).folders
    assert folders.keys() == job.keys()
    for name in folders.keys() - {"runs"}:
        assert texts(pq.read_table(folders[name])) == texts(pq.read_table(job[name])), name
    own = ["spec_hash", "run_id", "input", "rows", "buckets"]
    runs = (pq.read_table(each["runs"]).select(own).to_pylist() for each in (folders, job))
    assert next(runs) == next(runs)


def test_what_reads_the_tables_of_a_job_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of rows in memory, without sums of scores, on two days."""
    models = {**OF_ROWS, "score": {"new": "score", "old": "other"}}
    ev = sr.evaluate(LOG, ["rr", "auc"], **models, slices=["country"], compare="old")
    for day in ("2026-11-18", DAY):
        ev.write(str(tmp_path / "tables"), day=day)
    same = sr.compare_runs(str(tmp_path / "tables"), ev, left_day=DAY, left_model="new", right_model="new")
    assert same.table.select(["metric", "difference"]).to_pylist() == [
        {"metric": "rr", "difference": 0.0}, {"metric": "auc", "difference": 0.0},
    ]  # fmt: skip
    document = {
        "input": {"path": f"{tmp_path}/nowhere", "columns": models}, "metrics": ["rr", "auc"], "slices": ["country"],
        "compare": {"baseline": "old"}, "gates": [{"metric": "rr", "min": 50}],
        "output": {"path": f"{tmp_path}/tables"},
    }  # fmt: skip
    at = ("--conf", write_spec(tmp_path, document), "--date", DAY)
    assert exit_code("gate", *at) == 3  # rr is at most 1
    assert exit_code("report", *at, "--out", f"{tmp_path}/report.md") == 0
    assert exit_code("compare", *at, "--metric", "auc") == 0
    assert exit_code("compare", *at[:2], "--left-date", "2026-11-18", "--right-date", DAY, "--model", "new") == 0
    assert exit_code("movers", *at, "--metric", "rr") == 0
    assert capsys.readouterr().err == ""


def test_models_that_come_apart_are_written_by_their_names(tmp_path: Path) -> None:
    """As a mapping, and as one long table: the spec in ``runs`` names the models."""
    lists = {name: pa.table({"u": [1, 1], "i": [1, 2], "s": scores}) for name, scores in APART.items()}
    long = pa.concat_tables([rows.append_column("m", pa.array([name] * 2)) for name, rows in lists.items()])
    roles = {"group": "u", "item": "i", "score": "s", "truth": pa.table({"u": [1], "i": [2]})}
    for number, (rows, more) in enumerate(((lists, {}), (long, {"model": "m"}))):
        with sr.evaluate(rows, ["rr"], **roles, **more) as ev:
            folders = ev.write(tmp_path / str(number), day=DAY)
        values = pq.read_table(folders["metrics"]).select(["model", "value"]).to_pylist()
        assert values == [{"model": "a", "value": 1 / 2}, {"model": "b", "value": 1.0}]
        spec = json.loads(pq.read_table(folders["runs"])["spec"][0].as_py())["input"]
        assert (list(spec["models"]), spec["columns"]["model"]) == (["a", "b"], more.get("model"))


def test_without_a_day_it_is_today_and_nothing_is_written_where_it_must_not_be(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(LOG, tmp_path / "in/rows.parquet")
    ev = sr.evaluate(str(tmp_path / "in"), ["rr"], **OF_ROWS, group_table=False)
    today = ev.write(tmp_path / "out")["metrics"].rpartition("day=")[2]
    assert len(today) == 10
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("out", {"day": "19.11.2026"}, "day is '19.11.2026': a day of the form YYYY-MM-DD is needed"),
        ("in/tables", {}, "the evaluation: the document has output.path"),
    ]
    for folder, more, sentence in refused:
        with pytest.raises(sr.SpecError, match=sentence):
            ev.write(tmp_path / folder, **more)
    with pytest.raises(sr.SpecError, match="folder is 'hdfs://a/b', which needs Spark"):
        ev.write("hdfs://a/b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
