"""A week of impressions, the spec and the words to evaluate and merge it by, and the tables that are left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank as sr
from sparkrank import cli
from tests.support.commands import exit_code
from tests.support.stored_files import list_again, one_file

DAYS = [f"2026-11-{day}" for day in range(13, 20)]
WINDOW = f"{DAYS[0]}..{DAYS[-1]}"
METRICS = ["ndcg@5", "ap", "rr", "p@3", "p90(ndcg@5)", "median(group_auc)", "gmean(ap)", "gauc"]
METRICS += ["auc", "auc(exact,rel=2)", "auc_up(digits=1)"]
DAY_METRICS = ["auc", "pr_auc(exact)", "auc_up(min_rows=20)", "f1(threshold=0.25)", "copc", "brier", "logloss", "ece"]
SCORES = {"production": "score", "candidate": "other"}
# What a window has of the groups of all days together; its intervals, clustered by group, are those of test_parts.py.
VALUES = ["model", "slice", "slice_value", "metric", "value", "n_groups", "n_undefined", "n_rows", "weight"]
VALUES += ["error_bound", "definition"]


def impressions_of(day: str, rows: int) -> pd.DataFrame:
    """Rows of a day, of their own numbers every day: 25 users, ties, models that miss some rows, three labels.

    Some users have no country, and that of others is the text null.
    """
    draw = np.random.default_rng(int(day[-2:]))
    other = draw.normal(size=rows)
    user = draw.integers(0, 25, rows)
    return pd.DataFrame(
        {
            "user_id": user,
            "score": draw.random(rows).round(2),
            "other": np.where(draw.random(rows) < 0.1, np.nan, other),
            "clicked": draw.choice([0, 0, 0, 1, 2], rows),
            "weight": draw.exponential(3, rows),
            "kind": draw.choice(["film", "book", "game"][: 3 if day == DAYS[2] else 2], rows),
            "country": np.array(["null", None, "no"], object)[draw.integers(0, 3, 25)][user],
            "date": day,
        }
    )


def spec_of(folder: Path, name: str = "spec", **changes: object) -> str:
    """The path of a spec for ``folder``, with ``changes`` such as ``output__path``."""
    document: dict = {
        "input": {
            "path": f"{folder}/log/dt={{date}}",
            "columns": {"group": "user_id", "label": "clicked", "score": dict(SCORES)},
        },
        "metrics": METRICS,
        "output": {"path": str(folder / "tables")},
        "engine": {"lane": "local"},
    }
    for key, value in changes.items():
        *parents, last = key.split("__")
        place = document
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return str(path)


def write_log(folder: Path, rows: pd.DataFrame, day: str) -> None:
    table = pa.Table.from_pandas(rows.drop(columns="date"), preserve_index=False)  # NaN becomes null: not retrieved
    (folder / f"log/dt={day}").mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / f"log/dt={day}/0.parquet")


def write_logs(folder: Path, *days: str, rows: int = 200) -> None:
    for day in days:
        write_log(folder, impressions_of(day, rows), day)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error of a command that must end with 4."""
    capsys.readouterr()
    assert exit_code(*arguments) == 4
    return capsys.readouterr().err


def evaluate(conf: str, day: str) -> None:
    cli.main(["evaluate", "--conf", conf, "--date", day])


def merging(conf: str, *more: str, first: str = DAYS[0], last: str = DAYS[-1]) -> list[str]:
    """The words that merge a window, the whole week where nothing else is said."""
    return ["merge", "--conf", conf, "--from", first, "--to", last, *more]


def together(days: Sequence[pd.DataFrame], metrics: Sequence[str] = METRICS, **asked: Any) -> sr.Evaluation:
    """All rows of ``days`` evaluated at once, where a user of several days is several groups."""
    roles = {"group": ["user_id", "date"], "label": "clicked", "score": SCORES, "score_sums": True, **asked}
    return sr.evaluate(pa.Table.from_pandas(pd.concat(days), preserve_index=False), metrics, **roles)


def assert_same(one: pd.DataFrame, other: pd.DataFrame | pa.Table, columns: list[str] | None = None) -> None:
    """That two tables have the same bits, whatever their index says."""
    tables = [frame if isinstance(frame, pd.DataFrame) else frame.to_pandas() for frame in (one, other)]
    frames = [(frame if columns is None else frame[columns]).reset_index(drop=True) for frame in tables]
    pd.testing.assert_frame_equal(*frames, check_exact=True)


def window_table(folder: Path, table: str, window: str = WINDOW) -> pd.DataFrame:
    return pq.read_table(one_file(folder / f"tables/windows/{table}/window={window}"), partitioning=None).to_pandas()


def spoil(folder: Path, table: str, change: Callable[[pa.Table], pa.Table], day: str = DAYS[2]) -> None:
    """Change a table of a day, and what its run says of its file."""
    path = one_file(folder / f"tables/{table}/day={day}")
    spoilt = change(pq.read_table(path, partitioning=None))
    pq.write_table(spoilt, path)
    list_again(folder / "tables", day, table)
