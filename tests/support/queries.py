"""The queries of docs/queries.md, and stored days of which anybody can work out what they find."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import PROJECT, exit_code

PAGE = (PROJECT / "docs" / "queries.md").read_text(encoding="utf-8")
BEFORE, AFTER = "2026-11-18", "2026-11-19"
COUNTRIES = {"ann": "de", "bob": "de", "cid": "fr", "dora": "fr", "eve": "fr"}
# At which rank each model has the click of a user: rr is one over it. Eve has none on the second day: undefined.
OF_FOUR = {
    BEFORE: {"production": (1, 2, 4, 1), "candidate": (1, 1, 2, 1)},
    AFTER: {"production": (2, 1, 4, 4), "candidate": (1, 1, 1, 2)},
}
RANKS = {
    day: {model: dict(zip(COUNTRIES, of, strict=False)) for model, of in both.items()} for day, both in OF_FOUR.items()
}
EXPECTED = {
    "trend": [
        (BEFORE, "candidate", (1 + 1 + 1 / 2 + 1) / 4),
        (BEFORE, "production", (1 + 1 / 2 + 1 / 4 + 1) / 4),
        (AFTER, "candidate", (1 + 1 + 1 + 1 / 2) / 4),
        (AFTER, "production", (1 / 2 + 1 + 1 / 4 + 1 / 4) / 4),
    ],
    "worst": [("country", "fr", (1 / 4 + 1 / 4) / 2), ("country", "de", (1 / 2 + 1) / 2)],
    "fell": [("dora", 1, 1 / 4), ("ann", 1, 1 / 2)],
    # of 1/2, 0, 3/4 and 1/4, whose distances from their mean 3/8 are 1/8 and 3/8, each twice
    "paired": [(3 / 8, math.sqrt((2 / 64 + 18 / 64) / 3 / 4), 4)],
}


def evaluate(folder: Path, **output: Any) -> str:
    """Evaluate both days into ``folder``/evaluation; gives the spec."""
    for day, ranks in RANKS.items():
        rows = []
        for user in COUNTRIES if day == AFTER else ranks["production"]:
            click = {model: of.get(user) for model, of in ranks.items()}
            scores = {model: 0.5 if rank is None else 5.0 - rank for model, rank in click.items()}
            rows.append({"user_id": user, "clicked": int(click["production"] is not None), **scores})
            # the others, in the places that the click leaves
            left = [[5.0 - rank for rank in range(1, 5) if rank != click[model]] for model in ranks]
            pairs = [dict(zip(ranks, pair, strict=True)) for pair in zip(*left, strict=True)]
            rows += [{"user_id": user, "clicked": 0, **pair} for pair in pairs]
        table = pa.Table.from_pylist([{**row, "country": COUNTRIES[row["user_id"]]} for row in rows])
        (folder / f"log/dt={day}").mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / f"log/dt={day}/rows.parquet")
    columns = {"group": "user_id", "label": "clicked", "score": {model: model for model in RANKS[AFTER]}}
    spec = {
        "input": {"path": f"{folder}/log/dt={{date}}", "columns": columns},
        "metrics": ["rr", "auc"],
        "slices": ["country"],
        "compare": {"baseline": "production"},
        "engine": {"lane": "local"},
        "output": {"path": f"{folder}/evaluation", **output},
    }
    conf = folder / "spec.yaml"
    conf.write_text(json.dumps(spec), encoding="utf-8")
    for day in RANKS:
        assert exit_code("evaluate", "--conf", str(conf), "--date", day) == 0
    return str(conf)


def blocks(reader: str) -> list[str]:
    (section,) = re.findall(rf"^## {reader}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"```(?:sql|python)\n(.*?)```", section, re.DOTALL)


def check(found: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Hold the rows that were found to those that were worked out."""
    columns = {
        "trend": ("day", "model", "value"),
        "worst": ("slice", "slice_value", "value"),
        "fell": ("user_id", "before", "after"),
        "paired": ("difference", "stderr", "n"),
    }
    for name, expected in EXPECTED.items():
        rows = [tuple(row[column] for column in columns[name]) for row in found[name]]
        assert len(rows) == len(expected), name
        for row, values in zip(rows, expected, strict=True):
            for value, one in zip(row, values, strict=True):
                assert str(value) == one if isinstance(one, str) else value == pytest.approx(one, rel=1e-12), name
