"""What tests of reports share: three stored days of two models with every table, and a page that needs no library."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank.report
from sparkrank.config import load_spec
from sparkrank.config.document import Spec
from sparkrank.inputs.window import Window
from sparkrank.jobs.report_job import report_stored
from sparkrank.jobs.target import Target
from sparkrank.report.data import ReportData
from tests.support.nights import runs_of
from tests.support.written_days import write_day

DAYS = ("2026-01-29", "2026-01-30", "2026-01-31")
METRICS = ("ndcg@5", "rr", "median(rr)", "dcg@5", "auc", "auc(digits=2)", "auc_up(digits=2)", "pr_auc")
METRICS += ("ece", "logloss")
MODELS = ("old", "new")


def rows_of(day: int, n: int = 1500) -> pa.Table:
    """A day of two models whose scores are probabilities; every day is a little better than the one before."""
    draw = np.random.default_rng(day)
    click = (draw.random(n) < 0.3).astype(np.int64)
    old, new = ((0.2 + 0.05 * day) * click + 0.5 * draw.random(n), 0.3 * click + 0.6 * draw.random(n))
    countries = pa.array(draw.choice(np.array(["de", "fr", None], object), n).tolist(), pa.string())
    columns = {"user": draw.integers(0, 120, n), "old": old, "new": np.minimum(new, 1.0), "click": click}
    return pa.table({**columns, "country": countries})


def document_of(folder: Path, **changes: Any) -> dict[str, Any]:
    """A spec with every section of the report."""
    return {
        "input": {
            "path": f"{folder}/log/dt={{date}}",
            "columns": {"group": "user", "label": "click", "score": {model: model for model in MODELS}},
        },
        "metrics": list(METRICS),
        "slices": ["country"],
        "compare": {"baseline": "old"},
        "gates": [
            {"name": "floor", "metric": "rr", "model": "*", "min": 0.2},
            {"name": "as before", "metric": "auc", "model": "old", "not_worse_than": "history"},
        ],
        "history": {"least_days": 2},
        "output": {"path": f"{folder}/out"},
        "engine": {"lane": "local"},
        **changes,
    }


def conf_of(folder: Path, **changes: Any) -> str:
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(document_of(folder, **changes), sort_keys=False), encoding="utf-8")
    return str(path)


def write_log(folder: Path, day: str, rows: pa.Table) -> None:
    at = folder / f"log/dt={day}"
    at.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, at / "0.parquet")


def spec_of(folder: Path, **changes: Any) -> Spec:
    return load_spec(conf_of(folder, **changes))


def of_day(spec: Spec, day: str) -> Target:
    return Target.of_day(spec, day)


def stored(conf: str, day: str, last: str | None = None) -> ReportData:
    """The report of a day, or of the window from ``day`` to ``last``, by the spec at ``conf``."""
    spec = load_spec(conf)
    return report_stored(spec, of_day(spec, day) if last is None else Target.of_window(spec, Window.of(day, last)))


def table(folder: Path, name: str, day: str) -> pa.Table:
    """A stored table of a day, as another program reads it."""
    return pq.read_table(folder / f"out/{name}/day={day}", partitioning=None)


def all_rows(rows: pa.Table) -> list[dict[str, Any]]:
    return rows.filter(pc.equal(rows["slice"], "all")).to_pylist()


def store_metrics(folder: Path, day: str, metrics: pa.Table) -> None:
    """Write a day that has the table ``metrics`` alone, as it is given, beside its row of ``runs``."""
    write_day(str(folder / "tables"), day, {"metrics": metrics, "runs": runs_of(day)})


def stub_page(monkeypatch: pytest.MonkeyPatch, fails: Exception | None = None) -> None:
    """Make pages plain texts of their data, so that no library draws charts; or let them fail."""

    def page(data: ReportData, **_: bool) -> str:
        if fails is not None:
            raise fails
        return f"<!doctype html><title>{data.title}</title>{data!r}"

    module = ModuleType("sparkrank.report.page")
    vars(module).update(page=page, require_extra=lambda: None)
    monkeypatch.setitem(sys.modules, "sparkrank.report.page", module)
    monkeypatch.setattr(sparkrank.report, "page", module, raising=False)
