"""A table of the output is its module and one line in the register: both jobs write it, the page describes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.schemas.tables import RUN_ID, RUNS, TEXT, WHOLE, TableColumn, TableSchema
from sparkrank.tables.rows.finished import FinishedEvaluation
from sparkrank.tables.rows.outputs import OUTPUTS, OutputTable
from tests.support.commands import exit_code
from tests.windows.week import DAYS, evaluate, impressions_of, merging, spec_of, write_log

# The whole of a module from outside.
TOTALS = TableSchema(
    "totals",
    "A row per model, where `output.blocks` is set.",
    (
        TableColumn("model", TEXT),
        TableColumn("metrics", WHOLE, "rows in the table `metrics`"),
        TableColumn(RUN_ID, TEXT, "the run"),
    ),
)


def totals_of(finished: FinishedEvaluation) -> pa.Table | None:
    if not finished.has_blocks:
        return None
    models = finished.metrics["model"].to_pylist()
    rows = [(model, models.count(model), finished.origin.run_id) for model in finished.plan.models]
    return pa.table(list(map(list, zip(*rows, strict=True))), schema=TOTALS.schema)


@pytest.fixture(autouse=True)
def one_more() -> Iterator[None]:
    known = [*OUTPUTS]
    OUTPUTS.append(OutputTable(TOTALS, totals_of))
    yield
    OUTPUTS[:] = known


def test_it_is_written_by_both_jobs_where_it_is_asked_for(tmp_path: Path) -> None:
    metrics = ["ap", "auc", "logloss"]
    asked = spec_of(tmp_path, metrics=metrics, output__blocks=True)
    for day in DAYS[:2]:
        write_log(tmp_path, impressions_of(day, 200), day)
        evaluate(asked, day)
    assert exit_code(*merging(asked, last=DAYS[1])) == 0
    tables = tmp_path / "tables"
    for folder, partition in ((tables, f"day={DAYS[0]}"), (tables / "windows", f"window={DAYS[0]}..{DAYS[1]}")):
        (run,) = pq.read_table(folder / f"runs/{partition}", partitioning=None).to_pylist()
        assert pq.read_table(folder / f"totals/{partition}", partitioning=None).to_pylist() == [
            {"model": model, "metrics": len(metrics), "run_id": run["run_id"]} for model in ("production", "candidate")
        ]
    (run,) = pq.read_table(tables / f"runs/day={DAYS[0]}", schema=RUNS.schema, partitioning=None).to_pylist()
    assert [file["rows"] for file in run["files"] if file["table"] == "totals"] == [2]

    evaluate(spec_of(tmp_path, metrics=metrics, output__blocks=False), DAYS[0])
    assert [(tables / f"totals/day={day}").exists() for day in DAYS[:2]] == [False, True]


def test_it_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("tables", "totals") == 0
    assert "| `metrics` | int64 | rows in the table `metrics` |" in capsys.readouterr().out
    assert exit_code("tables") == 0
    assert "\n## `totals`\n\nA row per model, where `output.blocks` is set.\n" in capsys.readouterr().out


def test_no_two_tables_have_one_name() -> None:
    names = [each.schema.name for each in OUTPUTS]
    assert len(set(names)) == len(names)
