"""A pandas function for each group: what most people write first, here with nothing but numpy inside."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, Values, Work, split
from benchmarks.contenders.spark_sql import values_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Ranked(NamedTuple):
    """One group: gains in rank order, the positions of its hits from 1, the discount of each position."""

    gains: NDArray[np.float64]
    hits: NDArray[np.int64]
    discounts: NDArray[np.float64]


def ndcg(group: Ranked, k: int) -> float:
    ideal = np.sort(group.gains)[::-1][:k] @ group.discounts[:k]
    return float(group.gains[:k] @ group.discounts[:k] / ideal) if ideal else np.nan


def precision(group: Ranked, k: int) -> float:
    return np.count_nonzero(group.hits <= k) / k


def recall(group: Ranked, k: int) -> float:
    return np.count_nonzero(group.hits <= k) / len(group.hits) if len(group.hits) else np.nan


def hit(group: Ranked, k: int) -> float:
    return float(group.hits[0] <= k) if len(group.hits) else np.nan


def average_precision(group: Ranked, k: int) -> float:
    """``k`` = 0 means the whole list."""
    if not len(group.hits):
        return np.nan
    within = group.hits[group.hits <= k] if k else group.hits
    below = min(k, len(group.hits)) if k else len(group.hits)
    return float(np.sum(np.arange(1, len(within) + 1) / within)) / below


def reciprocal_rank(group: Ranked, _: int) -> float:
    return 1 / group.hits[0] if len(group.hits) else np.nan


def auc(group: Ranked, _: int) -> float:
    positives = len(group.hits)
    pairs = positives * (len(group.gains) - positives)
    return (pairs + positives * (positives + 1) / 2 - group.hits.sum()) / pairs if pairs else np.nan


FUNCTIONS = {
    "ndcg": ndcg,
    "p": precision,
    "r": recall,
    "hit": hit,
    "ap": average_precision,
    "ap(over=min_k_relevant)": average_precision,
    "rr": reciprocal_rank,
    "group_auc": auc,
    "gauc": auc,
}


def evaluate_group(
    key: tuple[object, ...], rows: pd.DataFrame, scores: tuple[str, ...], metrics: tuple[str, ...]
) -> pd.DataFrame:
    """A row for each model: its name, the key, the counts of the group, its metrics."""
    labels = rows["gain"].to_numpy().astype(np.float64)
    discounts = 1 / np.log2(np.arange(2, len(labels) + 2))
    found = []
    for score in scores:
        gains = labels[np.argsort(-rows[score].to_numpy())]
        group = Ranked(gains, np.flatnonzero(gains > 0) + 1, discounts)
        values = [FUNCTIONS[name](group, k) for name, k in map(split, metrics)]
        found.append((score, *key, len(gains), len(gains), len(group.hits), *values))
    return pd.DataFrame(found)


class PerGroup:
    """``groupBy(group).applyInPandas``, one call for each group."""

    name = "per-group"

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self.table = work.output / self.name
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        metrics = tuple(sql.of_groups(self._work.metrics))
        log = self._spark.read.parquet(str(self._work.log))
        log = log.selectExpr(GROUP, *self._work.scores, f"{self._work.label} AS gain")
        key = f"{GROUP} {log.schema[GROUP].dataType.simpleString()}"
        counts = [f"{name} bigint" for name in ("n_rows", "n_retrieved", "n_relevant")]
        schema = ", ".join(("model string", key, *counts, *(f"{sql.column(metric)} double" for metric in metrics)))
        evaluate = functools.partial(evaluate_group, scores=self._work.scores, metrics=metrics)

        def per_group(key: tuple[object, ...], rows: pd.DataFrame) -> pd.DataFrame:
            return evaluate(key, rows)

        self._groups = log.groupBy(GROUP).applyInPandas(per_group, schema)

    def run(self) -> None:
        self._groups.write.mode("overwrite").parquet(str(self.table))
        self._values = values_of(self._spark, self.table, self._work)

    def values(self) -> Values:
        return self._values
