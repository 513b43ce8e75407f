"""Stored days made by hand: their tables ``metrics``, ``comparisons`` and ``runs``, and a spec with gates on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sparkrank.gates.facts import COMPARED as COMPARISONS
from sparkrank.schemas.tables import METRICS, RUNS
from tests.support.stored_files import one_file
from tests.support.written_days import write_day

SPEC: dict[str, Any] = {
    "input": {
        "path": "/log/dt={date}",
        "columns": {"group": "user", "label": "clicked", "score": {"production": "s", "candidate": "t"}},
    },
    "metrics": ["ndcg@10", "logloss", "copc"],
    "slices": ["country"],
    "engine": {"lane": "local"},
}


def conf_of(folder: Path, gates: list[dict[str, Any]], **changes: Any) -> str:
    """The path of a spec with ``gates``, whose tables are below ``folder``."""
    path = folder / "gates.yaml"
    document = {
        **SPEC,
        "compare": {"baseline": "production"},
        "output": {"path": str(folder / "tables")},
        "gates": gates,
        **changes,
    }
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return str(path)


def metric(value: float | None, half: float | None = None, **other: Any) -> dict[str, Any]:
    """A row of ``metrics``, of ndcg@10 of production on the whole day where ``other`` says nothing else."""
    row = {"model": "production", "slice": "all", "slice_value": "all", "metric": "ndcg@10", "definition": "as it is"}
    ends = {} if half is None or value is None else {"ci_low": value - half, "ci_high": value + half}
    return {**row, "value": value, "stderr": None if half is None else half / 2, **ends, **other}


def comparison(difference: float | None, half: float | None = None, **other: Any) -> dict[str, Any]:
    """A row of ``comparisons``: candidate against production."""
    row = {"candidate": "candidate", "baseline": "production", "slice": "all", "slice_value": "all"}
    ends = {} if half is None or difference is None else {"ci_low": difference - half, "ci_high": difference + half}
    return {
        **row,
        "difference": difference,
        "stderr": None if half is None else half / 2,
        **ends,
        "metric": "ndcg@10",
        **other,
    }


def store(
    folder: Path,
    day: str,
    metrics: list[dict[str, Any]],
    comparisons: list[dict[str, Any]] | None = None,
    run: dict[str, Any] | None = None,
    **more: Any,
) -> None:
    """Write a day as a run leaves it; ``run`` is what ``runs`` says of it beside that, ``more`` are further tables."""
    run_id = f"{day}-0123456789ab"
    tables: dict[str, Any] = {
        "metrics": pa.Table.from_pylist([{**row, "run_id": run_id} for row in metrics], METRICS.schema),
        **more,
    }
    if comparisons is not None:
        tables["comparisons"] = pa.Table.from_pylist(comparisons, COMPARISONS)

    def runs(files: list[dict[str, Any]] | None, attempt_id: str) -> pa.Table:
        row = {"run_id": run_id, "attempt_id": attempt_id, "status": "done", "files": files, **(run or {})}
        return pa.Table.from_pylist([row], RUNS.schema)

    write_day(str(folder / "tables"), day, {**tables, "runs": runs})


def table_of(folder: Path, table: str, day: str) -> pd.DataFrame:
    """A table of a day."""
    return pq.read_table(one_file(folder / f"tables/{table}/day={day}"), partitioning=None).to_pandas()
