"""The libraries of recommenders that judge lists by a truth: RecTools, Recommenders (pandas and Spark), RePlay, ranx.

They give means alone, of the users with a true item. Precision is defined for all others, too: it is 0 there, so that
their mean is multiplied by the share of users that have one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.contenders.contender import GROUP, ITEM, Value, Values, Work, split
from benchmarks.contenders.ranx_arrays import NAMES as OF_RANX
from benchmarks.contenders.ranx_arrays import compiled_cut
from benchmarks.contenders.replay_offline import NAMES as OF_REPLAY
from benchmarks.contenders.replay_offline import WHOLE_LIST

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

LABEL = "label"  # of true items, which Recommenders asks for


class ListLibrary:
    """What the libraries share: both sides in, means out, no group table."""

    name: str
    table = None

    def __init__(self, work: Work) -> None:
        self._work = work

    def prepare(self) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(self._work.cores)  # is read when polars is imported

    def run(self) -> None:
        self._values: dict[str, dict[str, Value]] = {}
        for score in self._work.scores:
            found, share = self._means(score)
            self._values[score] = {
                metric: Value(mean * (share if split(metric)[0] == "p" else 1)) for metric, mean in found.items()
            }

    def values(self) -> Values:
        return self._values

    def _means(self, score: str) -> tuple[Mapping[str, float], float]:
        """The mean of each metric that the library has, over users with a true item, and the share of these."""
        raise NotImplementedError

    def _asked(self, names: Mapping[str, str]) -> dict[str, tuple[str, int]]:
        """The metrics that the library has: its name of each, and the cut-off."""
        known = [(metric, *split(metric)) for metric in self._work.metrics]
        return {metric: (names[name], k or WHOLE_LIST) for metric, name, k in known if name in names}


class _OfPandas(ListLibrary):
    def _read(self, score: str) -> tuple[pd.DataFrame, pd.DataFrame, float]:
        import pandas as pd

        lists = pd.read_parquet(self._work.log, columns=[GROUP, ITEM, score])
        truth = pd.read_parquet(self._work.truth, columns=[GROUP, ITEM])
        return lists, truth, truth[GROUP].nunique() / lists[GROUP].nunique()


class RecTools(_OfPandas):
    """``calc_metrics``, which shares the joining among its metrics, on frames of pandas with the rank of each row."""

    name = "rectools"
    NAMES: Mapping[str, str] = {
        "ndcg": "NDCG",
        "p": "Precision",
        "r": "Recall",
        "hit": "HitRate",
        "ap": "MAP",
        "rr": "MRR",
    }

    def _means(self, score: str) -> tuple[Mapping[str, float], float]:
        from rectools import metrics as of_rectools

        lists, truth, share = self._read(score)
        lists = lists.sort_values([GROUP, score], ascending=[True, False])
        lists["rank"] = lists.groupby(GROUP).cumcount() + 1
        asked, longest = {}, int(lists["rank"].max())
        for metric, (name, k) in self._asked(self.NAMES).items():
            more = {"divide_by_achievable": True} if name == "NDCG" else {}  # by the best list of the user
            asked[metric] = getattr(of_rectools, name)(k=min(k, longest), **more)  # it has an array of k places
        return of_rectools.calc_metrics(asked, lists, truth), share


class Recommenders(_OfPandas):
    """The functions of Recommenders on frames of pandas, one call a metric."""

    name = "recommenders"
    NAMES: Mapping[str, str] = {"ndcg": "ndcg_at_k", "p": "precision_at_k", "r": "recall_at_k", "ap": "map"}

    def _means(self, score: str) -> tuple[Mapping[str, float], float]:
        from recommenders.evaluation import python_evaluation

        lists, truth, share = self._read(score)
        columns = {"col_user": GROUP, "col_item": ITEM, "col_rating": LABEL, "col_prediction": score}
        truth[LABEL], longest = 1.0, int(lists.groupby(GROUP).size().max())
        means = {
            metric: float(
                getattr(python_evaluation, name)(truth, lists, relevancy_method="top_k", k=min(k, longest), **columns)
            )
            for metric, (name, k) in self._asked(self.NAMES).items()
        }
        return means, share


class SparkRecommenders(ListLibrary):
    """``SparkRankingEvaluation`` of Recommenders, in a session of its own.

    Its mean average precision is that of the cut list, not asked for here. Lists are gathered by ``collect_list``
    after a join, in an order that is not guaranteed: its NDCG was seen to differ for single users.
    """

    name = "recommenders-spark"
    NAMES: Mapping[str, str] = {"p": "precision_at_k", "r": "recall_at_k"}

    def prepare(self) -> None:
        from benchmarks import session

        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        self._spark = session.start(self._work.cores, session.DRIVER_MEMORY)

    def _means(self, score: str) -> tuple[Mapping[str, float], float]:
        from pyspark.sql import functions as F
        from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

        lists = self._spark.read.parquet(str(self._work.log)).select(GROUP, ITEM, score)
        truth = self._spark.read.parquet(str(self._work.truth)).withColumn(LABEL, F.lit(1.0))
        columns = {"col_user": GROUP, "col_item": ITEM, "col_rating": LABEL, "col_prediction": score}
        asked = self._asked(self.NAMES)
        (cutoff,) = {k for _, k in asked.values()}
        judged = SparkRankingEvaluation(truth, lists, k=cutoff, relevancy_method="top_k", **columns)
        means = {metric: float(getattr(judged, name)()) for metric, (name, _) in asked.items()}
        users = [side.select(F.countDistinct(GROUP)).first()[0] for side in (truth, lists)]
        return means, users[0] / users[1]


class _OfPolars(ListLibrary):
    def _read(self, score: str) -> tuple[pl.DataFrame, pl.DataFrame, float]:
        """The lists of users with a true item, the truth, and the share of these users."""
        import polars as pl

        lists = pl.scan_parquet(self._work.log).select(GROUP, ITEM, score).collect()
        truth = pl.scan_parquet(self._work.truth or "").select(GROUP, ITEM).collect()
        share = truth[GROUP].n_unique() / lists[GROUP].n_unique()
        return lists.join(truth.select(GROUP).unique(), on=GROUP, how="semi"), truth, share


class JoinedRePlay(_OfPolars):
    """``OfflineMetrics`` of RePlay, which shares the sorting and joining among its metrics, on Polars frames."""

    name = "replay"

    def _means(self, score: str) -> tuple[Mapping[str, float], float]:
        from replay import metrics as of_replay

        lists, truth, share = self._read(score)
        asked, cutoffs = self._asked(OF_REPLAY), {}
        for name, k in asked.values():
            cutoffs.setdefault(name, set()).add(k)
        offline = of_replay.OfflineMetrics(
            [getattr(of_replay, name)(sorted(ks)) for name, ks in cutoffs.items()],
            query_column=GROUP,
            item_column=ITEM,
            rating_column=score,
        )
        found = offline(lists, truth)
        return {metric: float(found[f"{name}@{k}"]) for metric, (name, k) in asked.items()}, share


class JoinedRanx(_OfPolars):
    """ranx, by the arrays that it makes of dictionaries itself (:mod:`benchmarks.contenders.ranx_arrays`)."""

    name = "ranx"

    def prepare(self) -> None:
        super().prepare()
        self._cut = compiled_cut()

    def _means(self, score: str) -> tuple[Mapping[str, float], float]:
        import ranx

        lists, truth, share = self._read(score)
        lists = lists.sort(GROUP, score, descending=[False, True])
        truth = truth.sort(GROUP)
        asked = {
            metric: f"{name}@{k}" if k < WHOLE_LIST else name for metric, (name, k) in self._asked(OF_RANX).items()
        }
        found = ranx.evaluate(
            self._arrays(truth, None), self._arrays(lists, score), list(asked.values()), threads=self._work.cores
        )
        return {metric: float(found[name]) for metric, name in asked.items()}, share

    def _arrays(self, rows: pl.DataFrame, value: str | None) -> Any:
        import numpy as np
        import polars as pl

        values = pl.lit(1.0) if value is None else pl.col(value)
        pairs = rows.select(pl.col(ITEM).cast(pl.Float64), values.cast(pl.Float64).alias("value")).to_numpy()
        ends = rows.group_by(GROUP, maintain_order=True).len()["len"].cum_sum().to_numpy()
        return self._cut(np.ascontiguousarray(pairs), ends)
