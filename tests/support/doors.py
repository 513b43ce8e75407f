"""Inputs that both doors, ``sr.evaluate`` and the job, are asked to evaluate, and what each makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages

DAY = "2026-11-19"
LOG = pa.table(
    {
        "user": ["a", "a", "a", "b", "b", "c"],
        "item": ["x", "y", "z", "x", "y", "z"],
        "score": [0.75, 0.5, 0.5, None, 0.25, 0.5],
        "other": [0.125, 0.5, 0.25, 0.75, 0.5, 0.25],
        "rank": [1, 2, 3, 1, 2, 1],
        "label": [0, 1, 0, 1, 0, 1],
        "weight": [1.0, 2.0, 0.5, 1.0, 1.0, 0.25],
        "shown": [3, 1, 2, 2, 1, 1],
        "revenue": [2.0, 2.0, 2.0, 1.0, 1.0, 3.0],
        "country": ["de", "de", "fr", None, "fr", "de"],
    }
)
TRUTH = pa.table({"user": ["a", "b", "b"], "item": ["x", "y", "q"], "gain": [1, 2, 1]})
ARRAYS = pa.table({"user": ["a", "b"], "found": [["x", "y"], ["z"]], "liked": [["y"], ["q", "z"]]})
OF_ROWS = {"group": "user", "score": "score", "label": "label"}
OF_LISTS = {"group": "user", "score": "score", "item": "item"}
OF_ARRAYS = {"group": "user", "items": "found", "true_items": "liked"}


def column(name: str, values: Any) -> pa.Table:
    return LOG.set_column(LOG.schema.get_field_index(name), name, pa.array(values))


@dataclass(frozen=True)
class Asked:
    """An input, None for no file, and what is asked of it, in the words that both doors share.

    ``columns`` are the roles, ``settings`` the definitions; the others are what the spec has under these keys.
    """

    name: str
    rows: pa.Table | None = field(default_factory=lambda: LOG)
    truth: pa.Table | None = None
    columns: Mapping[str, Any] = field(default_factory=lambda: OF_ROWS)
    truth_columns: Mapping[str, str] | None = None
    metrics: tuple[str, ...] = ("ndcg@2", "ap", "auc")
    slices: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What a door gives: the lane, every table as text, the warnings; or the kind and the sentence of an error."""

    lane: str = ""
    tables: Mapping[str, list[str]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: tuple[str, str] | None = None


def written(asked: Asked, folder: Path) -> dict[str, str]:
    (folder / "in").mkdir(exist_ok=True)
    paths = {"input": f"{folder}/in/input.parquet", "truth": f"{folder}/in/truth.parquet"}
    for side, rows in (("input", asked.rows), ("truth", asked.truth)):
        if rows is not None:
            pq.write_table(rows, paths[side])
    return paths


def texts(table: pa.Table) -> list[str]:
    """The rows of a table as text, but for what says where they come from."""
    own = {"spec_hash", "run_id", "day"}
    rows = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    return sorted(repr({name: row[name] for name in sorted(row) if name not in own}) for row in rows)


def by_call(asked: Asked, folder: Path, spark: Any) -> Found:
    paths = written(asked, folder)
    truth = {} if asked.truth is None else {"truth": paths["truth"], "truth_columns": asked.truth_columns}
    try:
        with sr.evaluate(
            paths["input"], list(asked.metrics), **asked.columns, **truth, slices=list(asked.slices),
            **asked.settings, **asked.quality, **asked.engine, spark=spark, score_sums=True, curve_points=10,
        ) as found:  # fmt: skip
            tables = {name: texts(getattr(found, name)) for name in ("metrics", "quality", "blocks", "curves")}
            tables["groups"] = [] if found.groups is None else texts(found.groups)
            return Found(found.lane, tables)
    except sr.SparkrankError as error:
        return Found(error=(type(error).__name__, str(error)))


def document_of(asked: Asked, paths: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """The spec of ``asked``, whose files are at ``paths``."""
    document: dict[str, Any] = {
        "input": {"path": paths["input"], "columns": dict(asked.columns)},
        "metrics": list(asked.metrics),
        "slices": list(asked.slices),
        "definitions": dict(asked.settings),
        "quality": dict(asked.quality),
        "engine": dict(asked.engine),
        "output": {"path": f"{folder}/out", "curves": 10},
    }
    if asked.truth is not None:
        document["truth"] = {"path": paths["truth"], "columns": dict(asked.truth_columns or {})}
    return document


def by_job(asked: Asked, folder: Path, spark: Any) -> Found:
    """By a spec."""
    document = document_of(asked, written(asked, folder), folder)
    try:
        day = evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
    except sr.SparkrankError as error:
        return Found(error=(type(error).__name__, str(error)))
    names = ("metrics", "quality", "blocks", "curves", "groups")
    tables = {name: texts(pq.read_table(day.folders[name])) if name in day.folders else [] for name in names}
    return Found(day.lane, tables, tuple(day.warnings))


GOOD = [
    Asked("rows"),
    Asked("two models", columns={**OF_ROWS, "score": {"new": "score", "old": "other"}}),
    Asked("ranks as positions", columns={"group": "user", "rank": "rank", "label": "label"},
          settings={"positions": "given"}, metrics=("ndcg@2", "rr")),
    Asked("a weight, and groups that weigh", columns={**OF_ROWS, "weight": "weight"},
          metrics=("auc", "ndcg(weight=revenue)@2")),
    Asked("slices, buckets and clusters", slices=("country",), engine={"buckets": 3},
          columns={**OF_ROWS, "cluster": "revenue"}),
    Asked("no group", columns={"score": "score", "label": "label"}, metrics=("auc", "pr_auc(exact)")),
    Asked("lists and truth", truth=TRUTH, columns=OF_LISTS, truth_columns={"label": "gain"}, metrics=("r@2", "ap")),
    Asked("arrays", rows=ARRAYS, columns=OF_ARRAYS, metrics=("r@2", "ndcg@2")),
    Asked("a preset", settings={"preset": "trec_eval"}, columns={**OF_ROWS, "item": "item"}, metrics=("ap", "ndcg@2")),
    Asked("bad rows within the limit", column("label", [0.0, 1.0, float("nan"), 1.0, 0.0, 1.0]),
          quality={"max_bad_fraction": 0.5}),
    Asked("no label: a warning", column("label", pa.nulls(6, pa.int64()))),
    Asked("truth in no list: a warning", truth=TRUTH.set_column(1, "item", pa.array(["q", "r", "s"])),
          columns=OF_LISTS, truth_columns={"label": "gain"}, metrics=("r@2",)),
    Asked("clusters of lists and truth", LOG.append_column("by", pa.array([*"aaabbb"])),
          truth=TRUTH.append_column("of", pa.array([*"abb"])), columns={**OF_LISTS, "cluster": "by"},
          truth_columns={"label": "gain", "cluster": "of"}, metrics=("r@2", "ap")),
]  # fmt: skip

BAD = [
    Asked("no file", rows=None),
    Asked("no such column", columns={**OF_ROWS, "score": "scoer"}),
    Asked("too many bad rows", column("label", [float("nan"), 1.0, 0.0, 1.0, 0.0, 1.0])),
    Asked("over a limit", quality={"limits": {"rows with a score": 0.5}}),
    Asked("undefined", settings={"undefined": "error"}, metrics=("gauc",)),
    Asked("tied ranks", column("rank", [1, 1, 1, 1, 1, 1]), metrics=("err@2", "rbp"),
          columns={"group": "user", "rank": "rank", "label": "label"}),
    Asked("a truth of another kind", truth=TRUTH.set_column(0, "user", pa.array([1, 2, 3])), columns=OF_LISTS,
          truth_columns={"label": "gain"}, metrics=("r@2",)),
    Asked("no such metric", metrics=("ndgc@2",)),
    Asked("a weight that is idle", columns={**OF_ROWS, "weight": "weight"}, metrics=("ndcg@2",)),
    Asked("buckets without groups", columns={"score": "score", "label": "label"}, metrics=("auc",),
          engine={"buckets": 2}),
    Asked("several clusters", columns={**OF_ROWS, "cluster": "item"}),
    Asked("clusters of the truth alone", truth=TRUTH, columns=OF_LISTS, truth_columns={"cluster": "item"},
          metrics=("r@2",)),
    Asked("arrays and rows", columns={**OF_ARRAYS, "score": "score"}),
    Asked("what Spark alone reads", column("label", pa.array([0, 1, 0, 1, 0, 1], pa.uint8())),
          engine={"lane": "local"}),
]  # fmt: skip
