"""Small stored days, of which tests make copies."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sparkrank.schemas.tables import GATES, METRICS, RUNS
from tests.support.written_days import write_day

DAY, OTHER = "2026-11-19", "2026-11-18"
TABLES = ("metrics", "gates", "runs")  # in the order in which they are copied


def store(
    folder: Path, value: float, day: str = DAY, *, run: str = "a", without: str = "", models: Sequence[str] = ("a",)
) -> None:
    """Store ``day`` with ``value`` in the tables of the run ``run``, one of which may be left out."""

    def runs(files: Any, attempt_id: str) -> pa.Table:
        row = {
            "run_id": f"{day}-{run}",
            "attempt_id": attempt_id,
            "status": "done",
            "spec_hash": "5eed",
            "files": files,
        }
        started = dt.datetime(2026, 11, 20, tzinfo=dt.timezone.utc)
        return pa.Table.from_pylist([{**row, "started_at": started}], schema=RUNS.schema)

    made = {
        "metrics": pa.Table.from_pylist(
            [{"model": model, "metric": "rr", "value": value} for model in models], schema=METRICS.schema
        ),
        "gates": pa.Table.from_pylist([{"gate": "g", "value": value}], schema=GATES.schema),
    }
    write_day(f"{folder}/out", day, {**{name: made[name] for name in made if name != without}, "runs": runs})
