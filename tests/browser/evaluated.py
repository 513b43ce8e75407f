"""Reports of evaluations: nights of two models, written by the local lane, as the demo's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.jobs.report_job import report_stored
from sparkrank.jobs.target import Target
from sparkrank.report.data import ReportData
from sparkrank.run.stages import Stages

DAYS = ("2026-01-29", "2026-01-30", "2026-01-31")
METRICS = (
    "ndcg@10", "ap(rel=3)", "r(rel=3)@5", "gauc(rel=3)", "auc(exact,rel=3)", "pr_auc(exact,rel=3)",
    "auc_up(digits=2,rel=3)", "ece(rel=3)",
)  # fmt: skip


def impressions(day: int, groups: int = 60, items: int = 14, best: int = 5) -> pa.Table:
    """Ratings of 1 to ``best``, and two models whose scores are probabilities that know something of them."""
    numbers = np.random.default_rng(day)
    size = groups * items
    rating = numbers.integers(min(1, best), best + 1, size)
    scores = [np.clip((rating / 6 + numbers.normal(0, noise, size)) / 1.2, 0.01, 0.99) for noise in (0.35, 0.2)]
    users = np.repeat(np.arange(groups), items)
    country = np.array(["de", "fr", "it", "es"])[users % 4]
    return pa.table(
        {
            "user": users, "item": np.tile(np.arange(items), groups), "rating": rating, "country": country,
            "popularity": scores[0].round(3), "als": scores[1].round(3),
        }
    )  # fmt: skip


def spec_of(folder: Path, **changes: Any) -> Spec:
    document = {
        "input": {
            "path": str(folder / "log" / "dt={date}"),
            "columns": {
                "group": "user", "item": "item", "label": "rating",
                "score": {"popularity": "popularity", "als": "als"},
            },
        },
        "metrics": list(METRICS),
        "slices": ["country"],
        "compare": {"baseline": "popularity"},
        "gates": [
            {"name": "not worse", "metric": "ndcg@10", "model": "als", "not_worse_than": "baseline"},
            {"name": "enough", "metric": "ndcg@10", "min": 0.2},
        ],
        "engine": {"lane": "local"},
        "output": {"path": str(folder / "tables"), "curves": 100},
    }  # fmt: skip
    document |= changes
    (folder / "spec.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return Spec.model_validate(document)


def night(folder: Path, days: Sequence[str] = DAYS, best: int = 5, **changes: Any) -> tuple[Spec, ReportData]:
    """The report of the last of some nights; the spec also stands in ``spec.yaml``."""
    spec = spec_of(folder, **changes)
    for number, day in enumerate(days):
        place = folder / "log" / f"dt={day}"
        place.mkdir(parents=True)
        pq.write_table(impressions(number, best=best), place / "part.parquet")
        evaluate_day(spec, day, None, Stages())
    return spec, report_stored(spec, Target.of_day(spec, days[-1]))
