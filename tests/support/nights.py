"""Stored days made by hand: their tables ``metrics``, ``comparisons`` and ``runs``, and a spec with gates on them."""

from __future__ import annotations

from collections.abc import Callable
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
    path, output = folder / "gates.yaml", {"path": str(folder / "tables")}
    document = {**SPEC, "compare": {"baseline": "production"}, "output": output, "gates": gates, **changes}
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return str(path)


def _ends(name: str, value: float | None, half: float | None) -> dict[str, Any]:
    row = {name: value, "stderr": None if half is None else half / 2}
    return row if half is None or value is None else {**row, "ci_low": value - half, "ci_high": value + half}


def metric(value: float | None, half: float | None = None, **other: Any) -> dict[str, Any]:
    """A row of ``metrics``, of ndcg@10 of production on the whole day where ``other`` says nothing else."""
    row = {"model": "production", "slice": "all", "slice_value": "all", "metric": "ndcg@10", "definition": "as it is"}
    return {**row, **_ends("value", value, half), **other}


def comparison(difference: float | None, half: float | None = None, **other: Any) -> dict[str, Any]:
    """A row of ``comparisons``: candidate against production."""
    row = {"candidate": "candidate", "baseline": "production", "slice": "all", "slice_value": "all"}
    return {**row, "metric": "ndcg@10", **_ends("difference", difference, half), **other}


def runs_of(day: str, **more: Any) -> Callable[[list[dict[str, Any]] | None, str], pa.Table]:
    """The row of ``runs`` of a day that is done, made when its files are known; ``more`` is what it has beside that."""

    def runs(files: list[dict[str, Any]] | None, attempt_id: str) -> pa.Table:
        row = {"run_id": f"{day}-0123456789ab", "attempt_id": attempt_id, "status": "done", "files": files, **more}
        return pa.Table.from_pylist([row], RUNS.schema)

    return runs


def store(
    folder: Path,
    day: str,
    metrics: list[dict[str, Any]],
    comparisons: list[dict[str, Any]] | None = None,
    run: dict[str, Any] | None = None,
    **more: Any,
) -> None:
    """Write a day as a run leaves it; ``run`` is what ``runs`` says of it beside that, ``more`` are further tables."""
    rows = [{**row, "run_id": f"{day}-0123456789ab"} for row in metrics]
    tables: dict[str, Any] = {"metrics": pa.Table.from_pylist(rows, METRICS.schema), **more}
    if comparisons is not None:
        tables["comparisons"] = pa.Table.from_pylist(comparisons, COMPARISONS)
    write_day(str(folder / "tables"), day, {**tables, "runs": runs_of(day, **(run or {}))})


def table_of(folder: Path, table: str, day: str) -> pd.DataFrame:
    return pq.read_table(one_file(folder / f"tables/{table}/day={day}"), partitioning=None).to_pandas()
