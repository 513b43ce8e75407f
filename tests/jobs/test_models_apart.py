"""A day of models in places of their own, in a long table and joined: the same tables by the same job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.jobs.conftest import DAY
from tests.support.apart import joined, lists_of_models, long, truth_of
from tests.support.commands import exit_code, write_spec

pytestmark = pytest.mark.job
COLUMNS = {"group": ["user", "shop"], "item": "item", "score": "score"}
YESTERDAY = "2026-11-18"


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The input of each form, on two days. The list of the worst model is half as long on the second."""
    models = lists_of_models(pa.string())
    for day, rows in ((YESTERDAY, models), (DAY, {**models, "worst": models["worst"].slice(0, 130)})):
        for name, table in {**rows, "long": long(rows), "joined": joined(rows), "truth": truth_of(models)}.items():
            (tmp_path / name).mkdir(exist_ok=True)
            pq.write_table(table, tmp_path / name / f"{day}.parquet")
    paths = {name: {"path": f"{tmp_path}/{name}/{{date}}.parquet"} for name in (*models, "long", "joined")}
    return {
        "apart": {"models": {name: paths[name] for name in models}, "columns": COLUMNS},
        "long": {**paths["long"], "models": list(models), "columns": {**COLUMNS, "model": "model"}},
        "joined": {**paths["joined"], "columns": {**COLUMNS, "score": {name: name for name in models}}},
    }


def conf_of(folder: Path, source: dict[str, Any]) -> str:
    folder.mkdir(exist_ok=True)
    document = {
        "input": source,
        "truth": {"path": f"{folder.parent}/truth/{{date}}.parquet"},
        "metrics": ["ndcg@5", "auc"],
        "slices": ["country"],
        "compare": {"baseline": "best"},
        "gates": [{"metric": "ndcg@5", "model": "other", "not_worse_than": "best", "by": 0.2}],
        "output": {"path": f"{folder}/tables"},
        "engine": {"lane": "local"},
    }
    return write_spec(folder, document)


def stored(folder: Path, table: str) -> list[dict[str, Any]]:
    rows = ds.dataset(folder / "tables" / table, partitioning="hive").to_table().to_pylist()
    kept = [{name: value for name, value in row.items() if name not in ("spec_hash", "run_id")} for row in rows]
    return sorted(kept, key=repr)


def test_the_forms_write_the_same_tables(tmp_path: Path, inputs: dict[str, dict[str, Any]]) -> None:
    for form, source in inputs.items():
        assert exit_code("evaluate", "--conf", conf_of(tmp_path / form, source), "--date", DAY, "--quiet") == 0
    for table in ("metrics", "comparisons", "gates", "groups", "blocks"):
        expected = repr(stored(tmp_path / "joined", table))
        assert [repr(stored(tmp_path / form, table)) == expected for form in ("apart", "long")] == [True, True], table
    (run,) = stored(tmp_path / "apart", "runs")
    assert run["input"].startswith(f"{tmp_path}/best/{DAY}.parquet, {tmp_path}/other/{DAY}.parquet, ")


def test_the_rows_of_one_model_may_be_too_few(
    tmp_path: Path, inputs: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    source = inputs["apart"]
    source["models"]["worst"]["expect"] = {"min_fraction_of_yesterday": 0.9}
    conf = conf_of(tmp_path / "apart", source)
    assert exit_code("evaluate", "--conf", conf, "--date", YESTERDAY, "--quiet") == 0
    assert exit_code("evaluate", "--conf", conf, "--date", DAY, "--quiet") == 4
    told = "130 rows were read, and input.models.worst.expect.min_fraction_of_yesterday is 0.9 of the 260 rows"
    assert f"the input.models.worst is incomplete: {told}" in capsys.readouterr().err


def test_rows_of_a_model_that_is_not_listed_end_the_run(
    tmp_path: Path, inputs: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    source = {**inputs["long"], "models": ["best", "other"]}
    assert exit_code("evaluate", "--conf", conf_of(tmp_path / "long", source), "--date", DAY, "--quiet") == 4
    assert "the model column is null or names another model than best, other in" in capsys.readouterr().err
