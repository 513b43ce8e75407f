"""The days of a trial by the nightly job, and the window of them by ``sparkrank merge``, in this process."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.cli import main
from tests.simulations.scenarios import Scenario

MONDAY = dt.date(2026, 1, 5)
STOPPED = (0, 3, 5)  # exit codes of a night whose tables are written


def run(*words: str) -> int:
    """The exit code of ``sparkrank WORDS``; anything but a night that is done is an error."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main(list(words))
        except SystemExit as end:
            if end.code not in (None, *STOPPED):
                raise RuntimeError(errors.getvalue()) from end
            return int(end.code or 0)
    return 0


def day_of(night: int) -> str:
    return (MONDAY + dt.timedelta(night)).isoformat()


def put(folder: Path, night: int, log: pa.Table) -> None:
    day = folder / f"in/dt={day_of(night)}"
    day.mkdir(parents=True)
    pq.write_table(log, day / "rows.parquet")


def by_job(
    logs: Sequence[pa.Table], scenario: Scenario, folder: Path
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of ``metrics`` and ``comparisons`` of the day, or of the window."""
    folder = folder / scenario.name.replace(" ", "_").replace(",", "")
    roles = {
        name: scenario.arguments[name] for name in ("group", "label", "score", "cluster") if name in scenario.arguments
    }
    spec = {
        "input": {"path": f"{folder}/in/dt={{date}}", "columns": roles},
        "metrics": scenario.metrics,
        "compare": {"baseline": scenario.models[0]},
        "output": {"path": f"{folder}/out", "curves": False, "groups": False},
        "engine": {"lane": "local"},
    }
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    for night, log in enumerate(logs):
        put(folder, night, log)
        run("evaluate", "--conf", f"{folder}/spec.json", "--date", day_of(night))
    place = f"day={day_of(0)}"
    if len(logs) > 1:
        last = day_of(len(logs) - 1)
        run("merge", "--conf", f"{folder}/spec.json", "--from", day_of(0), "--to", last)
        place = f"window={day_of(0)}..{last}"
    tables = (pq.read_table(next(folder.glob(f"out/**/{name}/{place}"))) for name in ("metrics", "comparisons"))
    metrics, comparisons = (table.to_pylist() for table in tables)
    return metrics, comparisons
